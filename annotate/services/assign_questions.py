"""Give questions to annotators, two different people each."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import IntegrityError, transaction

from annotate.domain.access import may_read
from annotate.domain.distribution import SLOTS, OpenQuestion, distribute
from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import Role
from annotate.models import Assignment, Membership, Person, Question, Study
from annotate.permissions import By
from annotate.records import record_assignments
from annotate.services.authorise import authorise


def assign_questions(
    by: By, study: Study, annotators: Sequence[Person], questions: Sequence[Question] | None = None
) -> list[Assignment]:
    """Fill the free slots of `questions` (None: all of the study's) from `annotators`, evenly; return the new ones.

    Slots that are taken stay taken, so a second run only fills gaps. An annotator gets only questions whose reader
    labels they hold, since they must be able to read what the question's reader reads. Raises NotAllowed; BadInput for
    fewer than two annotators, a person without the role, a question of another study, one for which too few people
    hold the labels, and a slot that somebody else filled meanwhile. Nothing is written then.
    """
    authorise(by, study, "question.assign")
    people = {person.username: person for person in annotators}
    clearances = _clearances(study, people)
    try:
        with transaction.atomic():
            Study.objects.select_for_update().get(pk=study.pk)
            wanted = _wanted(study, questions)
            held, load, gave_up = _held(study, people)
            open_questions = [
                OpenQuestion(
                    key=key,
                    held=held.get(key, {}),
                    eligible=frozenset(
                        name
                        for name, clearance in clearances.items()
                        if may_read(question.reader_labels, clearance) and (key, name) not in gave_up
                    ),
                )
                for key, question in wanted.items()
                if len(held.get(key, {})) < len(SLOTS)
            ]
            taken, short = distribute(open_questions, load)
            if short:
                raise BadInput(
                    f"questions {', '.join(short[:10])}{', …' if len(short) > 10 else ''}",
                    "fewer than two of these annotators hold the labels of the question's reader",
                    "Add an annotator with the clearance, or give it to one of them.",
                )
            made = Assignment.objects.bulk_create(
                [
                    Assignment(question=wanted[key], annotator=people[name], slot=slot)
                    for (key, slot), name in sorted(taken.items())
                ]
            )
            if made:
                record_assignments(study, made, by)
            return made
    except IntegrityError as error:
        raise BadInput(
            f"study {study.slug}", "somebody else assigned the same question meanwhile", "Look again and repeat."
        ) from error


def _clearances(study: Study, people: dict[str, Person]) -> dict[str, set[str]]:
    """Return every annotator's labels in the study; raises BadInput for fewer than two or somebody without the role."""
    rows = Membership.objects.filter(study=study, person__in=people.values(), person__is_active=True).values_list(
        "person__username", "role", "clearance"
    )
    clearances: dict[str, set[str]] = {}
    annotating = set()
    for name, role, labels in rows:
        clearances.setdefault(name, set()).update(labels)
        if role == Role.ANNOTATOR:
            annotating.add(name)
    strangers = sorted(set(people) - annotating)
    if strangers:
        raise BadInput(
            f"annotator {', '.join(strangers)}", "no active annotator of this study", "Give them the role first."
        )
    if len(people) < len(SLOTS):
        raise BadInput(
            "annotators", f"{len(people)} given, every question needs two different people", "Name at least two."
        )
    return clearances


def _wanted(study: Study, questions: Sequence[Question] | None) -> dict[str, Question]:
    if questions is None:
        return {question.key: question for question in Question.objects.filter(study=study)}
    foreign = sorted(question.key for question in questions if question.study_id != study.pk)
    if foreign:
        raise BadInput(f"question {', '.join(foreign)}", f"not of study {study.slug}", "Assign it in its own study.")
    return {question.key: question for question in questions}


def _held(
    study: Study, people: dict[str, Person]
) -> tuple[dict[str, dict[int, str]], dict[str, int], set[tuple[str, str]]]:
    """Return who holds which slot, how many each of `people` holds, and who had which question taken from them."""
    held: dict[str, dict[int, str]] = {}
    load = dict.fromkeys(people, 0)
    gave_up: set[tuple[str, str]] = set()
    rows = Assignment.objects.filter(question__study=study)
    for key, slot, name, state in rows.values_list("question__key", "slot", "annotator__username", "state"):
        if state == Assignment.State.WITHDRAWN:
            gave_up.add((key, name))
            continue
        held.setdefault(key, {})[slot] = name
        if name in load:
            load[name] += 1
    return held, load, gave_up
