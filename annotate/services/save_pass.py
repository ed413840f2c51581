"""Save a whole pass, made from a known revision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db import transaction

from annotate.domain.content import AnswerContract, PassContent
from annotate.domain.content_codec import contract_from_payload, contract_payload
from annotate.domain.errors import BadInput, shown
from annotate.domain.vocabulary import SpanLabel
from annotate.models import Assignment, ContractRevision, Mark, Pass, Person, SupportSetRevision
from annotate.selectors.passes import pass_content
from annotate.services import pass_writing as writing


def save_pass(
    person: Person,
    assignment: Assignment,
    expected_revision: int,
    content: PassContent,
    quotes: Mapping[str, str] | None = None,
) -> Pass:
    """Make `content` the pass's content and return the pass at its new revision.

    Only rows that differ are retired and made, so the content of every earlier revision stays readable; a save that
    changes nothing makes no revision. Every new or changed span is re-sliced from the stored bytes; `quotes` (span name
    → text) are compared with them where sent.

    Raises NotAllowed, AlreadySubmitted, StaleRevision (after keeping the refused content as a row), or BadInput; the
    pass has not been changed then.
    """
    actor = writing.require_own(person, assignment, "pass.edit")
    writing.check_draft(content)
    contract_from_payload(contract_payload(content.contract))
    with transaction.atomic():
        work = writing.pass_of(assignment)
        before = pass_content(work)
        had, have = _marks(before), _marks(content)
        changed = [span for span in content.spans if had.get(span.name) != have[span.name]]
        gone = [name for name, mark in had.items() if have.get(name) != mark]
        if unknown := sorted(set(quotes or {}) - have.keys()):
            raise BadInput(f"quote “{shown(unknown[0])}”", "there is no span of this name", "Send quotes of its spans.")
        quoted = [span for span in content.spans if span.name in (quotes or {}) and span not in changed]
        versions = writing.check_spans(actor, assignment.question.study, [*changed, *quoted], quotes)
        same = not changed and not gone and before.sets == content.sets and before.contract == content.contract
        if same and work.revision == expected_revision:
            writing.refuse_closed(work)
            return work
        moved = writing.claim(work, expected_revision)
        if moved:
            rows = work.marks.filter(retired_revision=None, name__in=gone)
            rows.update(retired_revision=work.revision)
            Mark.objects.bulk_create(
                writing.mark_row(work, span, versions[span.version], span.name in content.forbidden) for span in changed
            )
            replace_sets(work, before.sets, content.sets)
            if before.contract != content.contract:
                replace_contract(work, content.contract)
    if not moved:
        raise writing.refuse_stale(person, work, expected_revision, content)
    return work


def replace_sets(work: Pass, before: Sequence[Sequence[str]], after: Sequence[Sequence[str]]) -> None:
    """Retire and make set rows where the set at a position differs, at the pass's current revision."""
    positions = [
        index
        for index in range(max(len(before), len(after)))
        if list(before[index : index + 1]) != list(after[index : index + 1])
    ]
    work.support_sets.filter(retired_revision=None, position__in=positions).update(retired_revision=work.revision)
    SupportSetRevision.objects.bulk_create(
        SupportSetRevision(work=work, position=index, members=list(after[index]), created_revision=work.revision)
        for index in positions
        if index < len(after)
    )


def replace_contract(work: Pass, contract: AnswerContract) -> None:
    """Retire the contract row in force and make the new one, at the pass's current revision."""
    work.contracts.filter(retired_revision=None).update(retired_revision=work.revision)
    ContractRevision.objects.create(work=work, created_revision=work.revision, **contract_payload(contract))


def _marks(content: PassContent) -> dict[str, tuple[tuple[str, int, int], SpanLabel, bool]]:
    forbidden = frozenset(content.forbidden)
    return {span.name: (span.bytes_key, span.label, span.name in forbidden) for span in content.spans}
