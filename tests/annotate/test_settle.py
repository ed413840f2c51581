"""From decisions to one content: each side taken whole, and decisions that meet each other."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotate.domain.content import MarkedSpan
from annotate.domain.content_codec import content_payload, normalised
from annotate.domain.disagreements import differences
from annotate.domain.edits import check_choice, check_edit
from annotate.domain.errors import BadInput, BadInputs
from annotate.domain.pass_check import problems
from annotate.domain.settle import Verdict, settle
from annotate.domain.vocabulary import Choice, DependencyType, DisagreementType, MissingBehaviour, SpanLabel
from tests.annotate.contents import BASE, NEW, V, by_bytes, complete, contract, span

T = DisagreementType


def decide_all(a, b, choice, **special):
    return {position: special.get(d.kind.name, Verdict(choice)) for position, d in enumerate(differences(a, b))}


@settings(deadline=None, max_examples=200)
@given(a=complete(answerable=None), b=complete(answerable=None))
def test_taking_one_side_throughout_gives_that_side(a, b):
    assert by_bytes(settle(a, b, decide_all(a, b, Choice.A))) == by_bytes(a)
    assert by_bytes(settle(a, b, decide_all(a, b, Choice.B))) == by_bytes(b)


@settings(deadline=None, max_examples=200)
@given(a=complete(), b=complete(), data=st.data())
def test_any_decisions_give_a_content_without_loose_ends(a, b, data):
    verdicts = {}
    for position, d in enumerate(differences(a, b)):
        choices = [Choice.A, Choice.B] if d.kind in (T.ANSWER, T.ANSWERABILITY) else [Choice.A, Choice.B, Choice.REJECT]
        verdicts[position] = Verdict(data.draw(st.sampled_from(choices)))
    settled = settle(a, b, verdicts)
    assert settled == normalised(settled)
    assert len({s.name for s in settled.spans}) == len({s.bytes_key for s in settled.spans}) == len(settled.spans)
    names = {s.name for s in settled.spans}
    assert all(members and set(members) <= names for members in settled.sets)
    assert len({frozenset(members) for members in settled.sets}) == len(settled.sets)
    assert set(settled.forbidden) <= names
    assert settled.contract.notes == ""


def test_every_open_difference_is_named():
    with pytest.raises(BadInputs) as raised:
        settle(BASE, contract(answer="30 days", scope=""), {1: Verdict(Choice.A)})
    assert [p.where for p in raised.value.problems] == ["difference 1 (answer)"]


def test_a_span_kept_stands_in_the_set_it_was_marked_in():
    other = replace(BASE, spans=(*BASE.spans, NEW), sets=(("rule", "qualifier", "new"), ("other",)))
    kept = settle(BASE, other, {0: Verdict(Choice.B)})
    assert kept.sets == (("rule", "qualifier", "new"), ("other",))
    dropped = settle(BASE, other, {0: Verdict(Choice.A)})
    assert dropped.sets == (("rule", "qualifier"), ("other",))
    assert "new" not in {s.name for s in dropped.spans}


def test_a_boundary_moves_in_every_set_and_may_be_written_anew():
    other = span("rule", end=30)
    assert settle(BASE, other, {0: Verdict(Choice.B)}).span("rule").end == 30
    edited = settle(BASE, other, {0: Verdict(Choice.EDITED, {"version": V, "start": 2, "end": 33, "label": "rule"})})
    assert edited.span("rule").bytes_key == (V, 2, 33)
    assert edited.span("rule").label is SpanLabel.RULE
    rejected = settle(BASE, other, {0: Verdict(Choice.REJECT)})
    assert rejected.sets == (("qualifier",), ("other",))


def test_boundary_and_label_are_decided_apart():
    other = span("rule", end=30, label=SpanLabel.DEFINITION)
    settled = settle(BASE, other, {0: Verdict(Choice.A), 1: Verdict(Choice.B)})
    assert (settled.span("rule").end, settled.span("rule").label) == (37, SpanLabel.DEFINITION)
    settled = settle(BASE, other, {0: Verdict(Choice.B), 1: Verdict(Choice.REJECT)})
    assert (settled.span("rule").end, settled.span("rule").label) == (30, SpanLabel.EVIDENCE)


def test_boundaries_edited_onto_each_other_become_one_span():
    a = replace(
        BASE, spans=(MarkedSpan(V, 0, 10, "p"), MarkedSpan(V, 20, 30, "q")), sets=(("p",), ("q",)), forbidden=()
    )
    b = replace(
        BASE, spans=(MarkedSpan(V, 0, 12, "p"), MarkedSpan(V, 18, 30, "q")), sets=(("p",), ("q",)), forbidden=()
    )
    whole = Verdict(Choice.EDITED, {"version": V, "start": 0, "end": 30})
    settled = settle(a, b, {0: whole, 1: whole})
    assert [s.bytes_key for s in settled.spans] == [(V, 0, 30)]
    assert settled.sets == (("p",),)


def test_membership_is_taken_literally_and_may_be_written_anew():
    other = replace(BASE, sets=(("rule",), ("other",)))
    assert settle(BASE, other, {0: Verdict(Choice.B)}).sets == (("rule",), ("other",))
    edited = settle(BASE, other, {0: Verdict(Choice.EDITED, ["qualifier", "loose"])})
    assert edited.sets == (("qualifier", "loose"), ("other",))
    same = settle(BASE, other, {0: Verdict(Choice.EDITED, ["other"])})
    assert same.sets == (("other",),)
    assert settle(BASE, other, {0: Verdict(Choice.REJECT)}).sets == (("other",),)


def test_a_set_only_one_side_made_stands_or_falls():
    other = replace(BASE, sets=(*BASE.sets, ("loose",)))
    assert settle(BASE, other, {0: Verdict(Choice.B)}).sets == (("rule", "qualifier"), ("other",), ("loose",))
    assert settle(BASE, other, {0: Verdict(Choice.A)}).sets == BASE.sets


def test_answerability_takes_the_chosen_side_whole_or_an_edit():
    other = replace(contract(answerable=False), sets=(), spans=(), forbidden=())
    assert by_bytes(settle(BASE, other, {0: Verdict(Choice.A)})) == by_bytes(BASE)
    assert by_bytes(settle(BASE, other, {0: Verdict(Choice.B)})) == by_bytes(other)
    edited = settle(BASE, other, {0: Verdict(Choice.EDITED, content_payload(contract(answer="edited")))})
    assert edited.contract.answer == "edited"
    with pytest.raises(BadInput, match="both sides"):
        settle(BASE, other, {0: Verdict(Choice.REJECT)})


def test_texts_that_count_as_equal_stand_in_one_wording_whoever_is_a():
    other = contract(answer="at most 7 days")
    assert settle(BASE, other, {}).contract.answer == settle(other, BASE, {}).contract.answer == "At most 7 days."


def test_rejected_contract_fields_become_empty_and_the_behaviour_safe():
    other = contract(
        scope="All",
        dependency=DependencyType.JOINT,
        missing_behaviour=MissingBehaviour.NARROWER,
    )
    settled = settle(BASE, other, decide_all(BASE, other, Choice.REJECT)).contract
    assert (settled.scope, settled.dependency) == ("", DependencyType.NONE)
    assert (settled.missing_behaviour, settled.missing_text) == (MissingBehaviour.ABSTAIN, "")


def test_forbidden_evidence_in_a_set_is_settled_and_then_refused_as_incomplete():
    other = replace(BASE, sets=(("rule", "qualifier"), ("other",)), forbidden=("old", "loose"))
    a = replace(BASE, sets=(("rule", "qualifier", "loose"), ("other",)))
    verdicts = {
        i: Verdict(Choice.B if d.kind is T.FORBIDDEN_EVIDENCE else Choice.A)
        for i, d in enumerate(differences(a, other))
    }
    settled = settle(a, other, verdicts)
    assert [p.where for p in problems(settled)] == ["set A"]


@pytest.mark.parametrize("kind", [T.ANSWER, T.ANSWERABILITY])
def test_what_a_question_cannot_be_without_cannot_be_rejected(kind):
    with pytest.raises(BadInput, match="cannot be settled"):
        check_choice(kind, Choice.REJECT, "neither")


@pytest.mark.parametrize("choice", [Choice.REJECT, Choice.EDITED])
def test_overriding_both_sides_needs_a_text(choice):
    with pytest.raises(BadInput, match="overridden"):
        check_choice(T.SCOPE, choice, " ")
    check_choice(T.SCOPE, choice, "neither names the population")
    check_choice(T.SCOPE, Choice.A, "")


@pytest.mark.parametrize(
    ("changed", "good", "bad"),
    [
        (contract(answer="x"), ["y"], ["", " ", None, 3, "\x00"]),
        (contract(scope="x"), ["", "y"], [None, []]),
        (contract(dependency=DependencyType.JOINT), ["referent"], ["Referent", None, ["none"]]),
        (
            contract(missing_text="x"),
            [{"behaviour": "narrower", "text": ""}],
            ["abstain", {"behaviour": "abstain"}, {"behaviour": "never", "text": ""}],
        ),
        (
            span("rule", end=30),
            [{"start": 1, "end": 5}, {"start": 1, "end": 5, "version": "b" * 64, "label": "scope"}],
            [{"start": 5, "end": 5}, {"start": -1, "end": 5}, {"start": True, "end": 5}, [1, 5], {"end": 5}],
        ),
        (span("rule", label=SpanLabel.SCOPE), ["referent"], ["other", 1]),
        (replace(BASE, sets=(("rule",), ("other",))), [["rule"], ["loose", "rule"]], [[], "rule", ["nobody"], None]),
        (
            replace(BASE, forbidden=()),
            [{"start": 1, "end": 5, "forbidden": True}],
            [{"start": 1, "end": 5, "forbidden": "yes"}, True],
        ),
    ],
)
def test_an_edited_value_has_the_form_of_its_kind(changed, good, bad):
    (difference,) = differences(BASE, changed)
    names = [s.name for s in BASE.spans]
    for value in good:
        stored = check_edit(difference, value, names)
        settle(BASE, changed, {0: Verdict(Choice.EDITED, stored)})
    for value in bad:
        with pytest.raises(BadInput):
            check_edit(difference, value, names)
