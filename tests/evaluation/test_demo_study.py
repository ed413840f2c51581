"""The files of the demo study: what is shipped is whole, and a pass that says something else differs in just that."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from typing import Any

import pytest

from annotate.domain.content import PassContent
from annotate.domain.content_codec import content_payload
from annotate.domain.disagreements import differences
from annotate.domain.errors import BadInput
from annotate.domain.import_formats.questions_toml import QuestionEntry, parse_questions_toml
from annotate.domain.necessity import check_necessity, check_segment
from annotate.domain.partition import document_clusters
from annotate.domain.pass_check import check_complete
from annotate.domain.settle import Verdict, settle
from annotate.domain.vocabulary import DisagreementType, Partition, Sample, Segment
from evaluation.demo import FOLDER
from evaluation.demo.decision_files import QuestionDecisions, read_decisions
from evaluation.demo.orientation import Orientation
from evaluation.demo.texts import Texts
from evaluation.domain.plan_toml import parse_plan
from tests.evaluation.demo_folder import contents_of, entries_of, texts_of

# The draw was made among the questions there were then; those added since follow their groups.
DRAWN_AMONG = 108
# Those of the pilot run; the rest came after it, on documents of their own.
PILOT = 118
SIX = [segment for segment in Segment if segment is not Segment.UNCLASSIFIED]
DRILL = "drill-three-working-days-late"


@cache
def texts() -> Texts:
    return texts_of()


@cache
def questions() -> tuple[QuestionEntry, ...]:
    return parse_questions_toml((FOLDER / "questions.toml").read_bytes())


@cache
def passes() -> tuple[dict[str, PassContent], dict[str, PassContent]]:
    return contents_of(entries_of(1), texts()), contents_of(entries_of(2), texts())


@cache
def decisions() -> dict[str, QuestionDecisions]:
    return read_decisions((FOLDER / "decisions.json").read_bytes(), "decisions.json")


def settled(key: str, one_is_a: bool = True) -> tuple[Orientation, PassContent]:
    """Return the shipped decisions' result on a question, with annotator 1 as side A or as side B."""
    one, two = (contents[key] for contents in passes())
    sides = Orientation(one, two, True, texts()) if one_is_a else Orientation(two, one, False, texts())
    made = sides.decisions(differences(sides.a, sides.b), decisions()[key].decisions)
    return sides, settle(sides.a, sides.b, {one.position: Verdict(one.choice, one.value) for one in made})


# ---- the shipped files


def test_both_passes_answer_every_question() -> None:
    keys = [question.key for question in questions()]
    assert len(keys) >= 72
    for contents in passes():
        assert sorted(contents) == sorted(keys)


def test_passes_are_stored_in_one_stable_form() -> None:
    for number in (1, 2):
        path = FOLDER / "passes" / f"annotator-{number}.json"
        entries = entries_of(number)
        assert path.read_bytes() == (json.dumps(entries, ensure_ascii=False, indent=1) + "\n").encode()
        assert [entry["question"] for entry in entries] == [question.key for question in questions()]


def test_partition_is_the_declared_draw() -> None:
    first, added = questions()[:DRAWN_AMONG], questions()[DRAWN_AMONG:]
    groups: dict[str, list[QuestionEntry]] = defaultdict(list)
    for question in first:
        groups[question.group].append(question)
    kept = Counter(question.segment for question in first if question.sample is Sample.REPRESENTATIVE)
    per_segment: Counter[Segment] = Counter()
    drawn: list[str] = []
    for group in sorted(groups, key=lambda group: hashlib.sha256(f"oxbow:{group}".encode()).hexdigest()):
        members = groups[group]
        gone = Counter(question.segment for question in members if question.sample is Sample.REPRESENTATIVE)
        more = per_segment + Counter(question.segment for question in members)
        if (
            any(question.mandatory for question in members)
            or len(drawn) + len(members) > 10
            or max(more.values()) > 2
            or any(kept[segment] - number < 9 for segment, number in gone.items())
        ):
            continue
        drawn += [question.key for question in members]
        per_segment, kept = more, kept - gone
    assert len(drawn) == 10
    chosen = {question.group for question in first if question.key in drawn}
    drawn += [question.key for question in added if question.group in chosen]
    development = [question.key for question in questions() if question.partition is Partition.DEVELOPMENT]
    assert sorted(development) == sorted(drawn)


def documents_of(content: PassContent) -> set[str]:
    return {texts().place(span.version)[0] for span in content.spans}


def test_questions_added_after_the_pilot_share_no_document_with_the_others() -> None:
    first = {question.key for question in questions()[:PILOT]}
    assert len(questions()) - PILOT == 36
    assert all(question.partition is Partition.HELD_OUT for question in questions()[PILOT:])
    for contents in passes():
        old: set[str] = set()
        new: set[str] = set()
        for key, content in contents.items():
            found = documents_of(content)
            assert key in first or len(found) == (1 if content.contract.answerable else 0), key
            (old if key in first else new).update(found)
        assert len(new) == 10
        assert not old & new


def test_readme_counts_files_and_partition() -> None:
    counts = Counter(question.partition for question in questions())
    said = " ".join((FOLDER / "README.md").read_text("utf-8").split())
    files = [path for path in (FOLDER / "corpus").iterdir() if path.name != ".gitattributes"]
    assert f"| {len(files)} files, " in said
    assert f"{len(questions())} questions that people ask" in said
    assert f"Of {len(questions())} questions {counts[Partition.DEVELOPMENT]} are for development" in said
    assert f"and {counts[Partition.HELD_OUT]} are held out" in said


def test_every_type_of_disagreement_occurs() -> None:
    one, two = passes()
    found = Counter(difference.kind for key in one for difference in differences(one[key], two[key]))
    assert set(found) == set(DisagreementType)
    assert sum(found.values()) > 500


def test_sides_swapped_give_the_same_differences_under_the_same_references() -> None:
    one, two = passes()
    for key in one:
        straight, swapped = (
            Orientation(one[key], two[key], True, texts()),
            Orientation(two[key], one[key], False, texts()),
        )
        of_straight = {(d.kind, straight.subjects(d)) for d in differences(straight.a, straight.b)}
        assert of_straight == {(d.kind, swapped.subjects(d)) for d in differences(swapped.a, swapped.b)}, key


# ---- the shipped decisions


def test_decisions_settle_every_question_alike_whoever_is_shown_as_a() -> None:
    for question in questions():
        sides, content = settled(question.key)
        other, mirrored = settled(question.key, one_is_a=False)
        assert content_payload(content) == content_payload(mirrored), question.key
        made = decisions()[question.key]
        check_complete(content, question.key)
        check_segment(content, made.segment)
        judged = check_necessity(content, sides.necessity(content, made.spans))
        assert judged == other.necessity(mirrored, made.spans), question.key


def test_segments_are_large_enough_after_adjudication() -> None:
    frozen = [question for question in questions() if not decisions()[question.key].leave_out]
    counts = Counter(decisions()[question.key].segment for question in frozen)
    assert set(counts) == set(SIX)
    assert min(counts.values()) >= 12, counts


def test_held_out_questions_fall_into_the_clusters_the_plan_asks_for() -> None:
    plan = parse_plan((FOLDER.parent / "plans" / "demo.toml").read_text("utf-8"))
    frozen = [question for question in questions() if not decisions()[question.key].leave_out]
    documents: dict[str, set[str]] = {}
    for question in frozen:
        _, content = settled(question.key)
        members = {name for support in content.sets for name in support}
        documents[question.key] = {texts().place(s.version)[0] for s in content.spans if s.name in members}
    # Joined over both partitions, as freezing does; a control's document is another question's too.
    cluster = document_clusters(documents)
    asked = [question.key for question in frozen if question.partition is Partition.HELD_OUT]
    clusters = {cluster[document] for key in asked for document in documents[key]}
    assert len(clusters) > 2 * plan.statistics.minimum_clusters
    said = " ".join((FOLDER / "README.md").read_text("utf-8").split())
    assert f"The {len(asked)} frozen held-out questions now fall into {len(clusters)} clusters" in said


def test_decisions_give_reasons() -> None:
    made = [one for question in decisions().values() for one in question.decisions]
    assert {one.take for one in made} >= {"1", "2", "edited"}
    assert sum(bool(one.reason.strip()) for one in made) > len(made) / 2
    assert set(decisions()) == {question.key for question in questions()}


# ---- a perturbed pass


Change = Callable[[dict[str, Any]], None]


def _put(**values: Any) -> Change:
    return lambda entry: entry.update(values)


def _span(name: str, **values: Any) -> Change:
    return lambda entry: next(span for span in entry["spans"] if span["name"] == name).update(values)


def _without_span(entry: dict[str, Any]) -> None:
    entry["spans"] = [span for span in entry["spans"] if span["name"] != "ar-grace"]
    entry["sets"] = [[name for name in members if name != "ar-grace"] for members in entry["sets"]]


def _renamed(entry: dict[str, Any]) -> None:
    text = json.dumps(entry).replace('"grace"', '"one-day"').replace('"late-count"', '"counted"')
    entry |= json.loads(text)


CHANGES: list[tuple[str, Change, str]] = [
    ("answerability", _put(answerable=False, sets=[], dependency="none"), ""),
    ("answer", _put(answer="From the first day after the day of grace."), ""),
    ("scope", _put(scope="Class A only."), ""),
    ("required-qualification", _put(qualification="Only at Weirside."), ""),
    ("dependency-type", _put(dependency="definition"), ""),
    ("missing-condition-behaviour", _put(missing_behaviour="narrower"), ""),
    ("span-boundary", _span("grace", quote="There is one working day of grace"), "grace"),
    ("span-label", _span("grace", label="exception"), "grace"),
    ("span-missing", _without_span, "ar-grace"),
    ("set-membership", _put(sets=[["grace", "late-count", "ar-late"], ["ar-grace", "ar-late"]]), "set 1.1"),
    ("set-missing", _put(sets=[["grace", "late-count"]]), "set 1.2"),
    ("forbidden-evidence", _put(forbidden=["next-first-day"]), "old-first-day"),
]


@pytest.mark.parametrize(("kind", "change", "subject"), CHANGES, ids=[kind for kind, _, _ in CHANGES])
def test_perturbed_pass_differs_in_what_was_changed_and_nothing_else(kind: str, change: Change, subject: str) -> None:
    entry = next(entry for entry in entries_of(1) if entry["question"] == DRILL)
    other = deepcopy(entry)
    change(other)
    one, two = (contents_of([each], texts())[DRILL] for each in (entry, other))
    for sides in (Orientation(one, two, True, texts()), Orientation(two, one, False, texts())):
        found = differences(sides.a, sides.b)
        assert [difference.kind for difference in found] == [kind]
        assert subject in sides.subjects(found[0])


def test_every_type_is_perturbed() -> None:
    assert {kind for kind, _, _ in CHANGES} == set(DisagreementType)


@pytest.mark.parametrize("change", [_put(notes="Seen twice."), _renamed], ids=["notes", "names"])
def test_change_of_notes_or_names_is_no_disagreement(change: Change) -> None:
    entry = next(entry for entry in entries_of(1) if entry["question"] == DRILL)
    other = deepcopy(entry)
    change(other)
    assert differences(*(contents_of([each], texts())[DRILL] for each in (entry, other))) == ()


# ---- faulty files


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_span("grace", quote="There is one working day of  grace"), "does not occur"),
        (_span("grace", version="2024"), "no such source version"),
        (_span("grace", occurrence=2), "it occurs once"),
        (_span("grace", label="rul"), "no such word"),
        (_span("grace", qoute="x"), "no such field"),
        (_put(sets=[["grace", "nobody"]]), "names no span"),
        (_put(sets=[[]]), "it is empty"),
        (_put(sets=[["grace"], ["grace"]]), "the same spans"),
        (_put(answerable="yes"), "neither true nor false"),
        (_put(answer=" "), "it is empty"),
        (_put(missing_text="", qualification=""), "nothing says which"),
    ],
)
def test_faulty_pass_is_refused_with_the_question_and_the_place(change: Change, says: str) -> None:
    entry = next(entry for entry in entries_of(1) if entry["question"] == DRILL)
    change(entry)
    with pytest.raises(BadInput, match=says) as refusal:
        contents_of([entry], texts())
    assert all(DRILL in problem.where for problem in refusal.value.problems)


def test_pass_with_two_entries_for_a_question_is_refused() -> None:
    entry = entries_of(1)[0]
    with pytest.raises(BadInput, match="there is an entry for it already"):
        contents_of([entry, entry], texts())


@pytest.mark.parametrize("data", [b"{}", b'"x"', b"[1]", b"[", b'[{"question": "a", "question": "b"}]'])
def test_file_that_is_no_list_of_objects_is_refused(data: bytes) -> None:
    with pytest.raises(BadInput):
        read_decisions(data, "decisions.json")
