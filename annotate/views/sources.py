"""Sources: the list with its import form, one version's text, and its bytes as a download."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from annotate.domain.errors import BadInput
from annotate.domain.import_formats.sources_toml import SourceEntry
from annotate.models import Study
from annotate.permissions import Actor, allows, require
from annotate.selectors.sources import hidden_from, versions_visible_to
from annotate.services.import_sources import import_source_version
from annotate.views.respond import crumbs, respond
from annotate.views.source_runs import drawn
from annotate.views.study_nav import asker, study_and_actor, study_links


class ImportSourceForm(forms.Form):
    """One file and what is said about it."""

    file = forms.FileField(label="File", help_text="UTF-8 text; its bytes are kept exactly as they are.")
    document_id = forms.SlugField(label="Document id", max_length=120)
    title = forms.CharField(label="Title", max_length=300, required=False)
    version_label = forms.CharField(label="Version", max_length=80)
    observation_date = forms.DateField(label="Observed on", widget=forms.DateInput(attrs={"type": "date"}))
    effective_from = forms.DateField(
        label="In force from", required=False, widget=forms.DateInput(attrs={"type": "date"})
    )
    effective_to = forms.DateField(
        label="Last day in force", required=False, widget=forms.DateInput(attrs={"type": "date"})
    )
    locale = forms.CharField(label="Language", max_length=20, required=False, initial="en")
    supersedes = forms.CharField(label="Supersedes version", max_length=80, required=False)
    access_labels = forms.CharField(
        label="Access labels", required=False, help_text="Separated by commas; a reader needs all of them."
    )

    def clean_effective_to(self) -> date | None:
        """Refuse the calendar's very last day: the store holds the day after it."""
        last = self.cleaned_data["effective_to"]
        if last == date.max:
            raise forms.ValidationError("Leave it empty for a version without an end.")
        return last

    def entry(self) -> SourceEntry:
        """Return what was said, as the import service takes it (which stores the day after the last one)."""
        data = self.cleaned_data
        labels = [label.strip() for label in data["access_labels"].split(",") if label.strip()]
        return SourceEntry(
            file=data["file"].name,
            document_id=data["document_id"],
            version_label=data["version_label"],
            observation_date=data["observation_date"],
            title=data["title"] or None,
            effective_from=data["effective_from"],
            effective_to=data["effective_to"] + timedelta(days=1) if data["effective_to"] else None,
            locale=data["locale"] or None,
            supersedes=data["supersedes"] or None,
            access_labels=frozenset(labels),
        )


@require_http_methods(["GET", "POST"])
@login_required
def sources(request: HttpRequest, slug: str) -> HttpResponse:
    """List the versions the person may read; on POST import one."""
    study, actor = study_and_actor(request, slug, "source.view")
    if request.method == "GET":
        return _list(request, study, actor, ImportSourceForm())
    require(actor, "source.import")
    form = ImportSourceForm(request.POST, request.FILES)
    if not form.is_valid():
        return _list(request, study, actor, form, status=422)
    upload = form.cleaned_data["file"]
    try:
        if upload.size > settings.MAX_SOURCE_BYTES:
            raise BadInput(upload.name, f"{upload.size} bytes are too many", f"At most {settings.MAX_SOURCE_BYTES}.")
        made = import_source_version(asker(request), study, form.entry(), upload.read())
    except BadInput as refusal:
        return _list(request, study, actor, form, refusal=refusal, status=422)
    said = "imported" if made.created else "was there already, byte for byte; nothing was changed"
    messages.success(request, f"{made.version} {said}.")
    return HttpResponseRedirect(reverse("sources", args=[study.slug]))


def _list(
    request: HttpRequest, study: Study, actor: Actor, form: ImportSourceForm, *, status: int = 200, **extra: Any
) -> HttpResponse:
    versions = list(versions_visible_to(asker(request)).filter(source__study=study))
    newer = {version.supersedes_id: version for version in versions if version.supersedes_id}
    context = {
        "study": study,
        "study_links": study_links(actor, study, "sources"),
        "versions": [(version, newer.get(version.pk)) for version in versions],
        "may_import": allows(actor, "source.import"),
        "form": form,
        "crumbs": crumbs(
            ("Home", reverse("home")), (study.title, reverse("study", args=[study.slug])), ("Sources", "")
        ),
    }
    return respond(request, "annotate/sources.html", context | extra, status=status)


@require_GET
@login_required
def source(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Show one version; ranges the person may not read are offsets without text."""
    study, actor = study_and_actor(request, slug, "source.view")
    visible = versions_visible_to(asker(request)).filter(source__study=study)
    version = get_object_or_404(visible, pk=pk)
    context = {
        "study": study,
        "version": version,
        # Of a version kept from the reader not even the label is told.
        "older": visible.filter(superseded_by=version).first(),
        "newer": visible.filter(supersedes=version).order_by("observation_date", "pk"),
        "runs": drawn(version, actor.clearance, [], {}),
        "hidden_count": len(hidden_from(version, actor.clearance)),
        "crumbs": crumbs(
            ("Home", reverse("home")),
            (study.title, reverse("study", args=[study.slug])),
            ("Sources", reverse("sources", args=[study.slug])),
            (f"{version.source.title} {version.version_label}", ""),
        ),
    }
    return respond(request, "annotate/source.html", context)


@require_GET
@login_required
def download(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Send the exact bytes as an attachment; 404 when any of them are hidden from the person."""
    study, actor = study_and_actor(request, slug, "source.view")
    version = get_object_or_404(versions_visible_to(asker(request)).filter(source__study=study), pk=pk)
    if hidden_from(version, actor.clearance):
        raise Http404("a part of this version is not for this reader")
    # Never the stored media type: somebody else's bytes must not run as a page of ours.
    response = HttpResponse(bytes(version.content), content_type="application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="{version.sha256[:16]}.bin"'
    response["Cache-Control"] = "no-store"
    return response
