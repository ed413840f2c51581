"""Small worlds for engine tests: documents, questions, tokenizers built on the spot."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Backend
from tokenizers import models, normalizers, pre_tokenizers

from annotate.domain.vocabulary import DependencyType, Partition, Sample, Segment, SpanLabel
from evaluation.domain.analysis import Analyser
from evaluation.domain.bm25 import Bm25
from evaluation.domain.cell import prepare_corpus
from evaluation.domain.frozen import Document, FrozenQuestion, Interval, SupportSpan
from evaluation.domain.pipeline import PipelineSettings, Policies, PreparedCorpus
from evaluation.domain.plan_pipeline import Budget, Retrieval
from evaluation.domain.retrieval.lexical import Bm25Retriever
from evaluation.domain.tokens import TokenizedText
from evaluation.plugins.tokenizers import HuggingFaceTokenizer, load_tokenizer

DAY = date(2026, 6, 1)
DEMO = Path(__file__).resolve().parents[2] / "evaluation" / "demo" / "corpus"


def document(name: str, content: bytes | str, **fields: Any) -> Document:
    """A document with the digest of its bytes; `fields` override the defaults."""
    raw = content.encode() if isinstance(content, str) else content
    given = {"version_label": "1", "observation_date": date(2026, 1, 1), **fields}
    return Document(document_id=name, digest=hashlib.sha256(raw).hexdigest(), content=raw, **given)


def span(doc: Document, quote: str, label: str = SpanLabel.EVIDENCE, *, necessary: bool = True) -> SupportSpan:
    """The first occurrence of `quote`, which must be there."""
    raw = quote.encode()
    start = doc.content.index(raw)
    return SupportSpan(quote[:12], Interval(doc.digest, start, start + len(raw)), str(label), necessary)


def question(text: str, *sets: Sequence[SupportSpan], **fields: Any) -> FrozenQuestion:
    """A question with its sufficient sets; answerable when it has any."""
    given: dict[str, Any] = {
        "question_id": "q",
        "answerable": bool(sets),
        "segment": Segment.RULE_AND_EXCEPTION,
        "sample": Sample.REPRESENTATIVE,
        "partition": Partition.DEVELOPMENT,
        "cluster": "c",
        "reader_labels": frozenset(),
        "as_of": DAY,
        "dependency": DependencyType.NONE,
        **fields,
    }
    return FrozenQuestion(text=text, support_sets=tuple(tuple(one) for one in sets), **given)


def settings(**fields: Any) -> PipelineSettings:
    """Pipeline settings; `budget` and `retrieval` fields may be overridden by name."""
    budget: dict[str, Any] = {
        "tokenizer": "cutline-bpe-4k",
        "evidence_tokens": (120,),
        "primary_evidence_tokens": 120,
        "instruction_tokens": 100,
        "output_tokens": 100,
        "top_k": 3,
    }
    retrieval: dict[str, Any] = {"retriever": "bm25", "candidates": 20}
    rest: dict[str, Any] = {}
    for name, value in fields.items():
        where = budget if name in Budget.__dataclass_fields__ else retrieval
        (where if name in Budget.__dataclass_fields__ or name in Retrieval.__dataclass_fields__ else rest)[name] = value
    return PipelineSettings(Budget(**budget), Retrieval(**retrieval), **rest)


def policies(**steps: Any) -> Policies:
    """BM25 with its usual parameters, and the steps given."""
    return Policies(**{"retriever": Bm25Retriever(Bm25())} | steps)


def corpus(*documents: Document, analyser: Analyser | None = None) -> PreparedCorpus:
    """Documents prepared with the shipped tokenizer."""
    return prepare_corpus(documents, load_tokenizer(), analyser or Analyser())


def demo_documents() -> list[Document]:
    """The demo study's sources as plain documents, without labels or dates."""
    files = sorted(path for path in DEMO.rglob("*") if path.suffix in {".md", ".txt", ".html"})
    return [document(path.relative_to(DEMO).as_posix(), path.read_bytes()) for path in files]


def letters(size: int) -> TokenizedText:
    """A text of `size` bytes, each of them a token."""
    return TokenizedText(size, size, lambda indices: indices)


def byte_tokenizer() -> HuggingFaceTokenizer:
    """One token per byte: every multi-byte code point is split, which no trained tokenizer does so often."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Backend(models.BPE(vocab={sign: i for i, sign in enumerate(alphabet)}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return HuggingFaceTokenizer(backend.to_str().encode(), "bytes", "memory")


def word_tokenizer(normalizer: Any = None) -> HuggingFaceTokenizer:
    """Words and signs, lower-cased and stripped of accents by default: no token is source text."""
    backend = Backend(models.WordLevel(vocab={"[UNK]": 0}, unk_token="[UNK]"))
    backend.normalizer = normalizer or normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return HuggingFaceTokenizer(backend.to_str().encode(), "words", "memory")
