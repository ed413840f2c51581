"""Finds rows that name a row of another study, question or item, where a record tells the two by nothing.

Records name things by words (a slot, a round, a digest), and another question has a slot 1 and a round 1 too: a row
that was moved there would read as it did.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import F, Model

from annotate.models import (
    AdjudicatedResult,
    AdjudicationItem,
    Decision,
    DiscussionNote,
    Fixture,
    FixtureSet,
    Mark,
    SourceVersion,
    Submission,
)
from ledger import registry
from ledger.domain.findings import Finding


@dataclass(frozen=True)
class Belonging:
    """Two paths from a row of `model` that must lead to one row: by what it names (`named`) and by where it stands."""

    model: type[Model]
    named: str
    stands: str

    def strays(self) -> Iterator[Finding]:
        """Yield a finding for each row whose two paths lead apart; one query."""
        apart = self.model._default_manager.exclude(**{self.named: F(self.stands)})
        for pk in apart.filter(**{f"{self.named}__isnull": False}).order_by("pk").values_list("pk", flat=True):
            where = f"{self.model._meta.db_table} row {pk}"
            yield Finding("row.strayed", None, where, f"it names another {self.named} than the one it stands in.")


_QUESTION = "work__assignment__question"
BELONGINGS = (
    Belonging(SourceVersion, "supersedes__source__study", "source__study"),
    Belonging(Mark, "version__source__study", f"{_QUESTION}__study"),
    Belonging(Submission, "guideline__study", f"{_QUESTION}__study"),
    Belonging(AdjudicationItem, f"submission_a__{_QUESTION}", "question"),
    Belonging(AdjudicationItem, f"submission_b__{_QUESTION}", "question"),
    Belonging(Decision, "disagreement__item", "item"),
    Belonging(AdjudicatedResult, "item__question", "question"),
    Belonging(DiscussionNote, "assignment__question", "question"),
    Belonging(FixtureSet, "successor_of__study", "study"),
    Belonging(Fixture, "question__study", "fixture_set__study"),
)


def register_all() -> None:
    """Register this module's check; called once, when Django starts."""
    registry.register_table("belonging of annotate", verify_belongings)


def verify_belongings() -> Iterator[Finding]:
    """Find every row that names a row of somewhere else; one query each."""
    for one in BELONGINGS:
        yield from one.strays()
