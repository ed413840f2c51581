"""What a block came to: support and vetoes after every stage, and the columns of outcomes per view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from evaluation.domain import support
from evaluation.domain.answers import Answered
from evaluation.domain.asking import Block
from evaluation.domain.chunks import CorpusChunks
from evaluation.domain.hits import BoolArray, Hits
from evaluation.domain.outcome_payload import ViewColumns
from evaluation.domain.outcomes import STAGES, AnswerClass, Stage
from evaluation.domain.packed import Packed, duplicate_pairs, source_tokens
from evaluation.domain.pipeline import IndexBuild
from evaluation.domain.plan_pipeline import Budget
from evaluation.domain.stages import lost_after
from evaluation.domain.structural_units import StructuralUnits
from evaluation.domain.support import Shown
from evaluation.domain.tokens import IntArray
from evaluation.domain.treatments import current_units, readable_units

#: Stages whose output a consumer sees; what an expansion proposes is checked before anyone does.
CONSUMED = (Stage.CANDIDATES, Stage.RERANKED, Stage.AUTHORISED, Stage.DEDUPLICATED, Stage.PACKED)

_CLASSES = tuple(AnswerClass)


@dataclass(frozen=True)
class Measured:
    """One list of units, per question: complete and single-unit support, and units that are vetoes for a consumer."""

    shown: Shown
    complete: BoolArray
    single: BoolArray
    leaks: IntArray
    superseded: IntArray
    forbidden: IntArray


@dataclass
class Meter:
    """Measures lists of units of one block; a list that several stages share is measured once."""

    block: Block
    _seen: dict[int, tuple[Hits, Measured]] = field(default_factory=dict)
    _ranks: dict[int, tuple[Hits, IntArray]] = field(default_factory=dict)
    _severed: dict[int, tuple[CorpusChunks, IntArray]] = field(default_factory=dict)

    def measure(self, hits: Hits) -> Measured:
        """Support and vetoes of a list."""
        # By identity: a kept list cannot share its id with another.
        if id(hits) in self._seen:
            return self._seen[id(hits)][1]
        shown = Shown.of(hits, self.block.base)
        found = Measured(
            shown,
            support.complete(self.block, shown),
            support.single_unit(self.block, shown),
            np.count_nonzero(~readable_units(self.block, hits), axis=1).astype(np.int64),
            np.count_nonzero(~current_units(self.block, hits), axis=1).astype(np.int64),
            support.touching(self.block, shown),
        )
        self._seen[id(hits)] = (hits, found)
        return found

    def completion_rank(self, hits: Hits) -> IntArray:
        """How many first units of a list complete each question's support; 0 where they never do."""
        if id(hits) not in self._ranks:
            self._ranks[id(hits)] = (hits, support.completion_rank(self.block, self.measure(hits).shown))
        return self._ranks[id(hits)][1]

    def severed(self, chunks: CorpusChunks) -> IntArray:
        """How many spans of each question's sets a cut of the index divides."""
        if id(chunks) not in self._severed:
            self._severed[id(chunks)] = (chunks, support.severed(self.block, chunks))
        return self._severed[id(chunks)][1]


@dataclass(frozen=True)
class Counted:
    """What retrieval and the second check counted, per question; all zero where an oracle hands out the evidence."""

    denials: IntArray
    fallbacks: IntArray
    outdated: IntArray
    foreign: IntArray
    top_score: IntArray


def nothing_counted(size: int) -> Counted:
    """Counters of a block that no retriever worked on."""
    return Counted(*(np.zeros(size, dtype=np.int64) for _ in range(5)))


def view_columns(
    meter: Meter,
    build: IndexBuild | None,
    lists: Mapping[Stage, Hits],
    order: Sequence[Stage],
    packed: Packed,
    budget: Budget,
    token_base: IntArray,
    head_tokens: IntArray,
    feasible: BoolArray,
    counted: Counted,
    failed: Sequence[str],
    answered: Sequence[Answered] | None,
    structure: StructuralUnits,
) -> ViewColumns:
    """Columns of one view. Without a build (an oracle) the chunk stage is taken as whole.

    `lists` holds the units after every stage but the first and the last; `order` is the order the stages ran in.
    """
    block = meter.block
    size = len(block)
    done = np.array([not one for one in failed], dtype=np.bool_)
    has_sets = np.zeros(size, dtype=np.bool_)
    has_sets[block.support.with_sets] = True
    complete, single = (np.zeros((size, len(STAGES)), dtype=np.bool_) for _ in range(2))
    vetoes = {name: np.zeros((size, len(STAGES)), dtype=np.int64) for name in ("leaks", "superseded", "forbidden")}
    complete[:, 0] = has_sets
    single[:, 0] = support.whole_in_one_chunk(block, build.chunks) if build else has_sets
    for stage, hits in {**lists, Stage.PACKED: packed.units}.items():
        at = STAGES.index(stage)
        found = meter.measure(hits)
        complete[:, at], single[:, at] = found.complete, found.single
        if stage in CONSUMED:
            for name, column in vetoes.items():
                column[:, at] = getattr(found, name)
    complete, single = complete & done[:, None], single & done[:, None]
    shown = meter.measure(packed.units).shown
    best = support.partial(block, shown, Fraction(budget.coverage_threshold))
    total, unique = source_tokens(packed.units, token_base)
    pairs, compared = duplicate_pairs(packed.units, Fraction(budget.duplicate_threshold))
    numbers = {
        "feasible": feasible,
        "rank_of_completion": meter.completion_rank(lists[Stage.CANDIDATES]),
        "evidence_tokens": packed.tokens,
        "unique_tokens": unique,
        "repeated_tokens": total - unique,
        "prompt_tokens": head_tokens + packed.tokens,
        "duplicate_pairs": pairs,
        "compared_pairs": compared,
        "denials": counted.denials,
        "fallbacks": counted.fallbacks,
        "outdated": counted.outdated,
        "foreign": counted.foreign,
        "top_score": np.where(has_sets, 0, counted.top_score),
        "severed_spans": meter.severed(build.chunks) if build else np.zeros(size, dtype=np.int64),
        "needed_bytes": best.needed_bytes,
        "covered_bytes": best.covered_bytes,
        "needed_spans": best.spans,
        "covered_spans": best.covered_spans,
        "spans_at_threshold": best.at_threshold,
        "relevant_bytes": support.relevant_bytes(block, shown),
        "shown_bytes": shown.union_bytes,
        "structural_units": structure.touched(packed.units),
        **_of_answers(answered, size),
    }
    classes = [_CLASSES.index(one.answer_class) for one in answered or ()] or [_CLASSES.index(AnswerClass.NONE)] * size
    return ViewColumns(
        {name: column.astype(np.int64) for name, column in numbers.items()},
        done,
        complete,
        single,
        vetoes,
        lost_after(complete, order),
        np.array(classes, dtype=np.int64),
        tuple(one.answer.failed for one in answered) if answered else tuple(failed),
    )


def _of_answers(answered: Sequence[Answered] | None, size: int) -> dict[str, IntArray]:
    names = ("answered", "citations_emitted", "citations_resolved", "citations_cover_support", "rendered_tokens")
    rows = [
        [
            int(not one.answer.abstained and not one.answer.failed),
            len(one.citations),
            sum(citation.resolved for citation in one.citations),
            int(one.attributed),
            one.tokens,
        ]
        for one in answered or ()
    ] or [[0] * len(names)] * size
    table = np.array(rows, dtype=np.int64).reshape(size, len(names))
    return {name: table[:, number] for number, name in enumerate(names)}
