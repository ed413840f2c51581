"""The releases of a study: sealed sweeps with what was signed, and what each was made with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from annotate.domain.archive import set_changes
from annotate.models import FixtureSet, Study
from annotate.permissions import By
from evaluation.models import Release, Sweep
from evaluation.selectors.pages import sweeps_visible_to
from evaluation.selectors.staleness import STEPS, first_manifests, stale_reasons_of
from ledger.domain.canonical import parse_canonical


@dataclass(frozen=True)
class Released:
    """A sealed sweep with its signature, None while nobody signed, and why its results are stale, if they are."""

    sweep: Sweep
    release: Release | None
    stale: Sequence[str] = ()


def releases_of(by: By, study: Study) -> list[Released]:
    """Return the study's sealed sweeps, newest first. Seven queries."""
    return released(list(sealed_sweeps(by, study).order_by("-pk")))


def sealed_sweeps(by: By, study: Study) -> QuerySet[Sweep]:
    """Return the study's sealed sweeps, as far as the person may see them, without the texts of plans and sets."""
    sealed = sweeps_visible_to(by).filter(plan__study=study, state=Sweep.State.SEALED)
    return sealed.defer("plan__toml", "plan__fixture_set__canonical")


def released(sweeps: Sequence[Sweep]) -> list[Released]:
    """Return the sweeps in their order with their signatures and why they are stale. Six queries."""
    signed = {one.sweep_id: one for one in Release.objects.filter(sweep__in=sweeps).select_related("signed_by")}
    stale = stale_reasons_of(sweeps)
    return [Released(one, signed.get(one.pk), stale[one.pk]) for one in sweeps]


def corpus_changes(before: FixtureSet, after: FixtureSet) -> dict[str, list[str]]:
    """Return what the later fixture set added, removed and changed, by name; empty lists where nothing differs."""
    return set_changes(parse_canonical(bytes(before.canonical)), parse_canonical(bytes(after.canonical)))


def made_with(sweep: Sweep) -> dict[str, str]:
    """Return what a sweep was made with, by name: tokenizer, packages, and the version of every step.

    A step that all arms share stands once; otherwise once for each arm.
    """
    manifests = first_manifests([sweep])[sweep.pk]
    if not manifests:
        return {}
    one = next(iter(manifests.values()))
    found = {f"tokenizer {one['tokenizer']['name']}": str(one["tokenizer"]["digest"]), **one["packages"]}
    for step, title in STEPS.items():
        versions = {arm: _version(manifest.get("steps", {}).get(step, {})) for arm, manifest in manifests.items()}
        shared = len(set(versions.values())) == 1
        found |= {title if shared else f"{title} of {arm}": text for arm, text in versions.items() if text}
    return found


def _version(step: Mapping[str, Any]) -> str:
    """Return a step as its name and its versions, "" for one that was not recorded."""
    versions = dict.fromkeys(str(step[name]) for name in ("declared", "version") if name in step)
    return " ".join(([str(step["plugin"])] if "plugin" in step else []) + list(versions))
