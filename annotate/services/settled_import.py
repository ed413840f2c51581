"""Store content that comes settled with an import: no passes, no item, `settled_by` nobody but the importer."""

from __future__ import annotations

from collections.abc import Mapping

from annotate.domain.content import PassContent
from annotate.domain.content_codec import content_payload
from annotate.domain.vocabulary import Necessity, Segment
from annotate.models import AdjudicatedResult, Question, SpanDecision
from annotate.permissions import By, person_or_none
from annotate.records import record_result
from ledger.domain.canonical import canonical_bytes, digest

#: Stands where a reason would: the judgement came with the archive, its reason stayed where it was made.
IMPORTED = "as it came with an import"


def settle_imported(
    by: By,
    question: Question,
    content: PassContent,
    segment: Segment,
    necessity: Mapping[str, Necessity] | None = None,
) -> tuple[AdjudicatedResult, bool]:
    """Store `content` as the question's settled result and record it; return it and whether it is new.

    `necessity` is what was judged elsewhere of the spans, by name; a span nobody judged counts as necessary. The same
    content as the newest result again changes nothing. Call it inside the import's transaction.
    """
    judged = dict(necessity or {})
    data = canonical_bytes(content_payload(content))
    newest = question.results.order_by("-ordinal").first()
    if newest and newest.digest == digest(data) and newest.segment == segment and _judged(newest) == judged:
        return newest, False
    result = AdjudicatedResult.objects.create(
        question=question,
        ordinal=newest.ordinal + 1 if newest else 1,
        segment=segment,
        content=data,
        digest=digest(data),
        settled_by=person_or_none(by),
    )
    SpanDecision.objects.bulk_create(
        SpanDecision(result=result, span_name=name, necessity=word, reason=IMPORTED)
        for name, word in sorted(judged.items())
    )
    record_result(result)
    return result, True


def _judged(result: AdjudicatedResult) -> dict[str, Necessity]:
    return {row.span_name: Necessity(row.necessity) for row in result.span_decisions.all()}
