"""The ways from one question page to others: along the phases, to the next question of a list, to another view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, QueryDict
from django.urls import reverse

from annotate.permissions import Actor
from evaluation.domain.plan import Plan
from evaluation.models import Sweep
from evaluation.selectors.question_trace import QuestionTrace
from evaluation.services.frozen_world import load_world
from evaluation.services.results import sweep_results
from evaluation.views.question_rows import READS, QuestionRow, filters_of, question_rows
from evaluation.views.result_tables import Report
from evaluation.views.source_drawing import Reader

#: The list that is walked unless the address holds filters: the questions the candidate lost at some phase.
LOST = {"change": "lost"}


@dataclass(frozen=True)
class Step:
    """A question to go to: its address, and how far along the list it is."""

    url: str
    key: str


@dataclass(frozen=True)
class Walk:
    """Where one can go from a question. `hidden` are what a form must send along; `listed` is which list is walked."""

    link: Link
    phases: list[dict[str, Any]]
    previous: str
    next: str
    hidden: dict[str, str]
    before: Step | None
    after: Step | None
    listed: str
    place: int
    length: int
    list_url: str


class Link:
    """Links to this page with one thing changed."""

    def __init__(self, url: str, now: dict[str, str]) -> None:
        self.url = url
        self.now = now

    def __call__(self, **changed: str) -> str:
        """Return the address with `changed` in place of what holds now."""
        return f"{self.url}?{urlencode({**self.now, **changed})}"


def phase_asked(plan: Plan, asked: QueryDict) -> str:
    """Return the phase label of `?phase=`, or of `?at=`, the number of a phase from 1; "" for the first.

    Raises LookupError for a number that no phase has.
    """
    at = asked.get("at", "")
    if not at:
        return asked.get("phase", "")
    labels = [str(label) for label in plan.phase_labels] or ["1/1"]
    if not (at.isdecimal() and len(at) < 6 and 1 <= int(at) <= len(labels)):
        raise LookupError(f"there is no phase number {at!r}")
    return labels[int(at) - 1]


def walk_of(request: HttpRequest, sweep: Sweep, actor: Actor, trace: QuestionTrace, arm: str, candidate: str) -> Walk:
    """Return the ways from a question. A sweep without a sealed report has no list to walk."""
    question = trace.question.question_id
    now = {"phase": trace.label, "view": trace.view, "arm": arm, "candidate": candidate}
    if trace.repeat:
        now["repeat"] = str(trace.repeat)
    rows: list[QuestionRow] = []
    chosen = {name: request.GET[name] for name in READS if request.GET.get(name)}
    if sweep.state == Sweep.State.SEALED:
        report = Report(sweep_results(sweep), candidate)
        reader = Reader(trace.documents, actor.clearance)
        questions = load_world(sweep.plan).questions
        rows = question_rows(report, lambda sample: report.place(trace.view, sample), questions, reader)
    own = next((row for row in rows if row.key == question), None)
    listed = [row for row in rows if "lost" in row.changes]
    if chosen and rows:
        filters = filters_of(request.GET, rows)
        listed = filters.keep(rows)
    link = Link(reverse("sweep-question", args=[sweep.pk, question]), {**now, **chosen})
    fates = dict(zip(own.labels, own.fates, strict=True)) if own else {}
    here = trace.labels.index(trace.label) if trace.labels else 0
    steps = [link(phase=label) for label in trace.labels]
    keys = [row.key for row in listed]
    at = keys.index(question) if question in keys else -1
    before = listed[at - 1] if at > 0 else None
    after = listed[at + 1] if 0 <= at < len(listed) - 1 else listed[0] if at < 0 and listed else None
    list_query = {"view": trace.view, "candidate": candidate, **(chosen or LOST)}
    return Walk(
        link,
        [
            {"label": label, "url": url, "current": label == trace.label, "fate": fates.get(label, "")}
            for label, url in zip(trace.labels, steps, strict=True)
        ],
        steps[here - 1] if here else "",
        steps[here + 1] if here + 1 < len(steps) else "",
        {name: value for name, value in link.now.items() if name != "phase"},
        _step(sweep, before, trace.view, candidate, chosen),
        _step(sweep, after, trace.view, candidate, chosen),
        "chosen" if chosen else "lost",
        at + 1,
        len(listed),
        f"{reverse('sweep-questions', args=[sweep.pk])}?{urlencode(list_query)}",
    )


def _step(sweep: Sweep, row: QuestionRow | None, view: str, candidate: str, chosen: dict[str, str]) -> Step | None:
    if row is None:
        return None
    query = urlencode({"phase": row.open_at, "view": view, "candidate": candidate, **chosen})
    return Step(f"{reverse('sweep-question', args=[sweep.pk, row.key])}?{query}", row.key)
