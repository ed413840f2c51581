"""What a freeze would hold, before it is made: questions by partition, segment and sample, and document clusters."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from annotate.domain.partition import document_clusters
from annotate.domain.vocabulary import Partition, Sample, Segment
from annotate.models import Question
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

    `cluster` is empty where the question has no support and declares no nearest document; the freeze finds one then.
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


def cluster_count(found: Survey) -> int:
    """Return the number of document clusters of the settled questions, as far as they are known before the freeze."""
    return len({cluster for cluster in _clusters(found).values() if cluster})


def freeze_rows(found: Survey) -> list[FreezeRow]:
    """Return a row for each question that was asked for, by key."""
    segments = {one.question.key: one.result.segment for one in found.settled}
    clusters = _clusters(found)
    return [
        FreezeRow(
            question,
            segments.get(question.key, question.segment),
            clusters.get(question.key, ""),
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
