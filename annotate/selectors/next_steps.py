"""What a person does next in each of their studies: one step a study, whatever their role, in the order of the work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from django.db.models import Count, Exists, Model, OuterRef, Q, QuerySet
from django.urls import reverse

from annotate.domain.vocabulary import Role
from annotate.models import (
    AdjudicatedResult,
    Assignment,
    FixtureSet,
    Membership,
    Person,
    Question,
    SourceVersion,
    Study,
)
from annotate.permissions import Actor, actors_for, allows
from annotate.selectors.adjudication import unsettled_items
from annotate.selectors.passes import open_assignments_of


@dataclass(frozen=True)
class NextStep:
    """`text` is the verb on the button, `detail` what it is about, with its number, `url` where it is done.

    `looks_on` says that others are at work or all is done: there is something to read, and nothing that waits.
    """

    text: str
    detail: str
    url: str
    looks_on: bool = False


type Asked = Mapping[Study, Actor]
"""The studies a step is looked for in, with what the person is in each."""

type Finder = Callable[[Person, Asked], dict[int, NextStep]]
"""Returns a step by the study's key where there is one, in a number of queries that no number of studies raises."""

_FURTHER: list[Finder] = []


def register_next(finder: Finder) -> None:
    """Add steps of an upper app: they come after everything up to the freeze."""
    _FURTHER.append(finder)


def next_steps(person: Person, studies: Iterable[Study]) -> dict[int, NextStep]:
    """Return the next step of `person` by study; an archived study, and one where nothing is to do, has none.

    At most twelve queries and those of the upper apps, however many studies.
    """
    current = [study for study in studies if study.archived_at is None]
    actors = actors_for(person, current)
    found: dict[int, NextStep] = {}
    for finder in (_tasks, _items, _before_freeze, *_FURTHER, _progress):
        left = {study: actors[study.pk] for study in current if study.pk not in found}
        if left:
            found |= finder(person, left)
    return found


def may(asked: Asked, action: str) -> list[Study]:
    """Return the studies of `asked` in which the person may do `action`."""
    return [study for study, actor in asked.items() if allows(actor, action)]


def counted[M: Model](rows: QuerySet[M], study: str) -> dict[int, int]:
    """Return how many of `rows` each study has, by the lookup `study` that leads to its key. One query."""
    return dict(rows.order_by().values_list(study).annotate(n=Count("pk", distinct=True)))


def _tasks(person: Person, asked: Asked) -> dict[int, NextStep]:
    wanted = may(asked, "pass.edit")
    rows: dict[int, list[int]] = {}
    mine = open_assignments_of(person).filter(question__study__in=wanted) if wanted else ()
    for task in mine:
        rows.setdefault(task.question.study_id, []).append(task.pk)
    return {
        study: NextStep("Next task", f"{_number(len(tasks), 'task')} to do", reverse("workspace", args=[tasks[0]]))
        for study, tasks in rows.items()
    }


def _items(person: Person, asked: Asked) -> dict[int, NextStep]:
    wanted = may(asked, "item.view")
    if not wanted:
        return {}
    waits = Assignment.objects.filter(
        question=OuterRef("question_id"), state__in=(Assignment.State.OPEN, Assignment.State.RETURNED)
    )
    ready = unsettled_items(person).filter(~Exists(waits), question__study__in=wanted)
    by_study: dict[int, int] = {}
    for study in ready.values_list("question__study_id", flat=True):
        by_study[study] = by_study.get(study, 0) + 1
    return {
        study.pk: NextStep(
            "Adjudicate", f"{_number(by_study[study.pk], 'item')} to settle", reverse("adjudication", args=[study.slug])
        )
        for study in wanted
        if study.pk in by_study
    }


def _before_freeze(_person: Person, asked: Asked) -> dict[int, NextStep]:
    """The lead's way to the first fixture set; a study that has one goes on with what the upper apps say."""
    wanted = may(asked, "fixture.freeze")
    if not wanted:
        return {}
    frozen = counted(FixtureSet.objects.filter(study__in=wanted), "study_id")
    wanted = [study for study in wanted if study.pk not in frozen]
    versions = counted(SourceVersion.objects.filter(source__study__in=wanted), "source__study_id")
    questions = Question.objects.filter(study__in=wanted)
    total = counted(questions, "study_id")
    unsettled = counted(questions.filter(~_settled()), "study_id")
    unassigned = counted(questions.filter(~_settled(), ~_assigned()), "study_id")
    annotators = counted(Membership.objects.filter(study__in=wanted, role=Role.ANNOTATOR), "study_id")
    steps: dict[int, NextStep] = {}
    for study in wanted:
        slug, pairless = study.slug, unassigned.get(study.pk, 0)
        if not versions.get(study.pk):
            step = NextStep("Import sources", "no source yet", reverse("sources", args=[slug]))
        elif not total.get(study.pk):
            step = NextStep("Import questions", "no question yet", reverse("questions", args=[slug]))
        elif pairless and annotators.get(study.pk, 0) < 2:
            have = _number(annotators.get(study.pk, 0), "annotator")
            step = NextStep("Add annotators", f"a question needs two, there is {have}", reverse("people", args=[slug]))
        elif pairless:
            about = f"{_number(pairless, 'question')} without annotators"
            step = NextStep("Assign questions", about, reverse("assignments", args=[slug]))
        elif not unsettled.get(study.pk):
            about = f"{_number(total[study.pk], 'question')} settled"
            step = NextStep("Freeze a fixture set", about, reverse("freeze", args=[slug]))
        else:
            continue
        steps[study.pk] = step
    return steps


def _progress(_person: Person, asked: Asked) -> dict[int, NextStep]:
    wanted = may(asked, "question.assign")
    if not wanted:
        return {}
    questions = Question.objects.filter(study__in=wanted)
    total, settled = counted(questions, "study_id"), counted(questions.filter(_settled()), "study_id")
    return {
        study.pk: NextStep(
            "See the progress",
            f"{settled.get(study.pk, 0)} of {_number(total[study.pk], 'question')} settled",
            reverse("assignments", args=[study.slug]),
            looks_on=True,
        )
        for study in wanted
        if total.get(study.pk, 0) > settled.get(study.pk, 0)
    }


def _settled() -> Q:
    return Q(Exists(AdjudicatedResult.objects.filter(question=OuterRef("pk"))))


def _assigned() -> Q:
    live = Assignment.objects.filter(question=OuterRef("pk")).exclude(state=Assignment.State.WITHDRAWN)
    return Q(Exists(live))


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
