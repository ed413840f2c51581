"""Blocks and numbered sentences: they cover every byte, cut no cluster, look into nothing hidden; and finding."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.domain.errors import BadInput
from annotate.domain.find import around, find
from annotate.domain.rendering import Highlight, RunKind, runs
from annotate.domain.source_layout import BLOCK_BYTES, lay_out
from annotate.domain.spans import ByteSpan

_CHARACTERS = st.sampled_from(
    ["a", "B", ".", " ", "\n", "\r", "\r\n", "é", "e\u0301", "👩‍❤️‍👩", "。", "\x00", "\x85", "م"]
)


def texts(minimum: int = 1) -> st.SearchStrategy[str]:
    return st.lists(_CHARACTERS, min_size=minimum, max_size=60).map("".join)


@given(texts(), st.integers(1, 900))
def test_blocks_partition_the_bytes_and_cut_between_clusters(piece: str, times: int) -> None:
    content = (piece * times).encode()
    layout = lay_out(content)
    assert [block.start for block in layout.blocks] == [0, *[block.end for block in layout.blocks[:-1]]]
    assert layout.blocks[-1].end == len(content)
    for block in layout.blocks:
        assert 0 < block.end - block.start <= BLOCK_BYTES
        text = content[block.start : block.end].decode()
        assert text[0] not in "\u0301\u200d\ufe0f"
        assert not (text.endswith("\r") and content[block.end : block.end + 1] == b"\n")
        assert layout.blocks[layout.block_at(block.start)] == block


@given(texts(5))
def test_sentences_are_in_order_apart_and_without_blanks_at_their_ends(text: str) -> None:
    content = text.encode()
    layout = lay_out(content)
    last = 0
    for start, end in zip(layout.sentence_starts, layout.sentence_ends, strict=True):
        assert last <= start < end
        quote = content[start:end].decode()
        assert quote == quote.strip()
        last = end


def test_sentences_end_where_a_reader_would_say() -> None:
    text = (
        "# Title\nSee Sec. 4 of No. 12, e.g. fees. It holds.\n\n1. First clause.\n2. Second clause!\n"
        "| a | b |\n日本語。次です。"
    )
    layout = lay_out(text.encode())
    found = [
        text.encode()[start:end].decode()
        for start, end in zip(layout.sentence_starts, layout.sentence_ends, strict=True)
    ]
    assert found == [
        "# Title",
        "See Sec. 4 of No. 12, e.g. fees.",
        "It holds.",
        "1. First clause.",
        "2. Second clause!",
        "| a | b |\n日本語。",
        "次です。",
    ]


def _quotes(text: str, locale: str = "") -> list[str]:
    content = text.encode()
    layout = lay_out(content, locale=locale)
    pairs = zip(layout.sentence_starts, layout.sentence_ends, strict=True)
    return [content[start:end].decode() for start, end in pairs]


@pytest.mark.parametrize(
    ("text", "quotes"),
    [
        ("4.1. Fees. They rise.", ["4.1. Fees.", "They rise."]),
        ("* 4.1. Fees\n* 4.2. Loans\n", ["* 4.1. Fees", "* 4.2. Loans"]),
        ("4.1.\nFees rise.", ["4.1.", "Fees rise."]),
        ("Fees rise.\n\n12.", ["Fees rise.", "12."]),
        ("## Fees \r\n They rise. Twice.", ["## Fees", "They rise.", "Twice."]),
        ("# One\n\n# Two", ["# One", "# Two"]),
        ("It ends in 1999. 12. Fees rise.", ["It ends in 1999.", "12. Fees rise."]),
    ],
)
def test_a_clause_keeps_its_number_and_a_heading_is_a_line(text: str, quotes: list[str]) -> None:
    assert _quotes(text) == quotes


def test_the_language_of_a_source_says_which_abbreviations_end_no_sentence() -> None:
    text = "Le prix est fixé par env. Trente jours. M. Dupont le dit."
    assert _quotes(text, "fr-CA") == ["Le prix est fixé par env. Trente jours.", "M. Dupont le dit."]
    assert _quotes(text, "en")[0] == "Le prix est fixé par env."
    # A language without rules of its own: those of all.
    assert _quotes(text, "tlh") == _quotes(text, "")


@pytest.mark.parametrize("sign", [".", "!", "…", ".)", ".*", "?\u00bb"])
def test_a_row_of_stops_as_long_as_a_book_is_one_sentence(sign: str) -> None:
    # Read from each of its signs anew, this would take hours and not milliseconds.
    text = sign * 200_000 + "x"
    layout = lay_out(text.encode())
    assert (layout.sentence_starts, layout.sentence_ends) == ((0,), (len(text.encode()),))


@pytest.mark.parametrize("cluster", ["🇩🇪", "👍🏽", "👩🏿‍🚀", "e\u0301\u0323", "\r\nx"])
@pytest.mark.parametrize("before", ["", "a", "ab", "abc"])
def test_a_text_without_blanks_is_cut_between_clusters(cluster: str, before: str) -> None:
    content = (before + cluster * 5_000).encode()
    edges = {len(before) + len(cluster.encode()) * number for number in range(5_001)}
    if cluster == "\r\nx":
        # Behind a line end, too.
        edges |= {edge + 2 for edge in edges}
    assert {block.start for block in lay_out(content).blocks} <= edges | {0}


def test_nothing_hidden_is_numbered_cut_or_found() -> None:
    shown, secret = "Open text. ", "Secret one. Secret two.\n" * 900
    content = (shown + secret + "Open end.").encode()
    hidden = (ByteSpan(len(shown), len(shown) + len(secret)),)
    layout = lay_out(content, hidden)
    assert len(layout.sentence_starts) == 2
    assert not any(hidden[0].start < block.start < hidden[0].end for block in layout.blocks)
    assert find(content, "secret", hidden) == []
    assert find(content, "text. Secret", hidden) == []
    (place,) = find(content, "open  END", hidden) or find(content, "open end", hidden)
    assert around(content, place, hidden)[0] == ""


@pytest.mark.parametrize(
    ("phrase", "places"),
    [("no fee", [(0, 6), (8, 14), (17, 23)]), ("No fee", [(0, 6), (8, 14)]), ("💩", [(25, 29)]), ("absent", [])],
)
def test_a_phrase_is_found_in_bytes_over_line_ends_and_with_case_only_where_asked(
    phrase: str, places: list[tuple[int, int]]
) -> None:
    content = "No fee. No\nfee.  no fee. 💩".encode()
    assert find(content, phrase) == places


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("held", ["NFC", "NFD"])
def test_an_accented_letter_is_found_however_it_is_written(form: str, held: str) -> None:
    before, word = "Fees of the ", unicodedata.normalize(held, "Département")
    content = f"{before}{word} (a.*+b) ".encode()
    place = (len(before), len(before) + len(word.encode()))
    assert find(content, unicodedata.normalize(form, "Département")) == [place]
    assert find(content, unicodedata.normalize(form, "éPART")) == []
    assert len(find(content, "(a.*+b)")) == 1


@pytest.mark.parametrize("phrase", ["", "  \n", "x" * 301])
def test_a_phrase_that_is_none_is_refused(phrase: str) -> None:
    with pytest.raises(BadInput):
        find(b"text", phrase)


@given(texts(3), st.data())
def test_runs_of_a_part_are_those_of_the_whole_inside_it(text: str, data: st.DataObject) -> None:
    content = text.encode()
    edges = [len(text[:index].encode()) for index in range(len(text) + 1)]
    start, end = sorted(data.draw(st.lists(st.sampled_from(edges), min_size=2, max_size=2, unique=True)))
    left, right = sorted(data.draw(st.lists(st.sampled_from(edges), min_size=2, max_size=2, unique=True)))
    marks = [Highlight(left, right, "m")]
    cuts = data.draw(st.lists(st.sampled_from(edges), max_size=3))
    part = runs(content[start:end], marks, start=start, end=end, cuts=cuts, base=start)
    assert part == runs(content, marks, start=start, end=end, cuts=cuts)
    assert [run.start for run in part] == [start, *[run.end for run in part[:-1]]]
    assert all(run.text.encode() == content[run.start : run.end] for run in part if run.kind is RunKind.TEXT)
