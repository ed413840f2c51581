"""`shared/cases/chunking.json` on the public corpora: token counts, chunk counts and precision, in cl100k_base.

The encoding is the one LlamaIndex carries for tiktoken. The folder is looked for beside the repository or where
CUTLINE_SHARED says.
"""

from __future__ import annotations

import csv
import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiktoken

from evaluation.domain.frozen import Document
from evaluation.domain.segmenters.token_window import SegmenterConfigError, TokenWindow
from evaluation.domain.tokens import IntArray, TokenizedText, code_point_starts
from tests.evaluation.engine_world import document
from tests.evaluation.test_engine_shared_data import shared

pytestmark = pytest.mark.shared_data

WINDOWS = ["256/0", "256/64", "400/0", "400/200", "800/400", "200/0"]


@dataclass(frozen=True)
class Corpus:
    cases: Mapping[str, Any]
    documents: Mapping[str, Document]
    tokenized: Mapping[str, TokenizedText]
    references: tuple[tuple[str, tuple[tuple[int, int], ...]], ...]

    def chunks(self, window: str, name: str) -> tuple[IntArray, IntArray]:
        """Starts and ends, in code points, of the usual unshifted splitter."""
        capacity, overlap = map(int, window.split("/"))
        segmenter = TokenWindow(capacity, overlap, tails="drop")
        table = segmenter.chunks(self.documents[name], self.tokenized[name], segmenter.stride)
        points = code_point_starts(self.documents[name].content)
        return np.searchsorted(points, table.starts), np.searchsorted(points, table.end)


def encoded(encoding: tiktoken.Encoding, content: bytes) -> TokenizedText:
    """Tokens of `content` by the bytes they stand for, starts moved back to the start of a code point."""
    ids = encoding.encode(content.decode(), disallowed_special=())
    sizes = [len(encoding.decode_single_token_bytes(one)) for one in ids]
    at = np.concatenate(([0], np.cumsum(sizes)))[:-1]
    points = code_point_starts(content)
    starts = points[np.searchsorted(points, at, side="right") - 1]
    return TokenizedText(len(ids), len(content), lambda indices: starts[indices])


@pytest.fixture(scope="module")
def public() -> Corpus:
    data = shared()
    spec = importlib.util.find_spec("llama_index.core")
    assert spec is not None
    assert spec.submodule_search_locations
    folder = Path(spec.submodule_search_locations[0]) / "_static" / "tiktoken_cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        encoding = tiktoken.get_encoding("cl100k_base")
    documents = {path.stem: document(path.stem, path.read_bytes()) for path in sorted((data / "corpora").glob("*.md"))}
    with (data / "questions_df.csv").open(newline="", encoding="utf-8") as rows:
        references = tuple(
            (
                row["corpus_id"],
                tuple((one["start_index"], one["end_index"]) for one in json.loads(row["references"])),
            )
            for row in csv.DictReader(rows)
        )
    cases = json.loads((data.parents[1] / "cases" / "chunking.json").read_text(encoding="utf-8"))
    tokenized = {name: encoded(encoding, doc.content) for name, doc in documents.items()}
    return Corpus(cases, documents, tokenized, references)


def test_tokens_per_document_are_the_known_ones(public: Corpus) -> None:
    known = public.cases["unshifted_token_windows"]["cl100k_base"]
    assert {name: text.n for name, text in public.tokenized.items()} == known["per_document"]
    assert sum(text.n for text in public.tokenized.values()) == known["tokens"]


@pytest.mark.parametrize("window", WINDOWS)
def test_last_phase_without_tails_gives_the_known_chunk_counts(public: Corpus, window: str) -> None:
    counted = sum(public.chunks(window, name)[0].size for name in public.documents)
    assert counted == public.cases["unshifted_token_windows"]["cl100k_base"][window]


@pytest.mark.parametrize("window", ["400/200", "400/0", "800/400", "200/0"])
def test_precision_of_the_chunks_that_touch_a_reference_is_the_known_one(public: Corpus, window: str) -> None:
    cut = {name: public.chunks(window, name) for name in public.documents}
    shares = []
    for name, spans in public.references:
        starts, ends = cut[name]
        touched = np.zeros(starts.size, dtype=bool)
        for first, last in spans:
            touched |= (starts < last) & (ends > first)
        # Starts and ends both increase, so the union is what each chunk adds behind the one before it.
        first, last = starts[touched], ends[touched]
        reach = np.concatenate(([0], last))[:-1]
        union = int((last - np.maximum(first, reach)).sum())
        shares.append(sum(last - first for first, last in spans) / union)
    assert np.mean(shares) == pytest.approx(public.cases["precision_omega"][window], abs=5e-7)


@pytest.mark.parametrize(("window", "expected"), [("128/32", 1.333), ("400/200", 1.998)])
def test_index_tokens_over_source_tokens_approach_capacity_over_stride(
    public: Corpus, window: str, expected: float
) -> None:
    capacity, overlap = map(int, window.split("/"))
    segmenter = TokenWindow(capacity, overlap, tails="drop")
    indexed = sum(
        int(segmenter.chunks(doc, public.tokenized[name], segmenter.stride).tokens.sum())
        for name, doc in public.documents.items()
    )
    source = sum(text.n for text in public.tokenized.values())
    # The case names neither tokenizer nor tail rule: with and without tails this corpus is 0.001 to 0.002 below.
    assert indexed / source == pytest.approx(expected, abs=3e-3)


def test_overlap_that_is_not_smaller_than_the_size_is_refused(public: Corpus) -> None:
    (case,) = [one for one in public.cases["inputs"] if one["kind"] == "token overlap taken for characters"]
    with pytest.raises(SegmenterConfigError, match="overlap must be smaller than"):
        TokenWindow(case["size_chars"], case["overlap"])


def test_quotes_that_stand_twice_are_as_many_as_known(public: Corpus) -> None:
    repeated = 0
    for name, spans in public.references:
        text = public.documents[name].content.decode()
        repeated += sum(text.find(text[first:last], text.find(text[first:last]) + 1) >= 0 for first, last in spans)
    assert repeated == public.cases["data_facts"]["quotes_occurring_more_than_once"]
