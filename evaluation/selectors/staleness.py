"""Why a sweep's results may not speak about today's corpus or pipeline any more."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from annotate.models import SourceVersion
from evaluation.domain.plan import Plan as PlanValue
from evaluation.models import Sweep
from evaluation.plugins.tokenizers import TokenizerUnavailable, load_tokenizer
from evaluation.services.described_steps import described_steps
from evaluation.services.pipeline_of import analyser_of, arm_settings
from evaluation.services.result_keys import MANIFEST
from evaluation.services.write_plan import plan_value
from ledger.domain.canonical import parse_canonical
from ledger.selectors.records import results

#: A step as a page names it.
STEPS = {
    "segmenter": "segmenter",
    "retriever": "retriever",
    "reranker": "reranker",
    "expansion": "expansion",
    "packer": "packing",
    "prompt": "prompt",
    "generator": "generator",
    "verdict": "rule of verdicts",
}
#: What tells two of a step apart, in the order in which it is looked for.
_VERSIONS = ("declared", "version")


def stale_reasons(sweep: Sweep) -> list[str]:
    """Return why the sweep's results may not speak about today's corpus or pipeline; empty when nothing changed."""
    return _corpus_changes(sweep) + _pipeline_changes(sweep)


def _corpus_changes(sweep: Sweep) -> list[str]:
    """Return what came to the corpus since the fixture set was frozen."""
    fixture_set = sweep.plan.fixture_set
    frozen = {source["digest"] for source in parse_canonical(bytes(fixture_set.canonical))["sources"]}
    now = set(SourceVersion.objects.filter(source__study=sweep.plan.study).order_by().values_list("sha256", flat=True))
    reasons = []
    if added := len(now - frozen):
        reasons.append(f"{added} source version{'s' * (added > 1)} came after the fixture set was frozen.")
    corrected = fixture_set.successors.order_by("pk").values_list("name", flat=True)
    return reasons + [f"The fixture set was corrected: its successor is {name}." for name in corrected]


def _pipeline_changes(sweep: Sweep) -> list[str]:
    """Return in what this installation's tokenizer, packages, words and steps differ from the sweep's manifests.

    Whatever makes chunks, ranks, prompts or answers has its version in the manifests, so equal ones make equal results.
    """
    by_arm = first_manifests(sweep)
    if not by_arm:
        return []
    plan = plan_value(sweep.plan)
    # Builds of one sweep share all but what their arm changes: the ledger refuses a worker that brings another one.
    made = next(iter(by_arm.values()))
    reasons = []
    if _tokenizer_digest(plan) != made["tokenizer"]["digest"]:
        reasons.append(f"The tokenizer {made['tokenizer']['name']} is not the one of the sweep any more.")
    for name, pinned in made["packages"].items():
        installed = _installed(name)
        if installed != pinned:
            reasons.append(f"{name} was {pinned} in the sweep and is {installed} here.")
    if analyser_of(plan).description != made["analyser"]:
        reasons.append("Words are not read as they were in the sweep: the analyser is another one.")
    arms: dict[str, list[str]] = {}
    for arm, manifest in by_arm.items():
        for reason in _arm_changes(plan, arm, manifest):
            arms.setdefault(reason, []).append(arm)
    return reasons + [
        f"{reason} ({'arm' if len(names) == 1 else 'arms'} {', '.join(names)})." for reason, names in arms.items()
    ]


def first_manifests(sweep: Sweep) -> dict[str, dict[str, Any]]:
    """Return the manifest of each arm's first build, by arm. Two queries: all keys, and the payloads of those few."""
    first: dict[str, str] = {}
    for key in results(scopes=[sweep.scope], kinds=[MANIFEST]).values_list("key", flat=True):
        # A key is of a plan, an arm, a phase and its kind; equal arms stand together.
        first.setdefault(key.rsplit("/", 2)[0], key)
    rows = results(scopes=[sweep.scope], kinds=[MANIFEST]).filter(key__in=first.values())
    return {row.value["arm"]: row.value for row in rows}


def _arm_changes(plan: PlanValue, name: str, manifest: Mapping[str, Any]) -> list[str]:
    """Return what of an arm is another one here, step by step."""
    arm = plan.arm(name)
    try:
        segmenter, steps = arm_settings(arm).segmenter.describe(), described_steps(plan, arm)
    except ValueError as absent:
        # Every plug-in refuses what it cannot be made of with a ValueError of its own.
        return [f"It cannot be run here any more: {str(absent).rstrip('.')}"]
    recorded = manifest.get("steps")
    if recorded is None:
        return ["Its manifests do not say with which versions of its steps the sweep was made"]
    found = [_step_change(title, recorded[step], steps[step]) for step, title in STEPS.items()]
    if segmenter != manifest["segmenter"] and not found[0]:
        found[0] = _step_change("segmenter", manifest["segmenter"], segmenter)
    return [one for one in found if one]


def _step_change(title: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return how a step differs, "" where it does not."""
    if before == now:
        return ""
    name = f" {before['plugin']}" if "plugin" in before else ""
    for key in _VERSIONS:
        if before.get(key) != now.get(key):
            return f"The {title}{name} was version {before.get(key)} in the sweep and is {now.get(key)} here"
    return f"The {title}{name} is not the one of the sweep any more"


def _tokenizer_digest(plan: PlanValue) -> str:
    """Return the digest of the tokenizer file as it is here now, "" where it cannot be loaded."""
    try:
        return load_tokenizer(plan.budget.tokenizer).digest
    except TokenizerUnavailable:
        return ""


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
