"""Plans: the list of a study, and one plan in words with what may be done with it next."""

from __future__ import annotations

import secrets
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from annotate.domain.errors import BadInput
from annotate.models import Study
from annotate.permissions import Actor, allows, require
from annotate.views.respond import respond
from annotate.views.study_nav import asker, study_and_actor
from evaluation.domain.floating import floating_names
from evaluation.domain.plan_edits import edited
from evaluation.domain.plan_schema import PlanProblem, PlanRefused
from evaluation.domain.plan_toml import parse_plan, plan_from_payload, plan_payload, plan_to_toml
from evaluation.domain.sweep_limits import NAMES, Prices, read_limits
from evaluation.models import Plan, Sweep
from evaluation.selectors.pages import (
    cells_closed,
    fixture_sets_visible_to,
    held_out_openings,
    listed_plans,
    sweeps_visible_to,
)
from evaluation.services.estimate_plan import estimate_plan, kept_estimate
from evaluation.services.lock_plan import lock_plan
from evaluation.services.plugins import installed_plugins
from evaluation.services.start_sweep import start_sweep
from evaluation.services.write_plan import plan_value, write_plan
from evaluation.views import plan_reading
from evaluation.views.access import frame, page, plan_for
from evaluation.views.downloads import attachment
from evaluation.views.estimate_reading import estimate_rows
from evaluation.views.gate_editor import Editor, gate_editor
from evaluation.views.plan_drafts import drop_draft, kept_draft
from evaluation.views.power_help import power_help
from evaluation.views.setting_names import GATE_NAMES

PRESETS = Path(__file__).resolve().parent.parent / "plans"
PAGE_SIZE = 50
LISTED_SWEEPS = 5
#: Of a plan's file; its characters are counted when it is read.
MAX_BYTES = 2_000_000
PRICES = ("price_input", "price_output")


@require_http_methods(["GET", "POST"])
@page
def plans(request: HttpRequest, slug: str) -> HttpResponse:
    """List a study's plans; POST writes a new draft."""
    study, actor = study_and_actor(request, slug, "plan.view")
    if request.method == "POST":
        return _write(request, study, actor)
    if "preset" in request.GET:
        drop_draft(request, study)
        return _list(request, study, actor, toml=_preset(request.GET["preset"]))
    toml, fixture_set = kept_draft(request, study)
    return _list(request, study, actor, toml=toml, fixture_set=fixture_set)


@require_http_methods(["GET", "POST"])
@page
def plan(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a plan; POST `action` = write (a new draft from the edited text), edit (one from the edited fields),
    estimate, measure, lock, or start."""
    found, actor = plan_for(request, pk, "plan.view")
    action = request.POST.get("action", "")
    if request.method == "GET":
        return _show(request, found, actor)
    if action == "write":
        return _redraft(request, found, actor)
    if action == "edit":
        return _edit(request, found, actor)
    if action == "lock":
        lock_plan(asker(request), found)
        return redirect("plan", found.pk)
    if action in {"estimate", "measure"}:
        return _estimate(request, found, actor, again=action == "measure")
    if action == "start":
        return _start(request, found, actor)
    raise BadInput("action", f"“{action}” is nothing a plan can do", "Use one of the buttons of the page.")


@require_GET
@page
def plan_toml(request: HttpRequest, pk: int) -> HttpResponse:
    """Download a plan's text as it was written."""
    found, _ = plan_for(request, pk, "plan.view")
    return attachment(found.toml.encode(), f"{found.name}.toml", "application/toml")


def _estimate(request: HttpRequest, found: Plan, actor: Actor, *, again: bool) -> HttpResponse:
    try:
        limits = read_limits(request.POST.dict())
        estimate_plan(asker(request), found, limits.prices, again=again)
    except BadInput as bad:
        return _show(request, found, actor, limit_problem=bad, status=422)
    said = urlencode({name: request.POST.get(name, "").strip() for name in PRICES})
    return redirect(f"{reverse('plan', args=[found.pk])}?{said}#estimate")


def _start(request: HttpRequest, found: Plan, actor: Actor) -> HttpResponse:
    require(actor, "sweep.start")
    try:
        limits = read_limits(request.POST.dict())
    except BadInput as bad:
        return _show(request, found, actor, limit_problem=bad, status=422)
    sweep = start_sweep(
        asker(request),
        found,
        idempotency_key=_key(request),
        limits=limits,
        recompute=bool(request.POST.get("recompute")),
    )
    return redirect("sweep", sweep.pk)


def _prices(request: HttpRequest) -> Prices:
    """The prices in the address; what is none there is none, since an address is no form to mend."""
    try:
        return read_limits({name: request.GET.get(name, "") for name in PRICES}).prices
    except BadInput:
        return Prices()


def _key(request: HttpRequest) -> str:
    key = request.POST.get("key", "")
    if not 8 <= len(key) <= 64 or not key.isalnum():
        raise BadInput("key", "the form's key is missing", "Open the page again and press the button there.")
    return key


def _list(
    request: HttpRequest,
    study: Study,
    actor: Actor,
    *,
    toml: str = "",
    fixture_set: str = "",
    problems: tuple[PlanProblem, ...] = (),
    status: int = 200,
) -> HttpResponse:
    person = asker(request)
    context = {
        **frame(actor, study),
        "page": Paginator(listed_plans(person, study), PAGE_SIZE).get_page(request.GET.get("page")),
        "may_write": allows(actor, "plan.write"),
        "fixture_sets": list(fixture_sets_visible_to(person, study)),
        "chosen_set": request.POST.get("fixture_set", fixture_set),
        "presets": sorted(_presets()),
        "preset": request.GET.get("preset", ""),
        "toml": toml,
        "problems": problems,
    }
    return respond(request, "evaluation/plans.html", context, status=status)


def _write(request: HttpRequest, study: Study, actor: Actor) -> HttpResponse:
    require(actor, "plan.write")
    try:
        toml = _text(request)
    except PlanRefused as refusal:
        return _list(request, study, actor, toml=request.POST.get("toml", ""), problems=refusal.problems, status=422)
    name = request.POST.get("fixture_set", "")
    # Compared here and not by the database: a name from outside may hold what PostgreSQL takes in no text.
    fixture_set = next((one for one in fixture_sets_visible_to(asker(request), study) if one.name == name), None)
    if fixture_set is None:
        raise Http404("no such fixture set in this study")
    try:
        written = write_plan(asker(request), fixture_set=fixture_set, toml=toml)
    except PlanRefused as refusal:
        return _list(request, study, actor, toml=toml, problems=refusal.problems, status=422)
    drop_draft(request, study)
    return redirect("plan", written.pk)


def _redraft(request: HttpRequest, found: Plan, actor: Actor) -> HttpResponse:
    require(actor, "plan.write")
    toml = request.POST.get("toml", "")
    try:
        toml = _text(request)
        written = write_plan(asker(request), fixture_set=found.fixture_set, toml=toml)
    except PlanRefused as refusal:
        return _show(request, found, actor, toml=toml, problems=refusal.problems, status=422)
    return redirect("plan", written.pk)


def _edit(request: HttpRequest, found: Plan, actor: Actor) -> HttpResponse:
    require(actor, "plan.write")
    made = edited(plan_payload(plan_value(found)), request.POST.dict())
    try:
        value = plan_from_payload(made, installed_plugins().known_names())
        written = write_plan(asker(request), fixture_set=found.fixture_set, toml=plan_to_toml(value))
    except PlanRefused as refusal:
        return _show(request, found, actor, editor=gate_editor(made, refusal.problems), status=422)
    return redirect("plan", written.pk)


def _text(request: HttpRequest) -> str:
    """Return the text of the form, or of the file where one was sent; raises PlanRefused for a file that is no text."""
    sent = request.FILES.get("file")
    if sent is None:
        # Forms send CRLF; the digest is of the meaning, but the text kept should be the one a person would diff.
        return request.POST.get("toml", "").replace("\r\n", "\n")
    if (sent.size or 0) > MAX_BYTES:
        what = f"has {sent.size:,} bytes."
        raise PlanRefused((PlanProblem("file", what, f"At most {MAX_BYTES:,} are read."),))
    try:
        return sent.read().decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        what = f"is not UTF-8: byte {error.start} begins no character."
        raise PlanRefused((PlanProblem("file", what, "Save it as UTF-8."),)) from error


def _show(
    request: HttpRequest,
    found: Plan,
    actor: Actor,
    *,
    toml: str = "",
    problems: tuple[PlanProblem, ...] = (),
    limit_problem: BadInput | None = None,
    editor: Editor | None = None,
    status: int = 200,
) -> HttpResponse:
    value = plan_value(found)
    estimate = kept_estimate(asker(request), found, _prices(request))
    known = installed_plugins().known_names()
    sweeps = list(sweeps_visible_to(asker(request)).filter(plan=found).order_by("-pk"))
    closed = cells_closed(sweeps[:LISTED_SWEEPS])
    openings = list(held_out_openings(found.fixture_set))
    used, allowed = sum(sweep.held_out for sweep in sweeps), value.population.held_out_openings
    may_start = allows(actor, "sweep.start") and found.locked_at
    spent = allowed > 0 and used >= allowed
    context: dict[str, Any] = {
        **frame(actor, found.study, (found.name, "")),
        "plan": found,
        "value": value,
        "floating": floating_names(value),
        "sections": plan_reading.sections(value, known),
        "arm_rows": [
            (row.name, [(arm.name, *cell) for arm, cell in zip(value.arms, row.cells, strict=True)])
            for row in plan_reading.arm_rows(value, known)
        ],
        "gate_names": GATE_NAMES.values(),
        "gates": [list(zip(GATE_NAMES.values(), row, strict=True)) for row in plan_reading.gate_rows(value)],
        "metrics": [str(metric).replace("-", " ") for metric in value.metrics],
        "sweeps": [(sweep, *closed.get(sweep.pk, (0, 0))) for sweep in sweeps[:LISTED_SWEEPS]],
        "sweep_count": len(sweeps),
        "openings": openings,
        "opens_held_out": allowed > 0,
        "held_out_used": used,
        "may_write": allows(actor, "plan.write"),
        "may_lock": allows(actor, "plan.lock") and not found.locked_at,
        "may_start": may_start and not spent,
        # Another sweep would be refused: the page says so before anybody fills in its form.
        "spent": may_start and spent,
        "readable": next((sweep.pk for sweep in sweeps if sweep.state == Sweep.State.SEALED), None),
        "key": secrets.token_hex(16),
        "estimate": estimate_rows(estimate) if estimate else None,
        "limit_problem": limit_problem,
        "limits": {name: (request.POST or request.GET).get(name, "") for name in NAMES},
        "recompute": bool(request.POST.get("recompute")),
        "power": power_help(value, found.fixture_set, request.GET),
        "editor": editor or gate_editor(plan_payload(value)),
        "edit_refused": editor is not None,
        "toml": toml or found.toml,
        "problems": problems,
        "toml_url": reverse("plan-toml", args=[found.pk]),
    }
    return respond(request, "evaluation/plan.html", context, status=status)


@lru_cache(maxsize=1)
def _presets() -> dict[str, str]:
    """Return the shipped plans by name, read once; each is parsed here so that a broken one is noticed at once."""
    found = {}
    for path in sorted(PRESETS.glob("*.toml")):
        text = path.read_text(encoding="utf-8")
        parse_plan(text, installed_plugins().known_names())
        found[path.stem] = text
    if not found:
        raise FileNotFoundError(f"no plan in {PRESETS.relative_to(settings.BASE_DIR)}")
    return found


def _preset(name: str) -> str:
    return _presets().get(name, "")
