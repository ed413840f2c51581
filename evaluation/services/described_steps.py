"""What every exchangeable step of an arm's pipeline is made of, as its manifests pin it: names, versions, settings."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from evaluation.domain.packing import PACKING
from evaluation.domain.pipeline import Payload
from evaluation.domain.plan import Plan
from evaluation.domain.plan_pipeline import Arm
from evaluation.domain.rendering import RENDERING
from evaluation.domain.verdicts import SOURCE
from evaluation.plugins.registry import Kind
from evaluation.services.pipeline_of import pipeline_settings, policies_of
from evaluation.services.plugins import installed_plugins

#: What a step without a version of its own would stand for; its plug-in's declaration has one all the same.
_NOTHING: Mapping[str, str | int] = {}


def described_steps(plan: Plan, arm: Arm) -> Payload:
    """Return what each step is made of: segmenter, retriever, reranker, expansion, packer, prompt, generator, verdict.

    Of a plug-in its name and declared version, and what it says of itself. The segmenter's own description stands in
    the manifest beside this. Raises ValueError (`PluginError` among them) for a step that cannot be made here.
    """
    plugins, steps = installed_plugins(), policies_of(plan, arm)

    def made(kind: Kind, name: str, described: Mapping[str, str | int]) -> Payload:
        return {"plugin": name, "declared": plugins.get(kind, name).version, **described}

    instructions = pipeline_settings(plan, arm).instructions.encode()
    return {
        "segmenter": made(Kind.SEGMENTER, arm.segmenter, _NOTHING),
        "retriever": made(Kind.RETRIEVER, plan.retrieval_of(arm).retriever, steps.retriever.describe()),
        "reranker": made(
            Kind.RERANKER,
            plan.reranking_of(arm).reranker,
            steps.reranker.describe() if steps.reranker else _NOTHING,
        ),
        "expansion": made(
            Kind.EXPANSION,
            str(plan.recovery_of(arm).policy),
            steps.expansion.describe() if steps.expansion else _NOTHING,
        ),
        "packer": {"version": PACKING},
        "prompt": {"version": RENDERING, "instructions": hashlib.sha256(instructions).hexdigest()},
        "generator": made(
            Kind.GENERATOR,
            plan.generation.generator,
            steps.generator.describe() if steps.generator else _NOTHING,
        ),
        "verdict": {"version": SOURCE},
    }
