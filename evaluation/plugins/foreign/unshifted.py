"""What every segmenter says whose cuts somebody else makes."""

from __future__ import annotations

from evaluation.domain.chunks import UNSHIFTED_CONTROL


class Unshifted:
    """No phases: one observation however often it is shown."""

    @property
    def version(self) -> str:
        """Changes whenever the same configuration would give other chunks; a package's own is in `describe`."""
        return "1"

    @property
    def stride(self) -> int:
        """0: nobody here can move its cuts."""
        return 0

    @property
    def rule(self) -> str:
        """No perturbation."""
        return UNSHIFTED_CONTROL
