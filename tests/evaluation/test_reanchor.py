"""Foreign chunks find their way back to exact bytes, or are described."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evaluation.domain.blanks import BlankCount
from evaluation.domain.reanchor import (
    EXAMINED,
    FEW,
    LOOKED_AT,
    OCCURRENCES,
    WAYS,
    Newlines,
    Piece,
    Reanchored,
    Search,
    Way,
    reanchor,
)
from evaluation.domain.reanchor_diagnosis import Fault
from evaluation.domain.reanchor_text import OffsetUnit, SourceView, needle_of

UNITS = {
    OffsetUnit.BYTES: lambda text: len(text.encode()),
    OffsetUnit.CODE_POINTS: len,
    OffsetUnit.UTF16: lambda text: len(text.encode("utf-16-le")) // 2,
}


def anchor(source: str, *texts: str, **options: object) -> Reanchored:
    return reanchor(source.encode(), [Piece(text) for text in texts], **options)  # type: ignore[arg-type]


def intervals(found: Reanchored) -> list[tuple[int, int]]:
    return list(zip(found.start.tolist(), found.end.tolist(), strict=True))


@st.composite
def chunkings(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]]]:
    """A text and intervals in code points that cover it, starts and ends both increasing, with any overlap."""
    alphabet = draw(st.sampled_from(["ab", "a b\n", "abcdefgh é𝄞\r\n", "返却は三日 👩‍👧"]))
    text = draw(st.text(alphabet, min_size=1, max_size=60))
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(text) - 1)), max_size=8)) - {len(text)})
    starts = [0, *cuts]
    ends, reach = [], 0
    for following in [*cuts, len(text)]:
        reach = min(len(text), max(following, reach) + draw(st.integers(0, 6)))
        ends.append(reach)
    ends[-1] = len(text)
    return text, list(zip(starts, ends, strict=True))


@given(chunkings())
@example(("a" * 60, [(i, i + 10) for i in range(0, 60, 10)]))
@example(("ab ab ab ab", [(0, 2), (3, 5), (6, 8), (9, 11)]))
def test_any_chunking_returns_to_its_intervals_unless_it_is_called_ambiguous(
    case: tuple[str, list[tuple[int, int]]],
) -> None:
    text, cut = case
    truth = [(len(text[:start].encode()), len(text[:end].encode())) for start, end in cut]
    found = anchor(text, *(text[start:end] for start, end in cut))
    assert found.problems == ()
    assert found.uncovered.size == 0
    for (start, end), piece in zip(intervals(found), cut, strict=True):
        assert text.encode()[start:end] == text[slice(*piece)].encode()
    assert np.all(np.diff(found.start) >= 0)
    assert np.all(np.diff(found.end) >= 0)
    if not found.ambiguous:
        assert intervals(found) == truth


@given(chunkings(), st.sampled_from(sorted(UNITS)))
def test_offsets_that_agree_with_the_bytes_settle_what_text_alone_cannot(
    case: tuple[str, list[tuple[int, int]]], unit: OffsetUnit
) -> None:
    text, cut = case
    measure = UNITS[unit]
    pieces = [Piece(text[start:end], measure(text[:start]), measure(text[:end])) for start, end in cut]
    found = reanchor(text.encode(), pieces, unit=unit)
    assert intervals(found) == [(len(text[:start].encode()), len(text[:end].encode())) for start, end in cut]
    assert (found.claims, found.wrong_claims, found.ambiguous) == (len(cut), 0, ())


def test_repeated_passage_is_the_one_that_continues_and_not_the_first() -> None:
    row = "| none | none |\n"
    source = "| a | b |\n" + 3 * row + "| c | d |\n" + 2 * row
    pieces = ["| a | b |\n", row, row, row, "| c | d |\n", row, row]
    found = anchor(source, *pieces)
    assert found.ambiguous == ()
    assert "".join(source[start:end] for start, end in intervals(found)) == source


def test_chunks_of_one_letter_are_placed_by_what_must_still_be_covered() -> None:
    found = anchor("a" * 1000, *["a" * 10] * 100)
    assert intervals(found) == [(i, i + 10) for i in range(0, 1000, 10)]
    assert found.ambiguous == ()


def test_chunk_that_could_lie_in_two_places_takes_the_earliest_and_is_listed() -> None:
    found = anchor("aaaaaa", "aaa", "aaa", "aaa")
    assert intervals(found) == [(0, 3), (1, 4), (3, 6)]
    assert found.ambiguous == (1,)


def test_wrong_offsets_are_counted_and_corrected() -> None:
    source = "one two one two three"
    pieces = [Piece("one two", 0, 7), Piece("one two", 0, 7), Piece("three", 99, 104), Piece("three", -1)]
    found = reanchor(source.encode(), pieces[:3])
    assert intervals(found) == [(0, 7), (8, 15), (16, 21)]
    assert (found.claims, found.wrong_claims) == (3, 2)
    assert reanchor(source.encode(), [pieces[0], pieces[0], pieces[3]]).wrong_claims == 2


def test_the_same_number_is_another_place_in_another_unit() -> None:
    source = "𝄞é ab ab"
    for unit, start in [(OffsetUnit.BYTES, 10), (OffsetUnit.CODE_POINTS, 6), (OffsetUnit.UTF16, 7)]:
        found = reanchor(source.encode(), [Piece("𝄞é ab", 0), Piece("ab", start)], unit=unit)
        assert (intervals(found)[1], found.wrong_claims) == ((10, 12), 0), unit


def test_white_space_between_chunks_is_recorded_and_other_text_is_reported() -> None:
    found = anchor("  one \u3000\xa0 two\r\n\r\nthree lost four\n", "one", "two", "three", "four")
    assert found.faults == ()
    source = "  one \u3000\xa0 two\r\n\r\nthree lost four\n".encode()
    assert [source[a:b] for a, b in found.uncovered.tolist()] == [b" lost "]
    assert [source[a:b].decode().strip() for a, b in found.blank_gaps.tolist()] == [""] * 4


@pytest.mark.parametrize(
    ("chunks", "fault", "source_offset"),
    [
        (["The fee is waived.", "The fee is waved after three days."], Fault.REWRITTEN, 13),
        (["The fee  is waived."], Fault.WHITE_SPACE, 8),
        (["the fee is waived."], Fault.CASE, None),
        (["The fee is waived.", "The fee is waived."], Fault.DUPLICATED, 0),
        (["The fee is due after three days.", "The fee is waived."], Fault.OUT_OF_ORDER, 0),
        (["The fee is waived.\nThe fee is due", "fee"], Fault.NESTED, 4),
        (["The fee is due three days."], Fault.DROPPED, 34),
        (["The fee is due af\ufffdter"], Fault.REPLACEMENT, None),
        (["something else altogether"], Fault.REWRITTEN, None),
        (["The fee is waived.", ""], Fault.EMPTY, None),
        (["\ufffd"], Fault.EMPTY, None),
        (["The fee is waived. \ud800"], Fault.REWRITTEN, 18),
    ],
)
def test_chunk_that_is_not_in_its_place_is_described(
    chunks: list[str], fault: Fault, source_offset: int | None
) -> None:
    source = "The fee is waived.\nThe fee is due after three days. Naïve café."
    found = anchor(source, *chunks)
    assert [one.fault for one in found.problems] == [fault]
    (problem,) = found.problems
    assert found.start[problem.index] == -1
    if source_offset is not None:
        assert problem.source_offset == source_offset
    assert str(problem.fault) in str(problem)


def test_changed_newlines_and_unicode_forms_are_told_apart() -> None:
    (newline,) = anchor("one\r\ntwo\r\nthree", "one\ntwo").problems
    assert (newline.fault, newline.chunk_offset) == (Fault.NEWLINES, 0)
    (form,) = anchor("un cafe\u0301 noir", "un café noir").problems
    assert (form.fault, form.source_offset) == (Fault.NORMALISED, -1)


def test_declared_newlines_map_back_to_the_source_and_never_split_a_crlf() -> None:
    source = "one\r\ntwo\rthree\n\r\nfour"
    pieces = [Piece("one\n", 0), Piece("two\nthree", 4), Piece("\n\nfour", 13)]
    found = reanchor(source.encode(), pieces, newlines=Newlines.NORMALISED)
    assert [source[a:b] for a, b in intervals(found)] == ["one\r\n", "two\rthree", "\n\r\nfour"]
    assert (found.wrong_claims, found.problems, found.uncovered.size) == (0, (), 0)


def test_cut_characters_move_back_to_their_start_and_are_listed() -> None:
    source = "ab返却cd"
    found = anchor(source, "ab\ufffd", "\ufffd\ufffd却c", "d")
    assert [source.encode()[a:b].decode() for a, b in intervals(found)] == ["ab", "返却c", "d"]
    assert found.snapped == (0, 1)
    assert found.problems == ()


def test_a_real_replacement_character_of_the_source_is_text() -> None:
    found = anchor("ab\ufffdcd", "ab\ufffd", "cd")
    assert (intervals(found), found.snapped, found.problems) == ([(0, 5), (5, 7)], (), ())


def test_one_chunk_out_of_its_turn_does_not_take_the_others_with_it() -> None:
    words = [f"word{i} and more." for i in range(20)]
    moved = [words[15], *words[:15], *words[16:]]
    found = anchor(" ".join(words), *moved)
    assert [(one.index, one.fault) for one in found.problems] == [(0, Fault.OUT_OF_ORDER)]
    assert len(found.uncovered) == 1


def test_a_dump_of_another_corpus_is_listed_and_only_its_beginning_examined() -> None:
    found = anchor("short source", *[f"unrelated {i}" for i in range(EXAMINED + 5)])
    assert len(found.faults) == EXAMINED + 5
    assert sum(one.fault is Fault.UNEXAMINED for one in found.faults) == 5
    assert found.uncovered.tolist() == [[0, 12]]


def test_no_chunks_leave_the_whole_source_uncovered() -> None:
    found = anchor("text")
    assert (len(found.start), found.uncovered.tolist()) == (0, [[0, 4]])


@pytest.mark.parametrize(("unit", "size", "step"), [("ab", 20, 20), ("ab", 40, 20), ("Fees. ", 60, 60)])
def test_text_that_repeats_thousands_of_times_is_covered_after_the_search_narrows(
    unit: str, size: int, step: int
) -> None:
    count = 5_000
    text = unit * (count * step // len(unit))
    pieces = [Piece(text[first : first + size]) for first in range(0, len(text) - size + 1, step)]
    source = text.encode()
    view = SourceView(source)
    counted = Search(view, BlankCount(source))
    steps = [[Way(-1, 0, (0, 0, 0), [], placed=False)]]
    for piece in pieces:
        steps.append(counted.advance(steps[-1], needle_of(piece.text, view), -1))
    # Whatever is repeated how often: past the bound a chunk costs at most FEW ways of FEW places and two sure ones.
    assert counted.looked_at <= LOOKED_AT + WAYS * (OCCURRENCES + 2) + len(pieces) * FEW * (FEW + 2)
    assert len(steps[-1]) <= FEW
    found = reanchor(source, pieces)
    assert found.faults == ()
    # Overlapping chunks of such a text lie in any of thousands of ways: they are called ambiguous, never sure.
    assert found.uncovered.tolist() == [] if size == step else found.ambiguous


def test_a_megabyte_of_near_repeats_is_placed_exactly() -> None:
    lines = [f"row {i % 50} of the table, value {i % 7}\n" for i in range(30_000)]
    source = "".join(lines).encode()
    size, overlap = 12, 3
    truth, pieces, at = [], [], [0]
    for line in lines:
        at.append(at[-1] + len(line))
    for first in range(0, len(lines), size - overlap):
        last = min(first + size, len(lines))
        truth.append((at[first], at[last]))
        pieces.append(Piece(source[at[first] : at[last]].decode()))
        if last == len(lines):
            break
    found = reanchor(source, pieces)
    assert intervals(found) == truth


@given(st.text(st.sampled_from("ab \t\n\x1c\x85\xa0\u3000é𝄞"), max_size=30))
def test_blank_is_what_python_strips(text: str) -> None:
    count = BlankCount(text.encode())
    assert count.filled(0, count.size) == sum(len(sign.encode()) for sign in text if not sign.isspace())
    head = len(text) - len(text.lstrip())
    assert count.end_of_blanks(0) == len(text[:head].encode())
