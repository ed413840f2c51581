"""A block of questions made ready once for every build: readers, sufficient sets and forbidden bytes as arrays.

All intervals lie on one byte axis (documents one after the other in corpus order), so that intervals of two documents
never share a point and no comparison needs the document's number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

import numpy as np

from evaluation.domain.authorise import Access, access, local, reader_mask
from evaluation.domain.chunks import CorpusChunks
from evaluation.domain.coverage import Target, targets, union
from evaluation.domain.frozen import FrozenQuestion, SupportSpan
from evaluation.domain.hits import BoolArray
from evaluation.domain.pipeline import PreparedCorpus
from evaluation.domain.plan_words import MetadataFilter
from evaluation.domain.stage_protocols import Queries
from evaluation.domain.tokens import IntArray


@dataclass(frozen=True)
class Asked:
    """A question with what its reader may use: readable sets (spans, and targets in the corpus)."""

    question: FrozenQuestion
    access: Access
    sets: tuple[tuple[SupportSpan, ...], ...]
    targets: tuple[Target, ...]


@dataclass
class Readers:
    """Access of each (labels, date), worked out once."""

    prepared: PreparedCorpus
    _known: dict[tuple[frozenset[str], date], Access] = field(default_factory=dict)

    def access(self, question: FrozenQuestion) -> Access:
        """What the question's reader may use on its date."""
        key = (question.reader_labels, question.as_of)
        if key not in self._known:
            self._known[key] = access(self.prepared.documents, *key)
        return self._known[key]

    def asked(self, question: FrozenQuestion) -> Asked:
        """The question with its readable sets. Raises `SupportError` for a set outside the corpus or without need."""
        rights = self.access(question)
        all_targets = targets(question, self.prepared.by_version)
        kept = [i for i, target in enumerate(all_targets) if rights.readable_target(target)]
        return Asked(
            question, rights, tuple(question.support_sets[i] for i in kept), tuple(all_targets[i] for i in kept)
        )


@dataclass(frozen=True)
class Intervals:
    """Intervals `[low, high)` of the corpus axis with the question (and, in sets, the set) each belongs to."""

    question: IntArray
    owner: IntArray
    low: IntArray
    high: IntArray

    def __len__(self) -> int:
        return int(self.low.size)

    @property
    def size(self) -> IntArray:
        """Bytes of each."""
        return self.high - self.low


@dataclass(frozen=True)
class SupportArrays:
    """The readable sufficient sets of a block, sorted by question.

    `spans` are the necessary spans, `pieces` the same bytes with overlapping spans of one set joined, both by set;
    `first_span` and `first_piece` say where each set begins. `hull_low`, `hull_high` enclose a set. `anywhere` joins
    all sets of a question. `with_sets` lists the questions that have any, `first_set` where their sets begin.
    """

    spans: Intervals
    first_span: IntArray
    pieces: Intervals
    first_piece: IntArray
    set_question: IntArray
    hull_low: IntArray
    hull_high: IntArray
    with_sets: IntArray
    first_set: IntArray
    anywhere: Intervals


@dataclass(frozen=True)
class Block:
    """Questions ready to be asked of any index of one corpus.

    `group[q]` is the kind of reader of question q: `rights[group]` and `locales[group]`; `current` has shape
    (groups, documents). `base` places documents on the axis, `forbidden` are bytes marked as forbidden evidence.
    """

    asked: tuple[Asked, ...]
    base: IntArray
    group: IntArray
    rights: tuple[Access, ...]
    locales: tuple[str, ...]
    current: BoolArray
    support: SupportArrays
    forbidden: Intervals

    def __len__(self) -> int:
        return len(self.asked)

    @property
    def question_ids(self) -> tuple[str, ...]:
        """Ids in the order of the block."""
        return tuple(one.question.question_id for one in self.asked)

    def queries(self, prepared: PreparedCorpus, chunks: CorpusChunks, filters: Sequence[MetadataFilter]) -> Queries:
        """The block as a retriever sees it, with one mask per kind of reader."""
        questions = [one.question for one in self.asked]
        return Queries(
            texts=tuple(one.text for one in questions),
            group=self.group,
            masks=tuple(
                reader_mask(rights, local(prepared.documents, locale), chunks, filters)
                for rights, locale in zip(self.rights, self.locales, strict=True)
            ),
            labels=tuple(tuple(sorted(one.reader_labels)) for one in questions),
            as_of=tuple(one.as_of.isoformat() for one in questions),
            locale=tuple(one.locale for one in questions),
            question_ids=tuple(one.question_id for one in questions),
        )


def block_of_questions(prepared: PreparedCorpus, questions: Iterable[FrozenQuestion]) -> Block:
    """Make questions ready. Raises `SupportError` for a question whose support is not in the corpus."""
    readers = Readers(prepared)
    asked = tuple(readers.asked(question) for question in questions)
    base = prepared.words.base
    groups: dict[tuple[frozenset[str], date, str], int] = {}
    group = [
        groups.setdefault((one.question.reader_labels, one.question.as_of, one.question.locale), len(groups))
        for one in asked
    ]
    firsts = [group.index(number) for number in range(len(groups))]
    rights = tuple(asked[place].access for place in firsts)
    return Block(
        asked,
        base,
        np.array(group, dtype=np.int64),
        rights,
        tuple(asked[place].question.locale for place in firsts),
        np.array([one.current for one in rights], dtype=np.bool_).reshape(len(rights), len(prepared.documents)),
        _support(asked, base),
        _forbidden(asked, prepared.by_version, base),
    )


def _support(asked: Sequence[Asked], base: IntArray) -> SupportArrays:
    spans: list[tuple[int, int, int, int]] = []
    pieces: list[tuple[int, int, int, int]] = []
    anywhere: list[tuple[int, int, int, int]] = []
    first_span: list[int] = []
    first_piece: list[int] = []
    set_question: list[int] = []
    for q, one in enumerate(asked):
        every: list[tuple[int, int]] = []
        for target in one.targets:
            number = len(set_question)
            set_question.append(q)
            first_span.append(len(spans))
            first_piece.append(len(pieces))
            placed = [(int(base[doc]) + start, int(base[doc]) + end) for doc, start, end in target]
            spans += [(q, number, low, high) for low, high in placed]
            pieces += [(q, number, low, high) for low, high in union(placed)]
            every += placed
        anywhere += [(q, q, low, high) for low, high in union(every)]
    span_table = _intervals(spans)
    sets = np.array(set_question, dtype=np.int64)
    with_sets, first_set = np.unique(sets, return_index=True)
    starts = np.array(first_span, dtype=np.int64)
    return SupportArrays(
        spans=span_table,
        first_span=starts,
        pieces=_intervals(pieces) if pieces != spans else span_table,
        first_piece=np.array(first_piece, dtype=np.int64),
        set_question=sets,
        hull_low=np.minimum.reduceat(span_table.low, starts) if sets.size else sets,
        hull_high=np.maximum.reduceat(span_table.high, starts) if sets.size else sets,
        with_sets=with_sets.astype(np.int64),
        first_set=first_set.astype(np.int64),
        anywhere=_intervals(anywhere),
    )


def _forbidden(asked: Sequence[Asked], by_version: Mapping[str, int], base: IntArray) -> Intervals:
    """Forbidden intervals of versions the corpus has; another version's text cannot be shown anyway."""
    rows = []
    for q, one in enumerate(asked):
        for number, bad in enumerate(one.question.forbidden):
            document = by_version.get(bad.version)
            if document is not None:
                rows.append((q, number, int(base[document]) + bad.start, int(base[document]) + bad.end))
    return _intervals(rows)


def _intervals(rows: Sequence[tuple[int, int, int, int]]) -> Intervals:
    columns = np.array(rows, dtype=np.int64).reshape(-1, 4)
    return Intervals(columns[:, 0], columns[:, 1], columns[:, 2], columns[:, 3])
