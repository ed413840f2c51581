"""Token starts of byte-level BPE from the lengths of its vocabulary, without asking the tokenizer for offsets.

In a byte-level vocabulary one character of a token stands for one byte of the text, and the tokens in order are the
text. Where nothing in the pipeline adds, drops or moves a byte, the sum of the lengths before a token is where it
starts. The tokenizer then need not keep offsets at all, which is a third of its time.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from tokenizers import Tokenizer
from tokenizers.pre_tokenizers import ByteLevel

from evaluation.domain.tokens import IntArray


def token_lengths(backend: Tokenizer) -> IntArray | None:
    """Bytes of every token by id (0 where there is none), or None for a tokenizer whose tokens need not be the text.

    Refused are normalisers, prefix spaces, splits that remove, added tokens, post-processors (they may trim offsets),
    words for the unknown, prefixes and suffixes of pieces, and vocabularies in which a byte is missing.
    """
    definition: dict[str, Any] = json.loads(backend.to_str())
    model = definition["model"]
    plain = not any(definition[part] for part in ("normalizer", "post_processor", "added_tokens"))
    odd = ("unk_token", "continuing_subword_prefix", "end_of_word_suffix", "dropout", "byte_fallback")
    if not plain or model["type"] != "BPE" or any(model.get(name) for name in odd):
        return None
    if not _keeps_every_byte(definition["pre_tokenizer"]):
        return None
    alphabet = set(ByteLevel.alphabet())
    vocabulary: dict[str, int] = model["vocab"]
    if not alphabet <= vocabulary.keys() or not all(alphabet.issuperset(token) for token in vocabulary):
        return None
    lengths = np.zeros(max(vocabulary.values()) + 1, dtype=np.int64)
    for token, number in vocabulary.items():
        lengths[number] = len(token)
    return lengths


def starts_of(ids: IntArray, lengths: IntArray, text: bytes) -> IntArray | None:
    """Byte at which each token starts, moved back to the start of its code point; None where they do not make up
    `text`."""
    ends = np.cumsum(lengths[ids])
    if int(ends[-1] if ends.size else 0) != len(text):
        return None
    starts = np.concatenate((np.zeros(1, dtype=np.int64), ends[:-1])) if ends.size else ends
    if not text.isascii():
        raw = np.frombuffer(text, dtype=np.uint8)
        # At most three bytes of a code point follow its first.
        for _ in range(3):
            starts -= (raw[starts] & 0xC0) == 0x80
    return starts


def _keeps_every_byte(step: dict[str, Any] | None) -> bool:
    if step is None:
        return False
    steps: list[dict[str, Any]] = step["pretokenizers"] if step["type"] == "Sequence" else [step]
    *before, last = steps
    if last["type"] != "ByteLevel" or last["add_prefix_space"]:
        return False
    return all(one["type"] == "Digits" or (one["type"] == "Split" and one["behavior"] != "Removed") for one in before)
