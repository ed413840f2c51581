"""Whether every arm of a plan can be made in this installation: the packages, files and sizes its plug-ins need."""

from __future__ import annotations

from annotate.domain.errors import BadInput
from evaluation.domain.plan import Plan
from evaluation.services.pipeline_of import arm_settings, policies_of


def check_arms(plan: Plan) -> None:
    """Make every arm's segmenter, retriever, reranker, expansion and generator once, and throw them away.

    Raises BadInput that names the arm and says what its plug-in said: a size that gives no chunks, a package that must
    be installed, a chunk dump that is not there, an endpoint that is not allowed.
    """
    for index, arm in enumerate(plan.arms):
        try:
            arm_settings(arm)
            policies_of(plan, arm)
        except ValueError as error:
            # Every plug-in refuses its settings with a ValueError of its own that says how to mend them.
            raise BadInput(f"plan, arms[{index}]", f"the arm “{arm.name}” cannot run here", str(error)) from error
