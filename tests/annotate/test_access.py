"""Labels on versions and byte ranges: what a reader does not hold is never in what they get."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.domain.access import (
    LabelledRange,
    check_labels,
    check_ranges,
    hidden_ranges,
    readable_parts,
    touches_hidden,
)
from annotate.domain.errors import BadInput, SpanError
from annotate.domain.spans import ByteSpan

LABELS = st.frozensets(st.sampled_from(["hr", "finance", "archive"]))
RANGES = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 10), LABELS).map(
        lambda item: LabelledRange(item[0], item[0] + item[1], item[2])
    ),
    max_size=6,
)


@given(LABELS, RANGES, LABELS)
def test_reader_gets_exactly_the_bytes_whose_labels_they_all_hold(labels, ranges, clearance):
    content = bytes(range(40))
    hidden = hidden_ranges(labels, ranges, clearance, len(content))
    for byte in range(len(content)):
        needed = labels.union(*(item.labels for item in ranges if item.start <= byte < item.end))
        assert any(span.start <= byte < span.end for span in hidden) == (not needed <= clearance)
        assert touches_hidden(ByteSpan(byte, byte + 1), hidden) == (not needed <= clearance)
    parts = readable_parts(content, hidden)
    assert [part.start for part in parts[1:]] == [part.end for part in parts[:-1]]
    assert (parts[0].start, parts[-1].end) == (0, len(content))
    for part in parts:
        if part.content is None:
            assert ByteSpan(part.start, part.end) in hidden
        else:
            assert part.content == content[part.start : part.end]


def test_one_label_of_two_is_not_enough():
    ranges = [LabelledRange(2, 4, frozenset({"hr", "finance"}))]
    assert hidden_ranges((), ranges, {"hr"}, 10) == (ByteSpan(2, 4),)


def test_touching_a_hidden_range_is_not_reading_it():
    assert not touches_hidden(ByteSpan(0, 5), [ByteSpan(5, 9)])


@pytest.mark.parametrize("labels", ["hr", ["two words"], [""], [3], ["x" * 61], None, ["-hr"]])
def test_labels_that_are_no_single_words_are_refused(labels):
    with pytest.raises(BadInput):
        check_labels(labels)


def test_range_inside_a_character_is_refused_with_its_number():
    with pytest.raises(SpanError) as refused:
        check_ranges([[0, 1, ["hr"]], [1, 3, ["hr"]]], "a💩".encode())
    assert "range 2" in refused.value.where


@pytest.mark.parametrize("row", [[0, 1], [0, 1, []], "abc", [0, 1, "hr"]])
def test_range_that_restricts_nothing_or_is_none_is_refused(row):
    with pytest.raises(BadInput):
        check_ranges([row], b"abc")
