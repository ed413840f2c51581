"""The API of adjudication: one item from its queue to its result, what it refuses, and what it tells nobody."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from annotate.domain.content import PassContent
from annotate.domain.content_codec import content_payload
from annotate.domain.vocabulary import Choice, DependencyType, Role, SpanLabel
from annotate.models import (
    AdjudicatedResult,
    Assignment,
    Decision,
    DiscussionNote,
)
from annotate.selectors.adjudication import state_of
from annotate.selectors.fixtures import result_content
from annotate.services.decide import confirm_agreed, decide
from annotate.services.return_pass import return_pass
from tests.annotate.item_api import NECESSARY, SPANS, Caller, of, opened, settled_body
from tests.annotate.passes import make_desk
from tests.annotate.settled import replace_question, settle
from tests.annotate.test_api import problems
from tests.factories import TEXT, make_member

pytestmark = pytest.mark.django_db


def test_an_item_goes_from_the_queue_to_its_result_as_on_its_page() -> None:
    desk, item, caller = opened(answer="30 days", notes="zq-private")
    queue = caller.get(reverse("api-items", args=[desk.study.slug]), state="ready", type="answer", severity="critical")
    (row,) = queue["results"]
    assert (row["url"], row["undecided"], row["types"], row["seen"]) == (of(item), 1, ["answer"], "0-0-0")
    shown = caller.get(row["url"])
    (difference,) = shown["differences"]
    assert {difference["a"], difference["b"]} == {"At most 7 days.", "30 days"}
    assert (difference["severity"], difference["seen"], difference["decision"]) == ("critical", 0, None)
    assert shown["agreed"]["missing_behaviour"]["text"] == "Abstain on the temporary-request limit."
    assert [span["name"] for span in shown["spans"]] == ["rule", "qualifier"]
    assert shown["spans"][0]["a"]["quote"] == shown["spans"][0]["b"]["quote"] == TEXT.encode()[:37].decode()
    assert shown["sets"] == [
        {"name": "set A", "how": "same set", "a": ["rule", "qualifier"], "b": ["rule", "qualifier"]}
    ]
    assert shown["versions"][0]["digest"] == desk.version.sha256
    assert (shown["would_settle"], shown["cannot_settle"]) == (None, "1 difference is still open")
    side = "a" if difference["a"] == "30 days" else "b"
    decided = caller.post(
        of(item, "decisions"), difference=0, choice=side, seen=0, reason_code="better-supported", reason="It says so."
    )
    assert (decided.status_code, decided.json()["decision"]["ordinal"]) == (201, 1)
    assert caller.post(of(item, "confirm"), reason="Looked over.").status_code == 201
    ready = caller.get(of(item))
    assert ready["would_settle"]["content"]["contract"]["answer"] == "30 days"
    assert ready["would_settle"]["segment"] == "rule-and-exception"
    assert ready["would_settle"]["to_judge"][0] == {"name": "rule", "without": {"set A": ["qualifier"]}}
    made = caller.post(of(item, "results"), segment="rule-and-exception", spans=SPANS, seen=ready["seen"])
    assert (made.status_code, made.json()["state"], made.json()["result"]["ordinal"]) == (201, "settled", 1)
    result = AdjudicatedResult.objects.get()
    assert result_content(result).contract.answer == "30 days"
    told = caller.get(of(item))
    assert told["result"]["spans"]["rule"] == NECESSARY
    assert (told["would_settle"], told["cannot_settle"]) == (None, "it is settled: open it again first")
    assert caller.get(reverse("api-items", args=[desk.study.slug]), state="ready")["results"] == []
    said = json.dumps([shown, ready, told, decided.json(), made.json()])
    for person in (desk.one, desk.two, desk.adjudicator):
        assert person.username not in said
    assert "zq-private" not in said
    assert "submission" not in said


def test_every_form_of_edit_is_taken_and_shown() -> None:
    desk = make_desk()
    spans = (desk.span("rule", 0, 36, SpanLabel.RULE), desk.span("qualifier", 38, 89, SpanLabel.EXCEPTION))
    changes = {"dependency": DependencyType.JOINT, "missing_text": "Say so.", "qualification": "Only so."}
    desk.submit_both(desk.content(), desk.content(spans=spans, **changes))
    item, caller = desk.question.items.get(), Caller(desk.adjudicator)
    values = {
        "required-qualification": "Only for marked requests.",
        "dependency-type": "definition",
        "missing-condition-behaviour": {"behaviour": "narrower", "text": "Up to 30 days."},
        "span-boundary": {"start": 0, "end": 35},
        "span-label": "scope",
    }
    shown = caller.get(of(item))
    assert {row["type"] for row in shown["differences"]} == values.keys()
    boundary = next(row for row in shown["differences"] if row["type"] == "span-boundary")
    assert {(piece["start"], piece["end"], piece["text"]) for piece in boundary["boundary"]} == {(36, 37, ".")}
    for row in shown["differences"]:
        sent = {"difference": row["difference"], "choice": "edited", "value": values[row["type"]], "seen": 0}
        unreasoned = caller.post(of(item, "decisions"), **sent)
        assert (unreasoned.status_code, problems(unreasoned)[0]["where"]) == (422, "reason")
        assert caller.post(of(item, "decisions"), **sent, reason="Neither stands.").status_code == 201
    told = {row["type"]: row["decision"]["value"] for row in caller.get(of(item))["differences"]}
    assert told["dependency-type"] == "definition"
    assert told["missing-condition-behaviour"]["behaviour"] == "narrower"
    assert told["span-boundary"]["quote"] == TEXT.encode()[:35].decode()


def test_a_disputed_answerability_is_edited_as_a_whole_content() -> None:
    desk = make_desk()
    desk.submit_both(desk.content(), PassContent(desk.content(answerable=False, answer="").contract))
    item, caller = desk.question.items.get(), Caller(desk.adjudicator)
    assert caller.get(of(item))["agreed"] == {}
    whole = content_payload(desk.content(answer="Seven days."))
    body = {"difference": 0, "choice": "edited", "value": whole, "reason": "Neither.", "seen": 0}
    assert caller.post(of(item, "decisions"), **{**body, "choice": "reject", "value": None}).status_code == 422
    decided = caller.post(of(item, "decisions"), **body)
    assert decided.json()["decision"]["value"]["spans"][0]["quote"]
    caller.post(of(item, "confirm"))
    assert caller.get(of(item))["would_settle"]["content"]["contract"]["answer"] == "Seven days."


def test_the_same_again_writes_nothing_and_what_came_in_between_is_a_conflict() -> None:
    desk, item, caller = opened(answer="30 days")
    other = Caller(make_member(desk.study, Role.ADJUDICATOR))
    body = {"difference": 0, "choice": "a", "seen": 0, "reason": "So."}
    first = caller.post(of(item, "decisions"), **body)
    again = caller.post(of(item, "decisions"), **body)
    assert first.json() == again.json()
    late = other.post(of(item, "decisions"), **{**body, "choice": "b"})
    assert late.status_code == 409
    assert "decide again" in problems(late)[0]["mend"]
    assert other.post(of(item, "decisions"), **{**body, "choice": "b", "seen": 1}).status_code == 201
    # A retry that arrives late does not take back what stands by now.
    assert caller.post(of(item, "decisions"), **body).status_code == 409
    assert Decision.objects.count() == 2
    stale = state_of(item)
    assert [caller.post(of(item, "confirm")).status_code for _ in range(2)] == [201, 201]
    assert Decision.objects.count() == 3
    assert caller.post(of(item, "results"), **settled_body(item, seen=stale)).status_code == 409
    done = settled_body(item)
    made = [caller.post(of(item, "results"), **done) for _ in range(2)]
    assert [answer.status_code for answer in made] == [201, 201]
    assert made[0].json()["result"] == made[1].json()["result"]
    assert other.post(of(item, "results"), **{**done, "segment": "joint-evidence"}).status_code == 409
    assert other.post(of(item, "decisions"), **{**body, "seen": 2}).status_code == 409
    assert AdjudicatedResult.objects.count() == 1
    settled = state_of(item)
    opening = {"reason": "The exception was overlooked.", "seen": settled}
    for _ in range(2):
        answer = caller.post(of(item, "reopen"), **opening)
        assert (answer.status_code, answer.json()["reopened"], answer.json()["state"]) == (200, True, "ready")
    assert DiscussionNote.objects.count() == 1
    assert caller.post(of(item, "results"), **settled_body(item)).status_code == 201
    # The lost answer's retry would open anew what was settled after it.
    assert caller.post(of(item, "reopen"), **opening).status_code == 409
    assert [row.ordinal for row in AdjudicatedResult.objects.order_by("pk")] == [1, 2]


def test_a_pass_is_returned_by_its_side_and_once() -> None:
    desk, item, caller = opened(answer="30 days")
    body = {"side": "a", "reason": "Look at the second sentence."}
    for _ in range(2):
        answer = caller.post(of(item, "return"), **body)
        assert (answer.status_code, answer.json()["state"]) == (200, "waiting")
    returned = Assignment.objects.get(state=Assignment.State.RETURNED)
    assert returned == item.submission_a.work.assignment
    assert desk.question.notes.count() == 1
    waits = caller.get(reverse("api-items", args=[desk.study.slug]), state="waiting")["results"]
    assert [row["id"] for row in waits] == [item.pk]
    assert caller.post(of(item, "decisions"), difference=0, choice="a", seen=0).status_code == 409
    assert caller.post(of(item, "confirm")).status_code == 409
    desk.submit(returned, desk.content(answer="7 days"))
    # Round 2 is another item: a retry does not return what was submitted since.
    assert caller.post(of(item, "return"), **body).status_code == 409
    returned.refresh_from_db()
    assert returned.state == Assignment.State.SUBMITTED
    rounds = caller.get(of(item))["rounds"]
    assert [row["round"] for row in rounds] == [1, 2]
    assert caller.get(of(item))["waiting"] == "there is a newer round of this question"
    for side in ("", "c", None, 1, ["a"]):
        assert caller.post(rounds[1]["url"] + "return/", side=side, reason="x").status_code == 422


def test_the_thread_is_read_and_continued_by_both_ends_without_names() -> None:
    desk, item, caller = opened(answer="30 days")
    own = item.submission_a.work.assignment
    marker, hers = Caller(own.annotator), reverse("api-task-notes", args=[own.pk])
    assert marker.get(hers)["results"] == []
    assert marker.post(hers, text="Why?", seen=0).status_code == 403
    among = caller.post(of(item, "notes"), text="Both are close.", seen=0)
    assert (among.status_code, among.json()["about"], among.json()["number"]) == (201, None, 1)
    assert caller.post(of(item, "notes"), text="Both are close.", seen=0).json() == among.json()
    assert caller.post(of(item, "notes"), text="Another.", seen=0).status_code == 409
    caller.post(of(item, "return"), side="a", reason="Count again.")
    # Of what adjudicators say among themselves, and of rounds, the annotator is told nothing.
    assert marker.get(hers)["results"] == [
        {
            "number": 1,
            "kind": "returned",
            "author": "adjudicator",
            "text": "Count again.",
            "written_at": marker.get(hers)["results"][0]["written_at"],
        }
    ]
    reply = {"text": "I counted days.", "seen": 1}
    first, again = (marker.post(hers, **reply) for _ in range(2))
    assert (first.status_code, first.json()) == (201, again.json())
    assert first.json()["author"] == "annotator"
    assert caller.post(of(item, "notes"), text="Then return it.", side="a", seen=3).status_code == 201
    assert marker.post(hers, **reply).status_code == 409
    thread = caller.get(of(item, "notes"))["results"]
    assert [(row["number"], row["author"], row["about"]) for row in thread] == [
        (1, "adjudicator", None),
        (2, "adjudicator", "a"),
        (3, "annotator", "a"),
        (4, "adjudicator", "a"),
    ]
    page = caller.get(of(item, "notes"), limit=3)
    assert [row["number"] for row in caller.get(page["next"])["results"]] == [4]
    other = item.submission_b.work.assignment
    assert Caller(other.annotator).get(reverse("api-task-notes", args=[other.pk]))["results"] == []
    assert own.annotator.username not in json.dumps(thread)
    for text in ("", "  ", "\x00", "x" * 5001, None, 7):
        assert caller.post(of(item, "notes"), text=text, seen=4).status_code == 422
    assert desk.question.notes.count() == 4


def test_history_is_the_item_as_it_stood_at_a_moment() -> None:
    desk, item, caller = opened(answer="30 days")
    row = item.disagreements.get()
    decide(desk.adjudicator, item, row, Choice.A)
    decide(desk.adjudicator, item, row, Choice.B)
    confirm_agreed(desk.adjudicator, item)
    caller.post(of(item, "results"), **settled_body(item))
    moments = caller.get(of(item))["moments"]
    assert [moment["what"] for moment in moments] == [
        "round 1 opened",
        "decision 1",
        "decision 2",
        "decision 3",
        "settled, result 1",
    ]
    stood = [caller.get(of(item), as_of=moment["at"]) for moment in moments]
    assert [one["differences"][0]["seen"] for one in stood] == [0, 1, 2, 2, 2]
    assert [len(one["differences"][0]["earlier"]) for one in stood] == [0, 0, 1, 1, 1]
    assert [bool(one["result"]) for one in stood] == [False, False, False, False, True]
    # Nothing can be written from what stood once.
    assert all("seen" not in one and one["would_settle"] is None for one in stood)
    return_pass(desk.lead, desk.first, "Look again.")
    desk.submit(desk.first, desk.content(answer="7 days"))
    second = desk.question.items.get(round=2)
    assert caller.get(of(second), as_of=moments[1]["at"])["round"] == 1
    assert caller.get(of(second, "notes"), as_of=moments[1]["at"])["results"] == []
    for wrong in ("2000-01-01T00:00:00Z", "yesterday", "2026-11-30", "2026-11-30T09:00:00", "\x00", "9" * 99, ""):
        answer = caller.client.get(of(item), {"as_of": wrong})
        assert (answer.status_code, bool(problems(answer))) == (422, True), wrong


def test_agreed_items_are_settled_as_one_reviewed_batch() -> None:
    desk, _, caller = opened(notes="zq-private")
    more = replace_question(desk, "another")
    more.submit_both(more.content(), more.content())
    differs = replace_question(desk, "differs")
    differs.submit_both(differs.content(), differs.content(answer="Never."))
    url = reverse("api-agreed-items", args=[desk.study.slug])
    listed = caller.get(url)["results"]
    assert {row["question"]["key"] for row in listed} == {desk.question.key, "another"}
    assert {one["name"]: one["quote"] for one in listed[0]["to_judge"]}["rule"] == TEXT.encode()[:37].decode()
    assert "zq-private" not in json.dumps(listed)
    first = caller.get(url, limit=1)
    items = [
        {"id": row["id"], "segment": row["segment"], "spans": SPANS, "seen": row["seen"]}
        for row in (*first["results"], *caller.get(first["next"])["results"])
    ]
    changed = [items[0], {**items[1], "seen": "7-0-0"}]
    stale = caller.post(url, items=changed)
    assert stale.status_code == 409
    assert [problem["where"] for problem in problems(stale)] == [f"question {listed[1]['question']['key']}"]
    assert not AdjudicatedResult.objects.exists()
    for _ in range(2):
        made = caller.post(url, items=items, reason="Looked over.")
        assert (made.status_code, len(made.json()["results"])) == (201, 2)
    assert (AdjudicatedResult.objects.count(), Decision.objects.count()) == (2, 2)
    # The page that was left open goes on after a row that is settled by now.
    assert caller.get(first["next"])["results"] == []
    other = differs.question.items.get()
    assert caller.post(url, items=[{**items[0], "id": other.pk, "seen": "0-0-0"}]).status_code == 422


def test_annotator_is_told_what_was_decided_once_it_is_settled() -> None:
    desk = make_desk()
    url = reverse("api-task-decisions", args=[desk.first.pk])
    caller = Caller(desk.one)
    assert caller.get(url) == {"settled": None}
    last = settle(desk, two=desk.content(answer="30 days"))
    told = caller.get(url)["settled"]
    (row,) = told["decisions"]
    assert row["yours"] == "At most 7 days."
    assert row["taken"] == ("yours" if last.item.submission_a.work.assignment == desk.first else "the other pass's")
    assert told["spans"]["rule"]["reason"] == "the rule needs it"
    assert desk.adjudicator.username not in json.dumps(told)
    assert Caller(desk.two).client.get(url).status_code == 404
    assert Caller(desk.adjudicator).client.get(url).status_code == 404
    Caller(desk.adjudicator).post(of(last.item, "reopen"), reason="Overlooked.", seen=state_of(last.item))
    assert caller.get(url) == {"settled": None}
