"""Hand a submitted pass back to its annotator, for another round."""

from __future__ import annotations

from django.db import transaction

from annotate.domain.conflicts import Conflict
from annotate.domain.errors import BadInput
from annotate.models import Assignment
from annotate.permissions import By
from annotate.records_passes import PASS_RETURNED, record_in_study
from annotate.services.authorise import authorise


def return_pass(by: By, assignment: Assignment, reason: str) -> Assignment:
    """Open a submitted pass for further work; the submission stays, and agreement is still computed on the first one.

    Raises NotAllowed, BadInput without a reason, Conflict for a pass that is not submitted.
    """
    question = assignment.question
    authorise(by, question.study, "question.assign")
    if not reason.strip() or "\x00" in reason:
        raise BadInput("reason", "it is empty", "Say what the annotator should look at again.")
    with transaction.atomic():
        held = Assignment.objects.filter(pk=assignment.pk, state=Assignment.State.SUBMITTED)
        if not held.update(state=Assignment.State.RETURNED, note=reason):
            raise Conflict("pass", "it is not submitted", "Only a submitted pass can be returned.")
        assignment.refresh_from_db()
        record_in_study(
            PASS_RETURNED,
            {"study": question.study.slug, "question": question.key, "slot": assignment.slot, "reason": reason},
            question,
            by,
        )
    return assignment
