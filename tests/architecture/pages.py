"""The documentation pages as tests read them: links, code, tables and fenced examples with the comment above each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.architecture.tree import read, tracked

_FENCE = re.compile(
    r"(?:^<!-- (?P<mark>[^>]+?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_CODE = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True)
class Example:
    """A fenced block: the page it stands on, the comment above it ("" for none), its language and text."""

    page: Path
    mark: str
    language: str
    text: str


@cache
def pages() -> tuple[Path, ...]:
    """Return README.md and every page under docs/."""
    return tuple(path for path in tracked() if path.suffix == ".md" and path.parts[0] in {"README.md", "docs"})


def examples(page: Path) -> list[Example]:
    """Return the fenced blocks of a page."""
    return [
        Example(page, found["mark"] or "", found["language"], found["text"]) for found in _FENCE.finditer(read(page))
    ]


def prose(page: Path) -> str:
    """Return a page without its fenced blocks."""
    return _FENCE.sub("", read(page))


def links(page: Path) -> list[str]:
    """Return where a page's links and pictures lead, addresses of other sites left out."""
    return [link for link in _LINK.findall(prose(page)) if "://" not in link]


def anchors(page: Path) -> set[str]:
    """Return the names of a page's headings, as GitHub makes them."""
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in _HEADING.findall(prose(page)))
    return {heading.replace(" ", "-") for heading in kept}


def code(text: str) -> list[str]:
    """Return what stands between backticks."""
    return _CODE.findall(text)


def code_of(page: Path) -> list[str]:
    """Return every piece of code of a page: spans in the prose, and the lines of blocks."""
    lines = [line for example in examples(page) if example.language != "json" for line in example.text.splitlines()]
    return [*code(prose(page)), *lines]


def rows(page: Path, mark: str) -> list[list[str]]:
    """Return the cells of the table under `<!-- mark -->` or under the heading `mark`, its header left out.

    Raises LookupError where the page has no such table.
    """
    text = read(page)
    for start in (f"<!-- {mark} -->\n", f"\n## {mark}\n"):
        if start in text:
            break
    else:
        raise LookupError(f"{page} has no table marked {mark!r}")
    found: list[list[str]] = []
    for line in text.split(start, 1)[1].splitlines():
        if line.startswith("|"):
            found.append([cell.strip() for cell in line.strip("|").split("|")])
        elif found:
            break
    return found[2:]


def names(page: Path, mark: str) -> list[str]:
    """Return the code in the first column of a table."""
    return [name for row in rows(page, mark) for name in code(row[0])]
