"""Give a task to somebody else, before anything of it was submitted."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import IntegrityError, transaction

from annotate.domain.access import may_read
from annotate.domain.conflicts import Conflict
from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import Role
from annotate.models import Assignment, Membership, Person, Question, Submission
from annotate.permissions import By
from annotate.records import record_assignments
from annotate.services.all_or_none import all_or_none
from annotate.services.authorise import authorise


def reassign_tasks(by: By, tasks: Sequence[Assignment], person: Person) -> int:
    """Give several tasks to one person, or none of them. Raises as `reassign`, naming the task."""
    return all_or_none(tasks, lambda task: reassign(by, task, person))


def reassign(by: By, assignment: Assignment, person: Person) -> Assignment:
    """Withdraw the task from whoever holds it and return the new one of `person`, in the same slot.

    What was marked stays with the withdrawn task and is shown to nobody: the new annotator begins blind. Raises
    NotAllowed; Conflict for a task of which something was submitted; BadInput for somebody who is no annotator of the
    study, lacks the labels of the question's reader, or has or had the question.
    """
    question = assignment.question
    authorise(by, question.study, "question.assign")
    rows = Membership.objects.filter(study=question.study, person=person, person__is_active=True)
    held = {label for labels in rows.values_list("clearance", flat=True) for label in labels}
    if not rows.filter(role=Role.ANNOTATOR).exists():
        raise BadInput(f"annotator {person.username}", "no active annotator of this study", "Give them the role first.")
    if not may_read(question.reader_labels, held):
        raise BadInput(
            f"annotator {person.username}",
            f"lacks a label of {question.key}'s reader",
            "Choose somebody who may read what its reader reads.",
        )
    try:
        with transaction.atomic():
            # Whoever submits locks the question too: either the submission is seen here, or the withdrawal there.
            Question.objects.select_for_update(of=("self",)).get(pk=question.pk)
            if Submission.objects.filter(work__assignment=assignment).exists():
                raise Conflict("task", "something of it has been submitted", "Return it to its annotator instead.")
            taken = Assignment.objects.filter(pk=assignment.pk).exclude(state=Assignment.State.WITHDRAWN)
            if not taken.update(state=Assignment.State.WITHDRAWN):
                raise Conflict("task", "it has been given to somebody else already", "Look again.")
            made = Assignment.objects.create(question=question, annotator=person, slot=assignment.slot)
            record_assignments(question.study, [made], by)
    except IntegrityError as error:
        raise BadInput(
            f"annotator {person.username}", f"has or had {question.key} already", "Choose somebody else."
        ) from error
    return made
