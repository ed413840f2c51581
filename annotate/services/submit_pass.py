"""Submit a pass, once."""

from __future__ import annotations

from django.db import transaction

from annotate.domain.conflicts import AlreadySubmitted, Conflict, StaleRevision
from annotate.domain.content_codec import content_payload
from annotate.domain.errors import BadInput
from annotate.domain.pass_check import check_complete
from annotate.models import Assignment, Pass, Person, Question, Submission
from annotate.records_passes import PASS_SUBMITTED, record_in_study, submission_payload
from annotate.selectors.passes import pass_content
from annotate.services.open_item import open_item_if_both_in
from annotate.services.pass_writing import refuse_closed, require_own
from ledger.domain.canonical import canonical_bytes, digest

MAX_KEY = 64


def submit_pass(person: Person, assignment: Assignment, revision: int, idempotency_key: str) -> Submission:
    """Seal the pass as it stands at `revision` and return the submission; with both passes in, store the differences.

    The same key again returns the same submission. Raises NotAllowed, AlreadySubmitted for another key after the
    submission, Conflict for a key of another pass, StaleRevision where the pass has moved on, BadInputs naming
    everything that is missing. Nothing is written then.
    """
    require_own(person, assignment, "pass.submit")
    if not idempotency_key.strip() or len(idempotency_key) > MAX_KEY or not idempotency_key.isprintable():
        raise BadInput("idempotency key", "it is empty or too long", f"Send 1 to {MAX_KEY} printable characters.")
    with transaction.atomic():
        # Both annotators may submit at one moment: whoever comes second must see the first one's submission.
        question = (
            Question.objects.select_for_update(of=("self",)).select_related("study").get(pk=assignment.question_id)
        )
        again = Submission.objects.filter(idempotency_key=idempotency_key).select_related("work").first()
        if again is not None:
            return _repeated(again, person, assignment)
        work = Pass.objects.filter(assignment=assignment).select_related("assignment").first()
        if work is None:
            raise BadInput("pass", "nothing has been saved yet", "Answer the question and save, then submit.")
        work.assignment.question = question
        if (fresh := Assignment.objects.get(pk=assignment.pk)).paused or fresh.state == Assignment.State.WITHDRAWN:
            refuse_closed(work)
        taken = Assignment.objects.filter(pk=assignment.pk).exclude(state=Assignment.State.SUBMITTED)
        if not taken.update(state=Assignment.State.SUBMITTED):
            raise AlreadySubmitted(what="it has been submitted before, with another key")
        if not Pass.objects.filter(pk=work.pk, revision=revision).update(revision=revision):
            work.refresh_from_db()
            raise StaleRevision(
                work.revision, pass_content(work), pass_content(work, revision), expected_revision=revision
            )
        work.revision = revision
        content = pass_content(work)
        check_complete(content)
        data = canonical_bytes(content_payload(content))
        submission = Submission.objects.create(
            work=work,
            ordinal=work.submissions.count() + 1,
            revision=revision,
            content=data,
            digest=digest(data),
            idempotency_key=idempotency_key,
            guideline_id=work.guideline_id,
            submitted_by=person,
        )
        assignment.state = Assignment.State.SUBMITTED
        record_in_study(PASS_SUBMITTED, submission_payload(submission), question)
        open_item_if_both_in(question)
    return submission


def _repeated(again: Submission, person: Person, assignment: Assignment) -> Submission:
    if again.work.assignment_id == assignment.pk and again.submitted_by_id == person.pk:
        return again
    raise Conflict("idempotency key", "it was used for another pass", "Reload the page, which makes a new key.")
