"""One study with everything in it, and every kind of person, for tests that walk the whole site.

What annotator two writes carries `CANARY` in every text and every span name, and the names of both annotators carry
`NAMES`: whoever finds one where it must not be has found a leak.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from annotate.domain.content import AnswerContract, MarkedSpan, PassContent
from annotate.domain.vocabulary import DependencyType, Role, SpanLabel
from annotate.models import Assignment, FixtureSet, Person, SourceVersion, Study
from annotate.selectors.passes import content_of
from annotate.services.save_pass import save_pass
from annotate.services.submit_pass import submit_pass
from evaluation.models import Plan, Sweep
from tests.factories.studies import make_member, make_person, make_study
from tests.factories.sweeps import make_fixture_set, make_plan, make_sealed_sweep, make_sweep
from tests.factories.texts import make_assignment, make_question

CANARY = "zqpasstwo"
#: In the user names and shown names of the two annotators.
NAMES = "zqmarker"
#: Texts of the version `staff`, none of them in a question: for people who hold neither of its labels.
RESTRICTED = ("second key hangs in the office", "it is paid at twice the rate", "counts as an ordinary day")
#: Texts of the section of `staff` that needs the label `keys` as well.
SECTION = ("changes on the first day of each quarter", "Whoever leaves last arms it")
#: The title of the version nobody without the label knows of.
RESTRICTED_TITLE = "Staff rules"

PEOPLE = ("anonymous", "stranger", "annotator-one", "annotator-two", "adjudicator", "lead", "observer", "deactivated")


@dataclass
class World:
    """The study and its people; `people["anonymous"]` is None.

    The lead holds the label `staff` and not `keys`; nobody else holds any, the second lead `uncleared` among them.
    """

    study: Study
    elsewhere: Study
    people: dict[str, Person | None]
    uncleared: Person
    texts: dict[str, SourceVersion]
    fixture_set: FixtureSet
    draft: Plan
    plan: Plan
    sealed: Sweep
    running: Sweep
    closed: tuple[Assignment, Assignment]
    open: tuple[Assignment, Assignment]

    def person(self, name: str) -> Person:
        """Return somebody who has a sign-in."""
        found = self.people[name]
        assert found is not None
        return found

    def content(self, mark: str) -> PassContent:
        """Return a complete pass over the lending rules, `mark` in each of its texts and names."""
        text = self.texts["lending"]
        start = bytes(text.content).index(b"A tool is lent")
        span = MarkedSpan(text.sha256, start, start + 14, f"{mark}-span", SpanLabel.RULE)
        contract = AnswerContract(
            answerable=True,
            answer=f"{mark} answer",
            scope=f"{mark} scope",
            qualification=f"{mark} qualification",
            dependency=DependencyType.EXCEPTION,
            missing_text=f"{mark} missing",
            notes=f"{mark} notes",
        )
        return PassContent(contract, (span,), ((span.name,),))

    def save(self, task: Assignment, mark: str) -> None:
        """Save a task's pass, as its annotator."""
        save_pass(task.annotator, task, content_of(task)[0], self.content(mark))

    def submit(self, task: Assignment) -> None:
        """Submit a task's pass, as its annotator."""
        submit_pass(task.annotator, task, content_of(task)[0], f"key-of-task-{task.pk}")


def make_world(*, second_submits: bool = True, with_sweeps: bool = True) -> World:
    """Return the world. Annotator one has submitted the closed question and has a draft of the open one.

    So has annotator two, unless `second_submits` is off: then they have not touched either.
    """
    fixture_set = make_fixture_set()
    study, elsewhere = fixture_set.study, make_study(title="Elsewhere")
    versions = SourceVersion.objects.filter(source__study=study).select_related("source")
    markers = (_marker(study, "one"), _marker(study, "two"))
    people: dict[str, Person | None] = {
        "anonymous": None,
        "stranger": make_member(elsewhere, *Role),
        "annotator-one": markers[0],
        "annotator-two": markers[1],
        "adjudicator": make_member(study, Role.ADJUDICATOR),
        "lead": make_member(study, Role.LEAD, clearance=["staff"]),
        "observer": make_member(study, Role.OBSERVER),
        "deactivated": make_member(study, Role.LEAD, person=make_person(is_active=False)),
    }
    plan = make_plan(fixture_set)
    world = World(
        study=study,
        elsewhere=elsewhere,
        people=people,
        uncleared=make_member(study, Role.LEAD),
        texts={version.source.document_id: version for version in versions},
        fixture_set=fixture_set,
        plan=plan,
        draft=make_plan(fixture_set, locked=False),
        sealed=make_sealed_sweep(plan) if with_sweeps else Sweep(plan=plan),
        running=make_sweep(plan) if with_sweeps else Sweep(plan=plan),
        closed=make_pair(study, markers, "closed-question"),
        open=make_pair(study, markers, "open-question"),
    )
    world.save(world.closed[0], "first")
    world.submit(world.closed[0])
    world.save(world.open[0], "first")
    if second_submits:
        second_pass(world)
    return world


def second_pass(world: World) -> None:
    """Let annotator two do what annotator one has done; the closed question then has an item."""
    world.save(world.closed[1], CANARY)
    world.submit(world.closed[1])
    world.save(world.open[1], CANARY)


def _marker(study: Study, which: str) -> Person:
    person = make_person(f"{NAMES}-{which}", display_name=f"{NAMES.capitalize()} {which}")
    return make_member(study, person=person)


def make_pair(study: Study, markers: Sequence[Person], key: str) -> tuple[Assignment, Assignment]:
    """Return both assignments of a new question."""
    question = make_question(study, key, f"What does the {key.replace('-', ' ')} ask?", segment="number-and-scope")
    one, two = (make_assignment(question, person, slot) for slot, person in enumerate(markers, 1))
    return one, two
