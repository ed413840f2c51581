"""What a plan would take, in the words of its page."""

from __future__ import annotations

from dataclasses import dataclass

from evaluation.domain.estimate import ArmSize
from evaluation.domain.sweep_limits import money
from evaluation.services.estimate_plan import Estimate
from evaluation.views.wording import counted, minutes


@dataclass(frozen=True)
class EstimateRows:
    """An estimate in words: facts, and one row per arm with a note."""

    facts: tuple[tuple[str, str], ...]
    arms: tuple[tuple[str, str, str, str, str, str], ...]
    held_out: bool


def estimate_rows(estimate: Estimate) -> EstimateRows:
    """Return an estimate in the words of the plan page."""
    size, cost = estimate.size, estimate.cost
    sent = "sent to the generator" if size.generated else "rendered; no generator is asked"
    tokens = f"{cost.input_tokens:,} in prompts, {cost.evidence_tokens:,} of them evidence"
    chunks = f"{size.distinct_chunks:,} of {size.chunks:,}" + ("" if size.chunks_complete else " counted")
    facts = [
        ("Cells", f"{size.cells:,}, over {counted(size.builds, 'index build')}"),
        ("Asked in each build", f"{counted(size.questions, 'question')}, twins of restricted ones included"),
        ("Distinct chunks", chunks),
        ("Prompts", f"{size.prompts:,}, {sent}"),
        ("Tokens", f"about {tokens}; {cost.output_tokens:,} in answers"),
        ("Time", f"about {minutes(cost.minutes)} of work on one worker of this machine"),
    ]
    if cost.cost is not None:
        said = f"about {money(cost.cost)} at these prices" if size.generated else "none: nothing is sent"
        facts.append(("Cost", said))
    arms = tuple(_arm_row(arm) for arm in size.arms)
    return EstimateRows(tuple(facts), arms, estimate.calibration.questions != "development")


def _arm_row(arm: ArmSize) -> tuple[str, str, str, str, str, str]:
    numbers = (arm.phases, arm.chunkings, arm.chunks, arm.distinct_chunks)
    phases, chunkings, chunks, distinct = (f"{number:,}" for number in numbers)
    return arm.arm, phases, chunkings, chunks, distinct, _arm_note(arm)


def _arm_note(arm: ArmSize) -> str:
    notes = []
    if not arm.stride:
        notes.append("unshifted control: one observation, whatever label it stands under")
    else:
        notes += [f"{' and '.join(labels)} fall on one cut and are one phase" for labels in arm.collapsed]
        if arm.counted == arm.phases and arm.chunkings < arm.phases:
            notes.append(f"{arm.phases - arm.chunkings} of its phases cut like another one")
    if arm.targeted:
        notes.append(f"{arm.targeted} targeted, listed apart")
    if arm.counted < arm.phases:
        notes.append(f"chunks counted in {arm.counted} of {arm.phases} phases")
    return "; ".join(notes)
