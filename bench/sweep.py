"""How fast a sweep is against rebuilding the index for every phase, in one run on one machine.

    python bench/sweep.py --data ../shared/data/chunking-evaluation --json sweep.json

Five things are timed on the same corpora and the same 472 questions, one thread each:

* the *rebuild* (`bench/rebuild.py`): encode, slice, index and query with bm25s for each phase and arm;
* *ranks only*: one tokenisation and one table of word positions, every phase from differences;
* *all stages* (`bench/sealed.py`): the sweep through the services, three ceilings and a top-k, sealed in the ledger;
* *another sweep* of the same plan, which may take the first one's cells, and one that recomputes them all;
* ranks only at *ten times the corpus*, for the time per token.

Once for 16 phases of the arms 256/0 and 256/64, once for every phase of 256/64. The rebuild's ranks are compared with
ours. The contestants take turns, `--repeats` times, and the best of each counts. Ratios are of processor seconds, which
other work on the machine disturbs least; those of the clock stand beside them. Of the 192 rebuilds of every phase an
evenly spaced sample is timed and scaled up unless `--full`.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = os.environ["NUMBA_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from evaluation.domain.analysis import Analyser, word_pattern
from evaluation.domain.bm25 import Bm25
from evaluation.domain.frozen import Document
from evaluation.domain.hits import Ranked
from evaluation.domain.index_build import build_index, prepare_corpus
from evaluation.domain.phases import grid
from evaluation.domain.pipeline import ArmSettings
from evaluation.domain.retrieval.lexical import Bm25Retriever
from evaluation.domain.segmenters.token_window import TokenWindow
from evaluation.domain.stage_protocols import Queries, ReaderMask
from evaluation.plugins.tokenizers import SHIPPED_PATH, load_tokenizer

HERE = Path(__file__).resolve().parent
ARMS = (TokenWindow(256, 0), TokenWindow(256, 64))
PHASES = 16
DEPTH = 50
CEILINGS = [200, 400, 800]
DAY = date(2026, 1, 1)
COPIES = 10
#: Rebuilds of "every phase" that are timed by default.
SAMPLE = 12
TOLERANCE = 1e-5

#: Figure → (at least, at most); None where there is no such bound.
TARGETS: dict[str, tuple[float | None, float | None]] = {
    "ratio_ranks_grid": (15, None),
    "ratio_ranks_every": (30, None),
    "ratio_all_stages_grid": (8, None),
    "ratio_all_stages_every": (12, None),
    "rank_lists_different": (None, 0),
    "time_per_token_at_10x": (None, 1.3),
    "peak_megabytes_grid": (None, 4096),
    "peak_megabytes_every": (None, 4096),
    "bytes_per_question_and_arm": (None, 2000),
    "share_of_first_another_sweep": (None, 0.1),
}

type Run = tuple[TokenWindow, int]


def documents_of(data: Path) -> list[Document]:
    """The corpora in corpus order."""
    found = []
    for path in sorted((data / "corpora").glob("*.md")):
        raw = path.read_bytes()
        found.append(Document(path.stem, "1", hashlib.sha256(raw).hexdigest(), raw, DAY))
    return found


def questions_of(data: Path) -> list[str]:
    """The texts of the questions."""
    with (data / "questions_df.csv").open(newline="", encoding="utf-8") as rows:
        return [row["question"] for row in csv.DictReader(rows)]


def ranks(documents: list[Document], questions: list[str], runs: list[Run]) -> tuple[list[Ranked], int]:
    """Ranks of every run, everything made anew once; and the corpus' tokens."""
    prepared = prepare_corpus(documents, load_tokenizer(), Analyser())
    retriever = Bm25Retriever(Bm25(1.5, 0.75))
    n, none = len(questions), ("",) * len(questions)
    found = []
    for window, phase in runs:
        build = build_index(prepared, ArmSettings("arm", window), phase)
        ones = np.ones(len(build.chunks), dtype=np.bool_)
        queries = Queries(
            tuple(questions),
            np.zeros(n, dtype=np.int64),
            (ReaderMask(ones, ones, ones, ones),),
            ((),) * n,
            none,
            none,
            none,
        )
        found.append(retriever.index(prepared, build).search(queries, DEPTH))
    return found, prepared.source_tokens


def clocked(work: Any, *given: Any) -> tuple[Any, np.ndarray]:
    """What `work` returns, and its seconds on the clock and of the processor."""
    began, worked = time.perf_counter(), time.process_time()
    found = work(*given)
    return found, np.array([time.perf_counter() - began, time.process_time() - worked])


def rebuilt(python: str, data: Path, questions: list[str], runs: list[Run], keep: list[int]) -> Any:
    """Seconds of each rebuild, (runs, 2), and ranks and scores of those in `keep`."""
    # -P: this folder has a coverage.py of its own, and numba looks for the package of that name.
    child = [python, "-P", HERE / "rebuild.py"]
    backend = subprocess.run([*child, "--backend"], check=True, capture_output=True, text=True)
    job = {
        "texts": [str(path) for path in sorted((data / "corpora").glob("*.md"))],
        "tokenizer": str(SHIPPED_PATH),
        # Two code points at least, as the analyser; `\w` and combining marks.
        "pattern": word_pattern().pattern.removesuffix("+") + "{2,}",
        "questions": questions,
        "windows": [(window.capacity, window.overlap, phase) for window, phase in runs],
        "keep": keep,
        "k1": 1.5,
        "b": 0.75,
        "depth": DEPTH,
        "backend": backend.stdout.strip(),
    }
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "job.json").write_text(json.dumps(job))
        subprocess.run([*child, f"{folder}/job.json", f"{folder}/out.npz"], check=True)
        with np.load(f"{folder}/out.npz") as found:
            return dict(found), job["backend"]


def sealed(data: Path, phases: str, *, one_arm: bool, again: bool = True) -> dict[str, Any]:
    """A whole sweep through the services, in a process of its own."""
    job = {"data": str(data.resolve()), "ceilings": CEILINGS, "phases": phases, "one_arm": one_arm, "again": again}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "job.json"
        path.write_text(json.dumps(job))
        done = subprocess.run([sys.executable, HERE / "sealed.py", path], check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def differing(mine: Ranked, chunks: np.ndarray, scores: np.ndarray) -> int:
    """Questions whose list differs from the rebuilt one by more than swaps of scores equal to `TOLERANCE`."""
    count = 0
    for q, n in enumerate(mine.count.tolist()):
        own, theirs = mine.score[q, :n] / 1e6, scores[q, :n]
        same = np.allclose(own, theirs, rtol=TOLERANCE, atol=1e-6) and np.all(scores[q, n:] < 1e-6)
        by_chunk = dict(zip(chunks[q].tolist(), scores[q].tolist(), strict=True))
        edge = float(theirs[-1]) if n else 0.0
        # A chunk the other list lacks may only be one that ties with its last.
        there = [by_chunk.get(chunk, edge) for chunk in mine.chunk[q, :n].tolist()]
        count += not (same and np.allclose(own, there, rtol=TOLERANCE, atol=1e-6))
    return count


def compare(mine: list[Ranked], theirs: dict[str, np.ndarray], kept: dict[int, int]) -> int:
    """`differing` over the runs kept by the rebuild; `kept` maps its numbers to ours."""
    return sum(differing(mine[own], theirs[f"chunk{n}"], theirs[f"score{n}"]) for n, own in kept.items())


def copies(documents: list[Document]) -> list[Document]:
    """Every document ten times under new ids; a last line tells the copies apart, since equal bytes are one version."""
    made = []
    for number in range(COPIES):
        for document in documents:
            raw = document.content + b"\n%d\n" % number
            name = f"{document.document_id}-{number}"
            made.append(Document(name, "1", hashlib.sha256(raw).hexdigest(), raw, DAY))
    return made


def ratios(figures: dict[str, Any], name: str, slow: np.ndarray, fast: np.ndarray) -> None:
    """Write seconds and ratio, of the processor and on the clock."""
    figures[f"processor_seconds_{name}"] = round(float(fast[1]), 2)
    figures[f"ratio_{name}"] = round(float(slow[1] / fast[1]), 2)
    figures[f"ratio_{name}_clock"] = round(float(slow[0] / fast[0]), 2)


def fewest(times: list[np.ndarray]) -> np.ndarray:
    """Of several runs the one that took the fewest processor seconds."""
    return min(times, key=lambda one: float(one[1]))


def measure(data: Path, python: str, *, full: bool, repeats: int, quick: bool) -> tuple[dict[str, Any], dict[str, str]]:
    """All figures, and the versions the rebuild ran with."""
    documents, questions = documents_of(data), questions_of(data)
    grid_runs: list[Run] = [(window, label.phase(window.stride)) for window in ARMS for label in grid(PHASES)]
    every_runs: list[Run] = [(ARMS[1], phase) for phase in range(1, ARMS[1].stride + 1)]
    step = 1 if full else len(every_runs) // SAMPLE
    sample = [] if quick else list(range(step - 1, len(every_runs), step))
    # Three evenly spaced phases of each arm, or all of them.
    timed = [4, 9, 14, 20, 25, 30] if quick else list(range(len(grid_runs)))
    word_pattern()  # both sides read words by it; compiled once per process, before anything is timed
    figures: dict[str, Any] = {"questions": len(questions), "phases_every": len(every_runs)}

    rebuilds = [grid_runs[i] for i in timed] + [every_runs[i] for i in sample]
    slows, fasts, fasts_every, wholes = [], [], [], []
    for _ in range(repeats):
        theirs, figures["rebuild_backend"] = rebuilt(python, data, questions, rebuilds, list(range(len(rebuilds))))
        slows.append(theirs.pop("spent"))
        versions = json.loads(str(theirs.pop("versions")))
        (mine, figures["source_tokens"]), spent = clocked(ranks, documents, questions, grid_runs)
        fasts.append(spent)
        if not quick:
            (mine_every, _), spent = clocked(ranks, documents, questions, every_runs)
            fasts_every.append(spent)
        wholes.append(sealed(data, f"grid = {PHASES}", one_arm=False))
    # The best of the repeats of each rebuild, not of their sum: in favour of what we are compared with.
    best = np.min(slows, axis=0)
    slow = best[: len(timed)].sum(axis=0) * len(grid_runs) / len(timed)
    figures |= {"rebuilds_timed_grid": len(timed), "processor_seconds_rebuild_grid": round(float(slow[1]), 2)}

    ratios(figures, "ranks_grid", slow, fewest(fasts))
    figures["rank_lists_compared"] = (len(timed) + len(sample)) * len(questions)
    figures["rank_lists_different"] = compare(mine, theirs, dict(enumerate(timed)))
    took = {name: fewest([np.array(one["spent"][name]) for one in wholes]) for name in wholes[0]["spent"]}
    ratios(figures, "all_stages_grid", slow, took["first"])
    for name in ("same_again", "another_sweep", "recomputed"):
        figures[f"share_of_first_{name}"] = round(float(took[name][1] / took["first"][1]), 4)
    # Against the recomputed one too, which loads nothing any more.
    figures["share_of_recomputed_another_sweep"] = round(float(took["another_sweep"][1] / took["recomputed"][1]), 4)
    answers = len(questions) * len(ARMS)
    figures["bytes_per_question_and_arm"] = round(wholes[0]["payload_bytes"] / answers)
    figures["database_growth_per_question_and_arm"] = round(wholes[0]["bytes_grown"] / answers)
    figures["roots_equal"] = int(all(one["roots_equal"] for one in wholes))
    figures["peak_megabytes_grid"] = max(one["peak_megabytes"] for one in wholes)
    if quick:
        return figures, versions

    slow_every = best[len(timed) :].sum(axis=0) * len(every_runs) / len(sample)
    figures["rebuilds_timed_every"] = len(sample)
    figures["processor_seconds_rebuild_every"] = round(float(slow_every[1]), 2)
    ratios(figures, "ranks_every", slow_every, fewest(fasts_every))
    figures["rank_lists_different"] += compare(mine_every, theirs, {len(timed) + n: i for n, i in enumerate(sample)})
    small = grid_runs[::8]
    many, onces, tens = copies(documents), [], []
    for _ in range(repeats):
        (_, tokens), spent = clocked(ranks, documents, questions, small)
        onces.append(spent)
        (_, tokens_ten), spent = clocked(ranks, many, questions, small)
        tens.append(spent)
    once, ten = fewest(onces), fewest(tens)
    figures["time_per_token_at_10x"] = round(float(ten[1] / tokens_ten / (once[1] / tokens)), 3)
    figures["time_per_token_at_10x_clock"] = round(float(ten[0] / tokens_ten / (once[0] / tokens)), 3)
    figures["peak_megabytes_ranks_at_10x"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)

    # The plan compares the arm with itself (contained tails dropped), so half of it is one arm.
    every = sealed(data, "every = true", one_arm=True, again=False)
    ratios(figures, "all_stages_every", slow_every, np.array(every["spent"]["first"]) / 2)
    figures["peak_megabytes_every"] = every["peak_megabytes"]
    return figures, versions


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; returns 1 when a target is missed."""
    parser = argparse.ArgumentParser(description="Time a sweep against rebuilding the index for every phase.")
    parser.add_argument("--data", type=Path, default=Path("../shared/data/chunking-evaluation"))
    parser.add_argument("--json", type=Path, help="write figures, versions and machine here")
    parser.add_argument("--repeats", type=int, default=3, help="turns each contestant takes, the best counts")
    parser.add_argument(
        "--quick", action="store_true", help="16 phases only, three rebuilds of each arm timed and scaled up"
    )
    parser.add_argument("--full", action="store_true", help="time the rebuild of every phase instead of a sample")
    parser.add_argument("--rebuild-python", default=sys.executable, help="interpreter with bm25s (and numba)")
    options = parser.parse_args(arguments)
    figures, rebuild_versions = measure(
        options.data, options.rebuild_python, full=options.full, repeats=options.repeats, quick=options.quick
    )
    missed = []
    for name, value in figures.items():
        least, most = TARGETS.get(name, (None, None))
        if (least is not None and value < least) or (most is not None and value > most):
            missed.append(name)
        wanted = f"at least {least}" if least is not None else f"at most {most}" if most is not None else ""
        print(f"{name:36} {value!s:>12}  {wanted}{'  MISSED' if name in missed else ''}")
    if options.json:
        packages = {name: version(name) for name in ("django", "numpy", "scipy", "tokenizers")}
        packages |= {f"rebuild {name}": number for name, number in rebuild_versions.items()}
        machine = {
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "load": round(os.getloadavg()[0], 1),
        }
        timed = f"processor seconds of one thread, best of {options.repeats} turns; “clock” figures are beside them"
        document = {"figures": figures, "timed": timed, "versions": packages, "machine": machine}
        options.json.write_text(json.dumps(document, indent=1) + "\n")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
