"""Packing evidence into a prompt: rank order under a token ceiling, or the first k units.

`counting = "parts"` (default): a unit costs the tokens of its label, its source tokens and the tokens of the separator,
each counted on its own, so every question of a block is packed at once and nothing is tokenised again. The declared
difference to the rendered text is what a tokenizer merges or splits where two parts meet (docs/decisions/0005).
`counting = "whole"`: units are rendered and really tokenised, then the context once more in one piece, and units are
taken back from the end while it exceeds the ceiling (`evaluation.domain.whole_packing`).

Overflow: *skip* goes on with lower ranks, *stop* ends at the first unit that does not fit, *truncate* shortens that
unit to the longest prefix that fits (at a token boundary of the source, hence on a code point) and ends there.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from evaluation.domain.asking import Asked, Block, block_of_questions
from evaluation.domain.coverage import necessary
from evaluation.domain.frozen import FrozenQuestion, SupportSpan
from evaluation.domain.hits import BoolArray, Hits, arranged, left_packed
from evaluation.domain.packed import Packed
from evaluation.domain.pipeline import PipelineSettings, PreparedCorpus, Unit
from evaluation.domain.plan_pipeline import Budget
from evaluation.domain.plan_words import Counting, Overflow
from evaluation.domain.rendering import Rendering, prompt_head
from evaluation.domain.structural_units import StructuralUnits, structural_units
from evaluation.domain.tokens import IntArray
from evaluation.domain.whole_packing import WholePacker

#: Version of the packing rules; a change of them changes what a prompt holds.
PACKING = "packing-1"

#: Blocks of questions kept ready; a sweep asks the same few blocks of every build.
KEPT_BLOCKS = 8


@dataclass(frozen=True)
class Ready:
    """A block with what a budget makes of it before any build is known.

    `smallest[q]` are the units of the question's cheapest readable set, `smallest_tokens` what they cost packed alone,
    `smallest_set` its index among the readable sets (−1 without any).
    """

    block: Block
    heads: tuple[bytes, ...]
    head_tokens: IntArray
    smallest: tuple[tuple[Unit, ...], ...]
    smallest_tokens: IntArray
    smallest_set: IntArray

    def feasible(self, ceiling: int) -> BoolArray:
        """Per question, whether its smallest set fits under `ceiling` tokens (True without any set)."""
        fits: BoolArray = (self.smallest_set < 0) | (self.smallest_tokens <= ceiling)
        return fits


@dataclass
class Packer:
    """Packs units of one corpus under one budget rule.

    It remembers token counts of labels, heads and rendered units and the blocks it made ready; that changes no result.
    """

    prepared: PreparedCorpus
    budget: Budget
    _labels: IntArray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64), repr=False)
    _ready: OrderedDict[tuple[str, tuple[int, ...]], Ready] = field(default_factory=OrderedDict, repr=False)
    _whole: WholePacker | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.rendering = Rendering(self.prepared, self.budget)
        self._separator = self.count([self.rendering.separator])[0]
        self.token_base: IntArray = np.concatenate(
            ([0], np.cumsum([text.n for text in self.prepared.tokenized], dtype=np.int64))
        )[:-1]

    @cached_property
    def structure(self) -> StructuralUnits:
        """The corpus' sections, tables and code, read once."""
        return structural_units(self.prepared.documents, self.prepared.words.base)

    @property
    def whole(self) -> WholePacker:
        """The slow exact counter, with its own memory of rendered sizes."""
        if self._whole is None:
            self._whole = WholePacker(self.rendering)
        return self._whole

    def count(self, texts: Sequence[bytes]) -> list[int]:
        """Tokens of each text; an empty one has none."""
        return self.prepared.tokenizer.count_many(list(texts))

    def ready(self, questions: Sequence[FrozenQuestion], settings: PipelineSettings) -> Ready:
        """Make a block ready, or find it ready. Raises `SupportError` for support that is not in the corpus."""
        # By identity: comparing hundreds of questions by value would cost more than asking them. A kept block holds
        # its questions, so none of these ids can belong to another object.
        key = (settings.instructions, tuple(map(id, questions)))
        found = self._ready.get(key)
        if found is None:
            found = self._ready[key] = self._make_ready(questions, settings)
            while len(self._ready) > KEPT_BLOCKS:
                self._ready.popitem(last=False)
        self._ready.move_to_end(key)
        return found

    def _make_ready(self, questions: Sequence[FrozenQuestion], settings: PipelineSettings) -> Ready:
        block = block_of_questions(self.prepared, questions)
        heads = tuple(prompt_head(settings, question) for question in questions)
        smallest = [self.smallest_set(one) for one in block.asked]
        return Ready(
            block,
            heads,
            np.array(self.count(heads), dtype=np.int64),
            tuple(units for units, _, _ in smallest),
            np.array([size for _, size, _ in smallest], dtype=np.int64),
            np.array([index for _, _, index in smallest], dtype=np.int64),
        )

    def smallest_set(self, asked: Asked) -> tuple[tuple[Unit, ...], int, int]:
        """Units, packed tokens and index (among the readable sets) of the cheapest set; index −1 without any."""
        best: tuple[int, int, tuple[Unit, ...]] | None = None
        for index, support in enumerate(asked.sets):
            units = set_units(self.prepared, support)
            size = self.cost(units)
            if best is None or size < best[0]:
                best = (size, index, units)
        return ((), 0, -1) if best is None else (best[2], best[0], best[1])

    def cost(self, units: Sequence[Unit]) -> int:
        """Tokens of a list of units packed alone, as the plan counts them."""
        if self.budget.counting is Counting.WHOLE:
            return self.prepared.tokenizer.count(self.rendering.context(units)[0])
        documents = np.array([unit.document for unit in units], dtype=np.int64)
        labels = self.label_tokens(np.arange(1, len(units) + 1, dtype=np.int64), documents)
        return int(labels.sum()) + sum(u.token_end - u.token_start for u in units) + len(units) * self._separator

    def label_tokens(self, numbers: IntArray, documents: IntArray) -> IntArray:
        """Tokens of the labels of units with these numbers (from 1) in these documents; one shape for all three."""
        columns = np.maximum(documents, 0) if self.rendering.titled else np.zeros_like(documents)
        wide = len(self.prepared.documents) if self.rendering.titled else 1
        highest = int(numbers.max(initial=0)) + 1
        if highest > self._labels.shape[0]:
            table = np.full((max(highest, 64), wide), -1, dtype=np.int64)
            table[: self._labels.shape[0]] = self._labels.reshape(-1, wide)
            self._labels = table
        found = self._labels[numbers, columns]
        if bool(np.any(found < 0)):
            pairs = np.unique(np.stack((numbers[found < 0], columns[found < 0])), axis=1)
            texts = [self.rendering.label(doc, number) for number, doc in pairs.T.tolist()]
            self._labels[pairs[0], pairs[1]] = self.count(texts)
            found = self._labels[numbers, columns]
        return found

    def under_ceiling(self, hits: Hits, ceiling: int) -> Packed:
        """Budget view: pack each question's units, in their order, under `ceiling` tokens."""
        if self.budget.counting is Counting.WHOLE:
            return self.whole.under_ceiling(hits, ceiling)
        valid, source = hits.valid, hits.token_end - hits.token_start
        total, depth = valid.shape
        room = np.full(total, ceiling, dtype=np.int64)
        chosen = np.zeros(total, dtype=np.int64)
        took = np.zeros(valid.shape, dtype=np.bool_)
        ended = hits.count.copy()
        going = np.ones(total, dtype=np.bool_)
        cut = np.zeros(total, dtype=np.bool_)
        shorter: list[tuple[IntArray, int, IntArray, IntArray]] = []
        for place in range(depth):
            live = valid[:, place] & going
            if not bool(live.any()):
                continue
            beside = self.label_tokens(chosen + 1, hits.document[:, place]) + self._separator
            cost = beside + source[:, place]
            fits = live & (cost <= room)
            if self.budget.overflow is not Overflow.SKIP:
                over = np.flatnonzero(live & ~fits)
                going[over] = False
                ended[over] = place
                if self.budget.overflow is Overflow.TRUNCATE:
                    rows, end, token_end = self._prefixes(hits, over, place, room[over] - beside[over])
                    shorter.append((rows, place, end, token_end))
                    cut[rows] = fits[rows] = True
                    cost[rows] = beside[rows] + token_end - hits.token_start[rows, place]
            took[:, place] = fits
            room -= np.where(fits, cost, 0)
            chosen += fits
        column = left_packed(took)
        units = replace(arranged(hits, column, "packing"), into=None)
        if shorter:
            units = _shortened(units, column, shorter)
        return Packed(units, column, hits.count, ended, cut, ceiling - room)

    def _prefixes(self, hits: Hits, rows: IntArray, place: int, room: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Of the units of `rows` at `place`, those with a proper prefix that fits: rows, end byte, end token."""
        token_start, token_end = hits.token_start[rows, place], hits.token_end[rows, place]
        keep = np.minimum(token_end - token_start - 1, room)
        able = keep > 0
        rows, last = rows[able], (token_start + keep)[able]
        end = np.zeros(rows.size, dtype=np.int64)
        documents = hits.document[rows, place]
        for document in np.unique(documents).tolist():
            mine = documents == document
            end[mine] = self.prepared.tokenized[document].starts_at(last[mine])
        filled = end > hits.start[rows, place]
        return rows[filled], end[filled], last[filled]

    def first_units(self, hits: Hits, k: int) -> Packed:
        """Top-k view: the first k units of each question, whatever they cost."""
        column = left_packed(hits.valid & (np.arange(hits.document.shape[1])[None, :] < k))
        units = replace(arranged(hits, column, "packing"), into=None)
        ended = np.minimum(hits.count, k)
        nowhere = np.zeros(hits.count.size, dtype=np.bool_)
        if self.budget.counting is Counting.WHOLE:
            tokens = self.whole.sizes(units)
        else:
            numbers = np.broadcast_to(np.arange(1, units.document.shape[1] + 1), units.document.shape)
            labels = self.label_tokens(np.where(units.valid, numbers, 0), units.document)
            cost = labels + units.token_end - units.token_start + self._separator
            tokens = np.where(units.valid, cost, 0).sum(axis=1)
        return Packed(units, column, hits.count, ended, nowhere, tokens, by_count=True)


def _shortened(units: Hits, column: IntArray, shorter: Sequence[tuple[IntArray, int, IntArray, IntArray]]) -> Hits:
    end, token_end = units.end.copy(), units.token_end.copy()
    for rows, place, ends, token_ends in shorter:
        for row, byte, token in zip(rows.tolist(), ends.tolist(), token_ends.tolist(), strict=True):
            at = int(np.flatnonzero(column[row] == place)[0])
            end[row, at], token_end[row, at] = byte, token
    return replace(units, end=end, token_end=token_end)


def set_units(prepared: PreparedCorpus, support: Sequence[SupportSpan]) -> tuple[Unit, ...]:
    """The necessary spans of a set, each as a unit of its own, in corpus order."""
    units: list[Unit] = []
    ordered = sorted(
        (prepared.by_version[s.interval.version], s.interval.start, s.interval.end) for s in necessary(support)
    )
    for rank, (document, start, end) in enumerate(ordered, 1):
        text = prepared.tokenized[document]
        units.append(Unit(document, start, end, text.token_containing(start), text.first_token_from(end), rank, ()))
    return tuple(units)
