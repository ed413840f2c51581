"""Splitters as users have them, good and bad, named by tests through the allow-list."""

from __future__ import annotations

import re
from typing import Any

from langchain_text_splitters import TextSplitter


def lines(text: str) -> list[str]:
    """The text in pieces of one line, newlines kept."""
    return text.splitlines(keepends=True)


class Faithful(TextSplitter):
    """Loses nothing."""

    def split_text(self, text: str) -> list[str]:
        return lines(text)


class Dropping(TextSplitter):
    """Leaves out every third line, as one that drops chunks under a minimum size does."""

    def split_text(self, text: str) -> list[str]:
        return [line for number, line in enumerate(lines(text)) if number % 3 != 2]


class Rewriting(TextSplitter):
    """Puts a heading into each chunk and mends a word."""

    def split_text(self, text: str) -> list[str]:
        return ["Context: policy\n" + line.replace("waived", "not charged") for line in lines(text)]


class Collapsing(TextSplitter):
    """Writes every run of white space as one blank."""

    def split_text(self, text: str) -> list[str]:
        return [re.sub(r"\s+", " ", line + "next  line") for line in lines(text)]


class Duplicating(TextSplitter):
    """Gives every chunk twice."""

    def split_text(self, text: str) -> list[str]:
        return [line for line in lines(text) for _ in range(2)]


class Reordering(TextSplitter):
    """Gives the longest lines first."""

    def split_text(self, text: str) -> list[str]:
        return sorted(lines(text), key=len, reverse=True)


class Raising(TextSplitter):
    """Cannot cope with the text."""

    def split_text(self, text: str) -> list[str]:
        raise KeyError("no tokenizer for this language")


class Silent(TextSplitter):
    """Gives nothing."""

    def split_text(self, text: str) -> list[str]:
        return []


class Mumbling(TextSplitter):
    """Gives what is no text."""

    def split_text(self, text: str) -> list[Any]:
        return [line.encode() for line in lines(text)]


class NoSplitter:
    """Not what its adapter runs."""
