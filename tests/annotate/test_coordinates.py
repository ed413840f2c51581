"""Positions in every unit agree with each other, with Python's own encoders and with the reference vectors."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.domain.coordinates import ByteOffset, CodePointOffset, CoordinateMap, TokenIndex, Utf16Offset
from annotate.domain.errors import CoordinateError, EncodingRefused
from annotate.domain.spans import check_span, decode_utf8_or_refuse, locate_quote

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "offsets.json").read_text(encoding="utf-8"))
# Everything Unicode has but surrogates, with the awkward ones drawn often.
TEXTS = st.text(
    st.one_of(st.sampled_from("a\r\n\0\u0085\ufeffé\u0301か\U0001f4a9\u200d\U0001f1e9"), st.characters(codec="utf-8")),
    max_size=40,
)


def utf16_length(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


@pytest.mark.parametrize("vector", GOLDEN["vectors"], ids=lambda vector: vector["name"])
def test_vector_agrees_in_three_units(vector):
    content = vector["text"].encode()
    assert len(content) == vector["total_bytes"]
    assert list(locate_quote(content, vector["target"], vector["occurrence"] + 1)) == vector["bytes"]
    places = CoordinateMap(content)
    for byte, point, unit in zip(vector["bytes"], vector["code_points"], vector["utf16"], strict=True):
        for position in (ByteOffset(byte), CodePointOffset(point), Utf16Offset(unit)):
            assert places.to_bytes(position) == ByteOffset(byte)
            assert places.to_code_points(position) == CodePointOffset(point)
            assert places.to_utf16(position) == Utf16Offset(unit)
    assert list(check_span(content, *vector["bytes"])) == vector["bytes"]


@pytest.mark.parametrize("case", GOLDEN["refused_texts"], ids=lambda case: case["hex"])
def test_text_that_is_not_utf8_is_refused_with_its_first_bad_byte(case):
    data = bytes.fromhex(case["hex"])
    with pytest.raises(EncodingRefused) as refused:
        decode_utf8_or_refuse(data)
    assert refused.value.offset == case["first_bad_byte"]
    assert refused.value.byte == data[case["first_bad_byte"]]
    with pytest.raises(EncodingRefused):
        CoordinateMap(data)


@given(TEXTS)
def test_every_position_translates_as_python_counts_it(text):
    places = CoordinateMap(text.encode())
    assert places.byte_length == len(text.encode())
    assert places.code_point_length == len(text)
    assert places.utf16_length == utf16_length(text)
    for point in range(len(text) + 1):
        before = text[:point]
        byte, unit = ByteOffset(len(before.encode())), Utf16Offset(utf16_length(before))
        for position in (byte, CodePointOffset(point), unit):
            assert places.to_bytes(position) == byte
            assert places.to_code_points(position) == CodePointOffset(point)
            assert places.to_utf16(position) == unit
        assert places.code_point_starts[point] == byte.value


@given(TEXTS)
def test_position_inside_a_character_or_pair_or_beyond_the_end_is_refused(text):
    content = text.encode()
    places = CoordinateMap(content)
    starts = set(places.code_point_starts.tolist())
    for byte in set(range(len(content) + 1)) - starts:
        with pytest.raises(CoordinateError, match="inside the character"):
            places.to_utf16(ByteOffset(byte))
    unit = 0
    for letter in text:
        if utf16_length(letter) == 2:
            with pytest.raises(CoordinateError, match="surrogate pair"):
                places.to_bytes(Utf16Offset(unit + 1))
        unit += utf16_length(letter)
    for beyond in (
        ByteOffset(len(content) + 1),
        CodePointOffset(len(text) + 1),
        Utf16Offset(utf16_length(text) + 1),
    ):
        with pytest.raises(CoordinateError, match=r"beyond the text, which has \d+"):
            places.to_bytes(beyond)


def test_byte_offset_of_a_text_with_kana_is_not_taken_for_a_character_index():
    text = "Clannad (クラナド, Kuranado) developed by Key"
    places = CoordinateMap(text.encode())
    assert places.to_code_points(ByteOffset(46)) == CodePointOffset(38)
    assert ByteOffset(38) != CodePointOffset(38)
    with pytest.raises(TypeError):
        text[ByteOffset(38)]
    with pytest.raises(TypeError, match="names no unit"):
        places.to_bytes(38)
    with pytest.raises(TypeError):
        ByteOffset(1) < CodePointOffset(2)  # noqa: B015


@pytest.mark.parametrize("value", [True, 1.0, "1", None, -1, np.int64(1)])
def test_position_that_is_no_whole_number_from_zero_is_refused(value):
    with pytest.raises(CoordinateError):
        ByteOffset(value)


def test_token_that_splits_a_character_starts_at_the_character():
    text = "ab\U0001f4a9c"
    tokens = CoordinateMap(text.encode()).tokens(np.array([0, 2, 4, 6]))
    assert [tokens.start_of(TokenIndex(index)) for index in range(5)] == [
        ByteOffset(0),
        ByteOffset(2),
        ByteOffset(2),
        ByteOffset(6),
        ByteOffset(7),
    ]
    assert [tokens.splits_character(TokenIndex(index)) for index in range(5)] == [False, False, True, False, False]
    assert tokens.token_at(CodePointOffset(1)) == TokenIndex(0)
    assert tokens.token_at(Utf16Offset(4)) == TokenIndex(3)
    with pytest.raises(CoordinateError, match="beyond"):
        tokens.start_of(TokenIndex(5))


def test_text_before_the_first_token_belongs_to_none():
    tokens = CoordinateMap(b"  word").tokens(np.array([2]))
    assert tokens.token_at(ByteOffset(1)) is None
    assert tokens.token_at(ByteOffset(6)) == TokenIndex(0)


@pytest.mark.parametrize("starts", [[3, 2], [-1], [9]])
def test_token_starts_that_are_not_of_this_text_are_refused(starts):
    with pytest.raises(CoordinateError):
        CoordinateMap(b"abcdef").tokens(np.array(starts))


def test_large_text_is_mapped_once_and_translated_without_walking():
    text = "Grüße 💩 からの手紙\r\n" * 60_000
    places = CoordinateMap(text.encode())
    end = places.to_utf16(ByteOffset(places.byte_length))
    assert end.value == utf16_length(text)
    middle = len(text) // 2
    assert places.to_bytes(CodePointOffset(middle)).value == len(text[:middle].encode())
