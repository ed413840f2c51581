"""A small copy of the shipped demo study's folder, and the contents of passes read without a database."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from annotate.domain.content import PassContent
from annotate.domain.import_formats.sources_toml import parse_sources_toml
from evaluation.demo import FOLDER
from evaluation.demo.pass_files import read_pass
from evaluation.demo.texts import Text, Texts
from tests.evaluation.demo_decisions import Rule, alternate, decisions_for

PASSES = ("annotator-1.json", "annotator-2.json")
_TABLE = "[[question]]\n"


def texts_of(folder: Path = FOLDER) -> Texts:
    """Return the corpus as `sources.toml` names it."""
    texts = []
    for entry in parse_sources_toml((folder / "sources.toml").read_bytes()):
        content = (folder / entry.file).read_bytes()
        texts.append(Text(entry.document_id, entry.version_label, hashlib.sha256(content).hexdigest(), content))
    return Texts(texts)


def entries_of(number: int, folder: Path = FOLDER) -> list[dict[str, Any]]:
    """Return annotator 1's or 2's pass as its file says it."""
    return json.loads((folder / "passes" / PASSES[number - 1]).read_bytes())


def contents_of(entries: list[dict[str, Any]], texts: Texts) -> dict[str, PassContent]:
    """Return what entries of a pass say, by question."""
    return read_pass(json.dumps(entries).encode(), "pass", texts)


def write_pass(folder: Path, number: int, entries: list[dict[str, Any]]) -> None:
    """Put `entries` in the place of a pass."""
    path = folder / "passes" / PASSES[number - 1]
    path.write_text(json.dumps(entries, ensure_ascii=False), encoding="utf-8", newline="")


def small_demo(folder: Path, keys: Iterable[str]) -> Path:
    """Return `folder` with the whole corpus, the questions `keys` and both passes on them, and no decisions."""
    wanted = set(keys)
    shutil.copytree(FOLDER / "corpus", folder / "corpus")
    for name in ("sources.toml", "guideline.md"):
        shutil.copy(FOLDER / name, folder / name)
    head, *tables = (FOLDER / "questions.toml").read_text("utf-8").split(_TABLE)
    kept = [table for table in tables if table.split('"')[1] in wanted]
    assert len(kept) == len(wanted)
    (folder / "questions.toml").write_text(_TABLE.join([head, *kept]), encoding="utf-8")
    (folder / "passes").mkdir()
    for number in (1, 2):
        write_pass(folder, number, [entry for entry in entries_of(number) if entry["question"] in wanted])
    return folder


def decide_by_rule(folder: Path, rule: Rule = alternate) -> list[dict[str, Any]]:
    """Write a decisions file for what the passes of `folder` say, and return its entries."""
    texts = texts_of(folder)
    one, two = (contents_of(entries_of(number, folder), texts) for number in (1, 2))
    entries = [decisions_for(key, one[key], two[key], texts, rule) for key in one]
    write_decisions(folder, entries)
    return entries


def write_decisions(folder: Path, entries: list[dict[str, Any]]) -> None:
    """Put `entries` in the place of the decisions file."""
    (folder / "decisions.json").write_text(json.dumps(entries, ensure_ascii=False), encoding="utf-8")
