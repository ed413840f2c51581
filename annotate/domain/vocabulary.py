"""The closed word lists of the method (docs/vocabulary.md). Values are stable: they stand in frozen fixtures."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """What a person may do in one study."""

    ANNOTATOR = "annotator"
    ADJUDICATOR = "adjudicator"
    LEAD = "lead"
    OBSERVER = "observer"


class Segment(StrEnum):
    """Primary question class; a release is read per segment."""

    RULE_AND_EXCEPTION = "rule-and-exception"
    DEFINITION_AND_REFERENT = "definition-and-referent"
    NUMBER_AND_SCOPE = "number-and-scope"
    CROSS_REFERENCE = "cross-reference"
    JOINT_EVIDENCE = "joint-evidence"
    UNANSWERABLE_CONTROL = "unanswerable-control"
    UNCLASSIFIED = "unclassified"


class DependencyType(StrEnum):
    """Why the answer needs more than the sentence that matches the question; NONE for a routine control."""

    NONE = "none"
    EXCEPTION = "exception"
    DEFINITION = "definition"
    REFERENT = "referent"
    NUMERICAL_SCOPE = "numerical-scope"
    CROSS_REFERENCE = "cross-reference"
    JOINT = "joint"


#: Segment suggested by a dependency type; the adjudicator settles it.
SUGGESTED_SEGMENT: dict[DependencyType, Segment] = {
    DependencyType.EXCEPTION: Segment.RULE_AND_EXCEPTION,
    DependencyType.DEFINITION: Segment.DEFINITION_AND_REFERENT,
    DependencyType.REFERENT: Segment.DEFINITION_AND_REFERENT,
    DependencyType.NUMERICAL_SCOPE: Segment.NUMBER_AND_SCOPE,
    DependencyType.CROSS_REFERENCE: Segment.CROSS_REFERENCE,
    DependencyType.JOINT: Segment.JOINT_EVIDENCE,
}


class MissingBehaviour(StrEnum):
    """What an answer must do when the required condition is not in the evidence."""

    ABSTAIN = "abstain"
    NARROWER = "narrower"


class SpanLabel(StrEnum):
    """The part a span plays in its support set."""

    RULE = "rule"
    QUALIFIER = "qualifier"
    EXCEPTION = "exception"
    DEFINITION = "definition"
    REFERENT = "referent"
    SCOPE = "scope"
    REFERENCE = "reference"
    EVIDENCE = "evidence"


class Sample(StrEnum):
    """How a question came into the study; the two are never pooled."""

    REPRESENTATIVE = "representative"
    ENRICHED = "enriched"


class Partition(StrEnum):
    """Development questions may be looked at while tuning; held-out ones are counted when opened."""

    DEVELOPMENT = "development"
    HELD_OUT = "held-out"


class StudyKind(StrEnum):
    """A full study has answer contracts; a retrieval-only one has evidence references only."""

    FULL = "full"
    RETRIEVAL_ONLY = "retrieval-only"


class DisagreementType(StrEnum):
    """Typed differences between two submitted passes; a difference in notes is none of them."""

    ANSWERABILITY = "answerability"
    ANSWER = "answer"
    SCOPE = "scope"
    QUALIFICATION = "required-qualification"
    SPAN_BOUNDARY = "span-boundary"
    SPAN_LABEL = "span-label"
    SPAN_MISSING = "span-missing"
    SET_MEMBERSHIP = "set-membership"
    SET_MISSING = "set-missing"
    DEPENDENCY_TYPE = "dependency-type"
    MISSING_BEHAVIOUR = "missing-condition-behaviour"
    FORBIDDEN_EVIDENCE = "forbidden-evidence"


class Choice(StrEnum):
    """How an adjudicator settles one difference."""

    A = "a"
    B = "b"
    REJECT = "reject"
    EDITED = "edited"


class ReasonCode(StrEnum):
    """Why a side was chosen."""

    BETTER_SUPPORTED = "better-supported"
    CONDITION_REQUIRED = "condition-required"
    MERELY_TOPICAL = "merely-topical"
    BOUNDARY_PRECISION = "boundary-precision"
    BOTH_SUFFICIENT = "both-sufficient"
    SUPERSEDED_TEXT = "superseded-text"
    OUT_OF_SCOPE = "out-of-scope"
    WORDING_ONLY = "wording-only"
    OTHER = "other"


class Necessity(StrEnum):
    """Whether the support set fails without the span."""

    NECESSARY = "necessary"
    TOPICAL = "topical"


class NoteKind(StrEnum):
    """What a contribution to an item's discussion is."""

    NOTE = "note"
    #: A pass was sent back to its annotator; the text says why.
    RETURNED = "returned"
    #: A settled item was opened again; the text says why.
    REOPENED = "reopened"
