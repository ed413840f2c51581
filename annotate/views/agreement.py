"""Agreement of a study on first submissions: figures with intervals, by segment, pair and month, and their items."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET

from annotate.domain.agreement_intervals import CONFIDENCE, REPLICATES, SEED
from annotate.domain.agreement_report import DIFFERENCES, Item, Line, report
from annotate.domain.vocabulary import Role
from annotate.permissions import Actor
from annotate.selectors.agreement import (
    Choices,
    Slice,
    agreement_items,
    agreement_parts,
    choices_of,
    left_out_note,
    version_lengths,
)
from annotate.views.respond import crumbs, respond
from annotate.views.study_nav import asker, study_and_actor, study_links

#: The figures shown per segment, pair and month; all of them are one click away.
SHORT = ("exact span F1", "byte-overlap F1", "exact F1, support sets", "Cohen's κ, dependency type")
SHOWN_EXCLUDED = 20


@require_GET
@login_required
def agreement(request: HttpRequest, slug: str) -> HttpResponse:
    """Show every agreement figure of the chosen questions, and the main ones per segment, pair and month."""
    study, actor = study_and_actor(request, slug, "agreement.view")
    items = agreement_items(asker(request), study)
    choices = _choices(items, actor)
    choice = _choice(request, choices)
    lengths = version_lengths(study)
    chosen = _where(items, choice)
    context = {
        "study": study,
        "study_links": study_links(actor, study, "agreement"),
        "lines": [_shown(line) for line in report(chosen, lengths)],
        "questions": len(chosen),
        "of": len(items),
        "left_out": left_out_note(asker(request), study),
        "choice": choice,
        "choices": choices,
        "by": [
            {
                "title": title,
                "head": title.removeprefix("By ").capitalize(),
                "names": SHORT,
                "rows": [
                    _row(name, field, count, report(_where(items, Slice(**{field: name})), lengths, SHORT))
                    for name, count in counts
                ],
            }
            for title, field, counts in (
                ("By segment", "segment", choices.segments),
                ("By pair of annotators", "pair", choices.pairs),
                ("Over time", "month", choices.months),
            )
            if len(counts) > 1
        ],
        "query": urlencode({name: value for name, value in vars(choice).items() if value}),
        "signature": (
            f"{int(CONFIDENCE * 100)} % percentile intervals, {REPLICATES} resamples of questions, seed {SEED}"
        ),
        "crumbs": crumbs(
            ("Home", reverse("home")), (study.title, reverse("study", args=[study.slug])), ("Agreement", "")
        ),
    }
    return respond(request, "annotate/agreement.html", context)


@require_GET
@login_required
def agreement_items_csv(request: HttpRequest, slug: str) -> HttpResponse:
    """Send what each question adds to each figure, for a diagnosis; keys and numbers, no text of a source."""
    study, actor = study_and_actor(request, slug, "agreement.view")
    items = agreement_items(asker(request), study)
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\r\n")
    table.writerow(["question", "figure", "numerator", "is", "denominator", "of", "excluded"])
    for part in agreement_parts(asker(request), study, _choice(request, _choices(items, actor))):
        above, below = part.numbers
        table.writerow(
            [part.question, part.figure, _decimal(above), part.labels[0], below, part.labels[1], part.excluded]
        )
    if note := left_out_note(asker(request), study):
        table.writerow(["", "", "", "", "", "", note])
    response = HttpResponse(out.getvalue(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-agreement.csv"'
    response["Cache-Control"] = "no-store"
    return response


def _where(items: list[Item], choice: Slice) -> list[Item]:
    return [item for item in items if choice.takes(item)]


def _choices(items: list[Item], actor: Actor) -> Choices:
    """What there is to choose from; only a lead chooses by name, since an adjudicator is not to know who marked."""
    choices = choices_of(items)
    return choices if Role.LEAD in actor.roles else replace(choices, pairs=())


def _choice(request: HttpRequest, choices: Choices) -> Slice:
    """Read the slice from the address; what the study does not have means everything."""
    known = {"segment": choices.segments, "pair": choices.pairs, "month": choices.months}
    asked = {name: request.GET.get(name, "") for name in known}
    return Slice(**{name: value for name, value in asked.items() if value in dict(known[name])})


def _row(name: str, field: str, count: int, lines: tuple[Line, ...]) -> dict[str, Any]:
    by_name = {line.measure.name: line for line in lines}
    return {
        "name": name,
        "query": urlencode({field: name}),
        "count": count,
        "cells": [_shown(by_name[wanted]) for wanted in SHORT],
    }


def _shown(line: Line) -> dict[str, Any]:
    measure, interval = line.measure, line.interval
    digits = 1 if measure.name in DIFFERENCES else 3
    bounds = ""
    if interval.low is not None and interval.high is not None:
        bounds = f"{interval.low:.{digits}f} to {interval.high:.{digits}f}"
    return {
        "name": measure.name,
        "value": None if measure.value is None else f"{float(measure.value):.{digits}f}",
        "n": measure.n,
        "unit": measure.unit,
        "note": measure.note,
        "bounds": bounds,
        "why_no_bounds": interval.note,
        "undefined_replicates": interval.undefined,
        "covered": line.covered,
        "of": line.of,
        "excluded": line.excluded[:SHOWN_EXCLUDED],
        "more_excluded": max(0, len(line.excluded) - SHOWN_EXCLUDED),
    }


def _decimal(value: Any) -> str:
    return str(value) if value.denominator == 1 else f"{float(value):.6f}"
