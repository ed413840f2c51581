"""Who works on what: assign, reassign, return and pause tasks, and see how far everybody is. For the study's lead."""

from __future__ import annotations

from collections.abc import Sequence

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
from annotate.views.question_rule import TaskRule, held_tasks
from annotate.views.respond import crumbs, respond
from annotate.views.study_nav import asker, study_and_actor, study_links

#: Questions of one page: on a phone each takes a third of the screen.
ROWS = 25


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
    tasks = _tasks(request, study)
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


def _tasks(request: HttpRequest, study: Study) -> list[Assignment]:
    """Return the ticked tasks, or all that the rule shows on whatever page where `every` says how many those are.

    Raises BadInput where others work meanwhile and the rule shows more tasks, or fewer, than the page said.
    """
    post = request.POST
    if said := post.get("every"):
        found = _readable(_rule(request, study)).tasks()
        if said != str(now := found.count()):
            raise BadInput("every", f"the filters show {now} task{pluralize(now)} by now", "Look again, then tick it.")
    else:
        keys = [raw for raw in post.getlist("task") if raw.isascii() and raw.isdigit() and len(raw) < 19]
        found = held_tasks().filter(question__study=study, pk__in=keys)
    tasks = list(found.select_related("question__study", "annotator"))
    if not tasks:
        raise BadInput("tasks", "none is chosen", "Tick the tasks in the table first.")
    return tasks


def _readable(rule: TaskRule) -> TaskRule:
    """Return the rule; raises BadInput for one that cannot be read: all are shown then, but nobody asked for all."""
    if not rule.is_valid():
        names = ", ".join(str(rule.fields[name].label) for name in rule.errors)
        raise BadInput("rule", f"{names} is none of the list by now", "Choose again and press Show first.")
    return rule


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
    found = list(_by_rule(_readable(_rule(request, study))))
    if not found:
        raise BadInput("rule", "no question fits it", "Choose another rule and press Show.")
    return found


def _rule(request: HttpRequest, study: Study) -> TaskRule:
    return TaskRule(request.GET, study=study)


def _by_rule(rule: TaskRule) -> QuerySet[Question]:
    return rule.keep(Question.objects.filter(study=rule.study)).order_by("key", "pk")


def _page(request: HttpRequest, study: Study, actor: Actor, refusal: BadInput | None) -> HttpResponse:
    tasks = held_tasks().select_related("annotator", "work").order_by("slot")
    rule = _rule(request, study)
    rows = _by_rule(rule).prefetch_related(Prefetch("assignments", tasks, to_attr="tasks"))
    newest = study.guidelines.order_by("-number").first()
    kept = request.POST if refusal else QueryDict()
    context = {
        "study": study,
        "study_links": study_links(actor, study, "assignments"),
        "rule": rule,
        "fitting": rule.tasks().count(),
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
        "kept": {name: kept.getlist(name) for name in ("question", "task", "annotator", "to", "reason", "every")},
        "crumbs": crumbs(
            ("Home", reverse("home")), (study.title, reverse("study", args=[study.slug])), ("Assignments", "")
        ),
    }
    return respond(request, "annotate/assignments.html", context, status=422 if refusal else 200)
