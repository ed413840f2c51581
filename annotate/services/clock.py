"""Several hosts write, each by its own clock: what follows another row must not say that it came before it.

Whether an item was opened again, what a result was settled from and how it stood at a moment are told by times. A row
that would tell them wrong is refused and not written, so that no re-opening is ever hidden.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from annotate.domain.conflicts import Conflict

_TICK = timedelta(microseconds=1)


def refuse_early(made: datetime, follows: datetime | None, what: str, *, after: bool = False) -> None:
    """Raise Conflict where `made` lies before `follows` (with `after`: where it is not later); None follows nothing.

    Called inside the transaction that wrote the row, which is undone with it.
    """
    if follows is None or made >= follows + (_TICK if after else timedelta()):
        return
    behind = (follows - made).total_seconds()
    raise Conflict(
        "clock",
        f"this server's clock is {behind:.3f} s behind the one that wrote the last {what}",
        "Do it again in a moment; if it stays so, ask whoever runs the servers to set their clocks by one source.",
    )
