"""Chunks of an index that exists, scored as they stand: a dump of text, document and perhaps offsets.

Arm.chunks names the file and Arm.chunks_digest pins its bytes. Arm.options, a JSON object, says how to read it:

* `layout`: "plain" (default), "pgvector", "qdrant" (values under `payload`) or "elasticsearch" (under `_source`);
* `fields`: where `text`, `document`, `start`, `end`, `id`, `order` stand, as dotted paths (default: those names under
  the layout's member), for instance {"text": "payload.page_content", "document": "payload.metadata.source"};
* `format`: "jsonl" or "parquet" (default: by the file's ending);
* `documents`: "id" (default) when rows name the document id, "digest" when they name the version's SHA-256;
* `unit`: "bytes", "code-points" or "utf-16", required where rows claim offsets;
* `order`: "file" (default), "offsets" or "field";
* `newlines`: "exact" (default) or "normalised".
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any

from evaluation.domain.chunks import ChunkingRefused, ChunkTable
from evaluation.domain.frozen import Document
from evaluation.domain.phases import PhaseError
from evaluation.domain.plan_pipeline import Arm
from evaluation.domain.plan_words import Uncovered
from evaluation.domain.reanchor_text import OffsetUnit
from evaluation.domain.segmenters.token_window import SegmenterConfigError
from evaluation.domain.tokens import TokenizedText
from evaluation.plugins.foreign.anchoring import QUOTED, Anchoring, table_of
from evaluation.plugins.foreign.dump_reading import (
    FIELDS,
    DocumentKey,
    Dump,
    DumpOptions,
    DumpRefused,
    Layout,
    Order,
    default_fields,
    parse_dump,
    read_pinned,
)
from evaluation.plugins.foreign.loading import foreign_module, newlines_of, read_object
from evaluation.plugins.foreign.unshifted import Unshifted

_OPTIONS = frozenset({"layout", "fields", "format", "documents", "unit", "order", "newlines"})


@dataclass(frozen=True)
class ChunkDump(Unshifted):
    """A dump as a segmenter. Two of the same bytes read in the same way are equal."""

    digest: str
    options: DumpOptions
    uncovered: Uncovered
    dump: Dump = field(compare=False, repr=False)

    @property
    def name(self) -> str:
        """Name in the registry."""
        return "chunk-dump"

    def describe(self) -> dict[str, str | int]:
        """Configuration in canonical values; the file stands in it by its digest."""
        return {
            "segmenter": self.name,
            "version": self.version,
            "package": "a dump; whoever made it is not named in it",
            "chunks_digest": self.digest,
            "rows": self.dump.rows,
            "fields": json.dumps(self.options.paths, sort_keys=True),
            "documents": str(self.options.documents),
            "order": str(self.options.order),
            "unit": str(self.options.unit or "none"),
            "newlines": str(self.options.newlines),
            "uncovered": str(self.uncovered),
            "places": "found again on the source's bytes, in order; claimed offsets only settle what is ambiguous",
            "rule": self.rule,
        }

    def check(self, documents: Sequence[Document]) -> None:
        """Compare the dump's documents with the corpus.

        Raises `ChunkingRefused` for documents the corpus does not have (by line), names that stand for several versions
        of it, and, unless the plan only reports what is lost, documents of the corpus without a chunk.
        """
        counted = Counter(self._key(document) for document in documents)
        said = []
        unknown = sorted(set(self.dump.pieces) - set(counted), key=lambda name: self.dump.first_line[name])
        if unknown:
            shown = [f"{name!r} (first at {self.dump.first_line[name]})" for name in unknown]
            said.append(f"{len(unknown)} documents of the dump are not in the corpus: {_some(shown)}")
        doubled = sorted(name for name, count in counted.items() if count > 1 and name in self.dump.pieces)
        if doubled:
            shown = [f"{name!r} (first at {self.dump.first_line[name]})" for name in doubled]
            said.append(
                f"{len(doubled)} names stand for several versions in the corpus: {_some(shown)}; name versions by "
                'their digest and write "documents": "digest"'
            )
        missing = sorted(name for name in counted if name not in self.dump.pieces)
        if missing and self.uncovered is Uncovered.REFUSE:
            said.append(
                f"{len(missing)} documents of the corpus have no chunk in the dump: {_some(map(repr, missing))}"
            )
        if said:
            raise ChunkingRefused(
                f"chunk-dump: {'. '.join(said)}. Export the index of exactly the study's documents, or mend the mapping"
            )

    def chunks(self, document: Document, tokenized: TokenizedText, phase: int | None) -> ChunkTable:
        """Chunks of one document.

        Raises `PhaseError` for a phase and `ChunkingRefused` for chunks that are not the document's text in its order,
        or text in no chunk, where the plan does not allow it.
        """
        if phase is not None:
            raise PhaseError(f"{self.name} is an unshifted control and has no phase {phase}; run it without one")
        rule = Anchoring(self.options.unit or OffsetUnit.CODE_POINTS, self.options.newlines, self.uncovered)
        pieces = self.dump.pieces.get(self._key(document), ())
        return table_of(f"{self.name} {self.digest[:12]}", document, tokenized, pieces, rule)

    def _key(self, document: Document) -> str:
        return document.digest if self.options.documents is DocumentKey.DIGEST else document.document_id


def make(arm: Arm) -> ChunkDump:
    """The dump that Arm.chunks names. Raises `SegmenterConfigError` for options, a file or rows that cannot be used."""
    options = _options(arm)
    if options.parquet:
        foreign_module(arm, "pyarrow.parquet", "pyarrow")
    try:
        dump = _load(arm.chunks, arm.chunks_digest, options)
    except DumpRefused as error:
        raise SegmenterConfigError(f"chunk-dump: arm {arm.name!r}: {arm.chunks}: {error}") from error
    return ChunkDump(arm.chunks_digest.lower(), options, arm.uncovered, dump)


# A sweep asks for its arms again with every index build; equal digests are equal dumps.
@lru_cache(maxsize=2)
def _load(path: str, digest: str, options: DumpOptions) -> Dump:
    return parse_dump(read_pinned(path, digest), options)


def _options(arm: Arm) -> DumpOptions:
    given = read_object(arm)
    unknown = sorted(set(given) - _OPTIONS)
    if unknown:
        raise SegmenterConfigError(
            f"chunk-dump: options of arm {arm.name!r} hold {', '.join(unknown)}; "
            f"known are {', '.join(sorted(_OPTIONS))}"
        )
    named = given.get("fields", {})
    sound = isinstance(named, dict) and all(isinstance(path, str) and path for path in named.values())
    if not sound or not set(named) <= set(FIELDS):
        raise SegmenterConfigError(
            f"chunk-dump: options.fields of arm {arm.name!r} must name paths for some of {', '.join(FIELDS)}, "
            f"got {named!r}"
        )
    fields = default_fields(_word(arm, given, "layout", Layout, Layout.PLAIN)) | named
    ending = "parquet" if arm.chunks.endswith((".parquet", ".pq")) else "jsonl"
    form = given.get("format", ending)
    if form not in ("jsonl", "parquet"):
        raise SegmenterConfigError(f'chunk-dump: options.format must be "jsonl" or "parquet", got {form!r}')
    return DumpOptions(
        form == "parquet",
        tuple(sorted(fields.items())),
        _word(arm, given, "documents", DocumentKey, DocumentKey.ID),
        _word(arm, given, "order", Order, Order.FILE),
        _word(arm, given, "unit", OffsetUnit, None) if "unit" in given else None,
        newlines_of(arm, given),
    )


def _word[W: StrEnum](arm: Arm, given: dict[str, Any], name: str, words: type[W], default: Any) -> W:
    try:
        return words(given.get(name, default))
    except ValueError as error:
        raise SegmenterConfigError(
            f"chunk-dump: options.{name} of arm {arm.name!r} must be one of {', '.join(words)}, got {given[name]!r}"
        ) from error


def _some(names: Any) -> str:
    listed = list(names)
    more = f" and {len(listed) - QUOTED} more" if len(listed) > QUOTED else ""
    return ", ".join(listed[:QUOTED]) + more
