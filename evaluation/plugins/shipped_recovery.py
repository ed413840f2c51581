"""Declarations of the recovery policies that ship; the implementations stand in `domain.recovery`."""

from __future__ import annotations

from evaluation.domain.plan_pipeline import Recovery
from evaluation.domain.plan_words import RecoveryPolicy
from evaluation.domain.recovery.auto_merge import AutoMerge
from evaluation.domain.recovery.neighbours import Neighbours
from evaluation.domain.recovery.parent import Parent
from evaluation.domain.recovery.sentence_window import SentenceWindow
from evaluation.plugins.registry import Kind, Plugin


def _none(recovery: Recovery) -> None:
    del recovery


def _sentence_window(recovery: Recovery) -> SentenceWindow:
    return SentenceWindow(recovery.reach)


def _neighbours(recovery: Recovery) -> Neighbours:
    return Neighbours(recovery.reach)


def _parent(recovery: Recovery) -> Parent:
    return Parent(recovery.parent, recovery.parent_capacity)


def _auto_merge(recovery: Recovery) -> AutoMerge:
    return AutoMerge(recovery.parent_capacity, recovery.merge_share)


NO_RECOVERY = Plugin(Kind.EXPANSION, str(RecoveryPolicy.NONE), "1", Recovery, deterministic=True, make=_none)
SENTENCE_WINDOW = Plugin(
    Kind.EXPANSION, str(RecoveryPolicy.SENTENCE_WINDOW), "1", SentenceWindow, deterministic=True, make=_sentence_window
)
NEIGHBOURS = Plugin(
    Kind.EXPANSION, str(RecoveryPolicy.NEIGHBOURS), "1", Neighbours, deterministic=True, make=_neighbours
)
PARENT = Plugin(Kind.EXPANSION, str(RecoveryPolicy.PARENT), "1", Parent, deterministic=True, make=_parent)
AUTO_MERGE = Plugin(
    Kind.EXPANSION, str(RecoveryPolicy.AUTO_MERGE), "1", AutoMerge, deterministic=True, make=_auto_merge
)
