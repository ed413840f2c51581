"""The results of a sweep: computed once from its outcomes, kept, and handed to pages, commands and files alike."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from evaluation.domain.decision import decision_payload
from evaluation.domain.floating import floating_of
from evaluation.models import Sweep, SweepReport
from evaluation.services.decide_release import decision_of
from evaluation.services.outcome_table import OutcomeTable, Progress, table_of_results
from evaluation.services.problems import NotSealed
from evaluation.services.result_builds import build_rows, chunkings
from evaluation.services.result_figures import arm_rows, figure_rows, oracle_rows, targeted_rows
from evaluation.services.result_frontier import frontier_rows
from evaluation.services.result_measures import arm_phase_rows, measure_rows
from evaluation.services.result_pairs import interaction_rows, pair_rows
from evaluation.services.result_rows import view_of
from evaluation.services.result_ties import tie_rows
from ledger.domain.canonical import digest

#: Changes whenever the same outcomes would give another report; reports kept under an older form are computed anew.
FORM = 7

#: What most look-ups in a report name.
PLACE = frozenset({"view", "sample", "segment"})


@dataclass(frozen=True)
class SweepResults:
    """A report as plain data (the shape that `results --json` writes, see docs/results.md), with ways to look into it.

    Numbers are JSON numbers rounded to six places; a value that is none is null beside its status and reason.
    """

    data: dict[str, Any]
    _by_place: dict[str, dict[tuple[str, ...], list[dict[str, Any]]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def rows(self, part: str, **equal: Any) -> Iterator[dict[str, Any]]:
        """Yield the rows of `part` (such as "figures", "arms_by_view", "pairs", "interactions", "frontier", "targeted")
        whose members equal `equal`.

        Raises KeyError for an unknown part.
        """
        for row in self._candidates(part, equal):
            if all(row[name] == value for name, value in equal.items()):
                yield row

    def _candidates(self, part: str, equal: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the rows at a place where one is asked for: a page asks hundreds of times, over ten thousand rows."""
        rows: list[dict[str, Any]] = self.data[part]
        if not equal.keys() >= PLACE or not rows or not rows[0].keys() >= PLACE:
            return rows
        if part not in self._by_place:
            by_place: dict[tuple[str, ...], list[dict[str, Any]]] = {}
            for row in rows:
                by_place.setdefault(tuple(row[name] for name in sorted(PLACE)), []).append(row)
            self._by_place[part] = by_place
        return self._by_place[part].get(tuple(equal[name] for name in sorted(PLACE)), [])

    def row(self, part: str, **equal: Any) -> dict[str, Any]:
        """Return the only row of `part` with these members; raises LookupError for none or several."""
        found = list(self.rows(part, **equal))
        if len(found) != 1:
            raise LookupError(f"{len(found)} rows of {part} with {equal}")
        return found[0]


def sweep_results(sweep: Sweep, *, progress: Progress = lambda done, of: None) -> SweepResults:
    """Return the results of a sealed sweep, from the kept report or computed and kept.

    Asks for no permission: callers come through `evaluation.selectors.sweeps`. Raises NotSealed while it runs or when
    it was cancelled.
    """
    if sweep.state != Sweep.State.SEALED:
        raise NotSealed(
            f"Sweep {sweep.pk} is {sweep.state}: results are computed when its last cell is done and sealed."
        )
    recipe = report_recipe(sweep)
    kept = SweepReport.objects.filter(sweep=sweep, recipe=recipe).first()
    if kept is not None:
        return SweepResults(json.loads(zlib.decompress(kept.body)))
    results = compute_results(sweep, table_of_results(sweep), progress=progress)
    body = zlib.compress(report_body(results))
    with transaction.atomic():
        SweepReport.objects.update_or_create(sweep=sweep, defaults={"recipe": recipe, "body": body})
    return results


def report_recipe(sweep: Sweep) -> str:
    """Return the digest of what a kept report depends on; one of another recipe is never shown."""
    return digest(f"{FORM}/{sweep.root}/{sweep.plan.digest}".encode())


def report_body(results: SweepResults) -> bytes:
    """Return a report as it is kept, before compression."""
    return json.dumps(results.data, ensure_ascii=False, allow_nan=False).encode()


def compute_results(sweep: Sweep, table: OutcomeTable, *, progress: Progress = lambda done, of: None) -> SweepResults:
    """Compute the whole report of a sweep from `table`."""
    plan, made = table.plan, chunkings(sweep, table)
    data: dict[str, Any] = {
        "form": FORM,
        "sweep": {
            "id": sweep.pk,
            "state": str(sweep.state),
            "root": sweep.root,
            "problem": sweep.problem,
            "plan": plan.name,
            "plan_digest": sweep.plan.digest,
            "post_hoc": sweep.plan.post_hoc,
            "fixture_set": sweep.plan.fixture_set.name,
            "fixture_set_digest": sweep.plan.fixture_set.digest,
            "study": sweep.plan.study.slug,
            "held_out": sweep.held_out,
            "questions": len(table.questions),
            "clusters": len({one.cluster for one in table.questions}),
            "cells": sweep.cells.count(),
        },
        "arms": [
            {
                "arm": arm.name,
                "role": str(arm.role),
                "segmenter": arm.segmenter,
                "capacity": arm.capacity,
                "overlap": arm.overlap,
                "stride": table.phases[arm.name].stride,
                "phases": dict(table.phases[arm.name].shared),
                "chunkings": made.get(arm.name, 0),
                "floating": list(floating_of(plan, arm)),
            }
            for arm in plan.arms
        ],
        "views": [view_of(plan, key) for key in table.views],
        "figures": list(figure_rows(table)),
        "arms_by_view": [],
        "arm_phases": [],
        "pairs": [],
        "interactions": [],
        "frontier": [],
        "builds": [],
        "measures": list(measure_rows(table)),
        "ties": list(tie_rows(sweep, table)),
        "targeted": list(targeted_rows(table)),
        "oracle": list(oracle_rows(table)),
        # Kept for the pages: deciding reads every outcome, which takes seconds. A signature decides from the sealed
        # results again.
        "decision": decision_payload(decision_of(sweep, table)),
    }
    steps = {
        "arms_by_view": arm_rows(table),
        "arm_phases": arm_phase_rows(table),
        "pairs": pair_rows(table),
        "interactions": interaction_rows(table),
        "frontier": frontier_rows(sweep, table),
        "builds": build_rows(sweep, table),
    }
    total = sum(one.steps for one in steps.values())
    done = 0
    for part, step in steps.items():
        for row in step:
            data[part].append(row)
            done += 1
            progress(done, total)
    return SweepResults(data)
