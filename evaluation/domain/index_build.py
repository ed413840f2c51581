"""From documents to an index build: prepare a corpus once, build any (arm, phase) of it, compare builds before use."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version as package_version

import numpy as np

from evaluation.domain.analysis import Analyser, positional_table
from evaluation.domain.bm25 import chunk_words
from evaluation.domain.chunk_id import chunk_ids, corpus_digest, digest_of, transformation_version
from evaluation.domain.chunks import UNSHIFTED_CONTROL, ChecksCorpus, join
from evaluation.domain.frozen import Document
from evaluation.domain.pipeline import ArmSettings, IndexBuild, Payload, PreparedCorpus, spans_of
from evaluation.domain.tokens import Tokenizer

#: Packages whose version can change a result of the lexical pipeline; pinned in every manifest.
PINNED = ("numpy", "scipy", "tokenizers")


class CorpusError(ValueError):
    """Documents that cannot be one corpus."""


def prepare_corpus(documents: Sequence[Document], tokenizer: Tokenizer, analyser: Analyser) -> PreparedCorpus:
    """Tokenise and analyse every document once, for all arms and phases; worth caching per corpus digest.

    Documents are put in corpus order (document id, then digest), which is the order of tied ranks. Raises `CorpusError`
    for no documents, a version given twice, an empty one, or content that does not have the digest it claims.
    """
    if not documents:
        raise CorpusError("a corpus needs at least one document")
    ordered = tuple(sorted(documents, key=lambda doc: (doc.document_id, doc.digest)))
    for digest, count in Counter(doc.digest for doc in ordered).items():
        if count > 1:
            names = sorted(doc.document_id for doc in ordered if doc.digest == digest)
            raise CorpusError(f"version {digest} is in the corpus {count} times ({', '.join(names)}); import it once")
    for doc in ordered:
        if not doc.content:
            raise CorpusError(f"document {doc.document_id!r} is empty; remove it from the corpus")
        actual = hashlib.sha256(doc.content).hexdigest()
        if actual != doc.digest:
            raise CorpusError(
                f"document {doc.document_id!r}: its bytes have digest {actual}, its record says {doc.digest}; "
                "the stored text is damaged, import the version again"
            )
    return PreparedCorpus(
        documents=ordered,
        digest=corpus_digest(ordered),
        tokenizer=tokenizer,
        tokenized=tuple(tokenizer.encode(doc.content) for doc in ordered),
        analyser=analyser,
        words=positional_table(ordered, analyser),
        by_version={doc.digest: index for index, doc in enumerate(ordered)},
    )


def build_index(prepared: PreparedCorpus, arm: ArmSettings, phase: int | None) -> IndexBuild:
    """Cuts, chunks and word statistics of one arm at one phase (None only for an unshifted control), with its manifest.

    Raises `PhaseError` for a phase the arm does not have, `ChunkingRefused` for foreign chunks that are not of this
    corpus.
    """
    if isinstance(arm.segmenter, ChecksCorpus):
        arm.segmenter.check(prepared.documents)
    tables = [
        arm.segmenter.chunks(doc, text, phase) for doc, text in zip(prepared.documents, prepared.tokenized, strict=True)
    ]
    chunks = join(tables, [len(doc.content) for doc in prepared.documents])
    words = chunk_words(prepared.words, prepared.documents, prepared.analyser, chunks)
    configuration = arm.segmenter.describe()
    transformation = transformation_version(configuration, prepared.tokenizer.digest)
    index_tokens = int((chunks.token_end - chunks.token_start).sum())
    manifest: Payload = {
        "arm": arm.name,
        "phase": 0 if phase is None else phase,
        "control": UNSHIFTED_CONTROL if phase is None else "",
        "segmenter": configuration,
        "transformation": transformation,
        "corpus": prepared.digest,
        "tokenizer": {
            "name": prepared.tokenizer.name,
            "digest": prepared.tokenizer.digest,
            "version": prepared.tokenizer.version,
        },
        "analyser": prepared.analyser.description,
        "statistics": "document frequency, chunk count and average length over the whole index, before any filter",
        "order": "score descending, then document id and version digest, then start",
        "packages": {name: package_version(name) for name in PINNED},
        "floating": floating_aliases(prepared.tokenizer.name, prepared.tokenizer.digest),
        "chunk_count": len(chunks),
        "chunk_ids": digest_of(
            "chunk-ids", ["".join(chunk_ids(prepared.digest, prepared.documents, chunks, transformation))]
        ),
        "index_tokens": index_tokens,
        "source_tokens": prepared.source_tokens,
        "documents": [
            {
                "document": doc.document_id,
                "version": doc.digest,
                "bytes": len(doc.content),
                "tokens": text.n,
                "cut_tokens": table.cut_tokens.tolist(),
                "cuts": table.cut_bytes.tolist(),
                "empty_cores": table.empty_cores.tolist(),
                "dropped_tails": table.dropped_tails,
                "chunks": spans_of(table.core_start, table.end),
                "remarks": dict(table.remarks),
                "uncovered": [] if table.uncovered is None else table.uncovered.tolist(),
            }
            for doc, text, table in zip(prepared.documents, prepared.tokenized, tables, strict=True)
        ],
    }
    digest = digest_of(
        "index-build",
        (
            arm.name,
            manifest["phase"],
            prepared.digest,
            transformation,
            manifest["chunk_ids"],
            prepared.tokenizer.digest,
        ),
    )
    return IndexBuild(arm, phase, chunks, words, manifest, digest)


def floating_aliases(name: str, digest: str) -> list[str]:
    """Names in a manifest that do not pin what they stand for; a tokenizer with a digest is pinned."""
    return [] if len(digest) == 64 else [name]


def preflight(builds: Sequence[IndexBuild]) -> list[str]:
    """Problems that make builds incomparable: documents missing, doubled or different, bytes in no chunk.

    Every document of the first build must be in each other one exactly once with the same version and size, under the
    same metadata and tokenizer, and every byte must lie in a chunk. An empty list means that cells may run.
    """
    if not builds:
        return ["no index build to compare"]
    problems: list[str] = []
    first = builds[0]
    wanted = _inventory(first)
    for build in builds:
        name = f"arm {build.arm.name} at phase {build.manifest['phase']}"
        have = _inventory(build)
        problems += [f"{name}: document {doc} ({version}) is missing" for doc, version, _ in sorted(wanted - have)]
        problems += [f"{name}: document {doc} ({version}) is extra" for doc, version, _ in sorted(have - wanted)]
        if build.manifest["corpus"] != first.manifest["corpus"]:
            problems.append(f"{name}: another corpus digest than arm {first.arm.name}: dates or labels differ")
        if build.manifest["tokenizer"] != first.manifest["tokenizer"]:
            problems.append(f"{name}: another tokenizer than arm {first.arm.name}")
        problems += [f"{name}: {gap}" for gap in _uncovered(build)]
    return problems


def _inventory(build: IndexBuild) -> Counter[tuple[str, str, int]]:
    """Documents of a build with version and size, counted, so that a doubled one shows."""
    return Counter((d["document"], d["version"], d["bytes"]) for d in build.manifest["documents"])


def _uncovered(build: IndexBuild) -> list[str]:
    """Bytes of documents in no chunk of a build, described."""
    found: list[str] = []
    for entry, table in zip(build.manifest["documents"], build.chunks.tables, strict=True):
        reach = np.maximum.accumulate(table.end) if len(table) else table.end
        begins = np.append(table.core_start, entry["bytes"])
        before = np.concatenate(([0], reach))
        declared = {tuple(gap) for gap in entry["uncovered"]}
        gaps = np.flatnonzero(begins > before)
        found += [
            f"document {entry['document']}: bytes {int(before[g])}–{int(begins[g])} are in no chunk"
            for g in gaps.tolist()
            if (int(before[g]), int(begins[g])) not in declared
        ]
    return found
