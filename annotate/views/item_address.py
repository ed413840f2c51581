"""The adjudication item an address leads to."""

from __future__ import annotations

from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from annotate.models import AdjudicationItem, Submission
from annotate.selectors.questions import WHOLE_STUDY
from annotate.views.study_nav import asker


def item_at(request: HttpRequest, pk: int) -> AdjudicationItem:
    """Return the item; raises Http404 for whoever has no role that oversees its study, and for who marked its question.

    To them an item that is there would say that the other pass is in: there is none, whatever other roles they hold.
    """
    found = AdjudicationItem.objects.select_related(
        "question__study",
        "submission_a__work__assignment",
        "submission_b__work__assignment",
        "submission_a__guideline",
        "submission_b__guideline",
    ).filter(question__study__memberships__person=asker(request), question__study__memberships__role__in=WHOLE_STUDY)
    found = found.exclude(question__assignments__annotator=asker(request))
    item: AdjudicationItem = get_object_or_404(found.distinct(), pk=pk)
    return item


def submission_of(item: AdjudicationItem, side: str) -> Submission | None:
    """Return the submission that stands as A or B (`side` a or b); None for neither."""
    return {"a": item.submission_a, "b": item.submission_b}.get(side)
