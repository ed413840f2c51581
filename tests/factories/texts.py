"""Sources, versions, questions and assignments, made straight in the tables with their ledger records."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterable, Sequence
from itertools import count

from django.db import transaction

from annotate import records
from annotate.models import Assignment, Person, Question, Source, SourceVersion, Study
from annotate.permissions import OPERATOR
from tests.factories.studies import make_study

_numbers = count(1)

#: The day every made version was observed and every made question is asked as of.
DAY = datetime.date(2026, 10, 21)
TEXT = "Requests may be retained for 30 days. This limit is 7 days for requests marked temporary."


def make_source(study: Study | None = None, document_id: str = "", *, title: str = "", tenant: str = "") -> Source:
    """Return a new source without a version."""
    document_id = document_id or f"document-{next(_numbers)}"
    return Source.objects.create(
        study=study or make_study(), document_id=document_id, title=title or document_id.capitalize(), tenant=tenant
    )


def make_source_version(
    study: Study | None = None,
    content: bytes | str = TEXT,
    *,
    source: Source | None = None,
    document_id: str = "",
    version_label: str = "",
    observation_date: datetime.date = DAY,
    access_labels: Iterable[str] = (),
    access_ranges: Sequence[tuple[int, int, Sequence[str]]] = (),
    **fields: object,
) -> SourceVersion:
    """Return a new version of `source`, or of a new source of `study`; a str is stored as its UTF-8 bytes."""
    data = content.encode() if isinstance(content, str) else content
    with transaction.atomic():
        version = SourceVersion.objects.create(
            source=source or make_source(study, document_id),
            content=data,
            sha256=hashlib.sha256(data).hexdigest(),
            byte_length=len(data),
            version_label=version_label or f"v{next(_numbers)}",
            observation_date=observation_date,
            access_labels=sorted(access_labels),
            access_ranges=[[start, end, sorted(labels)] for start, end, labels in access_ranges],
            **fields,
        )
        records.record_source(version)
    return version


def make_question(study: Study | None = None, key: str = "", text: str = "", **fields: object) -> Question:
    """Return a new question, asked as of `DAY` by a reader without labels unless `fields` say otherwise."""
    key = key or f"q-{next(_numbers):04d}"
    with transaction.atomic():
        question = Question.objects.create(
            study=study or make_study(), key=key, text=text or f"What does {key} ask?", **{"as_of": DAY, **fields}
        )
        records.record_question(question, OPERATOR)
    return question


def make_assignment(question: Question, annotator: Person, slot: int = 1, **fields: object) -> Assignment:
    """Return slot 1 or 2 of `question`, held by `annotator`."""
    with transaction.atomic():
        assignment = Assignment.objects.create(question=question, annotator=annotator, slot=slot, **fields)
        records.record_assignments(question.study, [assignment], OPERATOR)
    return assignment
