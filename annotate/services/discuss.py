"""Add to the discussion of a question. Nothing in it is ever changed or taken away."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Max

from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import NoteKind, Role
from annotate.domain.written import MOST, written
from annotate.models import AdjudicationItem, Assignment, DiscussionNote, Person, Question
from annotate.permissions import By, NotAllowed, person_or_none
from annotate.records_passes import DISCUSSION_NOTED, note_payload, record_in_study
from annotate.selectors.adjudication import refuse_marked
from annotate.selectors.discussion import was_returned
from annotate.services.authorise import authorise


def add_note(person: Person, item: AdjudicationItem, text: str, assignment: Assignment | None = None) -> DiscussionNote:
    """Write an adjudicator's note on an item: about one of its passes, or (None) among adjudicators.

    A pass's annotator reads what is about it once it was returned to them. Raises NotAllowed (a question one marked
    included), and BadInput for an empty or too long text and a pass of another question.
    """
    actor = authorise(person, item.question.study, "discussion.write")
    if Role.ADJUDICATOR not in actor.roles:
        raise NotAllowed("item.decide", actor)
    refuse_marked(actor, item, "discussion.write")
    if assignment is not None and assignment.question_id != item.question_id:
        raise BadInput("pass", "it is another question's", "Reload the page.")
    with transaction.atomic():
        return write_note(person, item.question, NoteKind.NOTE, text, assignment)


def reply(person: Person, assignment: Assignment, text: str) -> DiscussionNote:
    """Write an annotator's note about their own pass, which must have been returned to them once.

    Raises NotAllowed for somebody else's pass or one that never was returned, BadInput for an unusable text.
    """
    actor = authorise(person, assignment.question.study, "discussion.write")
    withdrawn = assignment.state == Assignment.State.WITHDRAWN
    if assignment.annotator_id != person.pk or withdrawn or not was_returned(assignment):
        raise NotAllowed("discussion.write", actor)
    with transaction.atomic():
        return write_note(person, assignment.question, NoteKind.NOTE, text, assignment)


def write_note(
    by: By, question: Question, kind: NoteKind, text: str, assignment: Assignment | None = None
) -> DiscussionNote:
    """Append a note and its record inside the caller's transaction; raises BadInput for an unusable text.

    A plain note that says the very same as the newest of the question, by the same person, is the second half of a
    double click: the note there is, is returned.
    """
    text = checked_text(text)
    # The lock gives two people at one moment two ordinals, in the order they come.
    held = Question.objects.select_for_update(of=("self",)).select_related("study").get(pk=question.pk)
    # A return or a re-opening stands for something that was done: done again after it was answered, it is said again.
    if kind == NoteKind.NOTE and (same := said_last(by, held, kind, text, assignment)):
        return same
    last = held.notes.aggregate(ordinal=Max("ordinal"))["ordinal"] or 0
    note = DiscussionNote.objects.create(
        question=held,
        round=held.items.aggregate(round=Max("round"))["round"] or 0,
        ordinal=last + 1,
        kind=kind,
        assignment=assignment,
        text=text,
        written_by=person_or_none(by),
    )
    record_in_study(DISCUSSION_NOTED, note_payload(note), held)
    return note


def said_last(
    by: By, question: Question, kind: NoteKind, text: str, assignment: Assignment | None = None
) -> DiscussionNote | None:
    """Return the newest note of a locked question where it says just this, by the same person; else None."""
    last = question.notes.order_by("-ordinal").first()
    if last is None or (last.kind, last.text) != (kind, text):
        return None
    author, about = person_or_none(by), assignment.pk if assignment else None
    return last if (last.written_by_id, last.assignment_id) == (author.pk if author else None, about) else None


def trimmed(text: str) -> str:
    """Return a text as it is kept: a form's line ends as one, and no blanks around it."""
    return text.replace("\r\n", "\n").strip()


def checked_text(text: str, what: str = "note") -> str:
    """Return a note's text, trimmed; raises BadInput where it is empty or cannot be kept (`written`)."""
    text = written(trimmed(text), what)
    if not text:
        raise BadInput(what, "it is empty", f"Write 1 to {MOST} characters.")
    return text
