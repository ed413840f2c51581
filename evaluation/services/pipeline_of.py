"""From a locked plan to the engine's settings: segmenters, analyser, generator, tokenizer."""

from __future__ import annotations

from evaluation.domain.analysis import Analyser
from evaluation.domain.pipeline import ArmSettings, PipelineSettings, Policies
from evaluation.domain.plan import Arm, Plan
from evaluation.domain.segmenters.token_window import TokenWindow
from evaluation.plugins.extractive import Extractive


def arm_settings(arm: Arm) -> ArmSettings:
    """Return the arm with its segmenter. Raises `SegmenterConfigError` for sizes that give no chunks."""
    return ArmSettings(arm.name, TokenWindow(capacity=arm.capacity, overlap=arm.overlap, tails=str(arm.tails)))


def analyser_of(plan: Plan) -> Analyser:
    """Return the analyser the plan's retriever reads words with."""
    return Analyser(stop_words=frozenset(plan.retrieval.stop_words))


def pipeline_settings(plan: Plan) -> PipelineSettings:
    """Return everything after the index that the plan fixes for all arms."""
    return PipelineSettings(
        budget=plan.budget, retrieval=plan.retrieval, abstention_threshold=plan.generation.abstention_threshold
    )


def policies(plan: Plan) -> Policies:
    """Return the replaceable steps of the plan. Raises ValueError for a generator this installation does not have."""
    name = plan.generation.generator
    if name == "none":
        return Policies()
    if name == "extractive":
        return Policies(generator=Extractive(analyser_of(plan), threshold=plan.generation.abstention_threshold))
    raise ValueError(f"The plan names the generator “{name}”, which is not installed here. Known: none, extractive.")
