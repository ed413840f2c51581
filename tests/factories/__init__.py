"""Plain functions that make rows for tests."""

from tests.factories.studies import PASSWORD, make_member, make_person, make_study
from tests.factories.texts import (
    DAY,
    TEXT,
    make_assignment,
    make_question,
    make_source,
    make_source_version,
)

__all__ = [
    "DAY",
    "PASSWORD",
    "TEXT",
    "make_assignment",
    "make_member",
    "make_person",
    "make_question",
    "make_source",
    "make_source_version",
    "make_study",
]
