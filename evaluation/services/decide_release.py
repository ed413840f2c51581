"""What the plan's rule says about the candidate, computed from the sealed results.

A latency limit alone reads more: the attempts of the sweep, since no sealed result holds a time.
"""

from __future__ import annotations

from dataclasses import replace

from annotate.domain.vocabulary import Sample
from evaluation.domain.decision import Decision, decide, read_vetoes
from evaluation.domain.gate_evidence import (
    PairedEvidence,
    PhaseRuns,
    ResourceUse,
    VetoEvidence,
    paired_evidence,
    total_usage,
    veto_evidence,
)
from evaluation.domain.gates import read_gates
from evaluation.domain.outcomes import View
from evaluation.models import Sweep
from evaluation.selectors.latency import query_latency_ms
from evaluation.services.outcome_table import OutcomeTable, table_of_results
from evaluation.services.problems import NotSealed
from evaluation.services.result_keys import MANIFEST, build_key
from evaluation.services.result_rows import primary_view
from ledger.models import Result


def decide_release(sweep: Sweep) -> Decision:
    """Compute the disposition of a sealed sweep: every gate, veto and limit of its plan, with reasons.

    Deterministic: the verifier computes it again from the same sealed results and compares. Raises NotSealed.
    """
    if sweep.state != Sweep.State.SEALED:
        raise NotSealed(f"Sweep {sweep.pk} is {sweep.state}: a release is decided from sealed results only.")
    return decision_of(sweep, table_of_results(sweep))


def decision_of(sweep: Sweep, table: OutcomeTable) -> Decision:
    """Compute the decision from `table`, which holds the sealed outcomes of `sweep`."""
    plan = table.plan
    primary = primary_view(plan, table.views)
    top_k = next(key for key in table.views if key.startswith(View.TOP_K))
    evidence: dict[tuple[View, Sample], PairedEvidence] = {}
    for view, key in ((View.BUDGET, primary), (View.TOP_K, top_k)):
        for sample in Sample:
            if any(one.sample is sample for one in table.questions):
                evidence[view, sample] = paired_evidence(
                    view,
                    sample,
                    _runs(table, plan.baseline.name, key),
                    _runs(table, plan.decision.candidate, key),
                    table.phases[plan.baseline.name].shared,
                    table.phases[plan.decision.candidate].shared,
                )
    readings = read_gates(plan, evidence, _resources(sweep, table, primary))
    return decide(plan, readings, read_vetoes(plan, _vetoes(table, primary)), sweep.plan.post_hoc)


def _runs(table: OutcomeTable, arm: str, view: str, *, twins: bool = False) -> PhaseRuns:
    return {
        label: table.every_sample(arm, phase, view, twins=twins) for label, phase in table.phases[arm].shared.items()
    }


def _resources(sweep: Sweep, table: OutcomeTable, view: str) -> ResourceUse:
    plan = table.plan
    candidate = plan.decision.candidate
    keys = [
        build_key(sweep.plan.digest, candidate, phase, MANIFEST)
        for phase in sorted(set(table.phases[candidate].shared.values()))
    ]
    manifests = [one.value for one in Result.objects.filter(scope=sweep.scope, key__in=keys).order_by("key")]
    state = plan.resources.latency_state
    # Attempts are operations, not results; those of a sealed sweep are all there and change no more.
    latency = query_latency_ms(sweep, candidate, state) if state else None
    return ResourceUse(
        total_usage(_runs(table, plan.baseline.name, view)),
        total_usage(_runs(table, candidate, view)),
        sum(manifest["index_tokens"] for manifest in manifests),
        sum(manifest["source_tokens"] for manifest in manifests),
        *(latency or ()),
    )


def _vetoes(table: OutcomeTable, view: str) -> VetoEvidence:
    """Count vetoes; leaks and superseded evidence over the twins too, everything else over the population."""
    baseline, candidate = table.plan.baseline.name, table.plan.decision.candidate
    counted = veto_evidence(_runs(table, baseline, view), _runs(table, candidate, view))
    everyone = veto_evidence({}, _runs(table, candidate, view, twins=True))
    return replace(
        counted,
        leaks=everyone.leaks,
        leak_questions=everyone.leak_questions,
        superseded=everyone.superseded,
        superseded_questions=everyone.superseded_questions,
    )
