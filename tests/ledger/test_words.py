"""The pure rules beside canonical bytes: heads, labels, payload encodings, text taken out."""

import zlib
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.domain import chain, encoding
from ledger.domain.canonical import canonical_bytes, keyed_digest
from ledger.domain.textfree import check_paths, redact

KEY = b"k" * 16


def test_head_reads_back_from_its_line():
    head = chain.ExternalHead(12, "ab" * 32)
    assert chain.ExternalHead.parse(head.to_text() + "\n") == head


@pytest.mark.parametrize(
    "text",
    [
        "",
        "12",
        "{}",
        '{"link":"xy","seq":1}',
        '{"link":"%s","seq":-1}' % ("a" * 64),
        '{"link":"%s","seq":true}' % ("a" * 64),
    ],
)
def test_head_in_another_form_is_refused(text):
    with pytest.raises(ValueError):
        chain.ExternalHead.parse(text)


def test_timestamp_is_utc_with_microseconds():
    moment = datetime(2026, 1, 31, 13, 0, tzinfo=timezone(timedelta(hours=1)))
    assert chain.timestamp(moment) == "2026-01-31T12:00:00.000000Z"
    assert chain.parse_timestamp("2026-01-31T12:00:00.000000Z") == datetime(2026, 1, 31, 12, tzinfo=UTC)
    with pytest.raises(ValueError, match="naive"):
        chain.timestamp(datetime(2026, 1, 31))
    with pytest.raises(ValueError):
        chain.parse_timestamp("2026-01-31T12:00:00.5Z")


def test_labels_are_a_sorted_set():
    assert chain.label_set(["b", "a", "b"]) == ("a", "b")


@pytest.mark.parametrize("labels", ["abc", [""], ["a\x00"], ["\ud800"], ["a\n"], ["x" * 201], [3]])
def test_labels_that_cannot_be_kept_are_refused(labels):
    with pytest.raises(ValueError):
        chain.label_set(labels)


def link(**changes):
    header = {
        "seq": 1,
        "kind": "k",
        "scope": "s",
        "labels": ("a",),
        "recorded_at": "2026-01-31T12:00:00.000000Z",
        "payload": "00" * 32,
        "previous": chain.GENESIS,
    }
    return chain.link_hash(**{**header, **changes})


def test_link_covers_every_member():
    changes = [
        {"seq": 2},
        {"kind": "l"},
        {"scope": "t"},
        {"labels": ()},
        {"recorded_at": "2026-01-31T12:00:00.000001Z"},
        {"payload": "01" * 32},
        {"previous": "00" * 32},
        {"kind": "s", "scope": "k"},
    ]
    assert len({link(), *(link(**change) for change in changes)}) == len(changes) + 1


@given(st.binary(max_size=3000))
def test_encoding_gives_the_bytes_back(data):
    name, stored = encoding.encode(data)
    assert encoding.decode(name, stored) == data
    assert len(stored) <= len(data)


def test_repetitive_payload_is_deflated():
    assert encoding.encode(b"a" * 1000)[0] == "zlib"


@pytest.mark.parametrize(
    ("name", "stored", "message"),
    [
        ("gzip", b"", "unknown"),
        ("zlib", b"no zlib", "damaged"),
        ("zlib", zlib.compress(b"a" * 99)[:-1], "cut short"),
        ("zlib", zlib.compress(b"a" * 99) + b"x", "after its end"),
        ("zlib", zlib.compress(b"a" * (encoding.MAX_PAYLOAD_BYTES + 1)), "more than"),
    ],
)
def test_damaged_encoding_is_refused(name, stored, message):
    with pytest.raises(ValueError, match=message):
        encoding.decode(name, stored)


def mark(value):
    return {"keyed_digest": keyed_digest(KEY, canonical_bytes(value))}


@pytest.mark.parametrize(
    ("payload", "paths", "expected", "count"),
    [
        ({"a": "x", "b": "y"}, ("a",), {"a": mark("x"), "b": "y"}, 1),
        ({"a": {"b": "x", "c": 1}}, ("a.b",), {"a": {"b": mark("x"), "c": 1}}, 1),
        ({"s": [{"q": "1", "n": 1}, {"n": 2}]}, ("s[].q",), {"s": [{"q": mark("1"), "n": 1}, {"n": 2}]}, 1),
        ({"s": ["1", "2"]}, ("s[]",), {"s": [mark("1"), mark("2")]}, 2),
        ({"s": [["1"], []]}, ("s[][]",), {"s": [[mark("1")], []]}, 1),
        (
            {"r": {"x": {"t": "1"}, "y": {"t": "2"}}},
            ("r.*.t",),
            {"r": {"x": {"t": mark("1")}, "y": {"t": mark("2")}}},
            2,
        ),
        ({"a": None}, ("a", "b"), {"a": None}, 0),
        # Another shape than declared is taken out whole.
        ({"s": "text"}, ("s[].q",), {"s": mark("text")}, 1),
        ({"a": ["text"]}, ("a.b",), {"a": mark(["text"])}, 1),
        ("text", ("a",), mark("text"), 1),
        # A payload cannot pass text off as a digest.
        ({"a": {"keyed_digest": "text"}}, ("a",), {"a": mark({"keyed_digest": "text"})}, 1),
    ],
)
def test_declared_fields_are_taken_out(payload, paths, expected, count):
    before = canonical_bytes(payload)
    assert redact(payload, paths, KEY) == (expected, count)
    assert canonical_bytes(payload) == before


@pytest.mark.parametrize("paths", [("",), ("a..b",), ("a[0]",), ("a b",), "answer"])
def test_paths_that_cannot_be_read_are_refused(paths):
    with pytest.raises(ValueError):
        check_paths(paths)
