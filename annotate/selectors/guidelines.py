"""Guidelines: what a person's task is made by, and the newest one of its study."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Count, Max

from annotate.models import Assignment, Guideline, Mark, Pass, Person, Study, Submission


def guideline_of(assignment: Assignment, work: Pass | None) -> tuple[Guideline | None, Guideline | None]:
    """Return (the guideline the work is done by, the newest of the study); both None where the study has none.

    Work that has begun keeps its version; before the first save it is the newest.
    """
    newest = assignment.question.study.guidelines.order_by("-number").first()
    if work is not None and work.guideline is not None:
        return work.guideline, newest
    return newest, newest


def offered_labels(guideline: Guideline | None) -> list[tuple[str, str]]:
    """Return (value, text) of the span labels a guideline offers, in its order; all of them where it names none."""
    every = dict(Mark._meta.get_field("label").choices or [])
    wanted = [value for value in guideline.labels if value in every] if guideline else []
    return [(value, str(every[value])) for value in wanted or every]


@dataclass(frozen=True)
class GuidelineUse:
    """A version, how many submissions were made by it, and how many passes of the person who asks keep it."""

    guideline: Guideline
    submitted: int
    mine: int


def versions_of(study: Study, person: Person) -> list[GuidelineUse]:
    """Return every version, newest first. `submitted` is for `progress.view` only. Three queries."""
    made = Submission.objects.filter(guideline__study=study).order_by().values_list("guideline")
    own = Pass.objects.filter(guideline__study=study, assignment__annotator=person).order_by().values_list("guideline")
    submitted = dict(made.annotate(n=Count("pk")))
    mine = dict(own.exclude(assignment__state=Assignment.State.WITHDRAWN).annotate(n=Count("pk")))
    rows = study.guidelines.select_related("published_by").order_by("-number")
    return [GuidelineUse(row, submitted.get(row.pk, 0), mine.get(row.pk, 0)) for row in rows]


def newest_numbers(studies: Collection[int]) -> dict[int, int]:
    """Return the number of the newest guideline of each study that has one, by the study's key. One query."""
    rows = Guideline.objects.filter(study_id__in=studies).order_by().values("study_id").annotate(newest=Max("number"))
    return {row["study_id"]: row["newest"] for row in rows}
