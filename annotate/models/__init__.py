"""Rows of the annotate app, one file per aggregate."""

from annotate.models.adjudication import (
    AdjudicatedResult,
    AdjudicationItem,
    Decision,
    Disagreement,
    DiscussionNote,
    SpanDecision,
)
from annotate.models.fixtures import Fixture, FixtureSet, HeldOutOpening
from annotate.models.passes import (
    Assignment,
    ContractRevision,
    Mark,
    Pass,
    RefusedSave,
    Submission,
    SupportSetRevision,
)
from annotate.models.people import Membership, Person
from annotate.models.questions import Question
from annotate.models.sources import Source, SourceVersion
from annotate.models.studies import Guideline, Study

__all__ = [
    "AdjudicatedResult",
    "AdjudicationItem",
    "Assignment",
    "ContractRevision",
    "Decision",
    "Disagreement",
    "DiscussionNote",
    "Fixture",
    "FixtureSet",
    "Guideline",
    "HeldOutOpening",
    "Mark",
    "Membership",
    "Pass",
    "Person",
    "Question",
    "RefusedSave",
    "Source",
    "SourceVersion",
    "SpanDecision",
    "Study",
    "Submission",
    "SupportSetRevision",
]
