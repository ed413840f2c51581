"""Who may read what, and which version counts when; checked in retrieval and again on every expanded interval.

Rules
-----
* A version with access labels is readable by a reader who holds *all* of them; a labelled byte range additionally
  needs all labels of that range.
* A unit that shares one byte with something its reader may not read is denied *whole*: cutting the restricted bytes out
  would show the reader a text nobody wrote, and where it was cut. The denial is counted and is normal.
* A version counts on a date when it is in force on it and no version that supersedes it is in force on it.
* A version is local to a question when the primary language subtags of their locales are equal ("de-AT" and "de").
* Restricted bytes that reach a consumer (ranking shown, reranker, packer, prompt) are a leak; units of a version that
  does not count on the question's date are superseded evidence. Both are counted per stage and are vetoes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from evaluation.domain.chunks import CorpusChunks
from evaluation.domain.coverage import Target, overlaps, union
from evaluation.domain.frozen import Document, FrozenQuestion
from evaluation.domain.hits import BoolArray
from evaluation.domain.plan_words import MetadataFilter
from evaluation.domain.stage_protocols import ReaderMask
from evaluation.domain.tokens import IntArray

#: Added to the id of the question asked again by a reader without the labels.
TWIN_SUFFIX = "~uncleared"


def denied_ranges(document: Document, labels: frozenset[str]) -> list[tuple[int, int]]:
    """Bytes of `document` that a reader holding `labels` may not read; disjoint and sorted."""
    if not document.access_labels <= labels:
        return [(0, len(document.content))]
    return union((item.start, item.end) for item in document.access_ranges if not item.labels <= labels)


def superseding(documents: Sequence[Document]) -> dict[int, tuple[int, ...]]:
    """Document index → indices of the versions that supersede it.

    `supersedes` names a version by its digest, or by its version label within the same document id.
    """
    found: dict[int, list[int]] = {}
    for newer, document in enumerate(documents):
        if document.supersedes is None:
            continue
        for older, other in enumerate(documents):
            same_document = other.document_id == document.document_id and other.version_label == document.supersedes
            if older != newer and (other.digest == document.supersedes or same_document):
                found.setdefault(older, []).append(newer)
    return {older: tuple(newer) for older, newer in found.items()}


@dataclass(frozen=True)
class Access:
    """What one reader may use on one date: denied byte ranges by document (where any), and which documents count."""

    denied: Mapping[int, list[tuple[int, int]]]
    current: BoolArray

    def readable(self, document: int, start: int, end: int) -> bool:
        """Whether none of the bytes `[start, end)` is denied."""
        ranges = self.denied.get(document)
        return ranges is None or not overlaps(ranges, start, end)

    def readable_target(self, target: Target) -> bool:
        """Whether every span of a support set is readable."""
        return all(self.readable(*span) for span in target)

    def readable_on_axis(self, low: IntArray, high: IntArray, base: IntArray) -> BoolArray:
        """Whether none of the bytes `[low, high)` of the corpus axis is denied; any shape, empty intervals are free.

        Denied ranges are disjoint and sorted there, so two binary searches say how many of them an interval meets.
        """
        pairs = [(int(base[doc]) + s, int(base[doc]) + e) for doc in sorted(self.denied) for s, e in self.denied[doc]]
        if not pairs:
            return np.ones(low.shape, dtype=np.bool_)
        begins, ends = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))
        met = np.searchsorted(begins, high, side="left") - np.searchsorted(ends, low, side="right")
        free: BoolArray = (met <= 0) | (high <= low)
        return free

    def readable_chunks(self, chunks: CorpusChunks) -> BoolArray:
        """Mask over the chunks of an index: True where the whole chunk is readable."""
        return self.readable_on_axis(chunks.global_start, chunks.global_end, chunks.base)

    def current_chunks(self, chunks: CorpusChunks) -> BoolArray:
        """Mask over the chunks: True where the version counts on the date."""
        return self.current[chunks.document]


def primary_subtag(locale: str) -> str:
    """The language of a locale, lower-cased: "de" of "de-AT" and of "de_AT"."""
    return locale.replace("_", "-").partition("-")[0].lower()


def local(documents: Sequence[Document], locale: str) -> BoolArray:
    """Which documents are in the language of `locale`."""
    wanted = primary_subtag(locale)
    return np.array([primary_subtag(doc.locale) == wanted for doc in documents], dtype=np.bool_)


def reader_mask(
    rights: Access, at_home: BoolArray, chunks: CorpusChunks, filters: Sequence[MetadataFilter]
) -> ReaderMask:
    """What one kind of reader may use of an index; `at_home` says which documents are local to the question."""
    readable, current = rights.readable_chunks(chunks), rights.current_chunks(chunks)
    near = at_home[chunks.document]
    allowed = np.ones(len(chunks), dtype=np.bool_)
    for name, mask in (
        (MetadataFilter.LABELS, readable),
        (MetadataFilter.DATES, current),
        (MetadataFilter.LOCALE, near),
    ):
        if name in filters:
            allowed &= mask
    return ReaderMask(readable, current, near, allowed)


def access(documents: Sequence[Document], labels: frozenset[str], as_of: date) -> Access:
    """What a reader holding `labels` may use on `as_of`."""
    denied = {i: ranges for i, doc in enumerate(documents) if (ranges := denied_ranges(doc, labels))}
    newer = superseding(documents)
    current = [
        doc.in_force(as_of) and not any(documents[n].in_force(as_of) for n in newer.get(i, ()))
        for i, doc in enumerate(documents)
    ]
    return Access(denied, np.array(current, dtype=np.bool_))


def needs_twin(question: FrozenQuestion, documents: Mapping[str, Document]) -> bool:
    """Whether any span of the question's sets lies in a version or range that needs a label."""
    return bool(_protecting(question, documents))


def twin(question: FrozenQuestion, documents: Mapping[str, Document]) -> FrozenQuestion:
    """The same question asked by a reader without the labels that protect its support.

    Sets the twin may read stay; without any the twin is unanswerable, and answering it is a false assertion. Raises
    `ValueError` for a question that needs no twin.
    """
    protecting = _protecting(question, documents)
    if not protecting:
        raise ValueError(f"question {question.question_id} has no restricted support and needs no twin")
    labels = question.reader_labels - protecting
    sets = tuple(
        support
        for support in question.support_sets
        if not any(
            overlaps(denied_ranges(documents[s.interval.version], labels), s.interval.start, s.interval.end)
            for s in support
        )
    )
    return replace(
        question,
        question_id=question.question_id + TWIN_SUFFIX,
        reader_labels=labels,
        support_sets=sets,
        answerable=question.answerable and bool(sets),
    )


def _protecting(question: FrozenQuestion, documents: Mapping[str, Document]) -> frozenset[str]:
    labels: set[str] = set()
    for support in question.support_sets:
        for span in support:
            document = documents[span.interval.version]
            labels |= document.access_labels
            for item in document.access_ranges:
                if overlaps([(item.start, item.end)], span.interval.start, span.interval.end):
                    labels |= item.labels
    return frozenset(labels)
