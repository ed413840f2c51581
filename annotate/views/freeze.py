"""The page that freezes: choose questions, see what each would be and what blocks it, and what a successor changes."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotate.domain.errors import BadInput
from annotate.domain.partition import APART
from annotate.models import FixtureSet, Question, Study
from annotate.permissions import Actor
from annotate.selectors.fixtures import corrections, survey
from annotate.selectors.freeze_preview import cluster_count, freeze_preview, freeze_rows, preview_table
from annotate.services.freeze_fixtures import freeze_fixtures
from annotate.views.respond import crumbs, respond
from annotate.views.study_nav import asker, study_and_actor, study_links

#: Rows drawn at once; a search narrows a larger study down.
SHOWN = 500


class FreezeForm(forms.Form):
    """The set's name, what it corrects, and what is kept on one side of the partition."""

    name = forms.SlugField(label="Name of the set", max_length=80, help_text="A set never changes; choose a new name.")
    successor_of = forms.ModelChoiceField(
        label="Corrects", queryset=FixtureSet.objects.none(), required=False, empty_label="no earlier set"
    )
    apart = forms.MultipleChoiceField(
        label="On one side of the partition, beside question groups",
        choices=[(word, f"every {word}") for word in APART],
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="A template is a slice tag template:NAME.",
    )

    def __init__(self, *args: Any, sets: QuerySet[FixtureSet], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["successor_of"].queryset = sets  # type: ignore[attr-defined]


@require_http_methods(["GET", "POST"])
@login_required
def freeze(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the study's questions (`?q=` searches them) with what blocks each; on POST freeze those that are ticked."""
    study, actor = study_and_actor(request, slug, "fixture.freeze")
    sets = FixtureSet.objects.filter(study=study).order_by("-pk")
    if request.method == "GET":
        return _page(request, study, actor, FreezeForm(sets=sets))
    form = FreezeForm(request.POST, sets=sets)
    chosen = request.POST.getlist("question")
    if not form.is_valid():
        return _page(request, study, actor, form, chosen=chosen, status=422)
    said = form.cleaned_data
    try:
        made = freeze_fixtures(
            asker(request), study, said["name"], chosen, successor_of=said["successor_of"], apart=said["apart"]
        )
    except BadInput as refusal:
        return _page(request, study, actor, form, chosen=chosen, refusal=refusal, status=422)
    changes = len(corrections(asker(request), made))
    things = "thing" if changes == 1 else "things"
    told = f" {changes} {things} changed against “{made.successor_of.name}”." if made.successor_of else ""
    messages.success(request, f"{made.fixtures.count()} questions are frozen as “{made.name}”.{told}")
    return HttpResponseRedirect(reverse("fixture-set", args=[study.slug, made.pk]))


def _page(
    request: HttpRequest,
    study: Study,
    actor: Actor,
    form: FreezeForm,
    *,
    chosen: list[str] | None = None,
    status: int = 200,
    **extra: Any,
) -> HttpResponse:
    search = request.GET.get("q", "").strip()[:200]
    keys = _found(study, search) if search else None
    found = survey(asker(request), study, keys)
    rows = freeze_rows(found, asker(request), study)
    ready = {row.question.key for row in rows if not row.blocks}
    preview = preview_table(freeze_preview(found))
    ticked = ready if chosen is None else set(chosen)
    context = {
        "study": study,
        "study_links": study_links(actor, study, "fixtures"),
        "form": form,
        "search": search,
        "rows": [{"row": row, "ticked": row.question.key in ticked} for row in rows[:SHOWN]],
        "more": max(0, len(rows) - SHOWN),
        "ready": len(ready),
        "total": len(rows),
        "preview": preview,
        # Each count beside the column it stands in: on a phone a row has no header above it.
        "preview_rows": [(row, list(zip(preview.columns, row.counts, strict=True))) for row in preview.rows],
        "preview_sums": list(zip(preview.columns, preview.sums, strict=True)),
        "clusters": cluster_count(found),
        "together": [block for block in found.blocks if block.where.startswith("group ")],
        "crumbs": crumbs(
            ("Home", reverse("home")),
            (study.title, reverse("study", args=[study.slug])),
            ("Fixture sets", reverse("fixtures", args=[study.slug])),
            ("Freeze", ""),
        ),
    }
    return respond(request, "annotate/freeze.html", context | extra, status=status)


def _found(study: Study, search: str) -> list[str]:
    """Return the keys of the questions whose key, text, group or segment holds the words searched for."""
    wanted = search.casefold()
    rows = Question.objects.filter(study=study).values_list("key", "text", "group", "segment")
    return [key for key, *said in rows if any(wanted in text.casefold() for text in (key, *said))]
