"""What the engine has to know of whatever stands in the registry, to pin it in a manifest and to reuse its cells."""

from __future__ import annotations

from typing import Protocol


class Registered(Protocol):
    """A named, versioned part of the pipeline."""

    @property
    def name(self) -> str:
        """Name in the registry."""

    @property
    def version(self) -> str:
        """Changes whenever equal input would give other output."""

    @property
    def deterministic(self) -> bool:
        """Whether equal input always gives equal output."""
