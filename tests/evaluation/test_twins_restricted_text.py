"""Restricted bytes are found wherever they were written, and readable text is never taken for them."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.domain.frozen import Document, Interval, RestrictedRange
from evaluation.domain.restricted_text import WINDOW, readings, restricted_text
from tests.evaluation.engine_world import document

SECRET = "Der Zuschlag beträgt 4,7 % – nur für „Vertrauliches“ 💩, vier Tage lang.\r\n"
OPEN = document("open", "Anybody may borrow ladders from the store on weekdays between nine and four.")
CLOSED = document("closed", SECRET, access_labels=frozenset({"staff"}))


def with_range(text: str, secret: str, labels: str = "staff") -> Document:
    start = text.encode().index(secret.encode())
    end = start + len(secret.encode())
    return document("mixed", text, access_ranges=(RestrictedRange(start, end, frozenset({labels})),))


def test_any_window_of_a_restricted_document_is_found_where_it_stands() -> None:
    hidden = restricted_text([CLOSED, OPEN], frozenset())
    raw = CLOSED.content
    for start in range(len(raw) - WINDOW + 1):
        piece = raw[start : start + WINDOW]
        assert hidden.found_in(b"log <" + piece + b"> end") == (Interval(CLOSED.digest, start, start + WINDOW),)
    assert hidden.found_in(raw[: WINDOW - 1]) == ()
    assert hidden.found_in(OPEN.content) == ()
    assert restricted_text([CLOSED, OPEN], frozenset({"staff"})).found_in(raw) == ()


def test_escaped_copies_are_found() -> None:
    hidden = restricted_text([CLOSED, OPEN], frozenset())
    for text in (
        json.dumps({"a": SECRET}),
        json.dumps({"a": SECRET}, ensure_ascii=False),
        repr(CLOSED.content),
        repr(SECRET),
        SECRET.replace("„", "&bdquo;").replace("%", "&#37;"),
    ):
        whole = Interval(CLOSED.digest, 0, len(CLOSED.content))
        (found,) = hidden.found_in(text.encode())
        assert found == whole or (found.start == 0 and found.end >= whole.end - 2), text
    assert list(readings(b"plain")) == [b"plain"]


def test_restricted_range_inside_a_readable_document_is_found_and_its_surroundings_are_not() -> None:
    mixed = with_range(
        "Loans run for 14 days. Directors may keep a camera for a year. Ask the desk.",
        "Directors may keep a camera for a year.",
    )
    hidden = restricted_text([mixed, OPEN], frozenset())
    assert hidden.found_in(mixed.content[:23]) == ()
    assert hidden.found_in(b"Ask the desk. Loans run for 14 days.") == ()
    start = mixed.content.index(b"Directors")
    assert hidden.found_in(b"... Directors may keep a camera ...") == (Interval(mixed.digest, start, start + 28),)
    # A window that crosses into readable text is no window of the restricted stretch.
    assert hidden.found_in(mixed.content[10 : start + 10]) == ()


def test_windows_that_readable_or_public_text_has_do_not_count() -> None:
    copied = with_range(
        "Anybody may borrow ladders from the store. Keys are under the mat.",
        "Anybody may borrow ladders from the store. Keys are under the mat.",
    )
    hidden = restricted_text([copied, OPEN], frozenset(), ["Where are the Keys are under?"])
    assert hidden.found_in(b"Anybody may borrow ladders from the store") == ()
    assert hidden.found_in(b"Keys are under") == ()
    assert hidden.found_in(b"Keys are under the mat.")
    everything = restricted_text(
        [document("c", OPEN.content, access_labels=frozenset({"x"}))], frozenset(), [OPEN.content]
    )
    assert everything.indistinct == (Interval(OPEN.digest, 0, len(OPEN.content)),)
    assert everything.found_in(OPEN.content) == ()


def test_short_stretches_are_looked_for_whole_or_named_as_indistinct() -> None:
    code = with_range("The door code is 48151623. Never mind.", "48151623")
    hidden = restricted_text([code], frozenset())
    assert hidden.found_in(b"code=48151623;") == (Interval(code.digest, 17, 25),)
    assert hidden.found_in(b"code=4815162") == ()
    tiny = restricted_text([with_range("Fee: 42 euros.", "42")], frozenset())
    assert [(one.start, one.end) for one in tiny.indistinct] == [(5, 7)]
    known = restricted_text([with_range("The door code is 48151623. Not 48151623!", "48151623")], frozenset())
    assert len(known.indistinct) == 1
    ruler = restricted_text([with_range("a " + "-" * 40 + " b", "-" * 40)], frozenset())
    assert len(ruler.indistinct) == 1


def test_texts_longer_than_a_block_are_searched_across_its_edge() -> None:
    hidden = restricted_text([CLOSED, OPEN], frozenset())
    piece = CLOSED.content[5 : 5 + WINDOW]
    edge = 1 << 20
    for before in (edge - 8, edge - WINDOW, edge - WINDOW + 1, edge, 2 * edge - 3):
        text = b"." * before + piece + b"." * 50
        assert hidden.found_in(text) == (Interval(CLOSED.digest, 5, 5 + WINDOW),)


WORDS = st.lists(st.sampled_from(["rule", "days", "💩", "é", "\n", " ", "12", "x" * 9, "Frist"]), max_size=30).map(
    "".join
)


@settings(max_examples=200, deadline=None)
@given(WORDS.filter(bool), WORDS, st.data())
def test_found_is_exactly_what_a_slow_search_finds(secret: str, other: str, data: Any) -> None:
    raw = secret.encode()
    closed = document("closed", raw, access_labels=frozenset({"s"}))
    documents = [closed, document("open", other)] if other and other != secret else [closed]
    hidden = restricted_text(documents, frozenset())
    start = data.draw(st.integers(0, len(raw)))
    text = b"<" + raw[start : data.draw(st.integers(start, len(raw)))] + b">"
    readable = [one.content for one in documents[1:]]
    if len(raw) < WINDOW:
        slow = bool(len(raw) >= 6 and raw in text and not any(raw in one for one in readable))
    else:
        windows = {raw[i : i + WINDOW] for i in range(len(raw) - WINDOW + 1)}
        told = {one for one in windows if len(set(one)) >= 5 and not any(one in text for text in readable)}
        slow = any(one in text for one in told)
    assert bool(hidden.found_in(text)) == slow
    for one in hidden.found_in(text):
        assert raw[one.start : one.end]
