"""Symbols of code files: exact for Python, by a declared rule for the rest."""

from __future__ import annotations

import ast
from itertools import pairwise

import pytest
from hypothesis import given

from annotate.domain.import_formats.media_types import MEDIA_TYPES, media_type_of
from evaluation.domain.code_structure import LANGUAGE_OF_SUFFIX
from evaluation.domain.structure import CODE, Structure, kind_of, read_structure
from tests.evaluation.segmenter_texts import texts


def read(text: str, language: str) -> tuple[bytes, Structure]:
    content = text.encode()
    return content, read_structure(content, CODE, language)


def named(text: str, language: str) -> dict[str, str]:
    content, found = read(text, language)
    return {symbol.name: content[symbol.start : symbol.end].decode() for symbol in found.symbols}


PYTHON = (
    "# coding: latin-1\nx = 'é'\n\n@cache\n@a.b(\n  1)\nclass Né:\n    async def m(self):\n        return '👍🏽'\n\n"
    "    y = 1\n\ndef f(): pass\n"
)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_python_symbols_are_exact_on_every_line_ending(end: str, mark: str) -> None:
    found = named(mark + PYTHON.replace("\n", end), "python")
    assert list(found) == ["Né", "Né.m", "f"]
    assert found["Né"].startswith("@cache" + end + "@a.b(")
    assert found["Né"].endswith("y = 1")
    assert found["Né.m"] == "async def m(self):" + end + "        return '👍🏽'"
    assert found["f"] == "def f(): pass"


def test_decorator_on_the_first_line_behind_a_mark_is_found() -> None:
    assert named("\ufeff@a\ndef f(): pass", "python") == {"f": "@a\ndef f(): pass"}


def test_symbol_at_a_byte_is_the_innermost_one() -> None:
    content, found = read(PYTHON, "python")
    names = {place: found.symbol_at(content.index(place)) for place in (b"x =", b"return", b"y = 1", b"pass")}
    assert {place: symbol and symbol.name for place, symbol in names.items()} == {
        b"x =": None,
        b"return": "Né.m",
        b"y = 1": "Né",
        b"pass": "f",
    }


@pytest.mark.parametrize(
    "broken", ["def f(:\n    return 1\n\nx = 2\n", "def f():\n    return 1\n\x00\n", "def f():\n" + "(" * 5_000]
)
def test_python_that_does_not_parse_falls_back_on_indentation(broken: str) -> None:
    with pytest.raises((SyntaxError, ValueError, MemoryError, RecursionError)):
        ast.parse(broken)
    assert list(named(broken, "python")) == ["f"]


def test_other_languages_are_read_by_their_indentation() -> None:
    java = (
        "package a;\n\npublic final class Desk {\n  int n;\n  public void open() {\n    if (n > 0) {\n    }\n  }\n}\n\n"
        "enum Day { MON }\n"
    )
    assert list(named(java, "java")) == ["Desk", "Day"]
    assert named(java, "java")["Desk"].endswith("  }\n}")
    assert named("func (d *Desk) Lend(n int) {\n\treturn\n}\n\nvar x = 1\n", "go") == {
        "Lend": "func (d *Desk) Lend(n int) {\n\treturn\n}"
    }
    rust = "pub struct Desk;\nimpl<T> Desk {\n    pub(crate) fn lend(&self) -> u8 {\n        21\n    }\n}\n"
    assert [symbol.name for symbol in read(rust, "rust")[1].symbols] == ["Desk", "Desk", "Desk.lend"]
    assert named("static int lend(int n)\n{\n  return n;\n}\nint x = f(1);\n", "c") == {
        "lend": "static int lend(int n)\n{\n  return n;\n}"
    }
    assert named("module A\n  def lend\n    21\n  end\nend\n", "ruby") == {
        "A": "module A\n  def lend\n    21\n  end\nend",
        "A.lend": "def lend\n    21\n  end",
    }
    assert named("export default async function lend(n) {\n  return n\n}\n", "javascript") == {
        "lend": "export default async function lend(n) {\n  return n\n}"
    }


@pytest.mark.parametrize("language", ["python", "c", "rust", "javascript"])
@given(text=texts)
def test_symbols_nest_in_order_inside_the_source(language: str, text: str) -> None:
    content, found = read(text, language)
    symbols = found.symbols
    assert all(before.start <= after.start for before, after in pairwise(symbols))
    for index, symbol in enumerate(symbols):
        assert 0 <= symbol.start < symbol.end <= len(content)
        content[symbol.start : symbol.end].decode()
        if symbol.parent >= 0:
            outer = symbols[symbol.parent]
            assert symbol.parent < index
            assert outer.start <= symbol.start
            assert symbol.end <= outer.end


def test_imported_code_file_has_the_language_of_its_ending() -> None:
    assert LANGUAGE_OF_SUFFIX.keys() <= MEDIA_TYPES.keys()
    for suffix, language in LANGUAGE_OF_SUFFIX.items():
        # The document's name seldom keeps the ending, so its media type must say it alone.
        assert kind_of(media_type_of(f"file{suffix}")) == (CODE, language), suffix
