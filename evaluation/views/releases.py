"""The releases of a study, and what changed between two of them."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from annotate.views.respond import respond
from annotate.views.study_nav import asker, study_and_actor
from evaluation.domain.decision import VetoReading
from evaluation.domain.gates import GateReading
from evaluation.domain.release_changes import reading_pairs, setting_changes, veto_pairs
from evaluation.selectors.pages import decision_for
from evaluation.selectors.releases import Released, corpus_changes, made_with, releases_of
from evaluation.services.count_reading import count_reading
from evaluation.views.access import frame, page
from evaluation.views.gate_rows import in_words
from evaluation.views.recorded_words import shown
from evaluation.views.wording import said, words
from ledger.domain.canonical import parse_canonical


@require_GET
@page
def releases(request: HttpRequest, slug: str) -> HttpResponse:
    """List a study's releases; with `?before=` and `?after=` (numbers of sweeps) say what changed between the two."""
    study, actor = study_and_actor(request, slug, "release.view")
    found = releases_of(asker(request), study)
    asked = [request.GET.get(name, "") for name in ("before", "after")]
    context: dict[str, Any] = {
        **frame(actor, study, *([("Comparison", "")] if all(asked) else []), section="releases"),
        "rows": [_row(one) for one in found],
        "before": asked[0] or (str(found[1].sweep.pk) if len(found) > 1 else ""),
        "after": asked[1] or (str(found[0].sweep.pk) if found else ""),
    }
    if all(asked):
        before, after = (_chosen(found, name) for name in asked)
        context |= {"compared": _compared(before, after)}
        for one in (before, after):
            count_reading(asker(request), one.sweep, "releases")
    return respond(request, "evaluation/releases.html", context)


def _chosen(found: list[Released], name: str) -> Released:
    one = next((one for one in found if str(one.sweep.pk) == name), None)
    if one is None:
        raise Http404(f"the study has no release of a sweep {name}")
    return one


def _row(one: Released) -> dict[str, Any]:
    signed = one.release
    return {
        "sweep": one.sweep,
        "release": signed,
        "said": said(signed.disposition) if signed else None,
        "stale": one.stale,
        "more": len(one.stale) - 1,
        "overridden": bool(signed and signed.disposition != signed.computed),
    }


def _compared(first: Released, second: Released) -> dict[str, Any]:
    before, after = first.sweep, second.sweep
    signed = [one.release for one in (first, second)]
    old, new = (decision_for(one, own) for one, own in zip((before, after), signed, strict=True))
    payloads = [parse_canonical(bytes(one.plan.canonical)) for one in (before, after)]
    with_old, with_new = made_with(before), made_with(after)
    corpus = corpus_changes(before.plan.fixture_set, after.plan.fixture_set)
    return {
        "before": before,
        "after": after,
        "said": [
            said(own.disposition if own else one.disposition) for own, one in zip(signed, (old, new), strict=True)
        ],
        "signed": signed,
        "settings": setting_changes(*payloads),
        "gates": [
            (words(one.gate), _reading(one.before), _reading(one.after), one.turned) for one in reading_pairs(old, new)
        ],
        "vetoes": [(words(one.veto), _veto(one.before), _veto(one.after)) for one in veto_pairs(old, new)],
        "corpus": [(words(name.replace("_", " ")), names) for name, names in corpus.items() if names],
        "made_with": [
            (name, with_old.get(name, "not there"), with_new.get(name, "not there"))
            for name in sorted(with_old.keys() | with_new.keys())
            if with_old.get(name) != with_new.get(name)
        ],
        "stale": [(one.sweep, one.stale) for one in (first, second)],
    }


def _veto(found: VetoReading | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "observed": shown(found.observed, [found.limit]),
        "limit": found.limit,
        "triggered": found.triggered,
    }


def _reading(found: GateReading | None) -> dict[str, Any] | None:
    if found is None:
        return None
    limits = [str(found.numbers[name]) for name in ("tolerance", "limit") if name in found.numbers]
    numbers = [shown(str(found.numbers[name]), limits) for name in ("point", "lower", "upper") if name in found.numbers]
    bounds = f"{numbers[0]} [{numbers[1]}, {numbers[2]}]" if len(numbers) == 3 else ""
    measured = shown(str(found.numbers["measured"]), limits) if "measured" in found.numbers else ""
    count = f"n = {found.numbers['questions']}" if "questions" in found.numbers else ""
    return {
        "said": said(found.reading),
        "text": bounds or measured or in_words(found),
        "count": count,
        "questions": len(found.questions),
    }
