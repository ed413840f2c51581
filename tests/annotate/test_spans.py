"""Spans and quotes: what is accepted, and that every refusal says where and how to mend it."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.domain.errors import BadInput, BadInputs, EncodingRefused, SpanError
from annotate.domain.spans import (
    QuoteMismatch,
    accept_text,
    check_quote,
    check_span,
    decode_utf8_or_refuse,
    locate_quote,
)

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "offsets.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", GOLDEN["refused_spans"], ids=lambda case: case["why"])
def test_span_that_is_none_is_refused_with_place_and_mend(case):
    with pytest.raises(SpanError) as refused:
        check_span(case["text"].encode(), *case["bytes"])
    assert refused.value.where
    assert refused.value.mend


def test_span_beyond_the_end_is_told_the_length():
    with pytest.raises(SpanError, match="has 3 bytes"):
        check_span(b"abc", 0, 4)


def test_span_inside_a_character_is_told_the_character_and_its_edges():
    with pytest.raises(SpanError) as refused:
        check_span("a💩b".encode(), 0, 3)
    assert "💩" in refused.value.what
    assert refused.value.mend == "Use 1 or 5."


def test_span_to_the_last_byte_is_legal():
    assert check_span("Refund 😀 within 30 days".encode(), 22, 26) == (22, 26)


@given(st.text(min_size=1, max_size=30), st.data())
def test_every_slice_between_characters_is_a_span_and_no_other(text, data):
    content = text.encode("utf-8", "ignore")
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(0, len(content)))
    try:
        content[start:end].decode()
        content[:start].decode()
        legal = start < end
    except UnicodeDecodeError:
        legal = False
    if legal:
        assert check_span(content, start, end) == (start, end)
    else:
        with pytest.raises(SpanError):
            check_span(content, start, end)


def test_repeated_quote_without_an_occurrence_is_refused_with_the_count_and_the_places():
    with pytest.raises(SpanError, match=r"occurs 3 times \(at bytes 0, 8, 16\)"):
        locate_quote(b"No fee. No fee. No fee.", "No fee.")


def test_occurrence_beyond_the_last_is_refused_with_the_count():
    with pytest.raises(SpanError, match="occurs once, not 2 times"):
        locate_quote(b"one fee", "fee", 2)


@pytest.mark.parametrize("occurrence", [0, -1, True, 1.0, "1"])
def test_occurrence_that_counts_nothing_is_refused(occurrence):
    with pytest.raises(SpanError, match="counted from 1"):
        locate_quote(b"fee", "fee", occurrence)


def test_overlapping_occurrences_are_all_counted():
    assert locate_quote(b"aaa", "aa", 2) == (1, 3)


def test_quote_in_another_normal_form_is_not_found():
    with pytest.raises(SpanError, match="does not occur"):
        locate_quote("De\u0301partement".encode(), "D\u00e9partement")


@pytest.mark.parametrize("quote", ["", "\ud83d", b"\xf0\x9f", "no such text"])
def test_quote_that_cannot_be_found_is_refused(quote):
    with pytest.raises(SpanError):
        locate_quote(b"some text", quote)


def test_quote_that_differs_is_refused_with_both_texts_in_full():
    with pytest.raises(QuoteMismatch) as refused:
        check_quote(b"two  blanks stay", 0, 11, "two blanks ")
    assert (refused.value.found, refused.value.sent) == ("two  blanks", "two blanks ")
    placed = refused.value.inside("mark 3")
    assert (placed.where, placed.found) == ("mark 3, span [0, 11)", "two  blanks")


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=30), st.data())
def test_located_quote_is_the_quote(text, data):
    start = data.draw(st.integers(0, len(text) - 1))
    quote = text[start : data.draw(st.integers(start + 1, len(text)))]
    content = text.encode()
    span = locate_quote(content, quote, 1)
    assert check_quote(content, *span, quote) == span


def test_bad_byte_is_named_with_its_line():
    with pytest.raises(EncodingRefused) as refused:
        decode_utf8_or_refuse(b"one\r\ntwo\rthree\nfour \xff", "notes.txt")
    assert (refused.value.offset, refused.value.byte) == (20, 0xFF)
    assert "line 4" in refused.value.what


def test_utf16_file_is_told_to_be_transcoded():
    with pytest.raises(EncodingRefused, match="UTF-16"):
        decode_utf8_or_refuse("text".encode("utf-16"))


def test_empty_and_oversized_texts_are_refused():
    with pytest.raises(EncodingRefused, match="empty"):
        accept_text(b"", "a.txt", 10)
    with pytest.raises(EncodingRefused, match="11 bytes, more than the limit of 10"):
        accept_text(b"x" * 11, "a.txt", 10)
    assert accept_text(b"\xef\xbb\xbfx\r", "a.txt", 10) == "\ufeffx\r"


def test_several_problems_are_told_together_with_their_places():
    together = BadInputs("folder", [BadInput("a", "one", "Mend."), BadInputs("b", [BadInput("c", "two", "Mend.")])])
    assert [problem.where for problem in together.inside("run").problems] == ["run, a", "run, c"]
    assert str(together).splitlines()[1:] == ["  a: one. Mend.", "  c: two. Mend."]
