"""What counts as a disagreement, of which type, and what does not."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from annotate.domain.content import AnswerContract, MarkedSpan, PassContent
from annotate.domain.disagreements import Difference, comparable, differences
from annotate.domain.vocabulary import DependencyType, DisagreementType, MissingBehaviour, SpanLabel
from tests.annotate.contents import BASE, NEW, V, by_bytes, complete, contract, span

T = DisagreementType


@pytest.mark.parametrize(
    ("changed", "kinds"),
    [
        (contract(answerable=False), [T.ANSWERABILITY]),
        (replace(contract(answerable=False), sets=(), spans=(), forbidden=()), [T.ANSWERABILITY]),
        (contract(answer="At most 30 days."), [T.ANSWER]),
        (contract(scope="All requests"), [T.SCOPE]),
        (contract(scope=""), [T.SCOPE]),
        (contract(qualification=""), [T.QUALIFICATION]),
        (contract(dependency=DependencyType.DEFINITION), [T.DEPENDENCY_TYPE]),
        (contract(missing_behaviour=MissingBehaviour.NARROWER), [T.MISSING_BEHAVIOUR]),
        (contract(missing_text="Answer for the default only."), [T.MISSING_BEHAVIOUR]),
        (contract(notes="hard to say"), []),
        (contract(answer="  at most  7 days"), []),
        (span("rule", end=36), [T.SPAN_BOUNDARY]),
        (span("rule", start=20, end=60), [T.SPAN_BOUNDARY]),
        (span("rule", label=SpanLabel.DEFINITION), [T.SPAN_LABEL]),
        (span("rule", end=36, label=SpanLabel.DEFINITION), [T.SPAN_BOUNDARY, T.SPAN_LABEL]),
        (span("loose", name="called-otherwise"), []),
        (replace(BASE, spans=(*BASE.spans, NEW)), [T.SPAN_MISSING]),
        (replace(BASE, spans=BASE.spans[:-1]), [T.SPAN_MISSING]),
        (replace(BASE, spans=(*BASE.spans, NEW), sets=(("rule", "qualifier", "new"), ("other",))), [T.SPAN_MISSING]),
        (replace(BASE, sets=(("rule", "qualifier", "loose"), ("other",))), [T.SET_MEMBERSHIP]),
        (replace(BASE, sets=(("rule",), ("other",))), [T.SET_MEMBERSHIP]),
        (replace(BASE, sets=(("rule", "qualifier"),)), [T.SET_MISSING]),
        (replace(BASE, sets=(*BASE.sets, ("loose",))), [T.SET_MISSING]),
        (replace(BASE, sets=(("other",), ("qualifier", "rule"))), []),
        (replace(BASE, spans=(*BASE.spans, NEW), sets=(*BASE.sets, ("new",))), [T.SPAN_MISSING, T.SET_MISSING]),
        (replace(BASE, forbidden=()), [T.FORBIDDEN_EVIDENCE]),
        (replace(BASE, forbidden=("old", "loose")), [T.FORBIDDEN_EVIDENCE]),
        (replace(BASE, spans=(*BASE.spans, NEW), forbidden=("old", "new")), [T.FORBIDDEN_EVIDENCE]),
        (replace(BASE, spans=tuple(s for s in BASE.spans if s.name != "old"), forbidden=()), [T.FORBIDDEN_EVIDENCE]),
    ],
)
def test_each_change_gives_exactly_its_type_on_either_side(changed, kinds):
    assert [d.kind for d in differences(BASE, changed)] == kinds
    mirrored = differences(changed, BASE)
    assert [d.kind for d in mirrored] == kinds
    for one, two in zip(differences(BASE, changed), mirrored, strict=True):
        assert (one.value_a, one.value_b) == (two.value_b, two.value_a)


@given(content=complete(answerable=None))
def test_a_pass_agrees_with_itself_whatever_its_names_and_notes(content):
    renamed = {s.name: f"x-{i}" for i, s in enumerate(content.spans)}
    other = PassContent(
        replace(content.contract, notes="another"),
        tuple(replace(s, name=renamed[s.name]) for s in content.spans[::-1]),
        tuple(tuple(renamed[name] for name in members) for members in content.sets[::-1]),
        tuple(renamed[name] for name in content.forbidden),
    )
    assert differences(content, other) == ()


@settings(deadline=None)
@given(a=complete(answerable=None), b=complete(answerable=None))
def test_no_difference_means_the_same_content_and_each_has_a_subject_of_its_own(a, b):
    found = differences(a, b)
    if by_bytes(a) == by_bytes(b):
        assert found == ()
    elif a.contract.answerable == b.contract.answerable:
        assert found
    assert len({(d.kind, d.subject) for d in found}) == len(found)


def test_overlapping_spans_are_paired_so_that_the_whole_overlap_is_greatest():
    one = PassContent(AnswerContract(True), (MarkedSpan(V, 0, 10, "p"), MarkedSpan(V, 11, 20, "q")))
    two = PassContent(AnswerContract(True), (MarkedSpan(V, 0, 12, "r"), MarkedSpan(V, 12, 20, "s")))
    found = differences(one, two)
    assert [(d.kind, d.value_a["end"], d.value_b["end"]) for d in found] == [
        (T.SPAN_BOUNDARY, 10, 12),
        (T.SPAN_BOUNDARY, 20, 20),
    ]


def test_touching_spans_and_spans_of_two_versions_do_not_overlap():
    one = PassContent(AnswerContract(True), (MarkedSpan(V, 0, 5, "p"),))
    for other in (MarkedSpan(V, 5, 9, "p"), MarkedSpan("b" * 64, 0, 4, "p")):
        found = differences(one, PassContent(AnswerContract(True), (other,)))
        assert [d.kind for d in found] == [T.SPAN_MISSING, T.SPAN_MISSING]
        assert {d.subject for d in found} == {"p", "p-2"}


def test_two_thousand_spans_are_compared_in_a_moment():
    def content(shift: int) -> PassContent:
        return PassContent(
            AnswerContract(True), tuple(MarkedSpan(V, i * 30, i * 30 + 20 + shift, f"s{i}") for i in range(2000))
        )

    found = differences(content(0), content(1))
    assert len(found) == 2000
    assert all(d.kind is T.SPAN_BOUNDARY and d.value_a["start"] == d.value_b["start"] for d in found)


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("At most 7 days.", "at most\n7  days", True),
        ("７日間。", "７日間", True),
        ("10 %", "10", False),
        ("§ 5", "5", False),
        ("7.5", "75", False),
        ("no", "No!", True),
        ("", " . ", True),
        ("De\u0301partement", "Département", False),
    ],
)
def test_texts_are_compared_without_blanks_case_and_final_punctuation_alone(one, two, same):
    assert (comparable(one) == comparable(two)) is same


def test_a_difference_carries_canonical_values():
    (found,) = differences(BASE, span("rule", end=36))
    assert isinstance(found, Difference)
    assert found.value_a == {"version": V, "start": 0, "end": 37, "name": "rule", "label": "rule"}
