"""Find out before a plan is locked whether its arms can be built here."""

from __future__ import annotations

from annotate.domain.errors import BadInput
from evaluation.domain.chunks import ChecksCorpus, ChunkingRefused
from evaluation.domain.segmenters.token_window import SegmenterConfigError
from evaluation.services.frozen_world import World
from evaluation.services.pipeline_of import arm_settings


def try_arms(world: World) -> None:
    """Build every arm's segmenter; those whose chunks come from elsewhere compare their documents with the corpus.

    Raises BadInput naming the arm for a foreign package that is not installed, a class that is not allow-listed,
    options it does not take, or a chunk dump that is damaged, not the pinned one, or of other documents.
    """
    for index, arm in enumerate(world.plan.arms):
        try:
            segmenter = arm_settings(arm).segmenter
            if isinstance(segmenter, ChecksCorpus):
                segmenter.check(world.prepared.documents)
        except (SegmenterConfigError, ChunkingRefused) as error:
            raise BadInput(f"plan, arms[{index}] “{arm.name}”", "it cannot be built here", str(error)) from error
