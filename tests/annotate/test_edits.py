"""Single edits: on rows and as values they are the same, once per key, with the same checks as a whole save."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotate.domain.content import MarkedSpan, PassContent
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
from annotate.services.pass_writing import MAX_SPANS
from annotate.services.save_pass import save_pass
from tests.annotate.passes import Desk, edit, make_desk
from tests.factories import TEXT

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
                edit(desk.one, desk.first, len(history) - 1, batch)
            continue
        edit(desk.one, desk.first, len(history) - 1, batch)
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


def test_a_save_takes_six_statements_however_many_spans_it_makes_and_the_pass_has() -> None:
    desk = make_desk()
    client = Client()
    client.force_login(desk.one)
    revision = 0

    def statements(*names: str) -> list[str]:
        nonlocal revision
        batch = [{"op": "add-span", "span": span_object(desk, 0, 37, name), "quote": TEXT[:37]} for name in names]
        with CaptureQueriesContext(connection) as captured:
            answer = client.post(
                reverse("api-task-edits", args=[desk.first.pk]),
                json.dumps({"edits": batch, "seconds": 1}),
                "application/json",
                headers={"If-Match": f'"{revision}"', "Idempotency-Key": f"save-{revision:04}"},
            )
        assert answer.status_code == 200, answer.json()
        revision += 1
        return [query["sql"].strip() for query in captured if "SAVEPOINT" not in query["sql"]]

    statements("first")  # makes the pass too
    one = statements("second")
    assert [sql.split()[0] for sql in one] == ["SELECT", "SELECT", "SELECT", "UPDATE", "WITH", "INSERT"]
    assert len(statements("a", "b", "c")) == len(one)
    statements(*(f"s{number}" for number in range(200)))
    assert len(statements("last")) == len(one)
    assert max(map(len, statements("very-last"))) < 2_000


@pytest.mark.parametrize(
    ("batch", "what"),
    [
        (lambda desk: [AddSpan(desk.span("rule", 0, 3))], "taken"),
        (lambda desk: [AddSpan(desk.span("a", 0, 3)), AddSpan(desk.span("a", 4, 5))], "taken"),
        (lambda desk: [ChangeSpan("rule", desk.span("qualifier", 0, 3))], "taken"),
        (lambda desk: [ChangeSpan("nobody", desk.span("nobody", 0, 3))], "no span of this name"),
        (lambda desk: [RemoveSpan("nobody")], "no span of this name"),
        (lambda desk: [RemoveSpan("rule"), RemoveSpan("rule")], "no span of this name"),
        (lambda desk: [AddSpan(desk.span("a", 0, 3), sets=(2,))], "has 1 sets"),
        (lambda desk: [SetMembers(2, ("rule",))], "has 1 sets"),
        (lambda desk: [SetMembers(0, ("rule", "rule"))], "twice"),
        (lambda desk: [SetMembers(0, ("nobody",))], "no span called"),
        (lambda desk: [AllSets((("rule",), ("nobody",)))], "no span called"),
        (lambda desk: [RemoveSpan("rule"), AllSets((("rule",),))], "no span called"),
        (lambda desk: [AllSets((("rule",),) * 201)], "At most 200"),
        (lambda desk: [AddSpan(desk.span("a", 0, 10_000))], "bytes"),
        (lambda desk: [AddSpan(desk.span("a", 0, 3), quote="abc")], "the quote sent is"),
        (lambda desk: [ChangeSpan("rule", desk.span("rule", 0, 3), quote="abc")], "the quote sent is"),
        (lambda desk: [AddSpan(MarkedSpan("0" * 64, 0, 3, "a"))], "no source version"),
    ],
)
def test_each_check_of_an_edit_fires_and_nothing_is_written(batch: Any, what: str) -> None:
    desk = make_desk()
    save_pass(desk.one, desk.first, 0, desk.content())
    with pytest.raises(BadInput) as raised:
        # Another edit stands before the refused one: it is taken back with it.
        edit(desk.one, desk.first, 1, [ContractFields({"notes": "n"}), *batch(desk)])
    assert what in " ".join(str(part) for part in raised.value.as_dict().values())
    assert content_of(desk.first) == (1, desk.content())


def test_a_pass_takes_no_more_spans_than_are_kept() -> None:
    desk = make_desk()
    spans = tuple(desk.span(f"s{number}", 0, 3) for number in range(MAX_SPANS - 1))
    save_pass(desk.one, desk.first, 0, PassContent(spans=spans))
    with pytest.raises(BadInput, match="Take some back"):
        edit(desk.one, desk.first, 1, [AddSpan(desk.span("a", 0, 3)), AddSpan(desk.span("b", 0, 3))])
    edit(desk.one, desk.first, 1, [AddSpan(desk.span("a", 0, 3))])
    edit(
        desk.one,
        desk.first,
        2,
        [ChangeSpan("a", desk.span("b", 0, 3)), RemoveSpan("s0"), AddSpan(desk.span("c", 0, 3))],
    )
    with pytest.raises(BadInput, match="Take some back"):
        edit(desk.one, desk.first, 3, [AddSpan(desk.span("d", 0, 3))])


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
