"""How long queries and index builds took in a sweep, by arm and by whether the index was in use for the first time.

Latencies are operations: they are read from the attempts that brought a result, and no sealed result holds one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from evaluation.domain.plan_words import LatencyState
from evaluation.models import Attempt, Sweep


@dataclass(frozen=True)
class ArmLatency:
    """Times of one arm in one state, in milliseconds of wall time.

    COLD are cells that used their index build for the first time in their process, WARM all others. `query_ms` is the
    median over `tries` of a cell's time divided by its questions (a block is computed at once); `questions` is how
    many questions that was in all. `index_ms` is the median of making the build and its retrieval index, None where
    nobody had to. `beside` is the median number of other cells in work meanwhile: the load.
    """

    arm: str
    state: LatencyState
    tries: int
    questions: int
    query_ms: float
    index_ms: float | None
    beside: float


def latencies_of(sweep: Sweep) -> tuple[ArmLatency, ...]:
    """Return the latencies of a sweep's arms, cold before warm, by arm; states nobody measured are left out. One
    query."""
    rows = (
        Attempt.objects.filter(cell__sweep=sweep, outcome=Attempt.Outcome.DONE, asked__gt=0)
        .order_by("cell__arm", "cell_id", "pk")
        .values_list("cell__arm", "cold", "query_us", "asked", "index_us", "beside")
    )
    groups: dict[tuple[str, LatencyState], list[tuple[int, int, int, int]]] = {}
    for arm, cold, query_us, asked, index_us, beside in rows:
        state = LatencyState.COLD if cold else LatencyState.WARM
        # A try that measured its questions measured everything: the columns are written together.
        groups.setdefault((arm, state), []).append((query_us or 0, asked or 1, index_us or 0, beside or 0))
    return tuple(_latency(arm, state, groups[arm, state]) for arm, state in sorted(groups))


def query_latency_ms(sweep: Sweep, arm: str, state: LatencyState) -> tuple[float, int] | None:
    """Return the median query latency of `arm` in `state` and the number of cells behind it; None when not
    measured."""
    for one in latencies_of(sweep):
        if one.arm == arm and one.state is state:
            return one.query_ms, one.tries
    return None


def _latency(arm: str, state: LatencyState, rows: Iterable[tuple[int, int, int, int]]) -> ArmLatency:
    spent, asked, indexed, beside = zip(*rows, strict=True)
    builds = [one for one in indexed if one]
    return ArmLatency(
        arm=arm,
        state=state,
        tries=len(spent),
        questions=sum(asked),
        query_ms=round(median(one / count for one, count in zip(spent, asked, strict=True)) / 1000, 3),
        index_ms=round(median(builds) / 1000, 3) if builds else None,
        beside=float(median(beside)),
    )
