"""What stands in the way of freezing one settled content, in words that name no text kept from who asks."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import replace

from annotate.domain.access import LabelledRange, hidden_ranges, touches_hidden
from annotate.domain.content import MarkedSpan, PassContent
from annotate.domain.errors import BadInput
from annotate.domain.pass_check import problems
from annotate.domain.spans import ByteSpan
from annotate.domain.staleness import VersionDates, stale_reason
from annotate.domain.vocabulary import Segment, StudyKind
from annotate.models import AdjudicatedResult, Question, SourceVersion, Study
from annotate.selectors.succession import version_dates
from ledger.domain.canonical import digest

#: What a text is called whose labels the person who asks does not hold.
_KEPT = "a text kept from you"


def content_blocks(
    study: Study,
    question: Question,
    result: AdjudicatedResult,
    content: PassContent,
    versions: Sequence[SourceVersion],
    seen: Container[int],
) -> Iterable[BadInput]:
    """Yield what a settled content lacks and what is wrong with its evidence. No query.

    `content` is that of `result`; `versions` are the study's, `seen` the keys of those that may be named.
    """
    full = study.kind == StudyKind.FULL
    yield from problems(content, contract_needed=full)
    if digest(bytes(result.content)) != result.digest:
        yield BadInput("result", "its bytes do not have its digest", "Run manage.py verify_ledger.")
    if full and result.segment == Segment.UNCLASSIFIED:
        yield BadInput("segment", "it is unclassified", "Settle it with one of the six segments.")
    dates = [
        dated if version.pk in seen else replace(dated, title=_KEPT)
        for version in versions
        for dated in [version_dates(version)]
    ]
    needed = {name for members in content.sets for name in members}
    for span in content.spans:
        if span.name in needed:
            having = [version for version in versions if version.sha256 == span.version]
            yield from _span_blocks(question, span, having, dates, seen)


def _span_blocks(
    question: Question,
    span: MarkedSpan,
    versions: Sequence[SourceVersion],
    dates: Sequence[VersionDates],
    seen: Container[int],
) -> Iterable[BadInput]:
    """Yield what is wrong with a span; where several documents have its bytes, one of them in order is enough.

    `seen` are the keys of the versions that may be named.
    """
    where = f"span “{span.name}”"
    if not versions:
        yield BadInput(where, f"the study has no version {span.version[:12]}…", "Import the source again.")
        return
    # Of equal bytes, one that may be named speaks for all.
    versions = sorted(versions, key=lambda version: version.pk not in seen)
    reasons = [stale_reason(version.pk, dates, question.as_of) for version in versions]
    if all(reasons):
        yield BadInput(
            where, f"it is stale: {reasons[0]}", "Mark it in the version in force, or correct the question's date."
        )
    if not any(_readable(version, span, question.reader_labels) for version in versions):
        title = versions[0].source.title if versions[0].pk in seen else _KEPT
        yield BadInput(
            where,
            f"the question's reader may not read it in “{title}”",
            "Give the reader the label, or call the question not answerable for them.",
        )


def _readable(version: SourceVersion, span: MarkedSpan, labels: Sequence[str]) -> bool:
    ranges = [LabelledRange(start, end, frozenset(held)) for start, end, held in version.access_ranges]
    hidden = hidden_ranges(version.access_labels, ranges, labels, version.byte_length)
    return not touches_hidden(ByteSpan(span.start, span.end), hidden)
