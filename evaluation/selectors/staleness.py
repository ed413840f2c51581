"""Why a sweep's results may not speak about today's corpus or pipeline any more."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from django.db.models import Min
from django.db.models.functions import Left, Length

from annotate.models import FixtureSet, SourceVersion
from evaluation.domain.plan import Plan as PlanValue
from evaluation.domain.plan_schema import PlanRefused
from evaluation.models import Sweep
from evaluation.plugins.tokenizers import TokenizerUnavailable, load_tokenizer
from evaluation.services.described_steps import described_steps
from evaluation.services.pipeline_of import analyser_of, arm_settings
from evaluation.services.result_keys import MANIFEST, build_key
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
#: How many characters of a manifest's key stand behind its plan and arm: “/000001/manifest”.
_AFTER_ARM = len(build_key("", "", 0, MANIFEST)) - len("/")
#: What tells two of a step apart, in the order in which it is looked for.
_VERSIONS = ("declared", "version")


def stale_reasons(sweep: Sweep) -> list[str]:
    """Return why the sweep's results may not speak about today's corpus or pipeline; empty when nothing changed."""
    return stale_reasons_of([sweep])[sweep.pk]


def stale_reasons_of(sweeps: Sequence[Sweep]) -> dict[int, list[str]]:
    """Return `stale_reasons` of each sweep, by primary key. At most five queries, however many sweeps there are.

    What is here now (sources of a study, tokenizer files, packages) is looked up once for all of them.
    """
    corpus = _corpus_changes({sweep.plan.fixture_set for sweep in sweeps})
    manifests, here = first_manifests(sweeps), _Here()
    return {
        sweep.pk: [*corpus[sweep.plan.fixture_set_id], *_pipeline_changes(sweep, manifests[sweep.pk], here)]
        for sweep in sweeps
    }


class _Here:
    """What this installation has, by name; each is read once in the life of an object."""

    def __init__(self) -> None:
        self.tokenizer_digest = cache(_tokenizer_digest)
        self.package = cache(_installed)


def _corpus_changes(fixture_sets: Collection[FixtureSet]) -> dict[int, list[str]]:
    """Return what came to the corpus since each fixture set was frozen, by primary key."""
    now: dict[int, set[str]] = {one.study_id: set() for one in fixture_sets}
    versions = SourceVersion.objects.filter(source__study__in=now).order_by()
    for study, digest in versions.values_list("source__study_id", "sha256"):
        now[study].add(digest)
    # Lists leave the bytes of fixture sets out: many sweeps share one.
    unread = [one.pk for one in fixture_sets if "canonical" in one.get_deferred_fields()]
    canonical = {one.pk: one.canonical for one in fixture_sets if one.pk not in unread}
    if unread:
        canonical |= dict(FixtureSet.objects.filter(pk__in=unread).values_list("pk", "canonical"))
    found = {}
    for one in fixture_sets:
        frozen = {source["digest"] for source in parse_canonical(bytes(canonical[one.pk]))["sources"]}
        added = len(now[one.study_id] - frozen)
        came = f"{added} source version{'s' * (added > 1)} came after the fixture set was frozen."
        found[one.pk] = [came] if added else []
    successors = FixtureSet.objects.filter(successor_of__in=fixture_sets).order_by("pk")
    for pk, name in successors.values_list("successor_of_id", "name"):
        found[pk].append(f"The fixture set was corrected: its successor is {name}.")
    return found


def _pipeline_changes(sweep: Sweep, by_arm: Mapping[str, Mapping[str, Any]], here: _Here) -> list[str]:
    """Return in what this installation's tokenizer, packages, words and steps differ from the sweep's manifests.

    Whatever makes chunks, ranks, prompts or answers has its version in the manifests, so equal ones make equal results.
    """
    if not by_arm:
        return []
    try:
        plan = plan_value(sweep.plan)
    except PlanRefused:
        return ["This version does not read the sweep's plan any more."]
    # Builds of one sweep share all but what their arm changes: the ledger refuses a worker that brings another one.
    made = next(iter(by_arm.values()))
    reasons = []
    if here.tokenizer_digest(plan.budget.tokenizer) != made["tokenizer"]["digest"]:
        reasons.append(f"The tokenizer {made['tokenizer']['name']} is not the one of the sweep any more.")
    for name, pinned in made["packages"].items():
        installed = here.package(name)
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


def first_manifests(sweeps: Sequence[Sweep]) -> dict[int, dict[str, Any]]:
    """Return the manifest of each arm's first build, by sweep and arm.

    Two queries: the first key of each arm, and the payloads of those few.
    """
    found: dict[int, dict[str, Any]] = {sweep.pk: {} for sweep in sweeps}
    scopes = {sweep.scope: sweep.pk for sweep in sweeps}
    manifests = results(scopes=scopes, kinds=[MANIFEST])
    of_arm = Left("key", Length("key") - _AFTER_ARM)
    keys = manifests.order_by().annotate(arm=of_arm).values("scope", "arm").annotate(first=Min("key"))
    first = {(row["scope"], row["first"]) for row in keys}
    values: dict[str, Any] = {}
    for row in manifests.filter(key__in={key for _, key in first}):
        if (row.scope, row.key) not in first:
            continue
        # Sweeps of one study mostly record the same bytes.
        value = values[row.payload_digest] = values.get(row.payload_digest) or row.value
        found[scopes[row.scope]].setdefault(value["arm"], value)
    return found


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


def _tokenizer_digest(name: str) -> str:
    """Return the digest of a tokenizer's file as it is here now, "" where it cannot be loaded."""
    try:
        return load_tokenizer(name).digest
    except TokenizerUnavailable:
        return ""


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
