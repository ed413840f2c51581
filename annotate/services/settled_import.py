"""Store content that comes settled with an import: no passes, no item, `settled_by` nobody but the importer."""

from __future__ import annotations

from annotate.domain.content import PassContent
from annotate.domain.content_codec import content_payload
from annotate.domain.vocabulary import Segment
from annotate.models import AdjudicatedResult, Question
from annotate.permissions import By, person_or_none
from annotate.records import record_result
from ledger.domain.canonical import canonical_bytes, digest


def settle_imported(
    by: By, question: Question, content: PassContent, segment: Segment
) -> tuple[AdjudicatedResult, bool]:
    """Store `content` as the question's settled result and record it; return it and whether it is new.

    The same content as the newest result again changes nothing. Call it inside the import's transaction.
    """
    data = canonical_bytes(content_payload(content))
    newest = question.results.order_by("-ordinal").first()
    if newest and newest.digest == digest(data) and newest.segment == segment:
        return newest, False
    result = AdjudicatedResult.objects.create(
        question=question,
        ordinal=newest.ordinal + 1 if newest else 1,
        segment=segment,
        content=data,
        digest=digest(data),
        settled_by=person_or_none(by),
    )
    record_result(result, by)
    return result, True
