import enum
import json
import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.domain.canonical import (
    CanonicalError,
    canonical_bytes,
    decimal_string,
    digest,
    keyed_digest,
    parse_canonical,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**200), 2**200) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({}, b"{}"),
        ([], b"[]"),
        (None, b"null"),
        ({"b": 1, "a": [True, None, "x"]}, b'{"a":[true,null,"x"],"b":1}'),
        ((1, (2,)), b"[1,[2]]"),
        ({"é": "é", "e\u0301": "💩"}, '{"e\u0301":"💩","é":"é"}'.encode()),
        ('\x00\x1f\n"\\/\x7f\u2028', b'"\\u0000\\u001f\\n\\"\\\\/\x7f\xe2\x80\xa8"'),
        ({"\U0001f600": 1, "\uffff": 2}, '{"\uffff":2,"\U0001f600":1}'.encode()),
        (-(10**30), b"-1000000000000000000000000000000"),
    ],
)
def test_canonical_bytes_of_known_values(value, expected):
    assert canonical_bytes(value) == expected
    assert canonical_bytes(parse_canonical(expected)) == expected


class Colour(enum.StrEnum):
    RED = "red"


def test_enum_strings_are_written_as_their_value():
    assert canonical_bytes({"c": Colour.RED}) == b'{"c":"red"}'


CYCLE: list = []
CYCLE.append(CYCLE)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": [1, 0.5]}, "$.a[1]"),
        (math.nan, "$"),
        ({"a": math.inf}, "$.a"),
        ({"a": {1: 2}}, "$.a"),
        ({"a": ["x", "\ud800"]}, "$.a[1]"),
        ({"\udfff": 1}, "$ (key"),
        ({"a": Decimal("1")}, "$.a"),
        ({"a": b"x"}, "$.a"),
        ({"a": {1, 2}}, "$.a"),
        ({"a": np.int64(3)}, "$.a"),
        ({"a": np.float64(3)}, "$.a"),
        ({"n": 2**5000}, "$.n"),
        (CYCLE, "deeper"),
    ],
)
def test_canonical_bytes_refuses_and_names_the_path(value, path):
    with pytest.raises(CanonicalError) as caught:
        canonical_bytes(value)
    assert path in str(caught.value)


@pytest.mark.parametrize(
    ("data", "offset"),
    [
        (b'{"a":1, "b":2}', 7),
        (b'{"b":1,"a":2}', 2),
        (b'{"a":1,"a":1}', 6),
        (b'{"a":1,"a":2}', 5),
        (b'{"a":0.5}', 5),
        (b'["1.5",1e2]', 7),
        (b"[NaN]", 1),
        (b"[-Infinity]", 1),
        (b"-0", 0),
        (b'"\\u00e9"', 1),
        (b'["\\ud800"]', 2),
        ('["é",x]'.encode(), 6),
        (b'"\xff"', 1),
        (b"[1]\n", 3),
        (b"\xef\xbb\xbf[]", 0),
        (b"", 0),
        (b"[" * 200 + b"]" * 200, 0),
        (b"9" * 5000, 0),
    ],
)
def test_parse_canonical_refuses_other_forms_with_the_byte(data, offset):
    with pytest.raises(CanonicalError, match=f"^byte {offset}:"):
        parse_canonical(data)


def test_bottomless_nesting_is_refused():
    with pytest.raises(CanonicalError):
        parse_canonical(b"[" * 500_000)


def test_doubled_key_is_named():
    with pytest.raises(CanonicalError, match="'a' occurs twice"):
        parse_canonical(b'{"a":1,"a":2}')


@given(VALUES)
def test_round_trip(value):
    data = canonical_bytes(value)
    assert parse_canonical(data) == value
    assert json.loads(data) == value
    assert canonical_bytes(parse_canonical(data)) == data


@given(st.dictionaries(TEXT, st.integers()), st.randoms())
def test_member_order_does_not_matter(value, random):
    items = list(value.items())
    random.shuffle(items)
    assert canonical_bytes(dict(items)) == canonical_bytes(value)


@given(st.binary(max_size=30))
def test_any_bytes_that_parse_are_the_canonical_ones(data):
    try:
        value = parse_canonical(data)
    except CanonicalError:
        return
    assert canonical_bytes(value) == data


def test_digests_of_known_bytes():
    assert digest(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    # RFC 4231, test case 3.
    expected = "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
    assert keyed_digest(b"\xaa" * 20, b"\xdd" * 50) == expected
    with pytest.raises(ValueError, match="at least 16"):
        keyed_digest(b"short", b"x")


@pytest.mark.parametrize(
    ("number", "places", "text"),
    [
        (0.1, 6, "0.100000"),
        (-0.0, 6, "0.000000"),
        (-1e-9, 6, "0.000000"),
        (0.5, 0, "0"),
        (1.5, 0, "2"),
        (2.675, 2, "2.67"),
        (1e22, 1, "10000000000000000000000.0"),
        (-1.25, 1, "-1.2"),
        (0.1, 20, "0.10000000000000000555"),
        (1.7976931348623157e308, 2, str(int(1.7976931348623157e308)) + ".00"),
        (5e-324, 3, "0.000"),
    ],
)
def test_decimal_string_of_known_numbers(number, places, text):
    assert decimal_string(number, places) == text


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_decimal_string_refuses_what_is_no_number(number):
    with pytest.raises(CanonicalError):
        decimal_string(number)


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 12))
def test_decimal_string_is_within_half_a_unit(number, places):
    text = decimal_string(number, places)
    assert not text.startswith("-0." + "0" * places) or Decimal(text) != 0
    assert abs(Decimal(text) - Decimal(number)) * 2 <= Decimal(1).scaleb(-places)
