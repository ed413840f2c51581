"""The splitters that segmentation is held against, each with the tokenizer given and with the offsets it offers."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from evaluation.domain.reanchor import Piece
from evaluation.plugins.tokenizers import HuggingFaceTokenizer

type Split = Callable[[str], Sequence[Piece]]


class Missing(Exception):
    """A package that is not installed here; the message says how to bring it."""


@dataclass(frozen=True)
class Contender:
    """A splitter by name; `make(tokenizer, capacity, overlap)` gives what splits a text. Raises `Missing`."""

    name: str
    package: str
    make: Callable[[HuggingFaceTokenizer, int, int], Split]


def _import(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise Missing(f"{error}; run with: uv run --with {package} python bench/segmentation.py") from error


class _AsTiktoken:
    """The tokenizer under tiktoken's names, for LangChain's TokenTextSplitter."""

    def __init__(self, tokenizer: HuggingFaceTokenizer) -> None:
        self._tokenizer = tokenizer

    def encode(self, text: str, **_: Any) -> list[int]:
        return self._tokenizer.ids(text)

    def decode(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.backend.decode(list(ids), skip_special_tokens=False))


def _langchain(splitter: Any) -> Split:
    """Documents with the start index LangChain finds for them."""

    def split(text: str) -> list[Piece]:
        made = splitter.create_documents([text])
        starts = (one.metadata["start_index"] for one in made)
        return [Piece(one.page_content, start if start >= 0 else None) for one, start in zip(made, starts, strict=True)]

    return split


def _langchain_tokens(tokenizer: HuggingFaceTokenizer, capacity: int, overlap: int) -> Split:
    package = _import("langchain_text_splitters", "langchain-text-splitters")
    # Its constructor wants an encoding it can load offline: LlamaIndex carries one. It is replaced before any use.
    folder = Path(_import("llama_index.core", "llama-index-core").__file__).parent / "_static" / "tiktoken_cache"
    os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(folder))
    _import("tiktoken", "tiktoken")
    splitter = package.TokenTextSplitter(
        encoding_name="cl100k_base", chunk_size=capacity, chunk_overlap=overlap, add_start_index=True
    )
    splitter._tokenizer = _AsTiktoken(tokenizer)
    return _langchain(splitter)


def _langchain_recursive(tokenizer: HuggingFaceTokenizer, capacity: int, overlap: int) -> Split:
    package = _import("langchain_text_splitters", "langchain-text-splitters")
    return _langchain(
        package.RecursiveCharacterTextSplitter(
            chunk_size=capacity,
            chunk_overlap=overlap,
            length_function=lambda text: len(tokenizer.ids(text)),
            add_start_index=True,
        )
    )


def _llama_index(name: str) -> Callable[[HuggingFaceTokenizer, int, int], Split]:
    def make(tokenizer: HuggingFaceTokenizer, capacity: int, overlap: int) -> Split:
        parsers = _import("llama_index.core.node_parser", "llama-index-core")
        schema = _import("llama_index.core.schema", "llama-index-core")
        parser = getattr(parsers, name)(chunk_size=capacity, chunk_overlap=overlap, tokenizer=tokenizer.ids)

        def split(text: str) -> list[Piece]:
            nodes = parser.get_nodes_from_documents([schema.Document(text=text)])
            return [Piece(node.text, node.start_char_idx, node.end_char_idx) for node in nodes]

        return split

    return make


def _chonkie(tokenizer: HuggingFaceTokenizer, capacity: int, overlap: int) -> Split:
    chunker = _import("chonkie", "chonkie").TokenChunker(
        tokenizer=tokenizer.backend, chunk_size=capacity, chunk_overlap=overlap
    )
    return lambda text: [Piece(chunk.text, chunk.start_index, chunk.end_index) for chunk in chunker.chunk(text)]


def _semchunk(tokenizer: HuggingFaceTokenizer, capacity: int, overlap: int) -> Split:
    chunker = _import("semchunk", "semchunk").chunkerify(lambda text: len(tokenizer.ids(text)), capacity)

    def split(text: str) -> list[Piece]:
        texts, offsets = chunker(text, offsets=True, overlap=overlap or None)
        return [Piece(one, start, end) for one, (start, end) in zip(texts, offsets, strict=True)]

    return split


CONTENDERS = (
    Contender("LangChain TokenTextSplitter", "langchain-text-splitters", _langchain_tokens),
    Contender("LangChain RecursiveCharacter", "langchain-text-splitters", _langchain_recursive),
    Contender("LlamaIndex TokenTextSplitter", "llama-index-core", _llama_index("TokenTextSplitter")),
    Contender("LlamaIndex SentenceSplitter", "llama-index-core", _llama_index("SentenceSplitter")),
    Contender("chonkie TokenChunker", "chonkie", _chonkie),
    Contender("semchunk", "semchunk", _semchunk),
)
