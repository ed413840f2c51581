"""Byte-exact offsets, the shipped tokenizer, and what cannot be loaded."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend
from tokenizers import normalizers

from evaluation.domain.tokens import TokenizedText, TokenOffsetsError, code_point_starts
from evaluation.plugins import tokenizers as plugin
from evaluation.plugins.tokenizers import (
    SHIPPED,
    SHIPPED_DIGEST_PATH,
    SHIPPED_PATH,
    TokenizerUnavailable,
    load_tokenizer,
)
from evaluation.tokenizers import train
from tests.evaluation.engine_world import byte_tokenizer, word_tokenizer

NORMALIZERS = [
    normalizers.NFKD(),
    normalizers.StripAccents(),
    normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase()]),
    normalizers.Prepend("▁"),
    normalizers.Replace("a", "long replacement"),
    normalizers.Replace("e", ""),
    normalizers.Strip(),
    normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True),
]
texts = st.text(
    alphabet=st.one_of(st.characters(codec="utf-8"), st.sampled_from("ae é\u0301\u0323ﬁÅ日👩‍🏽\r\n\0\ufeff")),
    max_size=60,
)


@given(text=texts)
def test_code_point_starts_are_where_python_encodes_them(text: str) -> None:
    starts = code_point_starts(text.encode())
    assert starts.tolist() == [len(text[:i].encode()) for i in range(len(text) + 1)]


@given(text=texts)
def test_byte_level_starts_lie_on_code_points_and_slices_decode(text: str) -> None:
    raw = text.encode()
    tokens = byte_tokenizer().encode(raw)
    assert tokens.n == len(raw)
    points = code_point_starts(raw)
    assert tokens.starts().tolist() == [int(points[points <= i].max()) for i in range(len(raw))] + [len(raw)]


@given(text=texts, which=st.integers(0, len(NORMALIZERS) - 1))
def test_starts_never_decrease_whatever_a_normaliser_drops_or_inserts(text: str, which: int) -> None:
    raw = text.encode()
    tokens = word_tokenizer(NORMALIZERS[which]).encode(raw)
    starts = tokens.starts().tolist()
    assert starts == sorted(starts)
    for start in starts:
        raw[start:].decode()


def test_single_offsets_equal_bulk_offsets() -> None:
    raw = ("Fußnote 日本語 e\u0301 👍🏽 word " * 40).encode()
    one_by_one, bulk = load_tokenizer().encode(raw), load_tokenizer().encode(raw)
    some = list(range(0, one_by_one.n, 37))
    assert one_by_one.starts_at(some).tolist() == bulk.starts()[some].tolist()
    assert one_by_one.starts_at([one_by_one.n]).tolist() == [len(raw)]


def test_index_outside_the_text_is_refused() -> None:
    tokens = load_tokenizer().encode(b"two words")
    for index in (-1, tokens.n + 1):
        with pytest.raises(IndexError, match="outside"):
            tokens.starts_at([index])


def test_offsets_that_run_backwards_are_refused_by_name() -> None:
    text = TokenizedText(3, 9, lambda i: 6 - i)
    with pytest.raises(TokenOffsetsError, match="run backwards"):
        text.starts_at([0, 2])
    with pytest.raises(TokenOffsetsError):
        text.starts()


def test_token_lookup_by_byte() -> None:
    tokens = byte_tokenizer().encode("aé b".encode())
    assert [tokens.token_containing(i) for i in range(5)] == [0, 1, 1, 3, 4]
    assert [tokens.first_token_from(i) for i in range(6)] == [0, 1, 3, 3, 4, 5]


def test_shipped_tokenizer_is_the_pinned_file_and_round_trips_bytes() -> None:
    tokenizer = load_tokenizer()
    assert tokenizer.digest == hashlib.sha256(SHIPPED_PATH.read_bytes()).hexdigest()
    assert SHIPPED_DIGEST_PATH.read_text().split()[0] == tokenizer.digest
    backend = Backend.from_file(str(SHIPPED_PATH))
    text = "Ümlaut, 日本語, مرحبا, 👩‍👩‍👧\r\n\ttabs\x00"
    assert backend.decode(backend.encode(text).ids) == text
    assert backend.get_vocab_size() == 4096


def test_counts_agree_one_by_one_and_in_a_batch() -> None:
    tokenizer = load_tokenizer()
    samples = [b"", b"one", "zwei Wörter".encode(), b"x" * 5000]
    assert tokenizer.count_many(samples) == [tokenizer.count(s) for s in samples]
    assert tokenizer.count(samples[2]) == tokenizer.encode(samples[2]).n


def test_truncation_and_padding_saved_in_a_file_are_not_applied(tmp_path: Path) -> None:
    backend = Backend.from_file(str(SHIPPED_PATH))
    backend.enable_truncation(8)
    backend.enable_padding(length=8)
    backend.save(str(tmp_path / "tokenizer.json"))
    tokenizer = load_tokenizer(str(tmp_path))
    assert tokenizer.count(b"a long text of many more words than eight, all of them counted") > 8
    assert tokenizer.count(b"a") == 1
    assert tokenizer.count_many([b"a"]) == [1]


def test_tokenizer_that_is_not_there_says_where_and_how_to_mend_it(tmp_path: Path) -> None:
    with pytest.raises(TokenizerUnavailable, match=r"cannot be loaded.*missing\.json.*Name the shipped one"):
        load_tokenizer(str(tmp_path / "missing.json"))
    with pytest.raises(TokenizerUnavailable, match="cannot be loaded"):
        load_tokenizer(str(tmp_path))


@pytest.mark.parametrize(("content", "said"), [("{", "not JSON"), ('{"model": 3}', "not a readable tokenizer.json")])
def test_tokenizer_file_that_cannot_be_read_is_refused(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(content)
    with pytest.raises(TokenizerUnavailable, match=said):
        load_tokenizer(str(path))


def test_shipped_tokenizer_that_was_changed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = tmp_path / SHIPPED_PATH.name
    changed.write_bytes(SHIPPED_PATH.read_bytes() + b" ")
    monkeypatch.setattr(plugin, "SHIPPED_PATH", changed)
    with pytest.raises(TokenizerUnavailable, match="has digest"):
        load_tokenizer(SHIPPED)


def test_bytes_that_are_not_utf8_are_refused() -> None:
    with pytest.raises(UnicodeDecodeError):
        load_tokenizer().encode(b"\xff")


def test_training_on_equal_text_gives_equal_bytes(tmp_path: Path) -> None:
    files = []
    for i, text in enumerate(["Fees are due in May. " * 40, "Überfällige Gebühren 返却 " * 40]):
        files.append(tmp_path / f"{i}.md")
        files[-1].write_text(text, encoding="utf-8")
    definition = train.train(files)
    assert train.train(files) == definition
    assert train.train(files[:1]) != definition


def test_shipped_tokenizer_was_trained_on_text_that_is_here() -> None:
    files = train.text_files()
    assert len(files) >= 14
    assert {path.relative_to(train.ROOT).parts[:3] for path in files} == {("evaluation", "demo", "corpus")}


def test_token_containing_a_split_character_is_its_first_token() -> None:
    text = "Measure. 📏 rules".encode()
    tokens = load_tokenizer().encode(text)
    at = text.index("📏".encode())
    first = tokens.token_containing(at)
    assert int(tokens.starts()[first]) == at
    assert first == 0 or int(tokens.starts()[first - 1]) < at
    assert tokens.first_token_from(at + 4) - first == 2
