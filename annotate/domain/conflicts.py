"""Refusals because of what somebody did meanwhile, not because of what was sent. The site answers them with 409."""

from __future__ import annotations

from annotate.domain.content import PassContent
from annotate.domain.errors import BadInput, BadInputs


class Conflict(BadInput):
    """The state has moved on: reload, then decide again. Nothing that was sent has taken effect."""


class Conflicts(BadInputs, Conflict):
    """Several things that moved on meanwhile, each named."""


class StaleRevision(Conflict):
    """A write made from an old revision. `theirs` is in force, `mine` was refused; both are kept and shown.

    `refused_id` is the row that keeps `mine`.
    """

    def __init__(
        self,
        current_revision: int,
        theirs: PassContent,
        mine: PassContent,
        *,
        expected_revision: int = 0,
        refused_id: int | None = None,
        place: str = "",
    ) -> None:
        self.current_revision = current_revision
        self.expected_revision = expected_revision
        self.theirs = theirs
        self.mine = mine
        self.refused_id = refused_id
        where = f"revision {expected_revision}"
        super().__init__(
            f"{place}, {where}" if place else where,
            f"the pass is at revision {current_revision} by now: it was saved from another window",
            "Both texts are kept: compare them, take over what you want, and save again.",
        )

    def inside(self, place: str) -> StaleRevision:
        """Return the same conflict with `place` put before where it stands."""
        return StaleRevision(
            self.current_revision,
            self.theirs,
            self.mine,
            expected_revision=self.expected_revision,
            refused_id=self.refused_id,
            place=place,
        )


class AlreadySubmitted(Conflict):
    """A write or a second submit after the submission."""

    def __init__(self, where: str = "pass", what: str = "", mend: str = "") -> None:
        super().__init__(
            where,
            what or "it has been submitted and is sealed",
            mend or "Ask the study's lead to return it, if something must change.",
        )


class NotNow(Conflict):
    """A write to a task that its lead has paused or given to somebody else."""

    def __init__(self, what: str, mend: str, *, where: str = "task") -> None:
        super().__init__(where, what, mend)

    def inside(self, place: str) -> NotNow:
        """Return the same refusal with `place` put before where it stands."""
        return NotNow(self.what, self.mend, where=f"{place}, {self.where}")
