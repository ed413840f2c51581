"""Choices for model fields, made from the domain's word lists so that there is one list of each."""

from __future__ import annotations

from enum import StrEnum


def choices(words: type[StrEnum]) -> list[tuple[str, str]]:
    """Return Django choices for a word list: the stable value and the same word written for reading."""
    return [(word.value, word.value.replace("-", " ").capitalize()) for word in words]
