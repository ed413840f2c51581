"""The release: every gate and veto with its numbers and reading, the computed disposition, and the signature."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotate.domain.errors import BadInput
from annotate.permissions import Actor, allows, require
from annotate.views.respond import respond
from annotate.views.study_nav import asker
from evaluation.domain.decision import Disposition, VetoReading
from evaluation.domain.gates import GateReading
from evaluation.models import Sweep
from evaluation.selectors.held_out_arms import held_out_arms
from evaluation.selectors.pages import (
    decision_for,
    held_out_openings,
    ledger_head,
    question_texts,
    release_of,
)
from evaluation.selectors.staleness import stale_reasons
from evaluation.services.problems import CannotAccept, ReasonMissing
from evaluation.services.sign_release import sign_release
from evaluation.services.write_plan import plan_value
from evaluation.views.access import page, sweep_for, sweep_frame
from evaluation.views.gate_rows import gate_lines, in_words, veto_in_words
from evaluation.views.recorded_words import plain, shown
from evaluation.views.release_record import HELD_OUT_COLUMNS, NUMBERS, behind, held_out_row, number, reproduce
from evaluation.views.sweep_tabs import sweep_tabs
from evaluation.views.wording import percent, said, words


@require_http_methods(["GET", "POST"])
@page
def release(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the decision; POST signs it, with a second confirmation and an idempotency key."""
    sweep, actor = sweep_for(request, pk, "release.view")
    if request.method == "POST":
        return _sign(request, sweep, actor)
    if sweep.state != Sweep.State.SEALED:
        return redirect("sweep", sweep.pk)
    return _show(request, sweep, actor)


def _sign(request: HttpRequest, sweep: Sweep, actor: Actor) -> HttpResponse:
    require(actor, "release.sign")
    key, wanted = request.POST.get("key", ""), request.POST.get("disposition", "")
    problems = []
    if not 8 <= len(key) <= 64 or not key.isalnum():
        problems.append(BadInput("key", "the form's key is missing", "Open the page again and sign there."))
    if wanted not in set(Disposition):
        problems.append(BadInput("disposition", "none was chosen", "Choose what you sign."))
    if not request.POST.get("confirmed"):
        problems.append(
            BadInput("confirmation", "the box was not ticked", "Tick it: a signature is recorded once and stays.")
        )
    if not problems:
        try:
            sign_release(
                asker(request),
                sweep,
                idempotency_key=key,
                disposition=Disposition(wanted),
                override_reason=request.POST.get("reason", ""),
            )
        except (ReasonMissing, CannotAccept) as bad:
            problems.append(BadInput("signature", plain(str(bad)).rstrip("."), ""))
        else:
            return redirect("release", sweep.pk)
    return _show(request, sweep, actor, problems, 422)


def _show(
    request: HttpRequest, sweep: Sweep, actor: Actor, problems: Sequence[BadInput] = (), status: int = 200
) -> HttpResponse:
    signed = release_of(sweep)
    decision = decision_for(sweep, signed)
    texts = question_texts(asker(request), sweep.plan.study, behind(decision))
    position, link = ledger_head()
    context: dict[str, Any] = {
        **sweep_frame(actor, sweep, ("Release", "")),
        "value": plan_value(sweep.plan),
        "sweep_tabs": sweep_tabs(sweep, "release"),
        "decision": decision,
        "lines": gate_lines(decision),
        "computed": said(decision.disposition),
        "release": signed,
        "said": said(signed.disposition if signed else decision.disposition),
        "overridden": bool(signed and signed.disposition != signed.computed),
        "gates": [_gate(reading, texts) for reading in decision.readings],
        "vetoes": [_veto(veto, texts) for veto in decision.vetoes],
        "openings": list(held_out_openings(sweep.plan.fixture_set)),
        "held_out_columns": HELD_OUT_COLUMNS,
        "held_out_arms": [
            list(zip(HELD_OUT_COLUMNS, held_out_row(one), strict=True))
            for one in held_out_arms(asker(request), sweep.plan.fixture_set)
        ],
        "commands": reproduce(sweep),
        "stale": stale_reasons(sweep),
        "head_position": position,
        "head": link,
        "may_export": allows(actor, "ledger.export"),
        "may_sign": signed is None and allows(actor, "release.sign"),
        "key": request.POST.get("key") or secrets.token_hex(16),
        "chosen": request.POST.get("disposition", str(decision.disposition)),
        "reason": request.POST.get("reason", ""),
        "choices": [
            (str(one), said(one).word, one is Disposition.ACCEPT and sweep.plan.post_hoc) for one in Disposition
        ],
        "refusal": {"problems": problems} if problems else None,
    }
    return respond(request, "evaluation/release.html", context, status=status)


def _gate(reading: GateReading, texts: dict[str, str]) -> dict[str, Any]:
    return {
        "ident": reading.gate,
        "name": words(reading.gate),
        "rule": reading.rule_text,
        "numbers": _numbers(reading),
        "signature": reading.numbers.get("signature", "counted, not sampled: no interval"),
        "said": said(reading.reading),
        "reason": in_words(reading),
        "questions": [(name, texts.get(name, "")) for name in reading.questions],
    }


def _numbers(reading: GateReading) -> list[tuple[str, str, str]]:
    """Return (name, number at three places, number as recorded) of everything a gate read."""
    limits = [str(reading.numbers[name]) for name in ("tolerance", "limit") if name in reading.numbers]
    found = []
    for key, label in NUMBERS.items():
        if key in reading.numbers:
            value = reading.numbers[key]
            exact = number(value)
            found.append((label, exact if isinstance(value, int) or "/" in value else shown(value, limits), exact))
    return found


def _veto(veto: VetoReading, texts: dict[str, str]) -> dict[str, Any]:
    return {
        "name": words(veto.veto),
        "veto": veto,
        "observed": shown(veto.observed, [veto.limit]),
        "reason": veto_in_words(veto),
        "bound": percent(veto.upper_bound) if veto.upper_bound else "",
        "questions": [(name, texts.get(name, "")) for name in veto.questions],
    }
