"""Plans meant to exhaust whoever reads them: each is refused at once, at its place, instead of taking minutes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluation.domain.plan_schema import PlanRefused
from evaluation.domain.plan_toml import MAX_CHARACTERS, parse_plan
from evaluation.plugins import tokenizers as plugin
from evaluation.plugins.tokenizers import TokenizerUnavailable, load_tokenizer
from tests.evaluation.test_plan_toml import DEMO, changed, refused


@pytest.fixture(autouse=True)
def quickly() -> Iterator[None]:
    """Fail a test that took far longer than reading any plan may; each of these once ran for minutes or for ever."""
    before = time.process_time()
    yield
    assert time.process_time() - before < 10


@pytest.mark.parametrize(
    ("old", "new", "where", "says"),
    [
        ("grid = 8", "grid = 1_000_000_000", "phases.grid", "at most 1000"),
        ("grid = 8", f"labels = {[f'{n}/1009' for n in range(1, 1002)]}", "phases.labels", "at most 1000"),
        ('generator = "extractive"', 'generator = "extractive"\nrepeats = 1_000_000_000', "generation.repeats", "1000"),
        ('generator = "extractive"', 'generator = "extractive"\nrepeats = 1_000\n', "phases", ""),
        ("capacity = 160", "capacity = 1_000_000_001", "arms[0].capacity", "at most 1000000000"),
        ("top_k = 5", "top_k = 9_000_000_000", "budget.top_k", "at most 1000000000"),
        (
            'retriever = "bm25"',
            'retriever = "hybrid"\nfuse = ["bm25", "lsa"]\nrrf_k = 1_001',
            "retrieval.rrf_k",
            "at most 1000",
        ),
        ("k1 = 1.5", "k1 = 1.5\nrrf_k = 0", "retrieval.rrf_k", "at least 1"),
        ("k1 = 1.5", "k1 = 1.5\nrrf_k = true", "retrieval.rrf_k", "not a whole number"),
        ("k1 = 1.5", f"k1 = 1.5\nstop_words = {[f'w{n}' for n in range(10_001)]}", "retrieval.stop_words", "10000"),
    ],
)
def test_size_without_end_is_refused_at_its_place(old: str, new: str, where: str, says: str) -> None:
    text = changed(old, new, count=1)
    if where == "phases":
        text = changed("grid = 8", "grid = 500", text)
        says = "at most 20,000 are started"
    assert says in refused(text)[where]


def test_every_phase_of_a_huge_stride_is_refused_before_it_is_counted_out() -> None:
    text = changed("grid = 8", "every = true").replace("capacity = 160", "capacity = 1_000_000")
    assert "1,999,960 runs" in refused(text)["phases"]


@pytest.mark.parametrize(
    "text",
    [
        "labels = [\n[" + " " * 100_000 + "\n]]",
        ".".join(["a"] * 100_000) + " = 1",
        "x = { " + " . ".join(['"a"'] * 100_000) + " = 1 }",
        "#" * (MAX_CHARACTERS + 1),
    ],
)
def test_text_that_takes_a_parser_minutes_is_refused_at_once(text: str) -> None:
    with pytest.raises(PlanRefused) as refusal:
        parse_plan(f"{text}\n{DEMO}")
    assert refusal.value.problems


def test_prose_with_many_full_stops_is_no_long_path() -> None:
    prose = "See e.g. sections 1.2.3.4 and v.1.2; then a. b. c. d. and so on. " * 50
    assert parse_plan(changed('expected_benefit = "', f'expected_benefit = "{prose}')).hypothesis.expected_benefit


@pytest.mark.parametrize("label", ["{rank:>1000000000}", "{rank!r}", "{{rank}}", "{rank} }", "{rank:{title}}", "{}"])
def test_label_that_would_stand_unfilled_in_the_prompt_is_refused(label: str) -> None:
    found = refused(changed('label_format = "[{rank}] "', f'label_format = "{label}"'))
    assert "no other braces" in found["budget.label_format"]


@pytest.mark.parametrize("reference", ["a\x00b", "n" * 5_000, "/dev/zero"])
def test_tokenizer_path_that_names_no_file_is_refused(reference: str) -> None:
    with pytest.raises(TokenizerUnavailable, match="cannot be loaded") as refusal:
        load_tokenizer(reference)
    assert len(str(refusal.value)) < 1_000


def test_tokenizer_path_of_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "tokenizer.json")
    with pytest.raises(TokenizerUnavailable, match="no regular file"):
        load_tokenizer(str(tmp_path))


def test_tokenizer_file_beyond_all_sizes_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    with path.open("wb") as file:
        file.truncate(plugin.MAX_BYTES + 1)
    with pytest.raises(TokenizerUnavailable, match="are read"):
        load_tokenizer(str(path))


def test_tokenizer_file_that_nests_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text("[" * 200_000)
    with pytest.raises(TokenizerUnavailable, match="not JSON"):
        load_tokenizer(str(path))
