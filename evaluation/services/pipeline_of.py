"""From a locked plan to the engine's settings: segmenters, analyser, generator, tokenizer."""

from __future__ import annotations

from evaluation.domain.analysis import Analyser
from evaluation.domain.oracle import DIAGNOSTIC, PRODUCTION
from evaluation.domain.pipeline import ArmSettings, PipelineSettings, Policies
from evaluation.domain.plan import Plan
from evaluation.domain.plan_pipeline import Arm
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


def pipeline_settings(plan: Plan, arm: Arm | None = None) -> PipelineSettings:
    """Return everything after the index that the plan fixes: for all arms, or with the retrieval of one."""
    return PipelineSettings(
        budget=plan.budget,
        retrieval=plan.retrieval_of(arm) if arm else plan.retrieval,
        abstention_threshold=plan.generation.abstention_threshold,
    )


def policies_of(plan: Plan, arm: Arm) -> Policies:
    """Return the replaceable steps of one arm. Raises `PluginError` for one this installation does not have."""
    plugins, analyser = installed_plugins(), analyser_of(plan)
    retrieval, reranking, recovery = plan.retrieval_of(arm), plan.reranking_of(arm), plan.recovery_of(arm)
    return Policies(
        retriever=plugins.get(Kind.RETRIEVER, retrieval.retriever).make(retrieval, analyser),
        reranker=plugins.get(Kind.RERANKER, reranking.reranker).make(reranking),
        expansion=plugins.get(Kind.EXPANSION, str(recovery.policy)).make(recovery),
        moment=recovery.moment,
        generator=plugins.get(Kind.GENERATOR, plan.generation.generator).make(plan.generation, analyser),
    )


def diagnostic_ceiling(plan: Plan) -> int:
    """Return the evidence tokens of the diagnostic oracle, which says nothing about what can be deployed."""
    return ROOM * plan.budget.primary_evidence_tokens


def oracle_views(plan: Plan) -> tuple[str, ...]:
    """Return the names of the oracle's views."""
    return (f"{PRODUCTION}:{plan.budget.primary_evidence_tokens}", f"{DIAGNOSTIC}:{diagnostic_ceiling(plan)}")


def views_of(plan: Plan, arm: str) -> tuple[str, ...]:
    """Return the views in which a cell of `arm` (or of the oracle) has outcomes."""
    return oracle_views(plan) if arm == ORACLE else pipeline_settings(plan).views
