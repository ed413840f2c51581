"""Whether every arm of a plan can be made in this installation: the packages, files and sizes its plug-ins need."""

from __future__ import annotations

from annotate.domain.errors import BadInput
from evaluation.domain.chunks import ChecksCorpus, ChunkingRefused
from evaluation.services.frozen_world import World
from evaluation.services.pipeline_of import arm_settings, policies_of


def check_arms(world: World) -> None:
    """Make every arm's segmenter, retriever, reranker, expansion and generator once, and throw them away; a segmenter
    whose chunks come from elsewhere compares their documents with the corpus.

    Raises BadInput that names the arm and says what its plug-in said: a size that gives no chunks, a package that must
    be installed, a class that is not allow-listed, a chunk dump that is not there, not the pinned one or of other
    documents, an endpoint that is not allowed. Raises it too for stop words of an arm's own, which nothing would read.
    """
    for index, arm in enumerate(world.plan.arms):
        if arm.retrieval is not None and set(arm.retrieval.stop_words) != set(world.plan.retrieval.stop_words):
            # The corpus is analysed once for every arm (design, section 8), with the plan's stop words.
            raise BadInput(
                f"plan, arms[{index}].retrieval.stop_words",
                f"the arm “{arm.name}” would not have these: all arms have the stop words of the plan's own retrieval",
                "Write the same in both tables, or compare them by two plans.",
            )
        try:
            segmenter = arm_settings(arm).segmenter
            if isinstance(segmenter, ChecksCorpus):
                segmenter.check(world.prepared.documents)
            policies_of(world.plan, arm)
        except ValueError as error:
            # Every plug-in refuses its settings with a ValueError of its own that says how to mend them.
            raise BadInput(f"plan, arms[{index}] “{arm.name}”", "it cannot run here", str(error)) from error


def refused_chunks(arm: str, refusal: ChunkingRefused) -> BadInput:
    """Return what is said before a sweep where a splitter drops, rewrites, doubles or reorders text; in a sweep it is a
    failed cell."""
    return BadInput(f"arm {arm}", "its chunks are not the sources' text", str(refusal))
