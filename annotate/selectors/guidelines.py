"""Guidelines: what a person's task is made by, and the newest one of its study."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Max

from annotate.models import Assignment, Guideline, Mark, Pass


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


def newest_numbers(studies: Collection[int]) -> dict[int, int]:
    """Return the number of the newest guideline of each study that has one, by the study's key. One query."""
    rows = Guideline.objects.filter(study_id__in=studies).order_by().values("study_id").annotate(newest=Max("number"))
    return {row["study_id"]: row["newest"] for row in rows}
