"""Measures of an index build and places of its chunks, against plain recounts."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.domain.boundary import boundary_documents, recorded_chunks
from evaluation.domain.chunk_measures import chunk_measures, moved_cuts, repeated_ngrams
from evaluation.domain.chunk_places import chunk_places
from evaluation.domain.chunks import CorpusChunks, join
from evaluation.domain.frozen import Document
from evaluation.domain.index_build import build_index
from evaluation.domain.pipeline import ArmSettings
from evaluation.domain.reanchor import Piece
from evaluation.domain.segmenters.characters import CharacterWindow
from evaluation.domain.segmenters.code import CodeAware
from evaluation.domain.segmenters.headings import HeadingAware
from evaluation.domain.segmenters.sentences import SentencePacking
from evaluation.domain.segmenters.separators import word_pattern
from evaluation.domain.segmenters.tables import TableAware
from evaluation.domain.segmenters.token_window import TokenWindow
from evaluation.domain.segmenters.words import WordWindow
from evaluation.domain.structure import structure_of
from evaluation.domain.tokens import TokenizedText
from evaluation.plugins.foreign.anchoring import Anchoring, table_of
from ledger.domain.canonical import canonical_bytes
from tests.evaluation.engine_world import corpus, document
from tests.evaluation.segmenter_texts import LANGUAGES, TOKENIZERS, source, texts

RULES = (
    "# Loans\n\nBooks go out for three weeks. Books go out for three weeks.\n\n## Fees\n\n"
    "| item | cents |\n|---|---|\n| book | 2 |\n| film | 5 |\n| map | 9 |\n\nNothing else is charged.\n"
)


def built(documents: list[Document], segmenter: Any, phase: int) -> tuple[list[TokenizedText], CorpusChunks]:
    tokenized = [TOKENIZERS["shipped"].encode(doc.content) for doc in documents]
    tables = [segmenter.chunks(doc, text, phase) for doc, text in zip(documents, tokenized, strict=True)]
    return tokenized, join(tables, tokenized)


@settings(max_examples=50)
@given(
    corpus=st.lists(texts, min_size=1, max_size=3),
    size=st.integers(2, 30).flatmap(lambda c: st.tuples(st.just(c), st.integers(0, c - 1))),
    ngram=st.integers(1, 3),
)
def test_counts_are_those_of_a_plain_recount(corpus: list[str], size: tuple[int, int], ngram: int) -> None:
    documents = [source(text) for text in corpus]
    tokenized, chunks = built(documents, WordWindow(*size), 1)
    found = chunk_measures(documents, tokenized, chunks, ngram)
    canonical_bytes(found)
    sizes = sorted((chunks.token_end - chunks.token_start).tolist())
    assert found["chunks"] == len(sizes)
    assert found["index_tokens"] == sum(sizes)
    assert [found["tokens"][name] for name in ("min", "max")] == [sizes[0], sizes[-1]]
    assert found["tokens"]["median"] == sizes[(len(sizes) + 1) // 2 - 1]
    assert Fraction(found["tokens"]["mean"]) == Fraction(sum(sizes), len(sizes))
    assert found["expansion"] == "" or Fraction(found["expansion"]) == Fraction(sum(sizes), sum(t.n for t in tokenized))

    def grams(index: int) -> list[tuple[str, ...]]:
        doc = documents[int(chunks.document[index])]
        start, end = int(chunks.start[index]), int(chunks.end[index])
        words = [
            match.group()
            for match in word_pattern().finditer(doc.content.decode())
            if start <= len(doc.content.decode()[: match.start()].encode())
            and len(doc.content.decode()[: match.end()].encode()) <= end
        ]
        return [tuple(words[i : i + ngram]) for i in range(len(words) - ngram + 1)]

    inside, repeated = repeated_ngrams(documents, chunks, ngram)
    for index in range(len(chunks)):
        mine = grams(index)
        first = index == 0 or chunks.document[index] != chunks.document[index - 1]
        before = set() if first else set(grams(index - 1))
        assert (inside[index], repeated[index]) == (len(mine), sum(gram in before for gram in mine))
    assert found["repeated_ngrams"]["repeated"] == int(repeated.sum())


def test_overlap_and_repetition_are_both_repeated_ngrams() -> None:
    doc = source("a b c d e f " + "g h i j k l " * 2, "text/plain")
    _, chunks = built([doc], WordWindow(6, 0), 6)
    inside, repeated = repeated_ngrams([doc], chunks, 2)
    assert (inside.tolist(), repeated.tolist()) == ([5, 5, 5], [0, 0, 5])
    _, chunks = built([doc], WordWindow(6, 3), 3)
    assert repeated_ngrams([doc], chunks, 2)[1].tolist()[:3] == [0, 2, 2]
    with pytest.raises(ValueError, match="at least 1 word"):
        repeated_ngrams([doc], chunks, 0)


def test_headings_left_alone_and_tables_torn_are_counted() -> None:
    doc = source(RULES)
    tokens = TOKENIZERS["shipped"].encode(doc.content)
    cut = doc.content.decode().index("| film")
    for segmenter, orphans, fragmented in ((CharacterWindow(cut), 0, 1), (HeadingAware(tokens.n), 0, 0)):
        tokenized, chunks = built([doc], segmenter, segmenter.stride)
        found = chunk_measures([doc], tokenized, chunks)
        assert (found["orphan_headings"], found["fragmented_tables"]) == (orphans, fragmented)
        assert (found["headings"], found["tables"], found["table_rows"], found["severed_rows"]) == (2, 1, 3, 0)
    orphan = CharacterWindow(doc.content.decode().index("| item"))
    tokenized, chunks = built([doc], orphan, orphan.stride)
    assert chunk_measures([doc], tokenized, chunks)["orphan_headings"] == 1
    inside = CharacterWindow(cut + 4)
    tokenized, chunks = built([doc], inside, inside.stride)
    assert chunk_measures([doc], tokenized, chunks)["severed_rows"] == 1


def test_row_that_two_overlapping_chunks_hold_is_not_severed_and_remarks_add_up() -> None:
    doc = source(RULES)
    tokenized, chunks = built([doc, source("x" * 4000)], TableAware(20, 5), 3)
    found = chunk_measures([doc, source("x" * 4000)], tokenized, chunks)
    assert found["severed_rows"] == 0
    assert found["fragmented_tables"] == 1
    assert found["inheriting"] > 0
    assert found["remarks"]["oversized_sentences_split"] == 1


def test_chunks_know_their_headings_table_rows_and_columns() -> None:
    doc = source(RULES)
    _, chunks = built([doc], TableAware(14), 14)
    places = list(chunk_places([doc], chunks))
    canonical_bytes(places)
    texts = [doc.content[a:b].decode() for a, b in zip(chunks.start.tolist(), chunks.end.tolist(), strict=True)]
    film = next(place for place, text in zip(places, texts, strict=True) if "film" in text)
    assert film["headings"] == ["Loans", "Fees"]
    assert film["table"] == "table-1"
    assert film["columns"] == ["item", "cents"]
    assert film["rows"][0] <= 1 < film["rows"][1]
    assert "table" not in places[0]
    assert places[0]["headings"] == ["Loans"]
    # A chunk inside one row names the columns it touches.
    one = structure_of(doc).tables[0].cells[2][1]
    window = CharacterWindow(one[0])
    _, chunks = built([doc], window, window.stride)
    assert list(chunk_places([doc], chunks))[1]["table"] == "table-1"


def test_chunks_of_code_know_their_file_and_symbol() -> None:
    doc = source(
        "class Desk:\n    def open(self):\n        return 1\n\n\ndef lend():\n    return 21\n", "text/x-python"
    )
    _, chunks = built([doc], CodeAware(12), 12)
    places = list(chunk_places([doc], chunks))
    assert {place["symbol"] for place in places} >= {"Desk", "lend"}
    assert all(place["code_file"] == "d" and place["code_language"] == "python" for place in places)
    block = source("Text.\n\n```go\nx := 1\n```\n")
    _, chunks = built([block], TokenWindow(400), 400)
    assert next(chunk_places([block], chunks)) == {"code_language": "go"}


def test_cuts_a_phase_really_moved_are_counted() -> None:
    docs = [source("a b c d e f g h", "text/plain"), source("one", "text/plain")]
    usual, shifted = (built(docs, WordWindow(4), phase)[1] for phase in (4, 2))
    assert moved_cuts(usual, usual) == (0, 1)
    assert moved_cuts(shifted, usual) == (2, 2)
    assert moved_cuts(built(docs, WordWindow(2), 2)[1], usual) == (2, 3)


@pytest.mark.parametrize("segmenter", [TokenWindow(5, 2), SentencePacking(24, 6), WordWindow(4), CharacterWindow(3, 1)])
@pytest.mark.parametrize("tokenizer", sorted(TOKENIZERS))
@pytest.mark.parametrize("text", [*LANGUAGES.values(), "Fees 👩‍👩‍👧 are waived. Unless late. De\u0301ja\u0300 vu.\r\n"])
def test_interval_counts_alike_whether_cut_here_or_read_from_a_dump(segmenter: Any, tokenizer: str, text: str) -> None:
    doc = source(text)
    tokenized = TOKENIZERS[tokenizer].encode(doc.content)
    for phase in (1, segmenter.stride):
        table = segmenter.chunks(doc, tokenized, phase)
        chunks = join([table], [tokenized])
        spans = zip(table.starts.tolist(), table.end.tolist(), strict=True)
        pieces = [Piece(doc.content[start:end].decode()) for start, end in spans]
        dumped = join([table_of("dump", doc, tokenized, pieces, Anchoring())], [tokenized])
        assert (dumped.start.tolist(), dumped.end.tolist()) == (chunks.start.tolist(), chunks.end.tolist())
        assert dumped.token_start.tolist() == chunks.token_start.tolist()
        assert dumped.token_end.tolist() == chunks.token_end.tolist()


def test_source_of_blanks_divides_by_nothing() -> None:
    doc = source("\n \n")
    tokenized = [TOKENIZERS["words"].encode(doc.content)]
    chunks = join([TokenWindow(4).chunks(doc, tokenized[0], 1)], tokenized)
    found = chunk_measures([doc], tokenized, chunks)
    assert (found["expansion"], found["tokens"]["mean"], found["repeated_ngrams"]["share"]) == ("", "0/1", "")


def test_boundary_record_names_what_each_chunk_inherits() -> None:
    prepared = corpus(document("a", "No table."), document("b", RULES, media_type="text/markdown"))
    build = build_index(prepared, ArmSettings("tables", TableAware(14)), 14)
    plain, ruled = boundary_documents(prepared, build.chunks)
    canonical_bytes(ruled)
    assert plain["lineage"] == []
    starts, _ = recorded_chunks(ruled)
    (table,) = structure_of(prepared.documents[1]).tables
    assert ruled["lineage"]
    for chunk, start, end in ruled["lineage"]:
        assert (start, end) == tuple(table.header)
        assert table.header[1] <= starts[chunk] < table.end
