"""Questions of a study, for those who may see the whole of it, and their import."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Exists, OuterRef, Value
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotate.domain.errors import BadInput
from annotate.domain.spans import check_size
from annotate.domain.vocabulary import Role
from annotate.models import Assignment, Study
from annotate.permissions import Actor, allows, require
from annotate.selectors.questions import visible_to
from annotate.services.import_questions import import_questions
from annotate.views.question_rule import QuestionRule
from annotate.views.respond import crumbs, respond
from annotate.views.study_nav import asker, study_and_actor, study_links

PER_PAGE = 25


class ImportQuestionsForm(forms.Form):
    """A questions.toml file."""

    file = forms.FileField(label="questions.toml", help_text="One [[question]] table each; see docs/file-formats.md.")


@require_http_methods(["GET", "POST"])
@login_required
def questions(request: HttpRequest, slug: str) -> HttpResponse:
    """List the questions with their progress; on POST import a file, all of it or nothing."""
    study, actor = study_and_actor(request, slug, "question.view")
    if request.method == "GET":
        return _list(request, study, actor, ImportQuestionsForm())
    require(actor, "question.import")
    form = ImportQuestionsForm(request.POST, request.FILES)
    if not form.is_valid():
        return _list(request, study, actor, form, status=422)
    upload = form.cleaned_data["file"]
    try:
        check_size(upload.size, upload.name, settings.MAX_SOURCE_BYTES)
        written = import_questions(asker(request), study, upload.read(), upload.name)
    except BadInput as refusal:
        return _list(request, study, actor, form, refusal=refusal, status=422)
    messages.success(request, f"{len(written)} questions read from {upload.name}.")
    return HttpResponseRedirect(reverse("questions", args=[study.slug]))


def _list(
    request: HttpRequest, study: Study, actor: Actor, form: ImportQuestionsForm, *, status: int = 200, **extra: Any
) -> HttpResponse:
    mine = Assignment.objects.filter(question=OuterRef("pk"), annotator=asker(request))
    # Segment, sample and progress hint at the answer or at the other pass: not for whoever marks the question, unless
    # they are the lead who wrote it.
    blind = Value(False) if Role.LEAD in actor.roles else Exists(mine)
    seen = visible_to(asker(request)).filter(study=study)
    rule = QuestionRule(request.GET, study=study, asked=seen)
    if Role.LEAD not in actor.roles and seen.filter(assignments__annotator=asker(request)).exists():
        rule.hide_marks()
    rows = rule.keep(seen).annotate(blind=blind).order_by("key", "pk")
    context = {
        "study": study,
        "study_links": study_links(actor, study, "questions"),
        "rule": rule,
        "filtered": bool(rule.chosen),
        "page": Paginator(rows, PER_PAGE).get_page(request.GET.get("page")),
        "may_import": allows(actor, "question.import"),
        "form": form,
        "crumbs": crumbs(
            ("Home", reverse("home")), (study.title, reverse("study", args=[study.slug])), ("Questions", "")
        ),
    }
    return respond(request, "annotate/questions.html", context | extra, status=status)
