"""Who works on what: assign, reassign, return and pause tasks, and see how far everybody is. For the study's lead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.template.defaultfilters import pluralize
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotate.domain.errors import BadInput, shown
from annotate.domain.vocabulary import Segment, SpanLabel
from annotate.models import Assignment, Person, Question, Study
from annotate.models.choices import choices
from annotate.permissions import Actor
from annotate.selectors.people import annotators
from annotate.selectors.progress import by_person, by_segment
from annotate.services.assign_questions import assign_questions
from annotate.services.pause_task import pause_tasks, resume_tasks
from annotate.services.publish_guideline import publish_guideline
from annotate.services.reassign import reassign_tasks
from annotate.services.return_pass import return_passes
from annotate.views.respond import crumbs, respond
from annotate.views.study_nav import asker, study_and_actor, study_links

ROWS = 100
_STATES = (("", "any state"), ("free", "a free place"), ("open", "in work"), ("paused", "paused"), ("done", "both in"))


class RuleForm(forms.Form):
    """Which questions: by language, nearest source, segment and state. Every part may be left open."""

    locale = forms.ChoiceField(label="Language", required=False)
    source = forms.ChoiceField(label="Source", required=False)
    segment = forms.ChoiceField(label="Segment", required=False, choices=[("", "any segment"), *choices(Segment)])
    state = forms.ChoiceField(label="State", required=False, choices=_STATES)

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        asked = Question.objects.filter(study=study).order_by()
        for name, column, every in (("locale", "locale", "any language"), ("source", "cluster_document", "any source")):
            values = sorted(value for value in asked.values_list(column, flat=True).distinct() if value)
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)
            field.choices = [("", every), *((value, value) for value in values)]


class GuidelineForm(forms.Form):
    """The next version of the guideline."""

    text = forms.CharField(label="Guideline", widget=forms.Textarea(attrs={"rows": 10}), strip=False)
    labels = forms.MultipleChoiceField(
        label="Span labels offered",
        choices=choices(SpanLabel),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="None ticked: all of them.",
    )
    change_note = forms.CharField(label="What changed", max_length=300, required=False)


@require_http_methods(["GET", "POST"])
@login_required
def assignments(request: HttpRequest, slug: str) -> HttpResponse:
    """Show questions with their two places and everybody's progress; on POST do what the pressed button says."""
    study, actor = study_and_actor(request, slug, "question.assign")
    refusal: BadInput | None = None
    if request.method == "POST":
        try:
            messages.success(request, _act(request, study))
            return HttpResponseRedirect(request.get_full_path())
        except BadInput as caught:
            refusal = caught
    return _page(request, study, actor, refusal)


def _act(request: HttpRequest, study: Study) -> str:
    """Do what was asked and return what to say about it; raises BadInput."""
    person, post = asker(request), request.POST
    action = post.get("action", "")
    if action == "assign":
        chosen = _chosen(request, study)
        made = assign_questions(person, study, _people(study, post.getlist("annotator")), chosen)
        if not made:
            raise BadInput("questions", "every place of these is taken", "Reassign a task, or choose other questions.")
        return f"{len(made)} place{pluralize(len(made))} of {len(chosen)} question{pluralize(len(chosen))} filled."
    if action == "guideline":
        form = GuidelineForm(post)
        if not form.is_valid():
            raise BadInput("guideline", "it is not filled in", "Write its text and tick labels of the list.")
        data = form.cleaned_data
        made_now = publish_guideline(person, study, data["text"], data["labels"], data["change_note"])
        return f"Guideline v{made_now.number} is out."
    tasks = _tasks(study, post)
    reason = post.get("reason", "").strip()
    if action == "pause":
        why = "submitted or paused already"
        return _counted(pause_tasks(person, study, tasks, reason), len(tasks), "paused", why)
    if action == "resume":
        return _counted(resume_tasks(person, study, tasks), len(tasks), "let go on", "not paused")
    if action == "return":
        return _counted(return_passes(person, tasks, reason), len(tasks), "returned", "not submitted")
    if action == "reassign":
        (to,) = _people(study, [post.get("to", "")])
        return _counted(reassign_tasks(person, tasks, to), len(tasks), f"given to {to}", "given away already")
    raise BadInput("action", f"{action!r} is no button of this page", "Reload the page.")


def _counted(count: int, asked: int, done: str, why_not: str) -> str:
    """Return what to say of `count` of the `asked` tasks; raises BadInput for none."""
    if not count:
        raise BadInput("tasks", f"none of the {asked} was {done}: {why_not}", "Choose others.")
    rest = f"; the other{pluralize(asked - count)} {'was' if asked - count == 1 else 'were'} {why_not}"
    return f"{count} task{pluralize(count)} {done}{rest if count < asked else ''}."


def _people(study: Study, names: Sequence[str]) -> list[Person]:
    found = {person.username: person for person in annotators(study)}
    unknown = [name for name in names if name not in found]
    if unknown or not names:
        raise BadInput("annotator", f"“{''.join(unknown[:1])}” is no active annotator here", "Choose from the list.")
    return [found[name] for name in names]


def _tasks(study: Study, post: QueryDict) -> list[Assignment]:
    keys = [raw for raw in post.getlist("task") if raw.isascii() and raw.isdigit() and len(raw) < 19]
    tasks = list(_held().filter(question__study=study, pk__in=keys).select_related("question__study", "annotator"))
    if not tasks:
        raise BadInput("tasks", "none is chosen", "Tick the tasks in the table first.")
    return tasks


def _chosen(request: HttpRequest, study: Study) -> list[Question]:
    """Return the ticked questions, or all that the rule names where none is ticked."""
    keys = request.POST.getlist("question")
    if keys:
        # PostgreSQL takes no NUL, and no key has one.
        asked = [key for key in keys if "\x00" not in key]
        found = list(Question.objects.filter(study=study, key__in=asked))
        if unknown := set(keys) - {question.key for question in found}:
            raise BadInput("question", f"{shown(min(unknown))} is none of this study", "Reload the page.")
        return found
    # A rule that cannot be read names no question; a page shows all then, but nobody asked for all of them.
    rule = RuleForm(request.GET, study=study)
    if not rule.is_valid():
        names = ", ".join(str(rule.fields[name].label) for name in rule.errors)
        raise BadInput("rule", f"{names} is none of the list by now", "Choose again and press Show first.")
    found = list(_by_rule(request, study))
    if not found:
        raise BadInput("rule", "no question fits it", "Choose another rule and press Show.")
    return found


def _by_rule(request: HttpRequest, study: Study) -> QuerySet[Question]:
    form = RuleForm(request.GET, study=study)
    rule = form.cleaned_data if form.is_valid() else {}
    found = Question.objects.filter(study=study).order_by("key", "pk")
    for name, column in (("locale", "locale"), ("source", "cluster_document"), ("segment", "segment")):
        if rule.get(name):
            found = found.filter(**{column: rule[name]})
    held = _held()
    state = rule.get("state")
    if state == "paused":
        found = found.filter(pk__in=held.filter(paused=True).values("question"))
    elif state == "open":
        found = found.filter(pk__in=held.exclude(state=Assignment.State.SUBMITTED).values("question"))
    elif state == "done":
        for slot in (1, 2):
            found = found.filter(pk__in=held.filter(slot=slot, state=Assignment.State.SUBMITTED).values("question"))
    elif state == "free":
        first, second = (held.filter(slot=slot).values("question") for slot in (1, 2))
        found = found.exclude(pk__in=Question.objects.filter(pk__in=first).filter(pk__in=second).values("pk"))
    return found


def _held() -> QuerySet[Assignment]:
    return Assignment.objects.exclude(state=Assignment.State.WITHDRAWN)


def _page(request: HttpRequest, study: Study, actor: Actor, refusal: BadInput | None) -> HttpResponse:
    tasks = _held().select_related("annotator", "work").order_by("slot")
    rows = _by_rule(request, study).prefetch_related(Prefetch("assignments", tasks, to_attr="tasks"))
    newest = study.guidelines.order_by("-number").first()
    kept = request.POST if refusal else QueryDict()
    context = {
        "study": study,
        "study_links": study_links(actor, study, "assignments"),
        "rule": RuleForm(request.GET or None, study=study),
        "page": Paginator(rows, ROWS).get_page(request.GET.get("page")),
        "annotators": annotators(study),
        "people": by_person(study),
        "segments": [(Segment(value).value.replace("-", " "), row) for value, row in by_segment(study)],
        "guideline": newest,
        "guideline_form": GuidelineForm(
            # What was refused is what somebody wrote.
            request.POST if refusal and kept.get("action") == "guideline" else None,
            initial={"text": newest.text, "labels": newest.labels} if newest else None,
            auto_id="guideline_%s",
        ),
        "refusal": refusal,
        "kept": {name: kept.getlist(name) for name in ("question", "task", "annotator", "to", "reason")},
        "crumbs": crumbs(
            ("Home", reverse("home")), (study.title, reverse("study", args=[study.slug])), ("Assignments", "")
        ),
    }
    return respond(request, "annotate/assignments.html", context, status=422 if refusal else 200)
