"""A foreign arm that is built only when it is to cut something.

Pages and results ask an arm for its name and stride long after a sweep; they must not import a foreign package, nor
fail because it or a dump is no longer there. `check`, `describe` and `chunks` need the real thing and say why not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from evaluation.domain.chunks import ChecksCorpus, ChunkingRefused, ChunkTable, Segmenter
from evaluation.domain.frozen import Document
from evaluation.domain.plan_pipeline import Arm
from evaluation.domain.segmenters.token_window import SegmenterConfigError
from evaluation.domain.tokens import TokenizedText
from evaluation.plugins.foreign.unshifted import Unshifted


@dataclass(frozen=True)
class Deferred(Unshifted):
    """The segmenter of `arm` that `build` makes when it is first needed."""

    arm: Arm
    build: Callable[[Arm], Segmenter] = field(compare=False, repr=False)

    @property
    def name(self) -> str:
        """Name in the registry."""
        return self.arm.segmenter

    @cached_property
    def made(self) -> Segmenter:
        """The real segmenter. Raises `SegmenterConfigError` for a package, class, options or dump that cannot be
        used."""
        return self.build(self.arm)

    def check(self, documents: Sequence[Document]) -> None:
        """Build it and let it compare its documents with the corpus. Raises `ChunkingRefused` with the reason."""
        made = self._made()
        if isinstance(made, ChecksCorpus):
            made.check(documents)

    def describe(self) -> dict[str, str | int]:
        """Its configuration in canonical values. Raises `ChunkingRefused`."""
        return self._made().describe()

    def chunks(self, document: Document, tokenized: TokenizedText, phase: int | None) -> ChunkTable:
        """Chunks of one document. Raises `PhaseError` for a phase, `ChunkingRefused` with the reason."""
        return self._made().chunks(document, tokenized, phase)

    def _made(self) -> Segmenter:
        try:
            return self.made
        except SegmenterConfigError as error:
            raise ChunkingRefused(str(error)) from error
