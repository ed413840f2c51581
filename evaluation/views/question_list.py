"""The questions of a sealed sweep as a list one can filter: every filter stands in the address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from annotate.permissions import Actor
from annotate.views.respond import respond
from annotate.views.study_nav import asker
from evaluation.models import Sweep
from evaluation.selectors.pages import question_texts
from evaluation.services.frozen_world import load_world
from evaluation.views.access import page, sweep_for, sweep_frame
from evaluation.views.question_rows import Filters, QuestionRow, filters_of, options_of, question_rows
from evaluation.views.report_asked import report_for, view_for, view_title, with_query
from evaluation.views.result_tables import Report
from evaluation.views.source_drawing import Reader
from evaluation.views.sweep_tabs import sweep_tabs
from evaluation.views.wording import FATES, words

PER_PAGE = 25


@dataclass(frozen=True)
class Found:
    """The rows that the filters of an address leave of `every` row, in their order."""

    report: Report
    view: dict[str, Any]
    filters: Filters
    every: list[QuestionRow]
    rows: list[QuestionRow]

    @property
    def query(self) -> dict[str, str]:
        """What the address holds: view, candidate and filters."""
        return {"view": self.view["key"], "candidate": self.report.candidate, **self.filters.chosen}


def listed_questions(request: HttpRequest, sweep: Sweep, actor: Actor) -> Found:
    """Return the questions an address asks for. Raises NotSealed, Http404 for an unknown view, candidate or value."""
    report = report_for(request, sweep)
    view = view_for(request, report)
    world = load_world(sweep.plan)
    reader = Reader(world.prepared.documents, actor.clearance)
    every = question_rows(report, lambda sample: report.place(view["key"], sample), world.questions, reader)
    filters = filters_of(request.GET, every)
    return Found(report, view, filters, every, filters.keep(every))


@require_safe
@page
def questions(request: HttpRequest, pk: int) -> HttpResponse:
    """List the questions that `?segment=`, `?source=`, `?language=`, `?format=`, `?length=`, `?change=`, `?stage=` and
    `?sample=` leave, those lost at most phases first."""
    sweep, actor = sweep_for(request, pk, "results.view")
    if sweep.state != Sweep.State.SEALED:
        return redirect("sweep", sweep.pk)
    found = listed_questions(request, sweep, actor)
    shown = Paginator(found.rows, PER_PAGE).get_page(request.GET.get("page"))
    texts = question_texts(asker(request), sweep.plan.study, [row.key for row in shown])
    context = {
        **sweep_frame(actor, sweep, ("Results", reverse("results", args=[sweep.pk])), ("Questions", "")),
        "report": found.report,
        "view": found.view,
        "view_title": view_title(found.view),
        "views": [
            {"key": one["key"], "title": view_title(one), "chosen": one["key"] == found.view["key"]}
            for one in found.report.data["views"]
        ],
        "options": options_of(found.filters, found.every),
        "filtered": bool(found.filters.chosen),
        "found": len(found.rows),
        "of": len(found.every),
        "page": shown,
        "rows": [_shown(sweep, row, texts.get(row.key, ""), found) for row in shown],
        "sweep_tabs": sweep_tabs(sweep, "sweep-questions", found.report.candidate),
        "files": [
            (kind, with_query(reverse("sweep-questions-file", args=[sweep.pk, kind]), **found.query))
            for kind in ("csv", "parquet")
        ],
    }
    return respond(request, "evaluation/questions.html", context)


def _shown(sweep: Sweep, row: QuestionRow, text: str, found: Found) -> dict[str, Any]:
    tags = [(word, tone) for word, tone in (("lost", "reject"), ("gained", "accept")) if word in row.changes]
    tags += [("fragile", "collect")] * ("fragile" in row.changes)
    lost = [FATES[stage] for stage in row.stages if stage != "complete"]
    return {
        "key": row.key,
        "text": text,
        "segment": words(row.segment),
        "sample": words(row.sample),
        "whole": row.whole,
        "counted": row.counted,
        "cells": list(zip(row.labels, row.fates, strict=True)),
        "tags": tags,
        "lost": lost,
        "sources": row.sources,
        "hidden": row.hidden,
        "url": with_query(reverse("sweep-question", args=[sweep.pk, row.key]), **{"phase": row.open_at, **found.query}),
    }
