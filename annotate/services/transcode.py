"""Turn bytes that are not UTF-8 into a derived text, explicitly and on record."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

from annotate.domain.lineage import TOOL, Transcoded, lineage_row, to_parent, transcode
from annotate.domain.spans import ByteSpan
from annotate.models import SourceVersion


@dataclass(frozen=True)
class Derived:
    """A text ready to be stored, and the lineage row that goes with it (empty for an original)."""

    content: bytes
    lineage: dict[str, Any]


def derive(data: bytes, encoding: str | None, where: str) -> Derived:
    """Return `data` as it is, or transcoded from `encoding` with its lineage. Raises EncodingRefused."""
    if encoding is None:
        return Derived(data, {})
    made = transcode(data, encoding, where)
    return Derived(made.content, lineage_row(made, base64.b64encode(data).decode("ascii")))


def parent_bytes(version: SourceVersion) -> bytes:
    """Return the original bytes a derived version was made from; raises ValueError for an original."""
    if not version.derived:
        raise ValueError(f"{version} is an original: its content is its own bytes")
    text = version.derived["parent_bytes"]
    data = base64.b64decode(text, validate=True)
    if base64.b64encode(data).decode() != text:
        # The last character has bits that decode to nothing: one text for one parent.
        raise ValueError("its parent's bytes are written in another base64 than ours")
    return data


def quotation_in_original(version: SourceVersion, span: ByteSpan) -> tuple[ByteSpan, bytes]:
    """Return where a span of a derived version stands in the original file, and the bytes there."""
    place = to_parent(version.derived["map"], span)
    return place, parent_bytes(version)[place.start : place.end]


def made_again(version: SourceVersion) -> Transcoded:
    """Make a derived version again from its parent and recipe, for verification. Raises ValueError or BadInput."""
    if version.derived.get("tool") != TOOL:
        raise ValueError(f"the tool {version.derived.get('tool')!r} is not known here")
    return transcode(parent_bytes(version), version.derived["settings"]["encoding"])
