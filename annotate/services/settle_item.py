"""Settle an item: from its decisions to one adjudicated result."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction
from django.db.models import Max

from annotate.domain.conflicts import Conflict
from annotate.domain.content import PassContent
from annotate.domain.content_codec import content_payload
from annotate.domain.errors import BadInput, BadInputs
from annotate.domain.necessity import check_alternatives, check_necessity, check_segment
from annotate.domain.pass_check import check_complete
from annotate.domain.vocabulary import Necessity, NoteKind, Segment
from annotate.models import AdjudicatedResult, AdjudicationItem, Person, SpanDecision
from annotate.records_passes import ITEM_SETTLED, record_in_study, settled_payload
from annotate.selectors.adjudication import refuse_marked, settled_content, state_of, waiting_for
from annotate.selectors.discussion import is_reopened
from annotate.services.authorise import authorise
from annotate.services.clock import refuse_early
from annotate.services.decide import locked_item, refuse_settled
from ledger.domain.canonical import canonical_bytes, digest


def settle_item(
    person: Person,
    item: AdjudicationItem,
    segment: Segment,
    necessity: Mapping[str, tuple[Necessity, str]],
    alternatives_reason: str = "",
    seen: str | None = None,
) -> AdjudicatedResult:
    """Store the settled content with its segment and, for every span of a support set, whether it is necessary and why.

    `alternatives_reason` says why a set stands beside one it holds whole. The names in `necessity` are those of
    `selectors.adjudication.settled_content`. Settling the same again returns the result there is. Only an item that was
    opened again is settled otherwise: that makes the next ordinal, and earlier results stay.

    `seen` is the `state_of` the item that was looked over; None asks for no comparison.

    Raises NotAllowed (own pass included), Conflict where the item waits, stands otherwise than `seen` or is settled
    otherwise, BadInputs: open differences, agreement not confirmed, what the content lacks, a segment that does not
    fit, a span without a word or a reason, a set that holds another without a reason.
    """
    refuse_marked(authorise(person, item.question.study, "item.decide"), item, "item.decide")
    with transaction.atomic():
        held = locked_item(item.pk)
        if waiting := waiting_for(held):
            raise Conflict("item", waiting, "Reload the page.")
        content = _content(held)
        segment = check_segment(content, segment)
        spans = check_necessity(content, necessity)
        why_both = check_alternatives(content, alternatives_reason)
        data = canonical_bytes(content_payload(content))
        last = held.results.order_by("-ordinal").first()
        if last and not is_reopened(held) and _same(last, digest(data), segment, spans, why_both):
            return last
        if seen is not None and seen != state_of(held):
            raise Conflict(
                "item",
                "it was decided, settled or opened again since the page was drawn",
                "Look over what would be settled now, and settle it then.",
            )
        refuse_settled(held)
        ordinal = (AdjudicatedResult.objects.filter(question=held.question).aggregate(n=Max("ordinal"))["n"] or 0) + 1
        result = AdjudicatedResult.objects.create(
            question=held.question,
            item=held,
            ordinal=ordinal,
            segment=segment,
            content=data,
            digest=digest(data),
            alternatives_reason=why_both,
            settled_by=person,
        )
        SpanDecision.objects.bulk_create(
            SpanDecision(result=result, span_name=name, necessity=word, reason=reason)
            for name, (word, reason) in sorted(spans.items())
        )
        # How far the decisions went, so that a verification can settle it again from the same ones.
        told = held.decisions.aggregate(n=Max("ordinal"), at=Max("decided_at"))
        opened = held.question.notes.filter(kind=NoteKind.REOPENED).aggregate(at=Max("written_at"))
        refuse_early(result.settled_at, opened["at"], "re-opening")
        refuse_early(result.settled_at, told["at"], "decision")
        record_in_study(ITEM_SETTLED, {**settled_payload(result), "decisions": told["n"]}, held.question)
    return result


def _content(item: AdjudicationItem) -> PassContent:
    problems: list[BadInput] = []
    content = PassContent()
    if not item.decisions.filter(disagreement=None).exists():
        problems.append(
            BadInput("agreement", "what both passes say alike is not confirmed", "Look it over and confirm it.")
        )
    try:
        content = settled_content(item)
        check_complete(content, "settled content")
    except BadInput as error:
        problems.append(error)
    if problems:
        raise BadInputs("item", problems)
    return content


def _same(
    result: AdjudicatedResult,
    content_digest: str,
    segment: Segment,
    spans: Mapping[str, tuple[Necessity, str]],
    alternatives_reason: str,
) -> bool:
    rows = {row.span_name: (Necessity(row.necessity), row.reason) for row in result.span_decisions.all()}
    same = (result.digest, result.segment, result.alternatives_reason) == (content_digest, segment, alternatives_reason)
    return same and rows == dict(spans)
