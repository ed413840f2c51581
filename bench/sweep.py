"""How fast a sweep is against rebuilding the index for every phase, in one run on one machine.

    python bench/sweep.py --data ../shared/data/chunking-evaluation --json sweep.json

Three things are timed over the same arms (256/0, 256/64) and phases on the same 472 questions: the *rebuild* (encode
with the same tokenizer, slice, index and query with bm25s, for each phase and arm), *ranks only* (one tokenisation,
one table of word positions, every phase from differences) and *all stages* (ranks, support at every stage, packing
under a ceiling and a top-k view). The rebuild's ranks are compared with ours; the ratio of times is the figure,
seconds belong to the machine.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import platform
import resource
import sys
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path

import bm25s
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from annotate.domain.vocabulary import Partition, Sample, Segment
from evaluation.domain.analysis import Analyser
from evaluation.domain.bm25 import QUANTUM, Bm25, query_terms, rank, score
from evaluation.domain.cell import build_index, prepare_corpus, run_block
from evaluation.domain.frozen import Document, FrozenQuestion, Interval, SupportSpan
from evaluation.domain.packing import Packer
from evaluation.domain.phases import grid
from evaluation.domain.pipeline import ArmSettings, PipelineSettings
from evaluation.domain.plan import Budget, Retrieval
from evaluation.domain.segmenters.token_window import TokenWindow
from evaluation.plugins.tokenizers import load_tokenizer

ARMS = (TokenWindow(256, 0), TokenWindow(256, 64))
DEPTH = 50
DAY = date(2026, 1, 1)


def load(data: Path) -> tuple[list[Document], list[FrozenQuestion]]:
    """Corpora and questions, code-point references turned into bytes."""
    documents: dict[str, Document] = {}
    for path in sorted((data / "corpora").glob("*.md")):
        raw = path.read_bytes()
        documents[path.stem] = Document(path.stem, "1", hashlib.sha256(raw).hexdigest(), raw, DAY)
    questions = []
    with (data / "questions_df.csv").open(newline="", encoding="utf-8") as rows:
        for number, row in enumerate(csv.DictReader(rows)):
            doc = documents[row["corpus_id"]]
            text = doc.content.decode()
            spans = []
            for i, reference in enumerate(json.loads(row["references"])):
                start = len(text[: reference["start_index"]].encode())
                end = start + len(reference["content"].encode())
                spans.append(SupportSpan(f"r{i}", Interval(doc.digest, start, end)))
            questions.append(
                FrozenQuestion(
                    question_id=f"q{number:03}",
                    text=row["question"],
                    answerable=True,
                    support_sets=(tuple(spans),),
                    segment=Segment.UNCLASSIFIED,
                    sample=Sample.REPRESENTATIVE,
                    partition=Partition.DEVELOPMENT,
                    cluster=row["corpus_id"],
                    reader_labels=frozenset(),
                    as_of=DAY,
                )
            )
    return list(documents.values()), questions


def rebuild(documents: list[Document], texts: list[str], window: TokenWindow, phase: int) -> list[np.ndarray]:
    """Ranks of one phase the ordinary way: encode, slice, index, query."""
    tokenizer, analyser = load_tokenizer(), Analyser()
    chunks: list[list[str]] = []
    for doc in sorted(documents, key=lambda d: d.document_id):
        tokens = tokenizer.encode(doc.content)
        starts = tokens.starts()
        edges = [0, *range(phase, tokens.n, window.stride)]
        for i, first in enumerate(edges):
            core_end = edges[i + 1] if i + 1 < len(edges) else tokens.n
            begin = int(starts[first]) if i else 0
            chunks.append(
                analyser.terms(doc.content[begin : starts[min(core_end + window.overlap, tokens.n)]].decode())
            )
    index = bm25s.BM25(method="lucene", k1=1.5, b=0.75, dtype="float64")
    index.index(chunks, show_progress=False)
    ranks = []
    for text in texts:
        scores = np.rint(np.asarray(index.get_scores(analyser.terms(text))) * QUANTUM).astype(np.int64)
        found = np.flatnonzero(scores)
        ranks.append(rank(found, scores[found], DEPTH)[0])
    return ranks


def main(arguments: list[str] | None = None) -> int:
    """Time the three ways; returns 1 when the ranks of rebuild and sweep differ by more than ties of rounding."""
    parser = argparse.ArgumentParser(description="Time a sweep against rebuilding the index for every phase.")
    parser.add_argument("--data", type=Path, default=Path("../shared/data/chunking-evaluation"))
    parser.add_argument("--phases", type=int, default=16, help="labels in the grid (default 16)")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args(arguments)
    documents, questions = load(options.data)
    texts = [one.text for one in questions]
    runs = [(window, label.phase(window.stride)) for window in ARMS for label in grid(options.phases)]

    began = time.perf_counter()
    reference = [rebuild(documents, texts, window, phase) for window, phase in runs]
    seconds = {"rebuild": time.perf_counter() - began}

    began = time.perf_counter()
    prepared = prepare_corpus(documents, load_tokenizer(), Analyser())
    queries = query_terms(texts, prepared.analyser, prepared.words)
    ranks = []
    for window, phase in runs:
        build = build_index(prepared, ArmSettings("arm", window), phase)
        scored = score(Bm25(1.5, 0.75), prepared.words, build.words, queries)
        ranks.append([rank(chunks, scores, DEPTH)[0] for chunks, scores in scored])
    seconds["ranks_only"] = time.perf_counter() - began

    began = time.perf_counter()
    prepared = prepare_corpus(documents, load_tokenizer(), Analyser())
    budget = Budget(
        tokenizer="cutline-bpe-4k",
        evidence_tokens=(400,),
        primary_evidence_tokens=400,
        instruction_tokens=100,
        output_tokens=100,
        top_k=5,
    )
    settings = PipelineSettings(budget, Retrieval("bm25", DEPTH))
    packer = Packer(prepared, budget)
    for window, phase in runs:
        build = build_index(prepared, ArmSettings("arm", window), phase)
        run_block(prepared, build, questions, settings, packer=packer)
    seconds["all_stages"] = time.perf_counter() - began

    lists = [
        (one, two) for mine, theirs in zip(ranks, reference, strict=True) for one, two in zip(mine, theirs, strict=True)
    ]
    different = sum(not np.array_equal(one, two) for one, two in lists)
    figures = {
        "phases": options.phases,
        "questions": len(questions),
        "source_tokens": prepared.source_tokens,
        "rank_lists": len(lists),
        "rank_lists_different": different,
        **{f"seconds_{name}": round(value, 3) for name, value in seconds.items()},
        "ratio_ranks_only": round(seconds["rebuild"] / seconds["ranks_only"], 2),
        "ratio_all_stages": round(seconds["rebuild"] / seconds["all_stages"], 2),
        "peak_megabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }
    for name, value in figures.items():
        print(f"{name:24} {value}")
    if options.json:
        packages = {name: version(name) for name in ("numpy", "scipy", "tokenizers", "bm25s")}
        machine = {"processor": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version()}
        options.json.write_text(json.dumps({"figures": figures, "versions": packages, "machine": machine}, indent=1))
    return 1 if different > len(lists) // 1000 else 0


if __name__ == "__main__":
    sys.exit(main())
