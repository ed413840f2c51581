"""From foreign pieces of one document to its chunk table, or to the reason why there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.domain.chunks import ChunkingRefused, ChunkTable
from evaluation.domain.frozen import Document
from evaluation.domain.plan_words import Uncovered
from evaluation.domain.reanchor import Newlines, Piece, Reanchored, reanchor
from evaluation.domain.reanchor_text import OffsetUnit
from evaluation.domain.tokens import TokenizedText

#: How many faults a refusal quotes; all are counted.
QUOTED = 5


@dataclass(frozen=True)
class Anchoring:
    """How pieces are read: the unit of their offsets, their newlines, and what lost text means."""

    unit: OffsetUnit = OffsetUnit.CODE_POINTS
    newlines: Newlines = Newlines.EXACT
    uncovered: Uncovered = Uncovered.REFUSE


def table_of(
    who: str, document: Document, tokenized: TokenizedText, pieces: Sequence[Piece], rule: Anchoring
) -> ChunkTable:
    """Chunk table of the pieces of one document, in the order given. `who` opens the message of a refusal.

    With `Uncovered.REFUSE` raises `ChunkingRefused` for a piece that is not in its place in the source and for bytes
    other than white space in no chunk; with `Uncovered.REPORT` such pieces are left out and both are counted in the
    table's remarks. Empty pieces, ambiguous places, edges moved to characters and wrong offsets are remarks always.
    """
    found = reanchor(document.content, pieces, unit=rule.unit, newlines=rule.newlines)
    if rule.uncovered is Uncovered.REFUSE:
        _refuse_losses(who, document, found)
    placed = found.start >= 0
    start, end = found.start[placed], found.end[placed]
    following = np.append(start[1:], document_end(document)) if start.size else start
    core_end = np.minimum(end, following)
    gaps = np.concatenate((found.blank_gaps, found.uncovered))
    first, last = tokenized.spanning(start, end)
    return ChunkTable(
        core_start=start,
        core_end=core_end,
        end=end,
        token_start=first,
        token_core_end=np.maximum(first, np.minimum(last, tokenized.spanning(start, core_end)[1])),
        token_end=last,
        cut_tokens=first[1:],
        cut_bytes=start[1:],
        empty_cores=np.zeros(0, dtype=np.int64),
        remarks=_remarks(found),
        uncovered=gaps[np.argsort(gaps[:, 0], kind="stable")],
    )


def document_end(document: Document) -> int:
    """Size of the document in bytes."""
    return len(document.content)


def _refuse_losses(who: str, document: Document, found: Reanchored) -> None:
    faults = found.faults
    lost = int((found.uncovered[:, 1] - found.uncovered[:, 0]).sum())
    if not faults and not lost:
        return
    said = []
    if faults:
        kinds = Counter(str(one.fault) for one in faults)
        counted = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        quoted = "; ".join(str(one) for one in faults[:QUOTED])
        said.append(
            f"{len(faults)} of {found.start.size} chunks are not the source's text in its order ({counted}): {quoted}"
        )
    if lost:
        shown = ", ".join(f"{first}–{last}" for first, last in found.uncovered[:QUOTED].tolist())
        more = f" and {len(found.uncovered) - QUOTED} more" if len(found.uncovered) > QUOTED else ""
        said.append(f"{lost} bytes that are not white space alone are in no chunk (bytes {shown}{more})")
    raise ChunkingRefused(
        f"{who}: document {document.document_id!r}: {'. '.join(said)}. Mend the splitter or its options, or write "
        'uncovered = "report" to leave such chunks out and count what is lost'
    )


def _remarks(found: Reanchored) -> dict[str, int]:
    """What the reader of a manifest should know, counted; zeros left out."""
    counts = Counter(f"not placed: {one.fault}" for one in found.problems)
    counts["ambiguous places"] = len(found.ambiguous)
    counts["edges moved back to a character"] = len(found.snapped)
    counts["wrong offsets corrected"] = found.wrong_claims
    counts["gaps of white space"] = len(found.blank_gaps)
    counts["bytes in no chunk"] = int((found.uncovered[:, 1] - found.uncovered[:, 0]).sum())
    return {what: count for what, count in sorted(counts.items()) if count}
