"""The steps after the freeze: the plan, its sweep, the results and the release."""

from __future__ import annotations

from django.db.models import Max
from django.urls import reverse

from annotate.models import FixtureSet, Person, Study
from annotate.permissions import Actor, allows
from annotate.selectors.next_steps import Asked, NextStep, counted, may
from evaluation.models import Plan, Release, Sweep


def after_freeze(_person: Person, asked: Asked) -> dict[int, NextStep]:
    """Return the next step of each study with a fixture set, for whoever may see its plans. At most four queries.

    A sweep at work comes first, then results that nobody signed, then a plan that was not run; a signed release is
    what is left to read.
    """
    wanted = may(asked, "plan.view")
    if not wanted:
        return {}
    frozen = counted(FixtureSet.objects.filter(study__in=wanted), "study_id")
    plans = {plan.study_id: plan for plan in Plan.objects.filter(pk__in=_newest(Plan, "study_id", wanted))}
    rows = Sweep.objects.filter(pk__in=_newest(Sweep, "plan__study_id", wanted)).select_related("plan")
    sweeps = {sweep.plan.study_id: sweep for sweep in rows}
    signed = set(Release.objects.filter(sweep__in=sweeps.values()).values_list("sweep_id", flat=True))
    steps: dict[int, NextStep] = {}
    for study in wanted:
        if study.pk not in frozen:
            continue
        sweep = sweeps.get(study.pk)
        step = _of_sweep(asked[study], sweep, signed) or _of_plan(asked[study], study, plans.get(study.pk), sweep)
        if step is None and sweep is not None and sweep.pk in signed:
            page = reverse("release", args=[sweep.pk])
            step = NextStep("Read the release", f"sweep {sweep.pk}, signed", page, looks_on=True)
        if step is not None:
            steps[study.pk] = step
    return steps


def _newest(model: type[Plan | Sweep], study: str, wanted: list[Study]) -> list[int]:
    rows = model.objects.filter(**{f"{study.removesuffix('_id')}__in": wanted}).order_by()
    return [newest for _, newest in rows.values_list(study).annotate(newest=Max("pk"))]


def _of_sweep(actor: Actor, sweep: Sweep | None, signed: set[int]) -> NextStep | None:
    if sweep is None or not allows(actor, "results.view") or sweep.pk in signed:
        return None
    about, page = f"sweep {sweep.pk} of {sweep.plan.name}", reverse("sweep", args=[sweep.pk])
    if sweep.state == Sweep.State.SEALED:
        return NextStep("Read the results", f"{about}, sealed", reverse("results", args=[sweep.pk]))
    if sweep.state == Sweep.State.RUNNING:
        return NextStep("Watch the sweep", f"{about}, at work", page, looks_on=True)
    if sweep.state in {Sweep.State.FAILED, Sweep.State.CANCELLED}:
        return None
    return NextStep("Let the sweep go on", f"{about}, held", page) if allows(actor, "sweep.start") else None


def _of_plan(actor: Actor, study: Study, plan: Plan | None, sweep: Sweep | None) -> NextStep | None:
    if not allows(actor, "plan.write"):
        return None
    if plan is None:
        return NextStep("Write a plan", "what will be compared, before anyone sees a number", _plans(study))
    if sweep is not None and sweep.plan_id >= plan.pk:
        return None
    page = reverse("plan", args=[plan.pk])
    if plan.locked_at is None:
        return NextStep("Lock the plan", f"{plan.name}, a draft", f"{page}#lock")
    return NextStep("Start the sweep", f"{plan.name}, locked", f"{page}#start")


def _plans(study: Study) -> str:
    return f"{reverse('plans', args=[study.slug])}#new"
