"""Fixture sets: what is frozen, what blocks a freeze, the freeze itself, and a set's files."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from annotate.domain.errors import BadInput
from annotate.models import FixtureSet, Study
from annotate.permissions import Actor, allows, require
from annotate.selectors.fixtures import (
    corrections,
    fixture_sets_visible_to,
    openings_of,
    readable_fixture_values,
    require_manifest,
    survey,
)
from annotate.selectors.frozen_partition import frozen_partition
from annotate.services.export_archive import fixture_archive
from annotate.services.freeze_fixtures import freeze_fixtures
from annotate.views.respond import crumbs, respond
from annotate.views.study_nav import asker, study_and_actor, study_links

SHOWN_BLOCKS = 50
PER_PAGE = 25


class FreezeForm(forms.Form):
    """A name for the set; freezing takes every settled question of the study."""

    name = forms.SlugField(label="Name of the set", max_length=80, help_text="A set never changes; choose a new name.")


@require_http_methods(["GET", "POST"])
@login_required
def fixtures(request: HttpRequest, slug: str) -> HttpResponse:
    """List the fixture sets and what blocks the next one; on POST freeze."""
    study, actor = study_and_actor(request, slug, "fixture.view")
    if request.method == "GET":
        return _list(request, study, actor, FreezeForm())
    require(actor, "fixture.freeze")
    form = FreezeForm(request.POST)
    if not form.is_valid():
        return _list(request, study, actor, form, status=422)
    try:
        made = freeze_fixtures(asker(request), study, form.cleaned_data["name"])
    except BadInput as refusal:
        return _list(request, study, actor, form, refusal=refusal, status=422)
    messages.success(request, f"{made.fixtures.count()} questions are frozen as “{made.name}”.")
    return HttpResponseRedirect(reverse("fixture-set", args=[study.slug, made.pk]))


def _list(
    request: HttpRequest, study: Study, actor: Actor, form: FreezeForm, *, status: int = 200, **extra: Any
) -> HttpResponse:
    may_freeze = allows(actor, "fixture.freeze")
    blocks = list(survey(asker(request), study).blocks) if may_freeze else []
    context = {
        "study": study,
        "study_links": study_links(actor, study, "fixtures"),
        "sets": fixture_sets_visible_to(asker(request), study).annotate(size=Count("fixtures")),
        "may_freeze": may_freeze,
        "blocks": blocks[:SHOWN_BLOCKS],
        "more_blocks": max(0, len(blocks) - SHOWN_BLOCKS),
        "form": form,
        "crumbs": crumbs(
            ("Home", reverse("home")), (study.title, reverse("study", args=[study.slug])), ("Fixture sets", "")
        ),
    }
    return respond(request, "annotate/fixtures.html", context | extra, status=status)


def _one(request: HttpRequest, slug: str, pk: int) -> tuple[Study, Actor, FixtureSet]:
    study, actor = study_and_actor(request, slug, "fixture.view")
    return study, actor, get_object_or_404(fixture_sets_visible_to(asker(request), study), pk=pk)


@require_GET
@login_required
def fixture_set(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Show a set: its digest, its questions with segment and sample, and every opening of its held-out partition."""
    study, actor, found = _one(request, slug, pk)
    context = {
        "study": study,
        "study_links": study_links(actor, study, "fixtures"),
        "set": found,
        "page": Paginator(readable_fixture_values(asker(request), found), PER_PAGE).get_page(request.GET.get("page")),
        "digests": dict(found.fixtures.values_list("fixture_id", "digest")),
        "openings": openings_of(found),
        "changes": corrections(asker(request), found),
        "partition": frozen_partition(found),
        "may_export": allows(actor, "dataset.export"),
        "crumbs": crumbs(
            ("Home", reverse("home")),
            (study.title, reverse("study", args=[study.slug])),
            ("Fixture sets", reverse("fixtures", args=[study.slug])),
            (found.name, ""),
        ),
    }
    return respond(request, "annotate/fixture_set.html", context)


@require_GET
@login_required
def manifest(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Send the set's canonical bytes, whose SHA-256 is the set's digest."""
    _, _, found = _one(request, slug, pk)
    require_manifest(asker(request), found)
    response = HttpResponse(bytes(found.canonical), content_type="application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="{found.name}.manifest.json"'
    response["Cache-Control"] = "no-store"
    return response


@require_GET
@login_required
def fixture_set_archive(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Send the set as one archive that `sha256sum` can check; with `?sources=1` the source texts are in it."""
    _, _, found = _one(request, slug, pk)
    try:
        made = fixture_archive(asker(request), found, sources=request.GET.get("sources") == "1")
    except BadInput as refusal:
        messages.error(request, str(refusal))
        return HttpResponseRedirect(reverse("fixture-set", args=[slug, pk]))
    response = HttpResponse(made.data, content_type="application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="{found.name}.tar.gz"'
    response["Cache-Control"] = "no-store"
    return response
