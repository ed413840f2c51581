"""Add to the discussion of a question. Nothing in it is ever changed or taken away."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction
from django.db.models import Max, QuerySet

from annotate.domain.conflicts import Conflict
from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import NoteKind, Role
from annotate.domain.written import MOST, written
from annotate.models import AdjudicationItem, Assignment, DiscussionNote, Person, Question
from annotate.permissions import By, NotAllowed, person_or_none
from annotate.records_passes import DISCUSSION_NOTED, note_payload, record_in_study
from annotate.selectors.adjudication import refuse_marked
from annotate.selectors.discussion import was_returned
from annotate.services.authorise import authorise


def add_note(
    person: Person, item: AdjudicationItem, text: str, assignment: Assignment | None = None, seen: int | None = None
) -> DiscussionNote:
    """Write an adjudicator's note on an item: about one of its passes, or (None) among adjudicators.

    A pass's annotator reads what is about it once it was returned to them. `seen` is how many contributions the
    discussion had where it was read; None asks for no comparison. Raises NotAllowed (a question one marked included),
    BadInput for an empty or too long text and a pass of another question, Conflict where the discussion went on.
    """
    actor = authorise(person, item.question.study, "discussion.write")
    if Role.ADJUDICATOR not in actor.roles:
        raise NotAllowed("item.decide", actor)
    refuse_marked(actor, item, "discussion.write")
    if assignment is not None and assignment.question_id != item.question_id:
        raise BadInput("pass", "it is another question's", "Reload the page.")
    with transaction.atomic():
        return write_note(
            person, item.question, NoteKind.NOTE, text, assignment, _Read(item.question.notes.all(), seen)
        )


def reply(person: Person, assignment: Assignment, text: str, seen: int | None = None) -> DiscussionNote:
    """Write an annotator's note about their own pass, which must have been returned to them once.

    `seen` is how many contributions about the pass they had read; None asks for no comparison. Raises NotAllowed for
    somebody else's pass or one that never was returned, BadInput for an unusable text, Conflict where more were added.
    """
    actor = authorise(person, assignment.question.study, "discussion.write")
    withdrawn = assignment.state == Assignment.State.WITHDRAWN
    if assignment.annotator_id != person.pk or withdrawn or not was_returned(assignment):
        raise NotAllowed("discussion.write", actor)
    with transaction.atomic():
        read = _Read(assignment.notes.all(), seen)
        return write_note(person, assignment.question, NoteKind.NOTE, text, assignment, read)


@dataclass(frozen=True)
class _Read:
    """The discussion somebody read before they wrote, and how much of it they had `seen`; None asks nothing."""

    notes: QuerySet[DiscussionNote]
    seen: int | None

    def refuse_unread(self) -> None:
        """Raise Conflict where more stands there than was read; call it with the question locked."""
        if self.seen is not None and self.seen != self.notes.count():
            raise Conflict(
                "note",
                "the discussion does not end where you had read it to",
                "Read it again: your note may stand there already. If not, send it with the number you read then.",
            )


def write_note(
    by: By,
    question: Question,
    kind: NoteKind,
    text: str,
    assignment: Assignment | None = None,
    read: _Read | None = None,
) -> DiscussionNote:
    """Append a note and its record inside the caller's transaction.

    Raises BadInput for an unusable text, and Conflict for a discussion that went on since it was `read`.

    A plain note that says the very same as the newest of the question, by the same person, is the second half of a
    double click: the note there is, is returned.
    """
    text = checked_text(text)
    # The lock gives two people at one moment two ordinals, in the order they come.
    held = Question.objects.select_for_update(of=("self",)).select_related("study").get(pk=question.pk)
    # A return or a re-opening stands for something that was done: done again after it was answered, it is said again.
    if kind == NoteKind.NOTE and (same := said_last(by, held, kind, text, assignment)):
        return same
    if read is not None:
        read.refuse_unread()
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
