"""What became of each question: the stage after which its support was never complete, and which arm kept it."""

from __future__ import annotations

from evaluation.views.result_cells import OVERALL, SUPPORT, Place
from evaluation.views.result_tables import Report
from evaluation.views.wording import FATES

FOUR = ("both", "gained", "lost", "neither")

type Loss = tuple[str, list[str], list[tuple[str, ...]], list[int]]
"""(fate in words, "count of total" per arm, questions per arm, count per arm)"""


def losses_of(report: Report, place: Place, segment: str = OVERALL) -> list[Loss]:
    """Return what became of the runs over all shared phases and repeats, fates in stage order."""
    by_arm = [stages_of(report, place, arm, segment) for arm in (place.baseline, place.candidate)]
    totals = [sum(len(names) for names in found.values()) for found in by_arm]
    order = [str(fate) for fate in FATES if str(fate) in by_arm[0] or str(fate) in by_arm[1]]
    return [
        (
            FATES[fate],
            [f"{len(found.get(fate, []))} of {total}" for found, total in zip(by_arm, totals, strict=True)],
            [tuple(dict.fromkeys(found.get(fate, []))) for found in by_arm],
            [len(found.get(fate, [])) for found in by_arm],
        )
        for fate in order
    ]


def stages_of(report: Report, place: Place, arm: str, segment: str = OVERALL) -> dict[str, list[str]]:
    """Return the questions of each fate ("complete", a stage of loss, …) under an arm, once for each of its runs."""
    at = {"view": place.view, "sample": place.sample, "segment": segment, "metric": "usage"}
    found: dict[str, list[str]] = {}
    for row in report.results.rows("figures", arm=arm, **at):
        for fate, names in row["losses"].items():
            found.setdefault(fate, []).extend(names)
    return found


def changed_of(report: Report, place: Place) -> dict[str, list[str]]:
    """Return the questions complete in every phase under one arm alone: lost and gained everywhere."""
    at = {"view": place.view, "sample": place.sample, "segment": OVERALL, "metric": SUPPORT}
    whole = report.results.row("pairs", candidate=place.candidate, **at)["cells"][0]
    return {"lost-everywhere": whole["lost"], "gained-everywhere": whole["gained"]}


def fates_of(report: Report, place: Place, segment: str) -> list[tuple[str, list[str]]]:
    """Return, per question, its fate at each shared label: both, gained, lost, neither, or "" where uncounted."""
    at = {"view": place.view, "sample": place.sample, "segment": segment, "metric": SUPPORT}
    cells = report.results.row("pairs", candidate=place.candidate, **at)["cells"][1:]
    by_label = [{name: fate for fate in FOUR for name in cell[fate]} for cell in cells]
    names = sorted({name for one in by_label for name in one})
    return [(name, [one.get(name, "") for one in by_label]) for name in names]
