"""What the evaluation pages read, always starting from the person who asks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, F, Max, Q, QuerySet
from django.utils import timezone

from annotate.models import FixtureSet, HeldOutOpening, Study
from annotate.permissions import By
from annotate.selectors import studies
from annotate.selectors.questions import visible_to as visible_questions
from evaluation.domain.decision import Decision, decision_from_payload
from evaluation.models import Attempt, Cell, Plan, Release, Sweep
from evaluation.services.results import SweepResults, sweep_results
from ledger.domain.canonical import parse_canonical
from ledger.models import Head

#: Attempts that did not bring a result; each stays beside the one that followed it.
UNFINISHED = (Attempt.Outcome.FAILED, Attempt.Outcome.EXPIRED, Attempt.Outcome.LATE)


def plans_visible_to(by: By) -> QuerySet[Plan]:
    """Return the plans of the person's studies. Whether their role may read plans there is `plan.view`."""
    return Plan.objects.filter(study__in=studies.visible_to(by)).select_related(
        "study", "fixture_set", "written_by", "locked_by"
    )


def sweeps_visible_to(by: By) -> QuerySet[Sweep]:
    """Return the sweeps of the person's studies. Whether their role may read results there is `results.view`."""
    return Sweep.objects.filter(plan__study__in=studies.visible_to(by)).select_related(
        "plan__study", "plan__fixture_set", "started_by"
    )


def fixture_sets_visible_to(by: By, study: Study) -> QuerySet[FixtureSet]:
    """Return the fixture sets a plan of `study` may name, newest first."""
    return FixtureSet.objects.filter(study=study, study__in=studies.visible_to(by)).order_by("-pk")


def listed_plans(by: By, study: Study) -> QuerySet[Plan]:
    """Return a study's plans for a list: locked ones first, newest first, each with `sweep_count` and `last_sweep`."""
    return (
        plans_visible_to(by)
        .filter(study=study)
        .defer("toml", "canonical", "fixture_set__canonical")
        .annotate(sweep_count=Count("sweeps"), last_sweep=Max("sweeps__pk"))
        .order_by(F("locked_at").desc(nulls_last=True), "-pk")
    )


def question_texts(by: By, study: Study, keys: Iterable[str]) -> dict[str, str]:
    """Return the texts of the study's questions with these keys. One query."""
    rows = visible_questions(by).filter(study=study, key__in=set(keys)).order_by()
    return dict(rows.values_list("key", "text"))


@dataclass(frozen=True)
class SweepProgress:
    """How far a sweep is. `rate` is cells a second since it began, `left` what remains at that rate."""

    done: int
    failed: int
    running: int
    waiting: int
    rate: float | None
    left: timedelta | None
    newest: datetime | None
    attempts_failed: int

    @property
    def total(self) -> int:
        """All cells."""
        return self.done + self.failed + self.running + self.waiting

    @property
    def closed(self) -> int:
        """Cells that will not run again."""
        return self.done + self.failed


def sweep_progress(sweep: Sweep) -> SweepProgress:
    """Count a sweep's cells and attempts. Two queries."""
    cells = sweep.cells.aggregate(
        done=Count("pk", filter=Q(state=Cell.State.DONE)),
        failed=Count("pk", filter=Q(state=Cell.State.FAILED)),
        running=Count("pk", filter=Q(state=Cell.State.CLAIMED)),
        waiting=Count("pk", filter=Q(state=Cell.State.PENDING)),
    )
    tries = Attempt.objects.filter(cell__sweep=sweep).aggregate(
        newest=Max("finished_at"), bad=Count("pk", filter=Q(outcome__in=UNFINISHED))
    )
    closed = cells["done"] + cells["failed"]
    ended = sweep.finished_at or timezone.now()
    seconds = (ended - sweep.started_at).total_seconds()
    rate = closed / seconds if closed and seconds > 0 else None
    remaining = cells["running"] + cells["waiting"]
    left = timedelta(seconds=round(remaining / rate)) if rate and sweep.state == Sweep.State.RUNNING else None
    return SweepProgress(**cells, rate=rate, left=left, newest=tries["newest"], attempts_failed=tries["bad"])


def cells_closed(sweeps: Iterable[Sweep]) -> dict[int, tuple[int, int]]:
    """Return (cells that will not run again, all cells) by sweep. One query."""
    closed = Q(state__in=[Cell.State.DONE, Cell.State.FAILED])
    rows = (
        Cell.objects.filter(sweep__in=[sweep.pk for sweep in sweeps])
        .order_by()
        .values("sweep_id")
        .annotate(done=Count("pk", filter=closed), total=Count("pk"))
        .values_list("sweep_id", "done", "total")
    )
    return {pk: (done, total) for pk, done, total in rows}


def failed_attempts(sweep: Sweep, limit: int = 20) -> QuerySet[Attempt]:
    """Return the newest tries at the sweep's cells that brought no result."""
    return (
        Attempt.objects.filter(cell__sweep=sweep, outcome__in=UNFINISHED).select_related("cell").order_by("-pk")[:limit]
    )


def release_of(sweep: Sweep) -> Release | None:
    """Return the sweep's signed release."""
    return Release.objects.filter(sweep=sweep).select_related("signed_by").first()


def decision_for(sweep: Sweep, release: Release | None, results: SweepResults | None = None) -> Decision:
    """Return the decision as it was signed, or as the plan's rule computed it for the report. Raises NotSealed.

    To show and never to sign: a signature computes it from the sealed results again.
    """
    if release is not None:
        return decision_from_payload(parse_canonical(bytes(release.canonical))["decision"])
    return decision_from_payload((results or sweep_results(sweep)).data["decision"])


def held_out_openings(fixture_set: FixtureSet) -> QuerySet[HeldOutOpening]:
    """Return every use of the held-out questions of a fixture set, oldest first."""
    return HeldOutOpening.objects.filter(fixture_set=fixture_set).select_related("opened_by")


def ledger_head() -> tuple[int, str]:
    """Return position and link of the chain's last record; (0, "") for an empty ledger."""
    head = Head.objects.filter(pk=Head.THE_ONE).first()
    return (head.seq, head.link) if head else (0, "")
