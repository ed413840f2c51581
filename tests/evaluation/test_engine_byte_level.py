"""Starts from token lengths are the starts the tokenizer itself reports; where they could not be, it is asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.domain.tokens import code_point_starts
from evaluation.plugins.byte_level import starts_of, token_lengths
from evaluation.plugins.tokenizers import SHIPPED_PATH, HuggingFaceTokenizer, load_tokenizer

SHIPPED = load_tokenizer()
HARD = (
    "",
    "a",
    " ",
    "\r\n\r\r\n \t",
    "De\u0301partement de Me\u0301decine",
    "💩This is an 👩‍👩‍👧‍👦 annotation. 漢字かな नमस्ते مرحبا",
    "\x00\x85\u2028\ufeff\U0010ffff",
    "<|endoftext|> 12345 x" * 20,
)


def agrees(tokenizer: HuggingFaceTokenizer, text: str) -> None:
    """Assert that number and starts of tokens are those of the tokenizer's own record of the text."""
    raw = text.encode()
    own = tokenizer.backend.encode(text, add_special_tokens=False)
    found = tokenizer.encode(raw)
    assert found.n == len(own)
    chars = np.array([start for start, _ in own.offsets], dtype=np.int64)
    assert found.starts().tolist() == [*code_point_starts(raw)[chars].tolist(), len(raw)]


@pytest.mark.parametrize("text", HARD)
def test_starts_of_hard_texts_are_those_of_the_tokenizer(text: str) -> None:
    agrees(SHIPPED, text)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_starts_of_any_text_are_those_of_the_tokenizer(text: str) -> None:
    agrees(SHIPPED, text)


def test_shipped_tokenizer_is_read_by_its_lengths() -> None:
    assert token_lengths(SHIPPED.backend) is not None


def _added(definition: dict[str, Any]) -> None:
    token = {"id": len(definition["model"]["vocab"]), "content": "<|end|>", "special": True}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    definition["added_tokens"] = [token | flags]


def _trimmed(definition: dict[str, Any]) -> None:
    definition["post_processor"] = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": False,
    }


def _normalised(definition: dict[str, Any]) -> None:
    definition["normalizer"] = {"type": "NFC"}


def _prefixed(definition: dict[str, Any]) -> None:
    definition["pre_tokenizer"]["pretokenizers"][-1]["add_prefix_space"] = True


def _removing(definition: dict[str, Any]) -> None:
    definition["pre_tokenizer"]["pretokenizers"][0]["behavior"] = "Removed"
    definition["pre_tokenizer"]["pretokenizers"][0]["pattern"] = {"String": " "}


@pytest.mark.parametrize("change", [_added, _trimmed, _normalised, _prefixed, _removing])
def test_tokenizer_whose_tokens_need_not_be_the_text_is_asked(change: Callable[[dict[str, Any]], None]) -> None:
    definition = json.loads(SHIPPED_PATH.read_bytes())
    change(definition)
    tokenizer = HuggingFaceTokenizer(json.dumps(definition).encode(), "changed", "a test")
    assert token_lengths(tokenizer.backend) is None
    agrees(tokenizer, "Plain words here, e\u0301 and 漢字.\r\n")


def test_tokens_that_do_not_make_up_the_text_are_told() -> None:
    lengths = token_lengths(SHIPPED.backend)
    assert lengths is not None
    ids = np.array(SHIPPED.ids("two words"), dtype=np.int64)
    assert starts_of(ids, lengths, b"two words") is not None
    assert starts_of(ids, lengths, b"two words more") is None
