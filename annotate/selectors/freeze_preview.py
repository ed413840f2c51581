"""What a freeze would hold, before it is made: questions by partition, segment and sample, and document clusters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from annotate.domain.partition import document_clusters
from annotate.domain.vocabulary import Partition, Sample, Segment
from annotate.models import Question, Study
from annotate.permissions import By
from annotate.selectors import sources
from annotate.selectors.fixtures import Settled, Survey


@dataclass(frozen=True)
class PreviewLine:
    """So many settled questions of one partition, segment and sample."""

    partition: Partition
    segment: Segment
    sample: Sample
    questions: int


@dataclass(frozen=True)
class FreezeRow:
    """One question on the page that freezes: what it would be frozen as, and what blocks it alone (empty: nothing).

    `cluster` is empty for whoever may not know of its document, and where the question has no support and declares no
    nearest document; the freeze finds one then.
    """

    question: Question
    segment: str
    cluster: str
    blocks: tuple[str, ...]


def freeze_preview(found: Survey) -> list[PreviewLine]:
    """Return how many questions would be frozen, by partition, segment and sample."""
    counts = Counter(
        (Partition(one.question.partition), Segment(one.result.segment), Sample(one.question.sample))
        for one in found.settled
    )
    return [PreviewLine(*place, n) for place, n in sorted(counts.items())]


@dataclass(frozen=True)
class PreviewRow:
    """One segment of the preview: its questions under each of `PreviewTable.columns`, and their sum."""

    segment: Segment
    counts: tuple[int, ...]
    total: int


@dataclass(frozen=True)
class PreviewTable:
    """The lines of `freeze_preview` as a table: a row a segment, a column for each partition and sample there is."""

    columns: tuple[tuple[Partition, Sample], ...]
    rows: tuple[PreviewRow, ...]
    sums: tuple[int, ...]
    total: int


def preview_table(lines: Sequence[PreviewLine]) -> PreviewTable:
    """Return `lines` by segment, in the order of `Segment`; what occurs in no line has neither row nor column."""
    columns = tuple(sorted({(line.partition, line.sample) for line in lines}))
    counts = {(line.segment, (line.partition, line.sample)): line.questions for line in lines}
    rows = []
    for segment in Segment:
        of = tuple(counts.get((segment, column), 0) for column in columns)
        if any(of):
            rows.append(PreviewRow(segment, of, sum(of)))
    sums = tuple(sum(row.counts[at] for row in rows) for at in range(len(columns)))
    return PreviewTable(columns, tuple(rows), sums, sum(sums))


def cluster_count(found: Survey) -> int:
    """Return the number of document clusters of the settled questions, as far as they are known before the freeze."""
    return len({cluster for cluster in _clusters(found).values() if cluster})


def freeze_rows(found: Survey, by: By, study: Study) -> list[FreezeRow]:
    """Return a row for each question that was asked for, by key.

    A document all of whose versions are kept from `by` has no name for them: the cluster it names is empty.
    """
    visible = set(sources.visible_to(by).filter(study=study).values_list("document_id", flat=True))
    segments = {one.question.key: one.result.segment for one in found.settled}
    clusters = _clusters(found)
    return [
        FreezeRow(
            question,
            segments.get(question.key, question.segment),
            cluster if (cluster := clusters.get(question.key, "")) in visible else "",
            tuple(
                f"{_short(block.where, question.key)}{block.what}. {block.mend}"
                for block in found.own_blocks.get(question.key, ())
            ),
        )
        for question in found.questions
    ]


def _short(where: str, key: str) -> str:
    rest = where.removeprefix(f"question {key}").lstrip(", ")
    return f"{rest}: " if rest else ""


def _clusters(found: Survey) -> dict[str, str]:
    documents = {one.question.key: _documents(found, one) for one in found.settled}
    component = document_clusters(documents)
    return {key: component[names[0]] if names else "" for key, names in documents.items()}


def _documents(found: Survey, one: Settled) -> list[str]:
    declared = one.question.cluster_document
    return found.documents(one.content) or ([declared] if declared else [])
