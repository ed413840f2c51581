"""Questions: whole for who oversees the study; for who marks one, only what they need to mark it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.api.endpoint import StudyEndpoint
from annotate.api.listing import one_of, paged, parameters
from annotate.api.studies import times
from annotate.domain.vocabulary import Partition, Role, Sample, Segment
from annotate.models import Assignment
from annotate.permissions import allows
from annotate.selectors.questions import visible_to, with_progress


class QuestionsEndpoint(StudyEndpoint):
    """What the list and the single question share."""

    actions = {"GET": "study.view"}

    @property
    def oversees(self) -> bool:
        """Whether the person may see questions that are not theirs to mark, and how far they are."""
        return allows(self.actor, "question.view") and allows(self.actor, "progress.view")

    def rows(self) -> QuerySet[Any, Any]:
        """Return the questions the person may see, with `marked_by_you` and, for who oversees, progress."""
        rows: QuerySet[Any, Any] = visible_to(self.person).filter(study=self.study)
        rows = rows.annotate(
            marked_by_you=Exists(Assignment.objects.filter(question=OuterRef("pk"), annotator_id=self.person.pk))
        )
        return with_progress(rows) if self.oversees else rows

    def shown(self, rows: Sequence[Any]) -> list[dict[str, Any]]:
        """Return objects; segment, tags, group, sample and progress would hint at the answer or at the other pass.

        They stay out for an annotator, and for an adjudicator or observer on a question they mark themselves. A lead
        wrote them and runs the study.
        """
        blind = not self.oversees
        lead = Role.LEAD in self.actor.roles
        return [self._object(row, blind or (row.marked_by_you and not lead)) for row in rows]

    def _object(self, row: Any, blind: bool) -> dict[str, Any]:
        plain = {
            "key": row.key,
            "text": row.text,
            "reader_labels": row.reader_labels,
            "as_of": times(row.as_of),
            "locale": row.locale,
            "url": reverse("api-question", args=[self.study.slug, row.key]),
        }
        if blind:
            return plain
        return {
            **plain,
            "segment": row.segment,
            "slice_tags": row.slice_tags,
            "group": row.group,
            "sample": row.sample,
            "partition": row.partition,
            "mandatory": row.mandatory,
            "cluster_document": row.cluster_document,
            "assigned": row.assigned,
            "submitted": row.submitted,
            "settled": row.settled,
        }


class Questions(QuestionsEndpoint):
    """The questions of a study."""

    def get(self, request: Request, slug: str) -> Response:
        """List them by key; who oversees may filter by segment, sample and partition."""
        if not self.oversees:
            # A filter by segment would tell an annotator the segment.
            return paged(request, self.rows(), ("key", "pk"), self.shown)
        rows = self.rows()
        if Role.LEAD not in self.actor.roles and request.query_params.keys() & {"segment", "sample", "partition"}:
            rows = rows.filter(marked_by_you=False)
        return paged(
            request,
            rows,
            ("key", "pk"),
            self.shown,
            segment=(one_of(Segment), "segment"),
            sample=(one_of(Sample), "sample"),
            partition=(one_of(Partition), "partition"),
        )


class QuestionDetail(QuestionsEndpoint):
    """One question."""

    def get(self, request: Request, slug: str, key: str) -> Response:
        """Return it."""
        parameters(request, {})
        return Response(self.shown([get_object_or_404(self.rows(), key=key)])[0])
