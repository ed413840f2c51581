"""A foreign splitter as a segmenter: an unshifted control whose chunks are placed on the source's bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from evaluation.domain.chunks import ChunkingRefused, ChunkTable
from evaluation.domain.frozen import Document
from evaluation.domain.phases import PhaseError
from evaluation.domain.plan_pipeline import Arm
from evaluation.domain.reanchor import Newlines, Piece
from evaluation.domain.tokens import TokenizedText
from evaluation.plugins.foreign.anchoring import Anchoring, table_of
from evaluation.plugins.foreign.loading import ForeignOptions
from evaluation.plugins.foreign.unshifted import Unshifted


@dataclass(frozen=True)
class ForeignSegmenter(Unshifted):
    """One configured splitter. `split` takes a text and gives its pieces in order; `identity` pins what made them."""

    name: str
    splitter: str
    split: Callable[[str], Sequence[Piece]] = field(compare=False, repr=False)
    options: str
    identity: Mapping[str, str | int]
    anchoring: Anchoring

    def describe(self) -> dict[str, str | int]:
        """Configuration in canonical values, with the package and its version."""
        return {
            "segmenter": self.name,
            "version": self.version,
            "splitter": self.splitter,
            "options": self.options,
            "newlines": str(self.anchoring.newlines),
            "uncovered": str(self.anchoring.uncovered),
            "places": "found again on the source's bytes, in order; own offsets only settle what is ambiguous",
            "rule": self.rule,
            **self.identity,
        }

    def chunks(self, document: Document, tokenized: TokenizedText, phase: int | None) -> ChunkTable:
        """Chunks of one document.

        Raises `PhaseError` for a phase; `ChunkingRefused` when the splitter raises, returns something else than texts,
        or loses, changes, repeats or reorders text the plan does not allow it to.
        """
        if phase is not None:
            raise PhaseError(f"{self.name} is an unshifted control and has no phase {phase}; run it without one")
        who = f"{self.name} {self.splitter}"
        text = document.content.decode("utf-8")
        if self.anchoring.newlines is Newlines.NORMALISED:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        try:
            pieces = list(self.split(text))
        except Exception as error:  # a foreign splitter may raise anything; its message is the reason of the refusal
            raise ChunkingRefused(
                f"{who}: document {document.document_id!r}: it raised {type(error).__name__}: {str(error)[:500]}"
            ) from error
        for number, piece in enumerate(pieces):
            if not isinstance(piece.text, str):
                raise ChunkingRefused(
                    f"{who}: document {document.document_id!r}: chunk {number} is no text but "
                    f"{type(piece.text).__name__}"
                )
        return table_of(who, document, tokenized, pieces, self.anchoring)


def foreign_segmenter(
    arm: Arm, options: ForeignOptions, split: Callable[[str], Sequence[Piece]], identity: Mapping[str, str | int]
) -> ForeignSegmenter:
    """The segmenter of an arm, from its options and what an adapter made of its class."""
    measure: dict[str, str | int] = {}
    if options.tokenizer is not None:
        measure = {"measure": options.tokenizer.name, "measure_digest": options.tokenizer.digest}
    return ForeignSegmenter(
        arm.segmenter,
        arm.splitter,
        split,
        options.text,
        {**identity, **measure},
        Anchoring(newlines=options.newlines, uncovered=arm.uncovered),
    )
