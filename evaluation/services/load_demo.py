"""Load the demo study through the services a site uses, each step as the person whose step it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.db import transaction

from annotate.domain.content import PassContent
from annotate.domain.errors import BadInput, BadInputs
from annotate.domain.vocabulary import Choice, Role
from annotate.models import AdjudicationItem, Assignment, FixtureSet, Person, Question, SourceVersion, Study
from annotate.permissions import OPERATOR
from annotate.selectors.adjudication import difference_of, settled_content, unsettled_items
from annotate.selectors.passes import content_of, open_assignments_of, submitted_content
from annotate.services.assign_questions import assign_questions
from annotate.services.decide import NewDecision, decide_all
from annotate.services.freeze_fixtures import freeze_fixtures
from annotate.services.import_folder import import_folder
from annotate.services.import_questions import import_questions
from annotate.services.import_sources import Progress
from annotate.services.members import add_member, create_person
from annotate.services.save_pass import save_pass
from annotate.services.settle_item import settle_item
from annotate.services.studies import create_study
from annotate.services.submit_pass import submit_pass
from evaluation.demo import FOLDER
from evaluation.demo.decision_files import QuestionDecisions, read_decisions
from evaluation.demo.orientation import Orientation
from evaluation.demo.pass_files import read_pass
from evaluation.demo.texts import Text, Texts
from ledger.domain.canonical import digest

SLUG = "demo"
TITLE = "Oxbow Valley Lending and Archive Cooperative"
FIXTURE_SET = "demo-v1"
DECISIONS = "decisions.json"
_ALL_LABELS = ("archive", "finance", "hr")
# Every label for those who must read what the questions' readers read; the observer sees what anybody may.
_PEOPLE = {
    "demo-annotator-1": ("Annotator 1", Role.ANNOTATOR, _ALL_LABELS),
    "demo-annotator-2": ("Annotator 2", Role.ANNOTATOR, _ALL_LABELS),
    "demo-adjudicator": ("Adjudicator", Role.ADJUDICATOR, _ALL_LABELS),
    "demo-lead": ("Lead", Role.LEAD, _ALL_LABELS),
    "demo-observer": ("Observer", Role.OBSERVER, ()),
}


@dataclass(frozen=True)
class DemoPeople:
    """The demo's sign-ins, one role each."""

    annotators: tuple[Person, Person]
    adjudicator: Person
    lead: Person
    observer: Person

    def __iter__(self) -> Iterator[Person]:
        return iter((*self.annotators, self.adjudicator, self.lead, self.observer))


@dataclass(frozen=True)
class DemoStudy:
    """The loaded demo: its people (passwords are the command's to set) and the frozen set a plan is written for."""

    study: Study
    people: DemoPeople
    fixture_set: FixtureSet


def load_demo(progress: Progress | None = None, folder: Path = FOLDER) -> DemoStudy:
    """Load the study of `folder`, frozen as “demo-v1”, and return it; what is there already is found and kept.

    `progress` is called with (done, of, what). A load that broke off goes on where it stopped: every question's pass,
    and every question's decisions, are written whole or not at all. Once the set is frozen nothing is read again, so
    a study that people have worked on since stays as they left it.

    Raises BadInput where a file of the demo is missing or does not fit the others (the question is named), and where a
    person of another study has one of the demo's user names.
    """
    tell = progress or (lambda done, of, what: None)
    study, people = _study_and_people(folder)
    frozen = FixtureSet.objects.filter(study=study, name=FIXTURE_SET).first()
    if frozen is None:
        submit_demo_passes(study, people, tell, folder)
        keys = decide_demo(study, people, tell, folder)
        frozen = freeze_fixtures(people.lead, study, FIXTURE_SET, keys)
    return DemoStudy(study, people, frozen)


def open_demo(progress: Progress | None = None, folder: Path = FOLDER) -> tuple[Study, DemoPeople]:
    """Load the study as far as both passes being submitted, which opens the items; raises as `load_demo` does."""
    study, people = _study_and_people(folder)
    submit_demo_passes(study, people, progress or (lambda done, of, what: None), folder)
    return study, people


def submit_demo_passes(study: Study, people: DemoPeople, tell: Progress, folder: Path) -> None:
    """Import sources and questions, give every question to the pair, and submit both passes."""
    import_demo(study, people, tell, folder)
    texts = demo_texts(study)
    for number, annotator in enumerate(people.annotators, 1):
        path = folder / "passes" / f"annotator-{number}.json"
        contents = read_pass(_read(path), path.name, texts)
        waiting = list(open_assignments_of(annotator, study))
        missing = sorted(one.question.key for one in waiting if one.question.key not in contents)
        if missing:
            raise BadInput(
                f"{path.name} ({', '.join(missing)})", "the pass has no entry for it", "Every question needs both."
            )
        for done, assignment in enumerate(waiting, 1):
            submit_demo_pass(annotator, assignment, contents[assignment.question.key], texts)
            tell(done, len(waiting), f"pass {number}")


def decide_demo(study: Study, people: DemoPeople, tell: Progress, folder: Path) -> list[str]:
    """Decide and settle every item that is not settled yet, as the decisions file says; return the keys to freeze.

    Raises BadInputs naming every question whose decisions are missing or do not fit; the others are settled then.
    """
    path = folder / DECISIONS
    made = read_decisions(_read(path), path.name)
    texts = demo_texts(study)
    waiting = list(unsettled_items(people.adjudicator, study).select_related("submission_a", "submission_b"))
    problems: list[BadInput] = []
    for done, item in enumerate(waiting, 1):
        key = item.question.key
        try:
            if key not in made:
                raise BadInput("question", "nothing is decided about it", "Write an entry for it.")
            settle_demo_item(people, item, made[key], texts)
        except BadInput as problem:
            problems.append(problem.inside(f"{path.name} ({key})"))
        tell(done, len(waiting), "decisions")
    if problems:
        raise BadInputs(path.name, problems)
    keys = Question.objects.filter(study=study).order_by("key").values_list("key", flat=True)
    return [key for key in keys if key not in made or not made[key].leave_out]


def settle_demo_item(people: DemoPeople, item: AdjudicationItem, made: QuestionDecisions, texts: Texts) -> None:
    """Decide every difference of `item`, confirm the rest and settle it, in one transaction; raises BadInput(s)."""
    rows = list(item.disagreements.order_by("position"))
    sides = orientation(people, item, texts)
    found = [difference_of(row) for row in rows]
    decisions = [
        NewDecision(
            rows[one.position],
            one.choice,
            one.value,
            one.reason_code,
            one.reason,
            where=f"{found[one.position].kind} {sides.subjects(found[one.position])[0]}".strip(),
        )
        for one in sides.decisions(found, made.decisions)
    ]
    decisions.append(NewDecision(None, Choice.A, None, made.confirm_reason_code, made.confirm_reason))
    by = people.adjudicator
    with transaction.atomic():
        decide_all(by, item, decisions)
        necessity = sides.necessity(settled_content(item), made.spans)
        settle_item(by, item, made.segment, necessity, made.alternatives_reason)


def orientation(people: DemoPeople, item: AdjudicationItem, texts: Texts) -> Orientation:
    """Return which annotator stands on which side of `item`."""
    return Orientation(
        submitted_content(item.submission_a),
        submitted_content(item.submission_b),
        item.submission_a.submitted_by_id == people.annotators[0].pk,
        texts,
    )


def demo_texts(study: Study) -> Texts:
    """Return the stored versions of the study, by which quotes are located."""
    rows = SourceVersion.objects.filter(source__study=study).select_related("source")
    return Texts(Text(row.source.document_id, row.version_label, row.sha256, bytes(row.content)) for row in rows)


def _study_and_people(folder: Path) -> tuple[Study, DemoPeople]:
    with transaction.atomic():
        study = Study.objects.filter(slug=SLUG).first() or create_study(
            OPERATOR,
            SLUG,
            TITLE,
            description="The demo study: a fictional cooperative's papers, and what people ask about them.",
            guideline=_read(folder / "guideline.md").decode("utf-8"),
        )
        one, two, adjudicator, lead, observer = (_person(study, username) for username in _PEOPLE)
    return study, DemoPeople((one, two), adjudicator, lead, observer)


def _person(study: Study, username: str) -> Person:
    name, role, labels = _PEOPLE[username]
    person = Person.objects.filter(username=username).first()
    if person is None:
        person = create_person(OPERATOR, study, username, display_name=name, password=None)
    elif not person.memberships.filter(study=study).exists():
        raise BadInput(
            f"person “{username}”",
            "somebody outside the demo study has this user name",
            "Rename them: the demo sets the passwords of its own people.",
        )
    if not person.memberships.filter(study=study, role=role).exists():
        add_member(OPERATOR, study, person, role, labels)
    return person


def import_demo(study: Study, people: DemoPeople, tell: Progress, folder: Path) -> None:
    """Import sources and questions and assign them to the pair; whole or not at all."""
    with transaction.atomic():
        import_folder(people.lead, study, folder, progress=tell)
        path = folder / "questions.toml"
        import_questions(people.lead, study, _read(path), path.name)
        assign_questions(people.lead, study, people.annotators, list(Question.objects.filter(study=study)))


def submit_demo_pass(annotator: Person, assignment: Assignment, content: PassContent, texts: Texts) -> None:
    """Save what a demo file says of a task and submit it, both or neither; raises as `submit_pass` does."""
    quotes = {span.name: texts.quote(span) for span in content.spans}
    key = digest(f"{assignment.question.study.slug}/{assignment.question.key}/{annotator.username}".encode())
    with transaction.atomic():
        revision, _ = content_of(assignment)
        work = save_pass(annotator, assignment, revision, content, quotes)
        submit_pass(annotator, assignment, work.revision, key)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        mend = "Restore it from the repository."
        if path.name == DECISIONS:
            mend = "Both passes are submitted; the adjudicator's decisions come next (see README.md of the demo)."
        raise BadInput(path.name, "there is no such file", mend) from error
