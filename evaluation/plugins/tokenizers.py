"""Hugging Face tokenizers as the domain's `Tokenizer`: exact byte offsets, no truncation, no special tokens."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Sequence
from importlib.metadata import version as package_version
from pathlib import Path

import numpy as np
from tokenizers import Encoding
from tokenizers import Tokenizer as Backend

from evaluation.domain.tokens import IntArray, TokenizedText, TokenOffsetsError, code_point_starts
from evaluation.plugins.byte_level import starts_of, token_lengths

#: The tokenizer that ships: a byte-level BPE trained by `evaluation/tokenizers/train.py` on this project's own text.
SHIPPED = "cutline-bpe-4k"
SHIPPED_PATH = Path(__file__).resolve().parent.parent / "tokenizers" / f"{SHIPPED}.json"
SHIPPED_DIGEST_PATH = SHIPPED_PATH.with_suffix(".sha256")

#: Above this share of tokens asked for, reading all offsets in one call is cheaper than asking one by one.
BULK_SHARE = 8

#: The largest tokenizers in use are some tens of megabytes.
MAX_BYTES = 256 * 1024 * 1024


class TokenizerUnavailable(ValueError):
    """A tokenizer that a plan names cannot be loaded; the message says what, where and how to mend it."""


class HuggingFaceTokenizer:
    """One `tokenizer.json`, byte-exact. Equal files give equal digests whatever name a plan uses for them."""

    def __init__(self, definition: bytes, name: str, where: str) -> None:
        """`definition` is the bytes of a tokenizer.json; `where` is only used in messages."""
        try:
            self._backend = Backend.from_buffer(definition)
        except Exception as error:  # the Rust side raises bare Exception for a malformed file
            raise TokenizerUnavailable(
                f"tokenizer {name!r} at {where} is not a readable tokenizer.json: {error}. "
                "Export it again with `tokenizer.save('tokenizer.json')` or name another file in the plan."
            ) from error
        # A file saved for a model often truncates at that model's input length; a source must be encoded whole.
        self._backend.no_truncation()
        self._backend.no_padding()
        # None where offsets must be asked for.
        self._lengths = token_lengths(self._backend)
        self._name = name
        self._digest = hashlib.sha256(definition).hexdigest()

    @property
    def name(self) -> str:
        """Name used in plans."""
        return self._name

    @property
    def digest(self) -> str:
        """Hex SHA-256 of the tokenizer.json."""
        return self._digest

    @property
    def version(self) -> str:
        """Version of the `tokenizers` package that runs it."""
        return f"tokenizers {package_version('tokenizers')}"

    @property
    def backend(self) -> Backend:
        """The `tokenizers` object, for foreign splitters that take one."""
        return self._backend

    def ids(self, text: str) -> list[int]:
        """Token ids of `text`, without special tokens; what foreign splitters count with."""
        return list(self._backend.encode(text, add_special_tokens=False).ids)

    def encode(self, text: bytes) -> TokenizedText:
        """Tokens of UTF-8 `text`, without special tokens. Raises `UnicodeDecodeError` on bytes that are not UTF-8."""
        decoded = text.decode("utf-8")
        if self._lengths is not None:
            (fast,) = self._backend.encode_batch_fast([decoded], add_special_tokens=False)
            starts = starts_of(np.array(fast.ids, dtype=np.int64), self._lengths, text)
            if starts is not None:
                return TokenizedText(starts.size, len(text), starts.__getitem__)
        encoding = self._backend.encode(decoded, add_special_tokens=False)
        return TokenizedText(len(encoding), len(text), _Resolver(encoding, text))

    def count(self, text: bytes) -> int:
        """How many tokens `text` takes."""
        return len(self._backend.encode(text.decode("utf-8"), add_special_tokens=False))

    def count_many(self, texts: Sequence[bytes]) -> list[int]:
        """`count` of each text in order, encoded in one batch and without building offsets."""
        decoded = [text.decode("utf-8") for text in texts]
        return [len(one) for one in self._backend.encode_batch_fast(decoded, add_special_tokens=False)]


class _Resolver:
    """Byte starts of tokens of one encoding, through the code points they cover."""

    __slots__ = ("_encoding", "_points")

    def __init__(self, encoding: Encoding, text: bytes) -> None:
        self._encoding = encoding
        # For pure ASCII a code point index is its byte offset; no table is needed.
        self._points: IntArray | None = None if text.isascii() else code_point_starts(text)

    def __call__(self, indices: IntArray) -> IntArray:
        if indices.size * BULK_SHARE > len(self._encoding):
            chars = np.array([start for start, _ in self._encoding.offsets], dtype=np.int64)[indices]
        else:
            chars = np.fromiter(map(self._char, indices.tolist()), dtype=np.int64, count=indices.size)
        return chars if self._points is None else self._points[chars]

    def _char(self, index: int) -> int:
        span = self._encoding.token_to_chars(index)
        if span is None:
            raise TokenOffsetsError(f"token {index} belongs to no place in the text; special tokens cannot be cut at")
        return span[0]


def load_tokenizer(reference: str = SHIPPED) -> HuggingFaceTokenizer:
    """The tokenizer a plan names: the shipped one, a path to a tokenizer.json, or a folder that holds one.

    Raises `TokenizerUnavailable` when it is not there, cannot be parsed, or when the shipped file is not the pinned
    one.
    """
    if reference == SHIPPED:
        definition = _read(SHIPPED_PATH, reference)
        pinned = _read(SHIPPED_DIGEST_PATH, reference).decode("ascii").split()[0]
        actual = hashlib.sha256(definition).hexdigest()
        if actual != pinned:
            raise TokenizerUnavailable(
                f"the shipped tokenizer {SHIPPED_PATH.name} has digest {actual}, pinned is {pinned}; "
                "restore the file from the repository or train it again with `python -m evaluation.tokenizers.train`"
            )
        return HuggingFaceTokenizer(definition, SHIPPED, SHIPPED_PATH.name)
    path = Path(reference)
    # os.path.isdir says False where Path.is_dir raises: for a NUL, and for a name too long for the file system.
    if os.path.isdir(path):
        path = path / "tokenizer.json"
    definition = _read(path, reference)
    try:
        json.loads(definition)
    except (ValueError, RecursionError) as error:
        raise TokenizerUnavailable(
            f"tokenizer {reference!r}: {path} is not JSON ({error}); it must be a Hugging Face tokenizer.json"
        ) from error
    return HuggingFaceTokenizer(definition, reference, str(path))


def _read(path: Path, reference: str) -> bytes:
    try:
        # Looked at before it is opened: opening a pipe waits for a writer, and a device has no end.
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            problem = "it is no regular file"
        elif found.st_size > MAX_BYTES:
            problem = f"it has {found.st_size:,} bytes, at most {MAX_BYTES:,} are read"
        else:
            return path.read_bytes()
    except (OSError, ValueError) as error:
        problem = error.strerror or "" if isinstance(error, OSError) else str(error)
    shown = reference if len(reference) <= 200 else reference[:200] + "…"
    place = str(path) if len(str(path)) <= 200 else str(path)[:200] + "…"
    raise TokenizerUnavailable(
        f"tokenizer {shown!r} cannot be loaded: {place!r}: {problem}. Name the shipped one "
        f"({SHIPPED!r}), a path to a tokenizer.json, or a folder that contains one."
    )
