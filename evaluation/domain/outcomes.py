"""What one question came to in one cell: the contract between the engine (which makes outcomes) and the metrics.

Stages run in this order; `complete[stage]` says whether at least one sufficient set lay wholly inside the union of what
was visible to the reader after that stage.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Stage(StrEnum):
    """The pipeline's stages, in order. At CHUNKED the union is whole by construction: what counts there is one unit."""

    CHUNKED = "chunked"
    CANDIDATES = "candidates"
    RERANKED = "reranked"
    EXPANDED = "expanded"
    AUTHORISED = "authorised"
    DEDUPLICATED = "deduplicated"
    PACKED = "packed"


STAGES: tuple[Stage, ...] = tuple(Stage)


class Status(StrEnum):
    """State of a value: a number, not defined (and why), or failed (and why). NaN is none of them."""

    VALUE = "value"
    UNDEFINED = "undefined"
    FAILED = "failed"


class AnswerClass(StrEnum):
    """Substantive verdict class of an answer; wording does not count."""

    CORRECT = "correct"
    CONDITION_ERROR = "condition-error"
    WRONG = "wrong"
    ABSTAINED = "abstained"
    NONE = "none"  # no generator ran


class View(StrEnum):
    """The two views, never mixed in one table."""

    BUDGET = "budget"
    TOP_K = "top-k"


@dataclass(frozen=True)
class QuestionOutcome:
    """One question in one (arm, phase, view, repeat). Token counts are in the plan's tokenizer.

    `failed` holds the reason of an infrastructure failure ("" if none): the question then counts as a miss.
    `complete[CHUNKED]` is true whenever a readable set exists (the union of all chunks is the source); what that
    stage can lose is `single_unit[CHUNKED]` and `severed_spans`, the spans a cut divides. `lost_after` is the stage
    after which support was never complete again: None when it was complete in the prompt or had no readable set,
    CHUNKED when no later stage ever held it. `rank_of_completion` is 1-based among all candidates (it may lie beyond
    k), 0 when never complete. `leaks`, `superseded` and `forbidden` (units that touch evidence marked as forbidden)
    list only stages with a count above zero.

    `evidence_tokens` is the packed evidence as the plan counts it and `prompt_tokens` that and the head of the prompt;
    `rendered_tokens` is the whole prompt tokenised in one piece, 0 where none was rendered. `unique_tokens` and
    `repeated_tokens` add up to the source tokens shown.

    Of the *best set*, the readable set with the largest share of its bytes in the prompt: `needed_bytes` and
    `covered_bytes` (partial coverage), `needed_spans`, `covered_spans` (wholly visible) and `spans_at_threshold`
    (visible at least to the plan's coverage threshold). `relevant_bytes` ÷ `shown_bytes` is the precision of the
    evidence: bytes of the packed union inside any sufficient set's spans, over the bytes of the packed union.
    `structural_units` counts the different sections, tables and code blocks the packed evidence touches.
    `top_score` is the retriever's first score in units of 1e-6 where the reader has no sufficient set (spurious
    confidence), 0 elsewhere. `denials` are units kept from the reader, `fallbacks` those of them replaced by a readable
    hit, `outdated` and `foreign` chunks that dates and locale kept out of the candidates.
    """

    question_id: str
    failed: str = ""
    feasible: bool = True
    complete: dict[Stage, bool] = field(default_factory=dict)
    single_unit: dict[Stage, bool] = field(default_factory=dict)
    lost_after: Stage | None = None
    rank_of_completion: int = 0
    evidence_tokens: int = 0
    unique_tokens: int = 0
    repeated_tokens: int = 0
    prompt_tokens: int = 0
    duplicate_pairs: int = 0
    compared_pairs: int = 0
    denials: int = 0
    leaks: dict[Stage, int] = field(default_factory=dict)
    superseded: dict[Stage, int] = field(default_factory=dict)
    answer_class: AnswerClass = AnswerClass.NONE
    answered: bool = False
    citations_emitted: int = 0
    citations_resolved: int = 0
    citations_cover_support: bool = False
    severed_spans: int = 0
    forbidden: dict[Stage, int] = field(default_factory=dict)
    needed_bytes: int = 0
    covered_bytes: int = 0
    needed_spans: int = 0
    covered_spans: int = 0
    spans_at_threshold: int = 0
    relevant_bytes: int = 0
    shown_bytes: int = 0
    structural_units: int = 0
    rendered_tokens: int = 0
    top_score: int = 0
    fallbacks: int = 0
    outdated: int = 0
    foreign: int = 0
