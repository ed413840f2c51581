"""What a study's overview says of plans, sweeps and releases: the newest sweep is one click away."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from annotate.models import Person, Study
from annotate.permissions import Actor, allows
from evaluation.models import Plan, Release, Sweep

_TONES = {
    Sweep.State.SEALED: "accept",
    Sweep.State.CANCELLED: "reject",
    Sweep.State.CAPPED: "collect",
    Sweep.State.PAUSED: "collect",
}


def study_steps(person: Person, study: Study, actor: Actor) -> list[dict[str, Any]]:
    """Return the rows for plans, the newest sweep and releases, as far as the person may see them. Three queries."""
    rows = []
    if allows(actor, "plan.view"):
        locked = list(Plan.objects.filter(study=study).order_by().values_list("locked_at", flat=True))
        state = f"{sum(one is not None for one in locked)} of {len(locked)} locked"
        detail = "What will be compared and how it will be read, fixed before anyone sees a number."
        rows.append(_row("Plans", state, detail, reverse("plans", args=[study.slug])))
    if allows(actor, "results.view"):
        newest = Sweep.objects.filter(plan__study=study).select_related("plan").order_by("-pk").first()
        if newest is not None:
            title, detail = f"Newest sweep: {newest.pk}", f"{newest.plan.name}, started {newest.started_at:%-d %b %Y}"
            tone = _TONES.get(Sweep.State(newest.state), "")
            rows.append(_row(title, newest.get_state_display(), detail, reverse("sweep", args=[newest.pk]), tone))
    if allows(actor, "release.view"):
        signed = Release.objects.filter(sweep__plan__study=study).count()
        url = reverse("releases", args=[study.slug])
        rows.append(_row("Releases", f"{signed} signed", "Decisions by the plan's own rule, and what changed.", url))
    return rows


def _row(title: str, state: str, detail: str, url: str, tone: str = "") -> dict[str, Any]:
    return {"title": title, "state": state, "tone": tone, "detail": detail, "url": url}
