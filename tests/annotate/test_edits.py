"""Single edits: on rows and as values they are the same, once per key, with the same checks as a whole save."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotate.domain.content import PassContent
from annotate.domain.content_codec import normalised
from annotate.domain.errors import BadInput
from annotate.domain.pass_edits import (
    AddSpan,
    AllSets,
    ChangeSpan,
    ContractFields,
    Edit,
    RemoveSpan,
    SetMembers,
    applied,
    read_edits,
)
from annotate.domain.vocabulary import SpanLabel
from annotate.models import Pass
from annotate.selectors.passes import content_of, pass_content
from annotate.services.edit_pass import edit_pass
from tests.annotate.passes import Desk, make_desk

pytestmark = pytest.mark.django_db

VECTORS = json.loads((Path(__file__).parent.parent / "golden" / "offsets.json").read_text())
NAMES = ("a", "b", "c")


def edits(desk: Desk) -> st.SearchStrategy[Edit]:
    name = st.sampled_from(NAMES)
    span = st.builds(
        lambda called, start, length, label: desk.span(called, start, start + length, label),
        name,
        st.integers(0, 60),
        st.integers(1, 20),
        st.sampled_from(SpanLabel),
    )
    members = st.lists(name, unique=True, max_size=3).map(tuple)
    return st.one_of(
        st.builds(AddSpan, span, st.booleans(), st.lists(st.integers(0, 2), unique=True, max_size=2).map(tuple)),
        st.builds(ChangeSpan, name, span, st.booleans()),
        st.builds(RemoveSpan, name),
        st.builds(SetMembers, st.integers(0, 2), members),
        st.builds(AllSets, st.lists(members, max_size=3).map(tuple)),
        st.builds(ContractFields, st.sampled_from([{"answer": "x"}, {"answerable": True, "notes": "n"}])),
    )


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_edits_on_rows_and_on_values_agree_and_keep_every_revision(data: st.DataObject) -> None:
    desk = make_desk()
    history = [PassContent()]
    for _ in range(data.draw(st.integers(1, 5))):
        batch = data.draw(st.lists(edits(desk), min_size=1, max_size=3))
        try:
            after = applied(history[-1], batch)
        except BadInput:
            with pytest.raises(BadInput):
                edit_pass(desk.one, desk.first, len(history) - 1, batch)
            continue
        edit_pass(desk.one, desk.first, len(history) - 1, batch)
        history.append(after)
    work = Pass.objects.filter(assignment=desk.first).first()
    for revision, content in enumerate(history):
        if revision:
            found = pass_content(work, revision)
            assert normalised(found) == normalised(content)
            assert found.sets == content.sets


def send(desk: Desk, batch: list[dict[str, Any]], revision: int = 0, key: str = "key-of-a-save") -> Any:
    client = Client(raise_request_exception=False)
    client.force_login(desk.one)
    return client.post(
        reverse("api-task-edits", args=[desk.first.pk]),
        json.dumps({"edits": batch}),
        "application/json",
        headers={"If-Match": f'"{revision}"', "Idempotency-Key": key},
    )


def span_object(desk: Desk, start: Any, end: Any, name: str = "rule") -> dict[str, Any]:
    return {"version": desk.version.sha256, "start": start, "end": end, "name": name, "label": "rule"}


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=[vector["name"] for vector in VECTORS["vectors"]])
def test_every_offset_vector_is_stored_exactly_through_the_api(vector: dict[str, Any]) -> None:
    desk = make_desk(vector["text"].encode())
    start, end = vector["bytes"]
    answer = send(desk, [{"op": "add-span", "span": span_object(desk, start, end), "quote": vector["target"]}])
    assert answer.status_code == 200, answer.json()
    assert answer.json()["quotes"] == {"rule": vector["target"]}
    (span,) = content_of(desk.first)[1].spans
    assert bytes(desk.version.content)[span.start : span.end].decode() == vector["target"]


@pytest.mark.parametrize("refused", VECTORS["refused_spans"], ids=lambda refused: refused["why"])
def test_every_refused_span_is_refused_through_the_api(refused: dict[str, Any]) -> None:
    desk = make_desk(refused["text"].encode())
    answer = send(desk, [{"op": "add-span", "span": span_object(desk, *refused["bytes"])}])
    assert answer.status_code == 422
    assert content_of(desk.first) == (0, PassContent())


def test_the_same_key_again_is_one_write_and_another_one_is_stale() -> None:
    desk = make_desk()
    batch = [{"op": "add-span", "span": span_object(desk, 0, 37), "sets": [0]}]
    assert send(desk, batch).json()["repeated"] is False
    again = send(desk, batch)
    assert (again.status_code, again.json()["revision"], again.json()["repeated"]) == (200, 1, True)
    assert desk.first.work.marks.count() == 1
    stale = send(desk, [{"op": "add-span", "span": span_object(desk, 38, 89, "other")}], key="another-save")
    assert stale.status_code == 409
    assert [span["name"] for span in stale.json()["mine"]["spans"]] == ["other"]
    assert [span["name"] for span in stale.json()["theirs"]["spans"]] == ["rule"]
    assert desk.first.work.refused_saves.count() == 1


def test_a_batch_is_all_or_nothing() -> None:
    desk = make_desk()
    batch = [{"op": "contract", "fields": {"answer": "x"}}, {"op": "remove-span", "name": "nobody"}]
    assert send(desk, batch).status_code == 422
    assert content_of(desk.first) == (0, PassContent())


@pytest.mark.parametrize(
    "batch",
    [
        [],
        {},
        [{"op": "drop-table"}],
        [{"op": "add-span"}],
        [{"op": "add-span", "span": {}, "more": 1}],
        [{"op": "set", "position": -1, "members": []}],
        [{"op": "set", "position": True, "members": []}],
        [{"op": "sets", "sets": "x"}],
        [{"op": "sets", "sets": [[1]]}],
        [{"op": "contract", "fields": {"answer": "NUL \x00"}}],
        [{"op": "contract", "fields": {"verdict": "x"}}],
        [{"op": "contract", "fields": {"dependency": "fate"}}],
        [{"op": "remove-span", "name": 7}],
        [{"op": "remove-span", "name": "a"}] * 501,
    ],
)
def test_edits_that_are_none_are_refused(batch: Any) -> None:
    with pytest.raises(BadInput):
        read_edits(batch)
