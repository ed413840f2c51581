"""Adjudication: blind, append-only, with reasons, never one's own question."""

from dataclasses import replace

import pytest

from annotate.domain.conflicts import Conflict
from annotate.domain.content import PassContent
from annotate.domain.errors import BadInput, BadInputs, SpanError
from annotate.domain.vocabulary import Choice, DisagreementType, Necessity, ReasonCode, Role, Segment, SpanLabel
from annotate.models import AdjudicatedResult, Decision, Membership
from annotate.permissions import NotAllowed
from annotate.selectors.adjudication import (
    item_for,
    settled_content,
    suggested_segment,
    unsettled_items,
    verdicts_of,
    visible_items,
)
from annotate.selectors.agreement import agreement_of
from annotate.selectors.fixtures import result_content
from annotate.services.decide import NewDecision, confirm_agreed, decide, decide_all
from annotate.services.reopen_item import reopen_item
from annotate.services.return_pass import return_pass
from annotate.services.settle_item import settle_item
from ledger.models import Record
from tests.annotate.passes import Desk, make_desk
from tests.factories import make_member, make_source_version

pytestmark = pytest.mark.django_db

NECESSARY = (Necessity.NECESSARY, "without it the answer is wrong")


def opened(two=None, **changes) -> tuple[Desk, object]:
    desk = make_desk()
    desk.submit_both(desk.content(), desk.content(**changes) if two is None else two(desk))
    return desk, desk.question.items.get()


def side_of(item, wanted) -> Choice:
    """Return the side whose value is `wanted`."""
    row = item.disagreements.get()
    return Choice.A if bytes(row.value_a) == wanted else Choice.B


def settle_all(desk, item, choice=Choice.A, segment=Segment.RULE_AND_EXCEPTION):
    for row in item.disagreements.all():
        decide(desk.adjudicator, item, row, choice, reason_code=ReasonCode.BETTER_SUPPORTED)
    confirm_agreed(desk.adjudicator, item)
    names = {name for members in settled_content(item).sets for name in members}
    return settle_item(desk.adjudicator, item, segment, dict.fromkeys(names, NECESSARY))


def test_the_view_tells_no_names_and_shows_both_texts():
    desk, item = opened(answer="30 days")
    view = item_for(desk.adjudicator, item)
    assert {view.a.contract.answer, view.b.contract.answer} == {"At most 7 days.", "30 days"}
    assert set(view.quotes.values()) == {
        "Requests may be retained for 30 days.",
        "This limit is 7 days for requests marked temporary.",
    }
    assert view.open_count == 1
    assert view.waiting == ""
    told = repr(view)
    for person in (desk.one, desk.two):
        assert person.username not in told
    assert not any("submission" in name for name in vars(view))


def test_quotes_beyond_the_adjudicators_clearance_are_hidden():
    desk = make_desk()
    secret = make_source_version(desk.study, "for the board only", access_labels=["board"])
    Membership.objects.filter(person__in=[desk.one, desk.two]).update(clearance=["board"])
    content = desk.content(spans=(replace(desk.span("rule", 0, 3), version=secret.sha256),), sets=(("rule",),))
    desk.submit_both(content, content)
    item = desk.question.items.get()
    assert set(item_for(desk.adjudicator, item).quotes.values()) == {None}


def test_only_an_adjudicator_who_did_not_mark_the_question_sees_or_decides_it():
    desk, item = opened(answer="30 days")
    Membership.objects.create(study=desk.study, person=desk.one, role=Role.ADJUDICATOR)
    stranger = make_desk().adjudicator
    observer = make_member(desk.study, Role.OBSERVER)
    row = item.disagreements.get()
    for person in (desk.one, desk.two, desk.lead, observer, stranger):
        assert not visible_items(person).exists()
        for call in (
            lambda who: item_for(who, item),
            lambda who: decide(who, item, row, Choice.A),
            lambda who: confirm_agreed(who, item),
            lambda who: settle_item(who, item, Segment.RULE_AND_EXCEPTION, {}),
        ):
            with pytest.raises(NotAllowed):
                call(person)
    assert not Decision.objects.exists()
    assert list(visible_items(desk.adjudicator)) == [item]
    assert list(visible_items(desk.adjudicator, desk.study)) == [item]
    assert not visible_items(desk.adjudicator, make_desk().study).exists()


def test_annotators_learn_nothing_from_agreement():
    desk, _ = opened(answer="30 days")
    for person in (desk.one, desk.two):
        with pytest.raises(NotAllowed):
            agreement_of(person, desk.study)
    figures = {line.measure.name: line.measure for line in agreement_of(desk.adjudicator, desk.study)}
    assert figures["exact span F1"].value == 1


def test_agreement_stays_that_of_the_first_submissions():
    desk, _ = opened(lambda d: d.content(spans=(d.span("rule", 0, 36),), sets=(("rule",),)))
    before = agreement_of(desk.lead, desk.study)
    return_pass(desk.lead, desk.second, "look again")
    desk.submit(desk.second, desk.content())
    assert agreement_of(desk.lead, desk.study) == before


def test_a_later_decision_supersedes_and_keeps_the_earlier():
    desk, item = opened(answer="30 days")
    row = item.disagreements.get()
    decide(desk.adjudicator, item, row, Choice.A, reason_code=ReasonCode.BETTER_SUPPORTED)
    decide(desk.adjudicator, item, row, Choice.EDITED, "At most seven days.", ReasonCode.OTHER, "neither is exact")
    (view,) = item_for(desk.adjudicator, item).differences
    assert (view.decision.choice, view.decision.value) == (Choice.EDITED, "At most seven days.")
    assert [d.choice for d in view.earlier] == [Choice.A]
    assert [r.value["ordinal"] for r in Record.objects.filter(kind="decision.made").order_by("seq")] == [1, 2]
    assert verdicts_of(item, up_to=1)[0].choice is Choice.A


def test_overriding_both_sides_without_a_text_is_refused():
    desk, item = opened(scope="everybody")
    row = item.disagreements.get()
    for choice, value in ((Choice.REJECT, None), (Choice.EDITED, "some")):
        with pytest.raises(BadInput, match="overridden"):
            decide(desk.adjudicator, item, row, choice, value, ReasonCode.OTHER, "  ")
    with pytest.raises(BadInput, match="was sent with the choice"):
        decide(desk.adjudicator, item, row, Choice.A, "value")
    with pytest.raises(BadInput, match="is none"):
        decide(desk.adjudicator, item, row, "both")
    with pytest.raises(BadInput, match="is none"):
        decide(desk.adjudicator, item, row, Choice.A, reason_code="because")
    assert not Decision.objects.exists()
    decide(desk.adjudicator, item, row, Choice.REJECT, None, ReasonCode.OUT_OF_SCOPE, "the source names no scope")


def test_an_edited_span_is_checked_against_the_bytes():
    desk, item = opened(lambda d: d.content(spans=(d.span("rule", 0, 30, SpanLabel.RULE), d.content().spans[1])))
    row = item.disagreements.get()
    with pytest.raises(SpanError, match="beyond the text"):
        decide(desk.adjudicator, item, row, Choice.EDITED, {"start": 0, "end": 900}, ReasonCode.OTHER, "longer")
    decide(desk.adjudicator, item, row, Choice.EDITED, {"start": 0, "end": 36}, ReasonCode.OTHER, "without the stop")
    assert settled_content(item).span("rule").end == 36


def test_several_decisions_are_appended_in_order_or_not_at_all():
    desk, item = opened(answer="30 days", scope="everybody")
    first, second = item.disagreements.order_by("position")
    confirmation = NewDecision(None, Choice.A, reason="Looked over.")
    faulty = [NewDecision(first, Choice.A), NewDecision(second, Choice.REJECT, where="second"), confirmation]
    with pytest.raises(BadInput, match="overridden") as refusal:
        decide_all(desk.adjudicator, item, faulty)
    assert refusal.value.problems[0].where.startswith("second")
    assert not Decision.objects.exists()
    made = decide_all(
        desk.adjudicator, item, [NewDecision(second, Choice.B), NewDecision(first, Choice.A), confirmation]
    )
    assert [(row.ordinal, row.disagreement) for row in made] == [(1, second), (2, first), (3, None)]
    assert list(Decision.objects.order_by("ordinal")) == made
    records = [record.value for record in Record.objects.filter(kind="decision.made").order_by("seq")]
    assert [(one["ordinal"], one["difference"], one["reason"]) for one in records] == [
        (1, second.position, ""),
        (2, first.position, ""),
        (3, None, "Looked over."),
    ]
    decide(desk.adjudicator, item, first, Choice.B)
    assert verdicts_of(item)[first.position].choice is Choice.B


def test_a_difference_of_another_item_is_refused():
    desk, item = opened(answer="30 days")
    _, other = opened(answer="30 days")
    with pytest.raises(BadInput, match="another item"):
        decide(desk.adjudicator, item, other.disagreements.get(), Choice.A)


def test_settling_needs_every_decision_and_the_confirmation():
    desk, item = opened(answer="30 days", scope="all")
    rows = list(item.disagreements.order_by("position"))
    decide(desk.adjudicator, item, rows[0], Choice.A)
    with pytest.raises(BadInputs) as raised:
        settle_item(desk.adjudicator, item, Segment.RULE_AND_EXCEPTION, {})
    assert [p.where for p in raised.value.problems] == ["agreement", "difference 2 (scope)"]
    assert not AdjudicatedResult.objects.exists()


@pytest.mark.parametrize(
    ("necessity", "what"),
    [
        ({}, "nobody said"),
        ({"rule": NECESSARY}, "nobody said"),
        ({"rule": NECESSARY, "qualifier": NECESSARY, "other": NECESSARY}, "no support set"),
        ({"rule": NECESSARY, "qualifier": (Necessity.NECESSARY, " ")}, "without a reason"),
        ({"rule": NECESSARY, "qualifier": (Necessity.TOPICAL, " ")}, "topical without a reason"),
        ({"rule": NECESSARY, "qualifier": ("needed", "x")}, "is no word"),
        (dict.fromkeys(("rule", "qualifier"), (Necessity.TOPICAL, "nearby")), "merely topical"),
    ],
)
def test_every_span_of_a_set_gets_a_word_and_a_reason(necessity, what):
    desk, item = opened()
    confirm_agreed(desk.adjudicator, item)
    with pytest.raises(BadInputs, match=what):
        settle_item(desk.adjudicator, item, Segment.RULE_AND_EXCEPTION, necessity)
    assert not AdjudicatedResult.objects.exists()


@pytest.mark.parametrize("segment", [Segment.UNCLASSIFIED, Segment.UNANSWERABLE_CONTROL, "rules"])
def test_a_segment_that_does_not_fit_is_refused(segment):
    desk, item = opened()
    confirm_agreed(desk.adjudicator, item)
    with pytest.raises(BadInput, match="segment"):
        settle_item(desk.adjudicator, item, segment, {"rule": NECESSARY, "qualifier": NECESSARY})


def test_a_settled_item_has_its_content_segment_and_reasons():
    desk, item = opened(answer="30 days")
    choice = side_of(item, b'"At most 7 days."')
    result = settle_all(desk, item, choice)
    assert result_content(result).contract.answer == "At most 7 days."
    assert result.segment == suggested_segment(desk.content()) == Segment.RULE_AND_EXCEPTION
    assert {row.span_name: row.necessity for row in result.span_decisions.all()} == {
        "rule": "necessary",
        "qualifier": "necessary",
    }
    assert not unsettled_items(desk.adjudicator).exists()
    value = Record.objects.get(kind="item.settled").value
    assert value["content"] == result.digest
    assert [span["reason"] for span in value["spans"]] == [NECESSARY[1]] * 2


def test_settling_twice_the_same_is_one_result_and_reopening_makes_the_next():
    desk, item = opened(answer="30 days")
    first = settle_all(desk, item, Choice.A)
    again = settle_item(
        desk.adjudicator, item, Segment.RULE_AND_EXCEPTION, dict.fromkeys(("rule", "qualifier"), NECESSARY)
    )
    assert again.pk == first.pk
    reopen_item(desk.adjudicator, item, "on second thoughts")
    second = settle_all(desk, item, Choice.B)
    assert (first.ordinal, second.ordinal) == (1, 2)
    assert AdjudicatedResult.objects.get(pk=first.pk).digest == first.digest


def test_an_item_of_an_old_round_or_of_a_returned_pass_is_closed():
    desk, item = opened(answer="30 days")
    row = item.disagreements.get()
    return_pass(desk.lead, desk.first, "look again")
    assert "returned" in item_for(desk.adjudicator, item).waiting
    with pytest.raises(Conflict, match="returned"):
        decide(desk.adjudicator, item, row, Choice.A)
    desk.submit(desk.first, desk.content(answer="30 days"))
    for call in (
        lambda: decide(desk.adjudicator, item, row, Choice.A),
        lambda: settle_item(desk.adjudicator, item, Segment.RULE_AND_EXCEPTION, {}),
    ):
        with pytest.raises(Conflict, match="newer round"):
            call()
    assert [found.round for found in visible_items(desk.adjudicator)] == [2]


def test_answerability_settles_to_the_chosen_side_whole():
    desk, item = opened(lambda d: PassContent(replace(d.content().contract, answerable=False, answer="")))
    assert [row.kind for row in item.disagreements.all()] == [DisagreementType.ANSWERABILITY]
    no = side_of(item, b"false")
    result = settle_all(desk, item, no, Segment.UNANSWERABLE_CONTROL)
    assert result_content(result).sets == ()
    yes = Choice.B if no is Choice.A else Choice.A
    reopen_item(desk.adjudicator, item, "on second thoughts")
    result = settle_all(desk, item, yes)
    assert len(result_content(result).spans) == 2
    with pytest.raises(BadInput, match="cannot be settled"):
        decide(desk.adjudicator, item, item.disagreements.get(), Choice.REJECT, None, ReasonCode.OTHER, "neither")


def test_decisions_that_leave_too_little_are_refused_at_settling():
    desk, item = opened(lambda d: d.content(spans=d.content().spans[:1], sets=(("rule",),)))
    row = item.disagreements.get()
    decide(desk.adjudicator, item, row, Choice.REJECT, None, ReasonCode.MERELY_TOPICAL, "not needed")
    confirm_agreed(desk.adjudicator, item)
    content = settled_content(item)
    assert content.sets == (("rule",),)
    result = settle_item(desk.adjudicator, item, Segment.RULE_AND_EXCEPTION, {"rule": NECESSARY})
    assert result_content(result) == content


@pytest.mark.parametrize("count", [1, 3])
def test_the_list_of_items_costs_the_same_for_one_and_for_three(count, django_assert_num_queries):
    desk, _ = opened()
    for number in range(count - 1):
        other = make_desk(study=desk.study)
        other.submit_both(other.content(), other.content(answer=f"{number}"))
    with django_assert_num_queries(1):
        assert len([item.question.study.slug for item in visible_items(desk.adjudicator)]) == count


def test_a_set_that_holds_another_needs_a_reason_which_is_kept_and_recorded():
    desk = make_desk()
    both = desk.content(sets=(("rule", "qualifier"), ("rule",)))
    desk.submit_both(both, both)
    item = desk.question.items.get()
    confirm_agreed(desk.adjudicator, item)
    words = dict.fromkeys(("rule", "qualifier"), NECESSARY)
    with pytest.raises(BadInput, match=r"set B holds all of set A|set A holds all of set B"):
        settle_item(desk.adjudicator, item, Segment.RULE_AND_EXCEPTION, words, "   ")
    result = settle_item(desk.adjudicator, item, Segment.RULE_AND_EXCEPTION, words, "The rule alone answers half.")
    assert result.alternatives_reason == "The rule alone answers half."
    assert Record.objects.get(kind="item.settled").value["alternatives_reason"] == result.alternatives_reason
    again = settle_item(desk.adjudicator, item, Segment.RULE_AND_EXCEPTION, words, "The rule alone answers half.")
    assert again == result
    with pytest.raises(Conflict, match="Open it again"):
        settle_item(desk.adjudicator, item, Segment.RULE_AND_EXCEPTION, words, "Another.")
    reopen_item(desk.adjudicator, item, "The reason says too little.")
    assert settle_item(desk.adjudicator, item, Segment.RULE_AND_EXCEPTION, words, "Another.").ordinal == 2


def test_the_page_shows_what_a_set_holds_without_a_span_and_which_bytes_only_one_side_has(client):
    desk = make_desk()
    other = desk.content(spans=(desk.span("rule", 0, 36, SpanLabel.RULE), *desk.content().spans[1:]))
    desk.submit_both(desk.content(), other)
    item = desk.question.items.get()
    client.force_login(desk.adjudicator)
    page = client.get(f"/adjudication/{item.pk}/").content.decode()
    side = "A" if item.submission_a.work.assignment_id == desk.first.pk else "B"
    assert f'only {side} has bytes 36–37: <mark class="side-{side.lower()}">.</mark>' in page
    assert "same set" in page
    decide(desk.adjudicator, item, item.disagreements.get(), "a")
    confirm_agreed(desk.adjudicator, item)
    page = client.get(f"/adjudication/{item.pk}/").content.decode()
    assert "Without it set A still holds qualifier." in page
    assert "Without it set A still holds rule." in page
