"""Refusals of the evaluation services: what, where, and how to mend it."""

from __future__ import annotations


class Conflict(ValueError):
    """The rows are not in the state the request needs (the site answers 409)."""


class PlanLocked(Conflict):
    """The plan is locked already."""


class PlanNotLocked(Conflict):
    """A sweep needs a locked plan."""


class NothingToAsk(Conflict):
    """The plan's partition and segments hold no question of the fixture set."""


class NotSealed(Conflict):
    """The sweep has no sealed results yet."""


class ResultsAltered(Conflict):
    """The sealed results are not the ones that are stored."""


class AlreadySigned(Conflict):
    """The sweep's release is signed."""


class ReasonMissing(ValueError):
    """An override without a written reason (the site answers 422)."""


class CannotAccept(ValueError):
    """A post-hoc plan can reject or explore, it cannot accept (the site answers 422)."""
