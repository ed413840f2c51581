"""The releases of a study: sealed sweeps with what was signed, and what each was made with."""

from __future__ import annotations

from dataclasses import dataclass

from annotate.domain.archive import set_changes
from annotate.models import FixtureSet, Study
from annotate.permissions import By
from evaluation.models import Release, Sweep
from evaluation.selectors.pages import sweeps_visible_to
from evaluation.services.result_keys import MANIFEST
from ledger.domain.canonical import parse_canonical
from ledger.selectors.records import results as ledger_results


@dataclass(frozen=True)
class Released:
    """A sealed sweep with its signature, None while nobody signed."""

    sweep: Sweep
    release: Release | None


def releases_of(by: By, study: Study) -> list[Released]:
    """Return the study's sealed sweeps, newest first. Two queries."""
    sweeps = list(
        sweeps_visible_to(by)
        .filter(plan__study=study, state=Sweep.State.SEALED)
        .defer("plan__toml", "plan__canonical", "plan__fixture_set__canonical")
        .order_by("-pk")
    )
    signed = {one.sweep_id: one for one in Release.objects.filter(sweep__in=sweeps).select_related("signed_by")}
    return [Released(one, signed.get(one.pk)) for one in sweeps]


def corpus_changes(before: FixtureSet, after: FixtureSet) -> dict[str, list[str]]:
    """Return what the later fixture set added, removed and changed, by name; empty lists where nothing differs."""
    return set_changes(parse_canonical(bytes(before.canonical)), parse_canonical(bytes(after.canonical)))


def made_with(sweep: Sweep) -> dict[str, str]:
    """Return the tokenizer's digest and the packages of a sweep's builds, by name. One query."""
    manifest = ledger_results(scopes=[sweep.scope], kinds=[MANIFEST]).first()
    if manifest is None:
        return {}
    tokenizer = manifest.value["tokenizer"]
    return {f"tokenizer {tokenizer['name']}": tokenizer["digest"], **manifest.value["packages"]}
