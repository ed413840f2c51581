"""Which questions of a study a list shows: the filters that stand in its address, and what they leave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.db.models import Q, QuerySet

from annotate.domain.vocabulary import Segment
from annotate.models import Assignment, Question, Study
from annotate.models.choices import choices
from annotate.selectors.people import annotators
from annotate.selectors.questions import Progress, with_progress

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

_TASK_STATES = (
    ("", "any state"),
    ("free", "a free place"),
    ("open", "in work"),
    ("paused", "paused"),
    ("done", "both in"),
)
_QUESTION_STATES = (
    ("", "any state"),
    ("open", "passes missing"),
    ("adjudication", "in adjudication"),
    ("settled", "settled"),
)


class Rule(forms.Form):
    """Filters of a list of questions; every part may be left open."""

    text = forms.CharField(
        label="Text or key", required=False, max_length=200, widget=forms.TextInput(attrs={"type": "search"})
    )
    state = forms.ChoiceField(label="State", required=False)
    segment = forms.ChoiceField(label="Segment", required=False, choices=[("", "any segment"), *choices(Segment)])
    locale = forms.ChoiceField(label="Language", required=False)

    def __init__(self, *args: Any, study: Study, asked: QuerySet[Question] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.study = study
        self.asked = Question.objects.filter(study=study) if asked is None else asked
        self.offer("locale", "locale", "any language")

    def offer(self, name: str, column: str, every: str) -> None:
        """Offer the values that the questions have in `column`. One query."""
        values = sorted(value for value in self.asked.order_by().values_list(column, flat=True).distinct() if value)
        self.choose_from(name, [("", every), *((value, value) for value in values)])

    def choose_from(self, name: str, values: list[tuple[str, str]]) -> None:
        """Let the field `name` take one of `values`."""
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = values

    @property
    def chosen(self) -> dict[str, str]:
        """What was chosen, without what was left open; empty for a rule that cannot be read."""
        return {name: value for name, value in self.cleaned_data.items() if value} if self.is_valid() else {}


class QuestionRule(Rule):
    """Filters of the list of questions; its states are those that the list shows."""

    state = forms.ChoiceField(label="State", required=False, choices=_QUESTION_STATES)

    def hide_marks(self) -> None:
        """Offer no filter by what is hidden of a question from whoever marks it: what it leaves would tell."""
        for name in ("state", "segment"):
            del self.fields[name]

    def keep(self, questions: QuerySet[Question]) -> QuerySet[WithAnnotations[Question, Progress]]:
        """Return those of `questions` that every chosen value fits, with their progress."""
        chosen = self.chosen
        found = with_progress(_plain(questions, chosen))
        state = chosen.get("state")
        if not state:
            return found
        if state == "settled":
            return found.filter(settled=True)
        found = found.filter(settled=False)
        return found.filter(submitted=2) if state == "adjudication" else found.filter(submitted__lt=2)


class TaskRule(Rule):
    """Filters of the lead's assignments: also by who holds a place and by the nearest source."""

    field_order = ("text", "state", "person", "segment", "locale", "source")

    state = forms.ChoiceField(label="State", required=False, choices=_TASK_STATES)
    person = forms.ChoiceField(label="Person", required=False)
    source = forms.ChoiceField(label="Source", required=False)

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, study=study, **kwargs)
        self.offer("source", "cluster_document", "any source")
        people = annotators(study)
        self.choose_from("person", [("", "anybody"), *((one.username, str(one)) for one in people)])

    def keep(self, questions: QuerySet[Question]) -> QuerySet[Question]:
        """Return those of `questions` that every chosen value fits; state and person by the tasks held now."""
        chosen = self.chosen
        found = _plain(questions, chosen)
        held = held_tasks()
        state = chosen.get("state")
        if state in ("paused", "open") or chosen.get("person"):
            found = found.filter(pk__in=self._fitting(held).values("question"))
        if state == "done":
            for slot in (1, 2):
                submitted = held.filter(slot=slot, state=Assignment.State.SUBMITTED)
                found = found.filter(pk__in=submitted.values("question"))
        elif state == "free":
            first, second = (held.filter(slot=slot).values("question") for slot in (1, 2))
            found = found.exclude(pk__in=Question.objects.filter(pk__in=first).filter(pk__in=second).values("pk"))
        return found

    def tasks(self) -> QuerySet[Assignment]:
        """Return the tasks that fit, of the questions that do: of the chosen person, paused or in work, else all."""
        questions = self.keep(Question.objects.filter(study=self.study)).order_by().values("pk")
        return self._fitting(held_tasks().filter(question__in=questions)).order_by("question__key", "slot", "pk")

    def _fitting(self, tasks: QuerySet[Assignment]) -> QuerySet[Assignment]:
        chosen = self.chosen
        if chosen.get("person"):
            tasks = tasks.filter(annotator__username=chosen["person"])
        if chosen.get("state") == "paused":
            return tasks.filter(paused=True)
        return tasks.exclude(state=Assignment.State.SUBMITTED) if chosen.get("state") == "open" else tasks


def held_tasks() -> QuerySet[Assignment]:
    """Return the tasks that somebody holds, of whatever study."""
    return Assignment.objects.exclude(state=Assignment.State.WITHDRAWN)


def _plain(questions: QuerySet[Question], chosen: dict[str, str]) -> QuerySet[Question]:
    columns = (("locale", "locale"), ("source", "cluster_document"), ("segment", "segment"))
    found = questions.filter(**{column: chosen[name] for name, column in columns if name in chosen})
    if text := chosen.get("text"):
        found = found.filter(Q(text__icontains=text) | Q(key__icontains=text))
    return found
