"""The printable record of a release: one document, as a page for the printer and as a PDF."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET

from annotate.permissions import By
from annotate.views.respond import respond
from annotate.views.study_nav import asker
from evaluation.domain.decision import Decision
from evaluation.domain.gates import GateReading, rule_text
from evaluation.domain.plan import Plan
from evaluation.domain.release_record import Block, Facts, Fold, Grid, Numbers, Part, ReleaseRecord, Words
from evaluation.models import Release, Sweep
from evaluation.printing.record_pdf import record_pdf
from evaluation.selectors.held_out_arms import HeldOutArm, held_out_arms
from evaluation.selectors.pages import decision_for, held_out_openings, question_texts, release_of
from evaluation.selectors.staleness import stale_reasons
from evaluation.services.plugins import installed_plugins
from evaluation.services.problems import NotSealed
from evaluation.services.write_plan import plan_value
from evaluation.views import plan_reading
from evaluation.views.access import page, sweep_for, sweep_frame
from evaluation.views.downloads import attachment
from evaluation.views.gate_rows import gate_lines, in_words, veto_in_words
from evaluation.views.setting_names import TITLES
from evaluation.views.wording import counted, percent, said, words

#: Names of a gate's numbers, in the order in which they are read.
NUMBERS = {
    "point": "Observed",
    "lower": "Lower bound",
    "upper": "Upper bound",
    "measured": "Measured",
    "limit": "Limit",
    "tolerance": "Tolerance",
    "questions": "Questions",
    "clusters": "Clusters",
    "failed_runs": "Failed runs",
    "runs": "Runs",
    "phases": "Phases",
    "worst_phase": "Lowest bound at phase",
    "rejecting_phase": "Rejecting at phase",
    "cells": "Cells",
}
_STAMP = "%Y-%m-%d %H:%M UTC"


@require_GET
@page
def release_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the record as a page that prints."""
    sweep, actor = sweep_for(request, pk, "release.view")
    record = record_of(asker(request), sweep)
    trail = (("Release", reverse("release", args=[sweep.pk])), ("Record", ""))
    context: dict[str, Any] = {**sweep_frame(actor, sweep, *trail), "record": record, "parts": _drawn(record)}
    return respond(request, "evaluation/release_record.html", context)


@require_GET
@page
def release_pdf(request: HttpRequest, pk: int) -> HttpResponse:
    """Download the record as a PDF; equal records are equal bytes."""
    sweep, _ = sweep_for(request, pk, "release.view")
    made = record_pdf(record_of(asker(request), sweep))
    return attachment(made, f"release-{sweep.plan.name}-sweep-{sweep.pk}.pdf", "application/pdf")


def record_of(by: By, sweep: Sweep) -> ReleaseRecord:
    """Return the record of a sealed sweep's release, signed or as the rule computes it. Raises NotSealed."""
    if sweep.state != Sweep.State.SEALED:
        raise NotSealed(f"Sweep {sweep.pk} is {sweep.state}: a record is printed of sealed results only.")
    signed, plan = release_of(sweep), plan_value(sweep.plan)
    decision = decision_for(sweep, signed)
    texts = question_texts(by, sweep.plan.study, behind(decision))
    sections = {one.title: Facts(one.rows) for one in plan_reading.sections(plan, installed_plugins().known_names())}

    def section(name: str) -> Facts:
        return sections[TITLES[name]]

    stamp = signed.signed_at if signed else sweep.finished_at or sweep.started_at
    word = said(signed.disposition if signed else decision.disposition).word
    locked = f", locked {sweep.plan.locked_at:{_STAMP}}" if sweep.plan.locked_at else ""
    return ReleaseRecord(
        f"{word}: {decision.candidate}",
        f"Release record of the study “{sweep.plan.study.title}”, by the plan {sweep.plan.name}{locked}.",
        stamp.isoformat(),
        (
            Part("Disposition", (_disposition(sweep, signed, decision), _why(decision))),
            *(_gate(reading, texts) for reading in decision.readings),
            Part("Hard vetoes", (_vetoes(decision),), Fold.NARROW),
            Part("Population", (section("population"), _population(sweep)), Fold.NARROW),
            Part("Intervention", (section("hypothesis"), _arms(plan), section("phases")), Fold.NARROW),
            Part(
                "Held still",
                (section("retrieval"), section("reranking"), section("recovery"), section("generation")),
                Fold.NARROW,
            ),
            Part("Acceptance rule", (_rules(plan), section("vetoes")), Fold.NARROW),
            Part("Uncertainty rule", (section("statistics"), section("decision")), Fold.NARROW),
            Part("Resource rule", (section("budget"), section("resources")), Fold.NARROW),
            _held_out(by, sweep, signed),
            Part("Digests", (_digests(sweep, signed),)),
            Part("Do it again", (Words(reproduce(sweep), code=True), Words((SAME,)))),
        ),
    )


SAME = "The sealed root is the one above, whoever computes it; verify_ledger recomputes every digest and this decision."


def reproduce(sweep: Sweep) -> tuple[str, ...]:
    """Return the commands that compute a sweep's results and its decision again."""
    plan = sweep.plan
    return (
        f"manage.py sweep {plan.name}.toml --study {plan.study.slug} --fixture-set {plan.fixture_set.name} --wait",
        "manage.py verify_ledger",
    )


def behind(decision: Decision) -> set[str]:
    """Return the ids of all questions behind a decision's readings."""
    names = {name for reading in decision.readings for name in reading.questions}
    return names | {name for veto in decision.vetoes for name in veto.questions}


def number(value: str | int) -> str:
    """Return a recorded number with a real minus; it keeps the places at which the gate read it."""
    text = str(value)
    return f"−{text[1:]}" if text.startswith("-") else text


def _disposition(sweep: Sweep, signed: Release | None, decision: Decision) -> Facts:
    rows = [("By the plan's rule", said(decision.disposition).word)]
    if signed:
        rows += [
            ("Signed", said(signed.disposition).word),
            ("Signed by", f"{signed.signed_by}, {signed.signed_at:{_STAMP}}"),
        ]
        if signed.override_reason:
            rows.append(("Override, because", signed.override_reason))
    else:
        rows.append(("Signed", "not signed"))
    if sweep.plan.post_hoc:
        rows.append(("Post hoc", "locked after held-out results were seen: it cannot accept"))
    rows += [("Stale", reason) for reason in stale_reasons(sweep)]
    return Facts(tuple(rows))


def _why(decision: Decision) -> Grid:
    rows = tuple((line.name, line.said.word, line.text) for line in gate_lines(decision))
    return Grid(("Gate or veto", "Reading", "Read from"), rows)


def _population(sweep: Sweep) -> Facts:
    fixture_set = sweep.plan.fixture_set
    return Facts((("Fixture set", f"{fixture_set.name}, frozen {fixture_set.frozen_at:{_STAMP}}"),))


def _arms(plan: Plan) -> Grid:
    rows = plan_reading.arm_rows(plan, installed_plugins().known_names())
    cells = tuple((row.name, *(value for value, _ in row.cells)) for row in rows)
    return Grid(("Setting", *(arm.name for arm in plan.arms)), cells)


def _rules(plan: Plan) -> Block:
    if not plan.gates:
        return Words(("The plan sets no gate, so nothing can be accepted.",))
    return Grid(("Gate", "Rule"), tuple((words(gate.name), rule_text(gate, plan)) for gate in plan.gates))


def _gate(reading: GateReading, texts: dict[str, str]) -> Part:
    numbers = [(label, number(reading.numbers[key])) for key, label in NUMBERS.items() if key in reading.numbers]
    names = [f"{name}: {texts[name]}" if name in texts else name for name in reading.questions]
    reasons = (
        ("In words", in_words(reading)),
        ("How it was estimated", str(reading.numbers.get("signature", "counted, not sampled: no interval"))),
        ("Questions behind it", "\n".join(names) or "none got worse"),
    )
    blocks: list[Block] = [Facts((("Rule", reading.rule_text),)), Facts(reasons)]
    if numbers:
        blocks.insert(1, Numbers(tuple(numbers)))
    heading = f"{words(reading.gate)}: {said(reading.reading).word}"
    return Part(heading, tuple(blocks), Fold.ALWAYS, group="Gate by gate")


def _vetoes(decision: Decision) -> Grid:
    rows = [
        (
            words(one.veto),
            "Veto" if one.triggered else "None",
            one.observed,
            one.limit,
            percent(one.upper_bound) if one.upper_bound else "not a zero",
            " ".join([veto_in_words(one), *([f"Questions: {', '.join(one.questions)}."] if one.questions else [])]),
        )
        for one in decision.vetoes
    ]
    return Grid(("Veto", "Reading", "Observed", "Limit", "A zero still allows", "In words"), tuple(rows))


def _held_out(by: By, sweep: Sweep, signed: Release | None) -> Part:
    opened = [
        (f"{one.opened_at:{_STAMP}}", str(one.opened_by or "the operator"), one.purpose)
        for one in held_out_openings(sweep.plan.fixture_set)
    ]
    arms = held_out_arms(by, sweep.plan.fixture_set)
    blocks: list[Block] = [Grid(("Opened", "By", "For"), tuple(opened))] if opened else []
    if signed:
        blocks.append(Words((f"{counted(signed.held_out_openings, 'opening')} when this was signed.",)))
    if arms:
        blocks.append(Grid(HELD_OUT_COLUMNS, tuple(held_out_row(one) for one in arms)))
    if not opened:
        blocks.append(Words(("The held-out questions of this fixture set have not been opened.",)))
    return Part("Held-out openings and every arm run on them", tuple(blocks), Fold.NARROW)


HELD_OUT_COLUMNS = ("Arm", "Plan", "Sweep", "Role", "Chunks")


def held_out_row(one: HeldOutArm) -> tuple[str, str, str, str, str]:
    """Return an arm that was run on held-out questions as a row under `HELD_OUT_COLUMNS`."""
    role = "candidate to release" if one.candidate else one.role
    sizes = f", {one.capacity}/{one.overlap}" if one.capacity else ""
    plan = f"{one.plan} ({one.plan_digest[:12]}{', post hoc' if one.post_hoc else ''})"
    return one.arm, plan, f"{one.sweep}, {one.state}, {one.started:{_STAMP}}", role, f"{one.segmenter}{sizes}"


def _digests(sweep: Sweep, signed: Release | None) -> Facts:
    rows = [
        ("Plan", sweep.plan.digest),
        ("Fixture set", sweep.plan.fixture_set.digest),
        ("Sealed root of the results", sweep.root),
    ]
    if signed:
        rows += [("Decision", signed.digest), ("Ledger head at signing", signed.ledger_head)]
    return Facts(tuple(rows))


def _drawn(record: ReleaseRecord) -> list[dict[str, Any]]:
    """Return the parts for a template, which cannot ask a block for its type; `link` names the first of a group."""
    groups: set[str] = set()
    drawn = []
    for part in record.parts:
        link = "" if part.group in groups else part.group or part.heading
        groups |= {part.group} - {""}
        blocks = [
            (
                type(one).__name__.lower(),
                one,
                [list(zip(one.columns, row, strict=True)) for row in one.rows] if isinstance(one, Grid) else [],
            )
            for one in part.blocks
        ]
        drawn.append({"heading": part.heading, "blocks": blocks, "fold": str(part.fold), "link": link})
    return drawn
