"""The rebuild a sweep is compared with: for each phase and arm encode, slice, analyse, index and query anew.

Written as a good engineer would who has bm25s: one call of the tokenizer per document, offsets at cuts only, words by
one compiled pattern over the lower-cased chunk and numbered in the same pass, an index from word numbers, all questions
in one call, on the numba backend where numba is installed. One thread. Run by `bench/sweep.py` in a process of its own,
so that another interpreter (with numba) can run it; it needs numpy, tokenizers and bm25s.

    python bench/rebuild.py JOB.json OUT.npz
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections import defaultdict
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
from tokenizers import Tokenizer


def backend() -> str:
    """The faster backend of bm25s, where its package is installed."""
    try:
        version("numba")
    except PackageNotFoundError:
        return "numpy"
    return "numba"


def ranks(
    tokenizer: Tokenizer,
    texts: list[str],
    questions: list[list[str]],
    find: Any,
    window: tuple[int, int, int],
    job: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """Chunks and scores of every question for one window (capacity, overlap, phase), from the texts alone."""
    capacity, overlap, phase = window
    chunks: list[str] = []
    for text in texts:
        encoding = tokenizer.encode(text, add_special_tokens=False)
        n = len(encoding)
        edges = [0, *range(phase, n, capacity - overlap), n]
        starts = [0, *(encoding.token_to_chars(edge)[0] for edge in edges[1:-1])]
        for first, last in zip(starts, edges[1:], strict=True):
            stop = min(last + overlap, n)
            chunks.append(text[first : encoding.token_to_chars(stop)[0] if stop < n else len(text)])
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    ids = [[numbers[word] for word in find(chunk.lower())] for chunk in chunks]
    index = bm25s.BM25(method="lucene", k1=job["k1"], b=job["b"], backend=job["backend"], dtype="float64")
    index.index((ids, dict(numbers)), show_progress=False)
    found, scores = index.retrieve(questions, k=min(job["depth"], len(chunks)), show_progress=False)
    return found, scores


def main(arguments: list[str]) -> int:
    """Do the job of a file; writes seconds (wall, processor), ranks and scores per window."""
    job = json.loads(Path(arguments[0]).read_text())
    texts = [Path(path).read_bytes().decode() for path in job["texts"]]
    tokenizer = Tokenizer.from_file(job["tokenizer"])
    tokenizer.no_truncation()
    find = re.compile(job["pattern"]).findall
    questions = [find(question.lower()) for question in job["questions"]]
    # Warm: the first query compiles.
    ranks(tokenizer, [text[:20_000] for text in texts], questions, find, (256, 0, 256), job | {"depth": 1})
    out: dict[str, Any] = {}
    spent = []
    for number, window in enumerate(job["windows"]):
        began, worked = time.perf_counter(), time.process_time()
        found, scores = ranks(tokenizer, texts, questions, find, tuple(window), job)
        spent.append((time.perf_counter() - began, time.process_time() - worked))
        if number in job["keep"]:
            out[f"chunk{number}"], out[f"score{number}"] = found, scores
    packages = {name: version(name) for name in ("bm25s", "numpy", "tokenizers")}
    if job["backend"] == "numba":
        packages["numba"] = version("numba")
    np.savez(arguments[1], spent=np.array(spent), versions=json.dumps(packages), **out)
    return 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--backend"]:
        print(backend())
        sys.exit(0)
    sys.exit(main(sys.argv[1:]))
