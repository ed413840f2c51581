"""A pass as canonical bytes and back."""

import copy

import pytest
from hypothesis import given

from annotate.domain.content import PassContent
from annotate.domain.content_codec import content_from_payload, content_payload, normalised
from annotate.domain.errors import BadInput
from ledger.domain.canonical import canonical_bytes, parse_canonical
from tests.annotate.contents import complete


@given(content=complete(answerable=None))
def test_content_survives_its_canonical_bytes(content):
    data = canonical_bytes(content_payload(content))
    again = content_from_payload(parse_canonical(data))
    assert again == normalised(content)
    assert [span.name for span in again.spans] == [span.name for span in normalised(content).spans]
    assert [span.label for span in again.spans] == [span.label for span in normalised(content).spans]
    assert canonical_bytes(content_payload(again)) == data


@given(content=complete())
def test_order_of_typing_does_not_change_the_bytes(content):
    turned = PassContent(
        content.contract,
        content.spans[::-1],
        tuple(members[::-1] for members in content.sets[::-1]),
        content.forbidden[::-1],
    )
    assert canonical_bytes(content_payload(turned)) == canonical_bytes(content_payload(content))


def _payload() -> dict:
    return {
        "contract": {
            "answerable": True,
            "answer": "x",
            "scope": "",
            "qualification": "",
            "dependency": "none",
            "missing_behaviour": "abstain",
            "missing_text": "",
            "notes": "",
        },
        "spans": [
            {"version": "a" * 64, "start": 0, "end": 5, "name": "rule", "label": "rule"},
            {"version": "a" * 64, "start": 6, "end": 9, "name": "tail", "label": "evidence"},
        ],
        "sets": [["rule"]],
        "forbidden": ["tail"],
    }


def _set(path: list, value: object):
    def change(payload: dict) -> None:
        for step in path[:-1]:
            payload = payload[step]
        payload[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda p: p.pop("sets"), "content"),
        (_set(["extra"], 1), "content"),
        (_set(["contract", "answerable"], "yes"), "content.contract.answerable"),
        (_set(["contract", "answer"], None), "content.contract.answer"),
        (_set(["contract", "answer"], "half \ud83d"), "content.contract.answer"),
        (_set(["contract", "answer"], "nul \x00"), "content.contract.answer"),
        (_set(["contract", "dependency"], "unknown"), "content.contract.dependency"),
        (_set(["contract", "missing_behaviour"], []), "content.contract.missing_behaviour"),
        (lambda p: p["contract"].pop("notes"), "content.contract"),
        (_set(["spans"], {}), "content.spans"),
        (_set(["spans", 0, "start"], True), "content.spans[0].start"),
        (_set(["spans", 0, "start"], -1), "content.spans[0].start"),
        (_set(["spans", 0, "start"], 1.0), "content.spans[0].start"),
        (_set(["spans", 0, "end"], 0), "content.spans[0]"),
        (_set(["spans", 0, "version"], "A" * 64), "content.spans[0].version"),
        (_set(["spans", 0, "name"], "two words"), "content.spans[0].name"),
        (_set(["spans", 0, "label"], "Rule"), "content.spans[0].label"),
        (_set(["spans", 1, "name"], "rule"), "content.spans[1].name"),
        (_set(["sets", 0], ["nobody"]), "content.sets[0][0]"),
        (_set(["sets", 0], ["rule", "rule"]), "content.sets[0][1]"),
        (_set(["sets", 0], "rule"), "content.sets[0]"),
        (_set(["forbidden"], ["nobody"]), "content.forbidden[0]"),
    ],
)
def test_a_payload_of_another_form_is_refused_at_its_place(change, where):
    payload = _payload()
    content_from_payload(copy.deepcopy(payload))
    change(payload)
    with pytest.raises(BadInput) as raised:
        content_from_payload(payload)
    assert raised.value.where == where
    assert raised.value.mend
