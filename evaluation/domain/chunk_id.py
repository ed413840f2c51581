"""Identities that do not depend on a chunk's text: equal clauses in two places or versions stay two chunks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from evaluation.domain.chunks import CorpusChunks
from evaluation.domain.frozen import Document


def _field(value: str | int) -> bytes:
    """One value, with its type and length in front, so that no two lists of values share an encoding."""
    if isinstance(value, str):
        raw = value.encode("utf-8")
        return b"s%d:%b" % (len(raw), raw)
    raw = b"%d" % value
    return b"i%d:%b" % (len(raw), raw)


def digest_of(kind: str, values: Iterable[str | int]) -> str:
    """Hex SHA-256 over a kind and a list of strings and integers, length-prefixed."""
    state = hashlib.sha256(_field(kind))
    for value in values:
        state.update(_field(value))
    return state.hexdigest()


def corpus_digest(documents: Iterable[Document]) -> str:
    """Identity of a corpus: id, version, bytes, dates and access rules of every document, in any order."""
    rows: list[str] = []
    for doc in documents:
        values: list[str | int] = [doc.document_id, doc.version_label, doc.digest, doc.observation_date.isoformat()]
        values += [str(doc.effective_from or ""), str(doc.effective_to or ""), doc.media_type, doc.locale, doc.tenant]
        values += [doc.supersedes or "", len(doc.access_labels), *sorted(doc.access_labels)]
        for item in sorted(doc.access_ranges, key=lambda r: (r.start, r.end, sorted(r.labels))):
            values += [item.start, item.end, len(item.labels), *sorted(item.labels)]
        rows.append(digest_of("document", values))
    return digest_of("corpus", sorted(rows))


def transformation_version(description: Mapping[str, str | int], tokenizer_digest: str) -> str:
    """Identity of what turns a source into chunks: segmenter, its configuration and the tokenizer; not the phase."""
    values: list[str | int] = [tokenizer_digest]
    for key in sorted(description):
        values += [key, description[key]]
    return digest_of("transformation", values)


def chunk_id(corpus: str, document: Document, interval: tuple[int, int], transformation: str) -> str:
    """Stable id of one chunk: hash of corpus digest, document and version, transformation version, byte offsets."""
    return digest_of("chunk", (corpus, document.document_id, document.digest, transformation, *interval))


def chunk_ids(corpus: str, documents: tuple[Document, ...], chunks: CorpusChunks, transformation: str) -> list[str]:
    """`chunk_id` of every chunk, in order; what the chunks of a document share is hashed once.

    Computed when somebody asks: a build is identified by `chunks_digest`, which costs nothing per chunk.
    """
    found: list[str] = []
    for index, document in enumerate(documents):
        shared = hashlib.sha256(_field("chunk"))
        for value in (corpus, document.document_id, document.digest, transformation):
            shared.update(_field(value))
        span = slice(int(chunks.first[index]), int(chunks.first[index + 1]))
        for start, end in zip(chunks.start[span].tolist(), chunks.end[span].tolist(), strict=True):
            state = shared.copy()
            state.update(_field(start) + _field(end))
            found.append(state.hexdigest())
    return found


def chunks_digest(corpus: str, documents: Sequence[Document], chunks: CorpusChunks, transformation: str) -> str:
    """Identity of all chunks of a build: equal exactly when every chunk's id is.

    Hash of what the ids share (corpus, documents and versions in order, transformation), the number of chunks of each
    document, and all starts and ends as 64-bit little-endian integers.
    """
    values: list[str | int] = [corpus, transformation, len(documents)]
    values += [value for document in documents for value in (document.document_id, document.digest)]
    state = hashlib.sha256(_field("chunks") + b"".join(map(_field, values)))
    for column in (chunks.first, chunks.start, chunks.end):
        state.update(np.ascontiguousarray(column, dtype="<i8").tobytes())
    return state.hexdigest()
