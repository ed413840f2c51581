"""Figures of ir_measures and ranx for the same runs.

ranx compiles its measures with numba when they are first called, which takes a minute; read as plain Python they give
the same numbers at once. numba looks at that setting when it is imported, hence the process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import ir_measures
from ir_measures import RR, R, Success, nDCG

NAMES = ("recall", "success", "reciprocal_rank", "ndcg")

_RANX = """
import json, sys, warnings
warnings.simplefilter("ignore")
from ranx import Qrels, Run, evaluate
found = []
for run, qrels, k in json.load(sys.stdin):
    if isinstance(run, str):
        judged, ranked = Qrels.from_file(qrels, kind="trec"), Run.from_file(run, kind="trec")
    else:
        judged, ranked = Qrels(qrels), Run(run)
    names = [f"recall@{k}", f"hit_rate@{k}", f"mrr@{k}", f"ndcg@{k}"]
    figures = evaluate(judged, ranked, names, make_comparable=True)
    found.append([float(figures[name]) for name in names])
json.dump(found, sys.stdout)
"""


def by_ir_measures(run: Path, qrels: Path, k: int) -> dict[str, float]:
    """Recall, success, reciprocal rank and nDCG at k of two TREC files."""
    judged = list(ir_measures.read_trec_qrels(str(qrels)))
    ranked = list(ir_measures.read_trec_run(str(run)))
    measures = (R @ k, Success @ k, RR @ k, nDCG @ k)
    found = ir_measures.calc_aggregate(measures, judged, ranked)
    return {name: float(found[measure]) for name, measure in zip(NAMES, measures, strict=True)}


def by_ranx(cases: Sequence[tuple[object, object, int]]) -> list[dict[str, float]]:
    """The same of (run, qrels, k), each two paths or two dicts; one process for all cases."""
    given = [[str(a) if isinstance(a, Path) else a, str(b) if isinstance(b, Path) else b, k] for a, b, k in cases]
    done = subprocess.run(
        [sys.executable, "-c", _RANX],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )
    return [dict(zip(NAMES, row, strict=True)) for row in json.loads(done.stdout)]
