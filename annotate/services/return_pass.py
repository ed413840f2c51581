"""Hand a submitted pass back to its annotator, for another round."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from annotate.domain.conflicts import Conflict
from annotate.domain.vocabulary import NoteKind
from annotate.models import Assignment, Question, Submission
from annotate.permissions import By
from annotate.records_passes import PASS_RETURNED, record_in_study
from annotate.selectors.adjudication import refuse_own_question
from annotate.services.all_or_none import all_or_none
from annotate.services.authorise import authorise
from annotate.services.discuss import checked_text, said_last, write_note


def return_passes(by: By, tasks: Sequence[Assignment], reason: str) -> int:
    """Return several passes for one reason, or none of them. Raises as `return_pass`, naming the task."""
    return all_or_none(tasks, lambda task: return_pass(by, task, reason))


def return_pass(by: By, assignment: Assignment, reason: str, seen: Submission | None = None) -> Assignment:
    """Open a submitted pass for further work; the submission stays, and agreement is still computed on the first one.

    Returning it for the same reason twice in a row (a double click) returns it once. Its annotator reads the reason,
    and from then on the discussion of their pass. Leads and adjudicators may, but for a question they marked
    themselves. `seen` is the submission that was looked at; None asks for no comparison.
    Raises NotAllowed, BadInput without a reason, Conflict for a pass that is not submitted, or that was submitted again
    since `seen`.
    """
    question = assignment.question
    actor = authorise(by, question.study, "pass.return")
    refuse_own_question(actor, question, "pass.return")
    reason = checked_text(reason, "reason")
    with transaction.atomic():
        # Whoever submits or decides locks the question first too.
        locked = Question.objects.select_for_update(of=("self",)).get(pk=question.pk)
        if seen is not None and seen.work.submissions.filter(ordinal__gt=seen.ordinal).exists():
            raise Conflict("pass", "it was submitted again since", "Look at what was submitted, then return that.")
        held = Assignment.objects.filter(pk=assignment.pk, state=Assignment.State.SUBMITTED)
        if not held.update(state=Assignment.State.RETURNED, note=reason):
            assignment.refresh_from_db()
            if assignment.state == Assignment.State.RETURNED and said_last(
                by, locked, NoteKind.RETURNED, reason, assignment
            ):
                return assignment
            raise Conflict("pass", "it is not submitted", "Only a submitted pass can be returned.")
        assignment.refresh_from_db()
        record_in_study(
            PASS_RETURNED,
            {"study": question.study.slug, "question": question.key, "slot": assignment.slot, "reason": reason},
            question,
            by,
        )
        write_note(by, question, NoteKind.RETURNED, reason, assignment)
    return assignment
