"""Kinds and keys of a sweep's results.

Keys hold the plan's digest and what a cell is about, never a row's id, a time or a worker: the sealed root of two runs
of one plan is the same whoever ran them, on whichever database.
"""

from __future__ import annotations

QUERY = "query"
SOURCE = "source"
SUPPORT = "support"
MANIFEST = "manifest"
BOUNDARY = "boundary"
RETRIEVAL = "retrieval"
BUDGET = "budget"
ANSWER = "answer"
CITATION = "citation"
ORACLE = "oracle"
OUTCOME = "outcome"
FAILURE = "failure"

#: Every kind a sweep's scope may hold: the eight of the method, the manifest of each index build, oracle prompts, the
#: verdict on each question, and labelled infrastructure failures.
KINDS = (QUERY, SOURCE, SUPPORT, MANIFEST, BOUNDARY, RETRIEVAL, BUDGET, ANSWER, CITATION, ORACLE, OUTCOME, FAILURE)


def study_key(plan_digest: str, kind: str, name: str) -> str:
    """Return the key of a record that needs no cell: a query, a source, a support record."""
    return f"{plan_digest}/{kind}/{name}"


def build_key(plan_digest: str, arm: str, phase: int, kind: str) -> str:
    """Return the key of a record of one index build (arm, phase)."""
    return f"{plan_digest}/{arm}/{phase:06d}/{kind}"


def cell_key(plan_digest: str, arm: str, phase: int, block: int, repeat: int, kind: str, part: str = "") -> str:
    """Return the key of a record of one cell; `part` tells several of one kind apart (a view, a number)."""
    tail = f"/{part}" if part else ""
    return f"{plan_digest}/{arm}/{phase:06d}/{block:05d}/{repeat:03d}/{kind}{tail}"
