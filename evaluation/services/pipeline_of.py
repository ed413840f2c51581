"""From a locked plan to the engine's settings: segmenters, analyser, generator, tokenizer."""

from __future__ import annotations

from evaluation.domain.analysis import Analyser
from evaluation.domain.oracle import DIAGNOSTIC, PRODUCTION
from evaluation.domain.pipeline import ArmSettings, PipelineSettings, Policies
from evaluation.domain.plan import Arm, Plan
from evaluation.plugins.registry import Kind
from evaluation.services.plugins import installed_plugins

#: Stands in a cell for the oracle, which has no index; no arm of a plan can have such a name.
ORACLE = "~oracle"
#: How many times the production ceiling the diagnostic oracle has.
ROOM = 4


def arm_settings(arm: Arm) -> ArmSettings:
    """Return the arm with its segmenter. Raises `SegmenterConfigError` for sizes that give no chunks, `PluginError`."""
    return ArmSettings(arm.name, installed_plugins().get(Kind.SEGMENTER, arm.segmenter).make(arm))


def analyser_of(plan: Plan) -> Analyser:
    """Return the analyser the plan's retriever reads words with."""
    return Analyser(stop_words=frozenset(plan.retrieval.stop_words))


def pipeline_settings(plan: Plan) -> PipelineSettings:
    """Return everything after the index that the plan fixes for all arms."""
    return PipelineSettings(
        budget=plan.budget, retrieval=plan.retrieval, abstention_threshold=plan.generation.abstention_threshold
    )


def policies_of(plan: Plan) -> Policies:
    """Return the replaceable steps of the plan. Raises `PluginError` for a generator this installation does not
    have."""
    plugin = installed_plugins().get(Kind.GENERATOR, plan.generation.generator)
    return Policies(generator=plugin.make(plan.generation, analyser_of(plan)))


def diagnostic_ceiling(plan: Plan) -> int:
    """Return the evidence tokens of the diagnostic oracle, which says nothing about what can be deployed."""
    return ROOM * plan.budget.primary_evidence_tokens


def oracle_views(plan: Plan) -> tuple[str, ...]:
    """Return the names of the oracle's views."""
    return (f"{PRODUCTION}:{plan.budget.primary_evidence_tokens}", f"{DIAGNOSTIC}:{diagnostic_ceiling(plan)}")


def views_of(plan: Plan, arm: str) -> tuple[str, ...]:
    """Return the views in which a cell of `arm` (or of the oracle) has outcomes."""
    return oracle_views(plan) if arm == ORACLE else pipeline_settings(plan).views
