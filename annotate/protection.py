"""Which rows of passes, decisions and fixture sets the database itself keeps as they were written."""

from __future__ import annotations

from annotate.models import (
    AdjudicatedResult,
    AdjudicationItem,
    ContractRevision,
    Decision,
    Disagreement,
    DiscussionNote,
    Fixture,
    FixtureSet,
    Guideline,
    HeldOutOpening,
    Mark,
    RefusedSave,
    SpanDecision,
    Submission,
    SupportSetRevision,
)
from ledger.triggers import protect


def protect_passes() -> None:
    """Declare the protections; the triggers are installed after each `migrate`."""
    for model in (
        Submission,
        RefusedSave,
        AdjudicationItem,
        Disagreement,
        Decision,
        AdjudicatedResult,
        SpanDecision,
        DiscussionNote,
        FixtureSet,
        Fixture,
        HeldOutOpening,
        Guideline,
    ):
        protect(model)
    for revised in (Mark, SupportSetRevision, ContractRevision):
        protect(revised, write_once=("retired_revision",))
