"""Endpoints of a plan or a sweep, and how this app's own refusals are answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework.response import Response

from annotate.api.endpoint import StudyEndpoint
from annotate.api.refusals import answer_refusal, refusal
from annotate.domain.errors import BadInput
from annotate.permissions import actor_for, require
from evaluation.domain.plan_schema import PlanRefused
from evaluation.models import Plan, Sweep
from evaluation.selectors.pages import plans_visible_to, sweeps_visible_to
from evaluation.services.problems import CannotAccept, Conflict, ReasonMissing


def answer_evaluation_refusal(exception: Exception, context: dict[str, Any]) -> Response | None:
    """Return the answer to a refusal of this app's services, else what the annotate app answers."""
    if isinstance(exception, PlanRefused):
        problems = [
            BadInput(f"line {one.line}, {one.where}" if one.line else one.where, one.what, one.mend)
            for one in exception.problems
        ]
        return refusal(422, "This plan was not accepted", problems)
    if isinstance(exception, Conflict):
        return refusal(409, "This is not how things stand", [BadInput("", str(exception), "")])
    if isinstance(exception, ReasonMissing | CannotAccept):
        return refusal(422, "This was not accepted", [BadInput("", str(exception), "")])
    return answer_refusal(exception, context)


class EvaluationEndpoint(StudyEndpoint):
    """An endpoint of this app inside a study."""

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response | None]:
        """Return what answers refusals."""
        return answer_evaluation_refusal


class PlanEndpoint(EvaluationEndpoint):
    """An endpoint of one plan."""

    plan: Plan

    def enter(self, action: str) -> None:
        """Find the plan and its study; raises Http404 to strangers, NotAllowed without the action."""
        self.plan = get_object_or_404(plans_visible_to(self.person), pk=self.kwargs["pk"])
        self.study = self.plan.study
        self.actor = actor_for(self.person, self.study)
        require(self.actor, action)


class SweepEndpoint(EvaluationEndpoint):
    """An endpoint of one sweep."""

    sweep: Sweep

    def enter(self, action: str) -> None:
        """Find the sweep and its study; raises as `PlanEndpoint.enter`."""
        self.sweep = get_object_or_404(sweeps_visible_to(self.person), pk=self.kwargs["pk"])
        self.study = self.sweep.plan.study
        self.actor = actor_for(self.person, self.study)
        require(self.actor, action)
