"""Candidate − baseline, paired by question: differences with intervals, and who was gained and lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from evaluation.domain.estimation import estimates
from evaluation.domain.interaction import interaction
from evaluation.domain.phase_matrix import PhaseMatrix, four_cells
from evaluation.domain.plan_words import MetricName
from evaluation.domain.resampling import Estimate, UncertaintyRule, rule_of
from evaluation.domain.statistics import ask_paired_mean, ask_paired_phases, ask_question_worst, phase_estimates
from evaluation.domain.worst_phase import paired_worst
from evaluation.services.outcome_table import OutcomeTable, Selection
from evaluation.services.result_figures import phase_metrics
from evaluation.services.result_rows import Rows, estimate_cells, number, primary_view, selection_cells

type PairPlace = tuple[str, str, Selection, MetricName]
"""(candidate, view, selection, metric)"""


def pair_rows(table: OutcomeTable) -> Rows:
    """Return the differences per candidate, view, sample, segment and metric.

    Each phase and the worst phase are told for complete support; other metrics in the primary view, as a mean.
    """
    primary = primary_view(table.plan, table.views)
    places = [
        (candidate.name, view, selection, metric)
        for candidate in table.plan.candidates
        for view in table.views
        for selection in table.selections
        for metric in phase_metrics(table)
        if view == primary or metric is MetricName.COMPLETE_SUPPORT
    ]
    return Rows(len(places), _pair_rows(table, places))


def interaction_rows(table: OutcomeTable) -> Rows:
    """Return the size-by-phase interaction per candidate of another capacity than the baseline's, sample and segment.

    Complete support in the primary view only: a null of permuted phases is computed for each.
    """
    primary = primary_view(table.plan, table.views)
    baseline = table.plan.baseline
    places = [
        (candidate.name, primary, selection, MetricName.COMPLETE_SUPPORT)
        for candidate in table.plan.candidates
        if candidate.capacity != baseline.capacity
        for selection in table.selections
    ]
    return Rows(len(places), (_interaction_row(table, *place) for place in places))


def _pair_rows(table: OutcomeTable, places: Sequence[PairPlace]) -> Iterator[dict[str, Any]]:
    """Answer the places of a candidate and view together: figures over the same clusters share their draws."""
    baseline = table.plan.baseline.name
    rule = rule_of(table.plan)
    for _, group in groupby(places, key=lambda place: place[:2]):
        together = list(group)
        arms = [
            (table.matrix(metric, baseline, view, selection), table.matrix(metric, candidate, view, selection))
            for candidate, view, selection, metric in together
        ]
        asked = [ask_paired_mean(*pair) for pair in arms]
        whole = [place for place, one in enumerate(together) if one[3] is MetricName.COMPLETE_SUPPORT]
        more = [ask(*arms[place]) for place in whole for ask in (ask_paired_phases, ask_question_worst)]
        found = estimates([*asked, *more], rule)
        extra = dict(zip(whole, zip(found[len(asked) :: 2], found[len(asked) + 1 :: 2], strict=True), strict=True))
        for place, (candidate, view, selection, metric) in enumerate(together):
            row: dict[str, Any] = {
                "baseline": baseline,
                "candidate": candidate,
                "view": view,
                "metric": str(metric),
                **selection_cells(selection),
                "mean": estimate_cells(found[place][0]),
            }
            if place in extra:
                row |= _support_cells(arms[place], *extra[place], rule)
            yield row


def _support_cells(
    arms: tuple[PhaseMatrix, PhaseMatrix],
    phases: tuple[Estimate, ...],
    question_worst: tuple[Estimate, ...],
    rule: UncertaintyRule,
) -> dict[str, Any]:
    counted = (arms[0].counted(), arms[1].counted())
    return {
        "phases": [
            {"labels": list(one.labels)} | estimate_cells(one.estimate) for one in phase_estimates(arms, phases)
        ],
        "worst": estimate_cells(paired_worst(*arms, rule)),
        "question_worst": estimate_cells(question_worst[0]),
        "cells": [_cells(four_cells(*counted, label)) for label in (None, *arms[0].labels)],
    }


def _interaction_row(
    table: OutcomeTable, candidate: str, view: str, selection: Selection, metric: MetricName
) -> dict[str, Any]:
    baseline = table.plan.baseline.name
    found = interaction(
        table.matrix(metric, baseline, view, selection),
        table.matrix(metric, candidate, view, selection),
        rule_of(table.plan),
    )
    return {
        "baseline": baseline,
        "candidate": candidate,
        "capacities": [table.plan.arm(name).capacity for name in (baseline, candidate)],
        "view": view,
        "metric": str(metric),
        **selection_cells(selection),
        "status": str(found.status),
        "reason": found.reason,
        "spread": number(found.spread),
        "spread_expected": number(found.expected),
        "p_value": number(found.p_value),
        "permutations": found.permutations,
        "seed": found.seed,
        "phases": [{"labels": list(one.labels)} | estimate_cells(one.estimate) for one in found.phases],
    }


def _cells(found: Any) -> dict[str, Any]:
    return {
        "rule": found.rule,
        "both": list(found.both),
        "gained": list(found.gained),
        "lost": list(found.lost),
        "neither": list(found.neither),
    }
