"""From documents to an index build: prepare a corpus once, build any (arm, phase) of it, compare builds before use."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version as package_version

import numpy as np

from evaluation.domain.analysis import Analyser, positional_table
from evaluation.domain.bm25 import chunk_words
from evaluation.domain.chunk_id import chunks_digest, corpus_digest, digest_of, transformation_version
from evaluation.domain.chunks import UNSHIFTED_CONTROL, ChecksCorpus, ChunkTable, join
from evaluation.domain.frozen import Document
from evaluation.domain.pipeline import ArmSettings, IndexBuild, Payload, PreparedCorpus
from evaluation.domain.tokens import Tokenizer

#: Packages whose version can change a result of the lexical pipeline; pinned in every manifest.
PINNED = ("markdown-it-py", "numpy", "scipy", "tokenizers")


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
    chunks = join(tables, prepared.tokenized)
    words = chunk_words(prepared.words, prepared.documents, prepared.analyser, chunks)
    configuration = arm.segmenter.describe()
    transformation = transformation_version(configuration, prepared.tokenizer.digest)
    chunks_id = chunks_digest(prepared.digest, prepared.documents, chunks, transformation)
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
        "packages": package_pins(),
        "floating": floating_aliases(prepared.tokenizer.name, prepared.tokenizer.digest),
        "chunk_count": len(chunks),
        "chunk_ids": chunks_id,
        "cuts": int(sum(table.cut_bytes.size for table in tables)),
        "empty_cores": int(sum(table.empty_cores.size for table in tables)),
        "dropped_tails": sum(table.dropped_tails for table in tables),
        "remarks": _remarks(tables),
        "index_tokens": int((chunks.token_end - chunks.token_start).sum()),
        "index_bytes": int((chunks.end - chunks.start).sum()),
        "source_tokens": prepared.source_tokens,
    }
    digest = digest_of(
        "index-build",
        (arm.name, manifest["phase"], prepared.digest, transformation, chunks_id, prepared.tokenizer.digest),
    )
    return IndexBuild(arm, phase, chunks, words, manifest, digest, prepared.documents)


@cache
def package_pins() -> dict[str, str]:
    """Installed versions of `PINNED`; looked up once, since every look-up reads files."""
    return {name: package_version(name) for name in PINNED}


def _remarks(tables: Sequence[ChunkTable]) -> dict[str, int]:
    """What the segmenter has to say, summed over the documents."""
    total: Counter[str] = Counter()
    for table in tables:
        total.update({name: int(count) for name, count in table.remarks.items()})
    return dict(sorted(total.items()))


def floating_aliases(name: str, digest: str) -> list[str]:
    """Names in a manifest that do not pin what they stand for; a tokenizer with a digest is pinned."""
    return [] if len(digest) == 64 else [name]


@dataclass(frozen=True)
class Preflight:
    """What a comparison of builds found: `problems` forbid reading their cells, `notes` are only reported."""

    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()


def preflight(builds: Sequence[IndexBuild]) -> Preflight:
    """Compare builds before any of their cells is read.

    Every document of the first build must be in each other one exactly once with the same version and size; locales,
    access rules and dates must be distributed alike and the tokenizer be the same; every byte must lie in a chunk.
    Bytes in no chunk are only noted where they are white space alone, or where the segmenter declares them (a foreign
    one whose plan says `uncovered = "report"`).
    """
    if not builds:
        return Preflight(("no index build to compare",))
    problems: list[str] = []
    notes: list[str] = []
    first = builds[0]
    wanted = _inventory(first)
    for build in builds:
        name = f"arm {build.arm.name} at phase {build.manifest['phase']}"
        have = _inventory(build)
        problems += [f"{name}: document {doc} ({version}) is missing" for doc, version, _ in sorted(wanted - have)]
        problems += [f"{name}: document {doc} ({version}) is extra" for doc, version, _ in sorted(have - wanted)]
        problems += [f"{name}: {difference}" for difference in _metadata(first, build)]
        if build.manifest["corpus"] != first.manifest["corpus"]:
            problems.append(f"{name}: another corpus digest than arm {first.arm.name}: dates or labels differ")
        if build.manifest["tokenizer"] != first.manifest["tokenizer"]:
            problems.append(f"{name}: another tokenizer than arm {first.arm.name}")
        for gap, harmless in _uncovered(build):
            (notes if harmless else problems).append(f"{name}: {gap}")
    return Preflight(tuple(problems), tuple(notes))


def _inventory(build: IndexBuild) -> Counter[tuple[str, str, int]]:
    """Documents of a build with version and size, counted, so that a doubled one shows."""
    return Counter((doc.document_id, doc.digest, len(doc.content)) for doc in build.documents)


def _distributions(build: IndexBuild) -> dict[str, Counter[str]]:
    """How many documents have each locale, access rule and span of validity."""
    found: dict[str, Counter[str]] = {"locale": Counter(), "access": Counter(), "validity": Counter()}
    for doc in build.documents:
        found["locale"][doc.locale] += 1
        rules = sorted(f"bytes {r.start}–{r.end} {'+'.join(sorted(r.labels))}" for r in doc.access_ranges)
        found["access"][", ".join(["+".join(sorted(doc.access_labels)) or "open", *rules])] += 1
        found["validity"][f"{doc.effective_from or '…'} to {doc.effective_to or '…'}"] += 1
    return found


def _metadata(first: IndexBuild, build: IndexBuild) -> list[str]:
    """Distributions that differ between two builds, described."""
    wanted, have = _distributions(first), _distributions(build)
    return [
        f"{name} “{value}” stands on {have[name][value]} documents, in arm {first.arm.name} on {wanted[name][value]}"
        for name in wanted
        for value in sorted(wanted[name] | have[name])
        if wanted[name][value] != have[name][value]
    ]


def _uncovered(build: IndexBuild) -> list[tuple[str, bool]]:
    """Bytes of documents in no chunk of a build, described, and whether they are declared or white space alone."""
    found: list[tuple[str, bool]] = []
    for doc, table in zip(build.documents, build.chunks.tables, strict=True):
        reach = np.maximum.accumulate(table.end) if len(table) else table.end
        begins = np.append(table.starts, len(doc.content))
        before = np.concatenate(([0], reach))
        declared = set() if table.uncovered is None else {(start, end) for start, end in table.uncovered.tolist()}
        for gap in np.flatnonzero(begins > before).tolist():
            start, end = int(before[gap]), int(begins[gap])
            harmless = (start, end) in declared or not doc.content[start:end].decode("utf-8", "replace").strip()
            found.append((f"document {doc.document_id}: bytes {start}–{end} are in no chunk", harmless))
    return found
