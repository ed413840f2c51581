"""What a sweep will take, before it runs: sizes that are counted, and costs that a few measured cells stand for.

Counted exactly: cells, index builds, chunks, questions, prompts. Estimated from a calibration: minutes of work and
tokens, by multiplying what a question and an index build of each arm took with how many there will be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from evaluation.domain.sweep_limits import Prices


@dataclass(frozen=True)
class ArmSize:
    """What one arm will run. `chunkings` are distinct ways its phases cut the corpus, `distinct_chunks` the distinct
    (version, start, end) over all of them; both are counted in `counted` of its `phases` builds (all, unless there was
    no time to cut the corpus that often).

    `collapsed` lists groups of shared labels that fall on one first cut: one phase, however many labels it has.
    """

    arm: str
    stride: int
    phases: int
    counted: int
    chunkings: int
    chunks: int
    distinct_chunks: int
    collapsed: tuple[tuple[str, ...], ...]
    targeted: int
    every: int


@dataclass(frozen=True)
class ArmCost:
    """What a calibration measured of one arm (or of the oracle): times in µs, tokens as sums over `asked` questions and
    all views.

    `index_us` is one index build with its records, `query_us` all `asked` questions through every stage and view.
    """

    index_us: int
    query_us: int
    asked: int
    evidence_tokens: int
    prompt_tokens: int
    output_tokens: int


@dataclass(frozen=True)
class Calibration:
    """Costs by arm, the oracle's under its own name; `prepare_us` is reading and tokenising the corpus, once a worker.

    `questions` says which questions were asked: "development" ones, or "population" where there are no others. No
    verdict about them is kept or shown.
    """

    prepare_us: int
    questions: str
    arms: Mapping[str, ArmCost]


@dataclass(frozen=True)
class Size:
    """A sweep in numbers that need no calibration. `views` is how many prompts a question has in one cell of an arm,
    `oracle_views` in one of the oracle; `generated` whether a generator is sent them."""

    cells: int
    builds: int
    questions: int
    repeats: int
    views: int
    oracle_views: int
    generated: bool
    arms: tuple[ArmSize, ...]

    @property
    def prompts(self) -> int:
        """Prompts over all arms, phases, views and repeats, the oracle's included."""
        phases = sum(arm.phases for arm in self.arms)
        return self.questions * self.repeats * (phases * self.views + self.oracle_views)

    @property
    def chunks(self) -> int:
        """Chunks over all phases and arms."""
        return sum(arm.chunks for arm in self.arms)

    @property
    def distinct_chunks(self) -> int:
        """Distinct chunks, summed over arms."""
        return sum(arm.distinct_chunks for arm in self.arms)

    @property
    def chunks_complete(self) -> bool:
        """Whether every phase was cut to count them."""
        return all(arm.counted == arm.phases for arm in self.arms)


@dataclass(frozen=True)
class Cost:
    """What a calibration makes of a size. Tokens are those of prompts and of answers, `evidence_tokens` the part of
    the prompts that is packed evidence; `cost` is None without prices, and 0 where no generator is sent anything."""

    minutes: float
    evidence_tokens: int
    input_tokens: int
    output_tokens: int
    cost: Decimal | None


def cost_of(size: Size, calibration: Calibration, prices: Prices, oracle: str) -> Cost:
    """Multiply what was measured by what will run; `oracle` is the oracle's name among the calibration's arms."""
    micros = float(calibration.prepare_us)
    evidence = sent = received = 0.0
    runs = [(arm.arm, arm.phases) for arm in size.arms] + [(oracle, 1)]
    for name, phases in runs:
        measured = calibration.arms[name]
        builds = phases * size.repeats
        share = builds * size.questions / max(measured.asked, 1)
        micros += builds * measured.index_us + share * measured.query_us
        evidence += share * measured.evidence_tokens
        sent += share * measured.prompt_tokens
        received += share * measured.output_tokens
    tokens = (round(sent), round(received))
    billed = tokens if size.generated else (0, 0)
    return Cost(micros / 60e6, round(evidence), *tokens, cost=prices.cost(*billed))
