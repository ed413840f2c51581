"""What every segmenter with a capacity and an overlap shares: its sizes, its stride, and how it says what it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from evaluation.domain.segmenters.config import check_window
from evaluation.domain.segmenters.layout import EDGES


@dataclass(frozen=True)
class Sized(ABC):
    """Sizes in the units of `counted_in`; a subclass adds its own settings, its rule and its chunks."""

    capacity: int
    overlap: int = 0
    tails: str = "keep"

    def __post_init__(self) -> None:
        check_window(self.name, self.capacity, self.overlap, self.tails, self.counted_in)

    @property
    @abstractmethod
    def name(self) -> str:
        """Name in the registry."""

    @property
    @abstractmethod
    def rule(self) -> str:
        """Perturbation rule, for the manifest."""

    @property
    def counted_in(self) -> str:
        """What the sizes count, in the plural."""
        return "tokens"

    @property
    def version(self) -> str:
        """Changes whenever the same configuration would give other chunks."""
        return "1"

    @property
    def stride(self) -> int:
        """S = C − O."""
        return self.capacity - self.overlap

    def describe(self) -> dict[str, str | int]:
        """Configuration in canonical values."""
        return {
            "segmenter": self.name,
            "version": self.version,
            "unit": self.counted_in.removesuffix("s"),
            "capacity": self.capacity,
            "overlap": self.overlap,
            "stride": self.stride,
            "tails": self.tails,
            "edges": EDGES,
            "rule": self.rule,
        }
