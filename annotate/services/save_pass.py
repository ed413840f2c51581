"""Save a whole pass, made from a known revision."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction

from annotate.domain.content import PassContent
from annotate.domain.content_codec import contract_from_payload, contract_payload
from annotate.domain.errors import BadInput, shown
from annotate.models import Assignment, Pass, Person
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
        had, have = writing.marks_of(before), writing.marks_of(content)
        changed = [span for span in content.spans if had.get(span.name) != have[span.name]]
        if unknown := sorted(set(quotes or {}) - have.keys()):
            raise BadInput(f"quote “{shown(unknown[0])}”", "there is no span of this name", "Send quotes of its spans.")
        quoted = [span for span in content.spans if span.name in (quotes or {}) and span not in changed]
        versions = writing.check_spans(actor, assignment.question.study, [*changed, *quoted], quotes)
        same = had == have and before.sets == content.sets and before.contract == content.contract
        if same and work.revision == expected_revision:
            writing.refuse_closed(work)
            return work
        moved = writing.claim(work, expected_revision)
        if moved:
            of_spans = {span.name: versions[span.version] for span in changed}
            writing.write_changes(work.pk, work.revision, before, content, of_spans)
    if not moved:
        raise writing.refuse_stale(person, work, expected_revision, content)
    return work
