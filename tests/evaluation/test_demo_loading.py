"""Loading a demo study into the database: each step by its person, once, alike whoever is shown as A."""

from __future__ import annotations

import secrets
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import transaction

from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import DisagreementType, Role
from annotate.models import (
    AdjudicatedResult,
    AdjudicationItem,
    Assignment,
    Decision,
    Disagreement,
    FixtureSet,
    Membership,
    Person,
    Question,
    Study,
    Submission,
)
from annotate.selectors.adjudication import settled_content
from evaluation.services.load_demo import demo_texts, load_demo, open_demo
from ledger.services.verify import verify
from tests.evaluation.demo_folder import decide_by_rule, entries_of, small_demo, write_decisions, write_pass
from tests.factories import make_person

pytestmark = pytest.mark.django_db

# Among them: a set only one side made, one of other members, boundaries, labels, forbidden evidence, no difference.
YELLOW, AHEAD, DRILL, DRONE = (
    "yellow-dot-one-day-late",
    "too-far-ahead-class-b",
    "drill-three-working-days-late",
    "drone-licence",
)
KEYS = (YELLOW, AHEAD, DRILL, DRONE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small_demo(tmp_path, KEYS)


def row_counts() -> dict[str, int]:
    models = [
        model for name in ("annotate", "evaluation", "ledger") for model in apps.get_app_config(name).get_models()
    ]
    return {model.__name__: model.objects.count() for model in models}


def problems_of(refusal: pytest.ExceptionInfo[BadInput]) -> str:
    return "\n".join(str(problem) for problem in refusal.value.problems)


def test_study_is_loaded_by_its_people_and_verifies(folder: Path) -> None:
    entries = decide_by_rule(folder)
    told: list[tuple[int, int, str]] = []
    demo = load_demo(lambda *step: told.append(step), folder)

    assert demo.study.slug == "demo"
    assert "independent annotators" in demo.study.guideline
    assert demo.fixture_set.name == "demo-v1"
    assert demo.fixture_set.frozen_by == demo.people.lead
    assert demo.fixture_set.fixtures.count() == len(KEYS)
    clearances = {
        (member.person, member.role): member.clearance for member in Membership.objects.filter(study=demo.study)
    }
    everything = ["archive", "finance", "hr"]
    one, two = demo.people.annotators
    assert clearances == {
        (one, Role.ANNOTATOR): everything,
        (two, Role.ANNOTATOR): everything,
        (demo.people.adjudicator, Role.ADJUDICATOR): everything,
        (demo.people.lead, Role.LEAD): everything,
        (demo.people.observer, Role.OBSERVER): [],
    }
    assert Submission.objects.filter(submitted_by=one).count() == len(KEYS)
    assert Submission.objects.filter(submitted_by=two).count() == len(KEYS)
    assert set(Question.objects.values_list("written_by", flat=True)) == {demo.people.lead.pk}
    made = Decision.objects.filter(decided_by=demo.people.adjudicator)
    assert made.count() == Decision.objects.count() == sum(len(entry["decisions"]) + 1 for entry in entries)
    assert Disagreement.objects.count() == sum(len(entry["decisions"]) for entry in entries)
    assert {what for done, of, what in told if done == of} >= {"pass 1", "pass 2", "decisions"}
    report = verify()
    assert report.ok, report.findings


def test_second_load_finds_everything_and_writes_nothing(folder: Path) -> None:
    decide_by_rule(folder)
    first = load_demo(folder=folder)
    counts = row_counts()
    assert counts["Record"] > 50
    again = load_demo(folder=folder)
    assert again.fixture_set == first.fixture_set
    assert again.fixture_set.digest == first.fixture_set.digest
    assert list(again.people) == list(first.people)
    assert row_counts() == counts


def test_load_leaves_a_frozen_study_as_people_left_it(folder: Path) -> None:
    decide_by_rule(folder)
    first = load_demo(folder=folder)
    (folder / "decisions.json").unlink()
    write_pass(folder, 1, [])
    Membership.objects.filter(person=first.people.observer).update(clearance=["hr"])
    assert load_demo(folder=folder).fixture_set == first.fixture_set
    assert Membership.objects.get(person=first.people.observer).clearance == ["hr"]


@pytest.mark.parametrize("how", ["rule", "edited"])
def test_fixture_set_is_the_same_whoever_is_shown_as_a(folder: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    entries = decide_by_rule(folder)
    if how == "edited":
        _edit(entries)
        write_decisions(folder, entries)
    digests, shown = set(), set()
    for drawn in (0, 1):
        monkeypatch.setattr(secrets, "randbelow", lambda bound, drawn=drawn: drawn)
        with transaction.atomic():
            demo = load_demo(folder=folder)
            digests.add(demo.fixture_set.digest)
            shown |= {
                (item.question.key, item.submission_a.submitted_by.username)
                for item in AdjudicationItem.objects.select_related("question", "submission_a__submitted_by")
            }
            transaction.set_rollback(True)
        assert not FixtureSet.objects.exists()
    assert len(digests) == 1
    assert len(shown) == 2 * len(KEYS)


def test_fixture_set_changes_with_a_pass(folder: Path) -> None:
    decide_by_rule(folder)
    with transaction.atomic():
        before = load_demo(folder=folder).fixture_set.digest
        transaction.set_rollback(True)
    changed = entries_of(1, folder)
    next(entry for entry in changed if entry["question"] == DRONE)["answer"] = "Nothing is said of drones."
    write_pass(folder, 1, changed)
    decide_by_rule(folder)
    assert load_demo(folder=folder).fixture_set.digest != before


def test_perturbed_pass_opens_items_with_just_those_differences(folder: Path) -> None:
    entries = entries_of(1, folder)
    other = deepcopy(entries)
    by_key = {entry["question"]: entry for entry in other}
    by_key[DRONE]["notes"] = "Nothing found."
    by_key[DRILL]["dependency"] = "definition"
    by_key[DRILL]["spans"][0]["label"] = "rule"
    by_key[YELLOW]["sets"].pop()
    write_pass(folder, 2, other)
    open_demo(folder=folder)
    found = Disagreement.objects.values_list("item__question__key", "kind")
    assert sorted(found) == sorted(
        [
            (DRILL, DisagreementType.DEPENDENCY_TYPE),
            (DRILL, DisagreementType.SPAN_LABEL),
            (YELLOW, DisagreementType.SET_MISSING),
        ]
    )


def test_load_without_decisions_stops_after_the_passes_and_goes_on_later(folder: Path) -> None:
    with pytest.raises(BadInput, match=r"decisions\.json: there is no such file\. Both passes are submitted"):
        load_demo(folder=folder)
    assert Assignment.objects.filter(state=Assignment.State.SUBMITTED).count() == 2 * len(KEYS)
    assert not Decision.objects.exists()
    decide_by_rule(folder)
    assert load_demo(folder=folder).fixture_set.fixtures.count() == len(KEYS)
    assert Submission.objects.count() == 2 * len(KEYS)


def test_faulty_decisions_keep_their_question_open_and_are_all_named(folder: Path) -> None:
    entries = decide_by_rule(folder)
    by_key = {entry["question"]: entry for entry in entries}
    dropped = by_key[DRILL]["decisions"].pop()
    by_key[DRILL]["decisions"].append({**dropped, "subject": "nobody", "kind": "span-label"})
    by_key[AHEAD]["decisions"].append(by_key[AHEAD]["decisions"][0])
    by_key[YELLOW]["spans"].popitem()
    del by_key[DRONE]["decisions"]
    write_decisions(folder, [entry for entry in entries if entry["question"] != DRONE])
    with pytest.raises(BadInput) as refusal:
        load_demo(folder=folder)
    said = problems_of(refusal)
    assert f"({DRILL}), span-label nobody: there is no such difference" in said
    assert "it has no decision" in said
    assert f"({AHEAD}), answer: it is decided twice" in said
    assert "nobody said whether it is necessary" in said
    assert f"({DRONE}), question: nothing is decided about it" in said
    assert not AdjudicatedResult.objects.exists()
    assert not Decision.objects.exists()
    assert not FixtureSet.objects.exists()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": "span-boundary", "take": "edited", "value": {"quote": "no such text"}}, "does not occur"),
        ({"kind": "span-boundary", "take": "edited", "value": {"start": 1, "end": 2}}, "there is no such field"),
        ({"kind": "span-boundary", "take": "edited", "value": "x"}, "it is no span"),
        ({"kind": "span-boundary", "take": "edited", "value": None}, "it does not go with take"),
        ({"kind": "answer", "take": "reject"}, "cannot be settled"),
        ({"kind": "answer", "take": "3"}, "is no such word"),
        ({"kind": "scope", "take": "reject", "reason": ""}, "both sides are overridden"),
        ({"kind": "scope", "take": "1", "value": "x"}, "it does not go with take"),
        ({"kind": "set-missing", "take": "edited", "value": ["nobody"]}, "no span “nobody” in either pass"),
        ({"kind": "set-missing", "take": "edited", "value": "x"}, "no list of spans"),
        ({"kind": "forbidden-evidence", "take": "edited", "value": {"quote": "x"}}, "whether the span is forbidden"),
    ],
)
def test_decision_that_does_not_fit_is_refused_with_its_question(
    tmp_path: Path, change: dict[str, Any], says: str
) -> None:
    folder = small_demo(tmp_path, [YELLOW])
    _one_of_each(folder)
    entries = decide_by_rule(folder)
    made = next(one for one in entries[0]["decisions"] if one["kind"] == change["kind"])
    made.update({"reason": "Edited.", **change})
    write_decisions(folder, entries)
    with pytest.raises(BadInput) as refusal:
        load_demo(folder=folder)
    assert says in problems_of(refusal)
    assert all(YELLOW in problem.where for problem in refusal.value.problems)
    assert not Decision.objects.exists()


def test_edited_values_are_what_is_settled(tmp_path: Path) -> None:
    folder = small_demo(tmp_path, [YELLOW])
    _one_of_each(folder)
    entries = decide_by_rule(folder)
    _edit(entries)
    write_decisions(folder, entries)
    demo = load_demo(folder=folder)
    content = settled_content(AdjudicationItem.objects.get())
    texts = demo_texts(demo.study)
    quotes = {span.name: texts.quote(span) for span in content.spans}
    assert content.contract.answer == "No leeway at all."
    assert content.contract.scope == "Every class."
    assert content.contract.missing_text == "Say nothing."
    assert quotes["no-grace"] == "The day of grace does not exist"
    assert ("no-grace",) in content.sets
    assert content.forbidden == ("old",)
    assert quotes["old"] == "Late fees are charged from the first day"


def test_answerability_can_be_taken_whole_or_written_anew(tmp_path: Path) -> None:
    folder = small_demo(tmp_path, [DRILL, YELLOW])
    entries = entries_of(1, folder)
    other = deepcopy(entries)
    for entry in other:
        entry |= {"answerable": False, "sets": [], "dependency": "none", "answer": "The sources do not say."}
    write_pass(folder, 2, other)
    made = decide_by_rule(folder)
    by_key = {entry["question"]: entry for entry in made}
    by_key[YELLOW]["decisions"][0] |= {"take": "2"}
    by_key[YELLOW] |= {"segment": "unanswerable-control", "spans": {}}
    whole = {name: value for name, value in entries[0].items() if name != "question"} | {"answer": "My own."}
    by_key[DRILL]["decisions"][0] |= {"take": "edited", "value": whole}
    reference = "lending-policy@2026:4214-4337"
    by_key[DRILL]["spans"][reference] = by_key[DRILL]["spans"].pop("grace")
    write_decisions(folder, made)
    load_demo(folder=folder)
    results = {item.question.key: settled_content(item) for item in AdjudicationItem.objects.all()}
    assert results[DRILL].contract.answer == "My own."
    assert len(results[DRILL].sets) == 2
    assert results[YELLOW].contract.answerable is False
    assert results[YELLOW].sets == ()


def test_question_left_out_is_settled_and_not_frozen(tmp_path: Path) -> None:
    stale = "found-after-paying-2027"
    folder = small_demo(tmp_path, [DRONE, stale])
    made = decide_by_rule(folder)
    with pytest.raises(BadInput, match="not in force"), transaction.atomic():
        load_demo(folder=folder)
    next(entry for entry in made if entry["question"] == stale)["leave_out"] = "Its support is out of force."
    write_decisions(folder, made)
    demo = load_demo(folder=folder)
    assert [row.fixture_id for row in demo.fixture_set.fixtures.all()] == [DRONE]
    assert AdjudicatedResult.objects.filter(question__key=stale).exists()


def test_user_name_of_a_stranger_is_refused(folder: Path) -> None:
    make_person("demo-lead")
    with pytest.raises(BadInput, match="somebody outside the demo study has this user name"):
        load_demo(folder=folder)
    assert Person.objects.count() == 1
    assert not Study.objects.exists()


def test_pass_without_a_question_is_refused(folder: Path) -> None:
    write_pass(folder, 2, [entry for entry in entries_of(2, folder) if entry["question"] != DRONE])
    with pytest.raises(BadInput, match=rf"annotator-2\.json \({DRONE}\): the pass has no entry for it"):
        load_demo(folder=folder)


def _one_of_each(folder: Path) -> None:
    """Make annotator 2 differ from annotator 1 on the yellow dot in every kind of value a decision may edit."""
    first, second = (deepcopy(entries_of(1, folder)[0]) for _ in range(2))
    old = {"name": "old", "label": "rule", "document": "lending-policy", "version": "2025", "occurrence": 1}
    old["quote"] = "Late fees are charged from the first day after the due date"
    first["spans"].append(old)
    first["forbidden"] = ["old"]
    second["spans"].append({**old, "name": "old-2025"})
    second |= {"answer": "None.", "scope": "Some class.", "missing_behaviour": "narrower"}
    second["spans"][0]["quote"] = second["spans"][0]["quote"].removesuffix(", nor for any item with a yellow dot.")
    second["sets"].pop()
    write_pass(folder, 1, [first])
    write_pass(folder, 2, [second])


def _edit(entries: list[dict[str, Any]]) -> None:
    """Write an own value for each kind of difference of the yellow dot that `_VALUES` knows; keep the rest."""
    entry = next(entry for entry in entries if entry["question"] == YELLOW)
    for one in entry["decisions"]:
        value = _VALUES.get((one["kind"], one["subject"]), _VALUES.get((one["kind"], "*")))
        if value is not None:
            one |= {"take": "edited", "value": value, "reason": "Neither said it so."}


_VALUES: dict[tuple[str, str], Any] = {
    ("answer", "*"): "No leeway at all.",
    ("scope", "*"): "Every class.",
    ("missing-condition-behaviour", "*"): {"behaviour": "abstain", "text": "Say nothing."},
    ("span-boundary", "no-grace"): {"quote": "The day of grace does not exist"},
    ("forbidden-evidence", "old"): {"quote": "Late fees are charged from the first day", "forbidden": True},
}
