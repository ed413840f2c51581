"""What `parts/source_runs.html` draws: runs of a version as one reader may see them, with marks as CSS classes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from annotate.domain.content import PassContent
from annotate.domain.rendering import Highlight, Run, runs
from annotate.models import SourceVersion
from annotate.selectors.sources import hidden_from

_LETTERS = "abcd"


@dataclass(frozen=True)
class DrawnRun:
    """A run and its CSS class; `keys` are the highlights over it."""

    run: Run
    css: str

    @property
    def start(self) -> int:
        """First byte."""
        return self.run.start

    @property
    def end(self) -> int:
        """Byte after the last one."""
        return self.run.end

    @property
    def kind(self) -> str:
        """`text`, `atom` or `hidden`."""
        return self.run.kind.value

    @property
    def text(self) -> str:
        """Text of a text run, name of an atom."""
        return self.run.text

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of the highlights over this run."""
        return self.run.keys


def set_css(index: int) -> str:
    """Return the CSS class of support set `index`; colours and patterns repeat after four."""
    return f"set-{_LETTERS[index % len(_LETTERS)]}"


def drawn(
    version: SourceVersion, clearance: Collection[str], highlights: Sequence[Highlight], css: dict[str, str]
) -> list[DrawnRun]:
    """Return the runs of `version`; a run takes the class of its first highlight in `css`."""
    hidden = [(span.start, span.end) for span in hidden_from(version, clearance)]
    made = runs(bytes(version.content), highlights, hidden)
    return [DrawnRun(run, f"mark {css[run.keys[0]]}" if run.keys else "") for run in made]


def marks_of(content: PassContent, version: SourceVersion) -> tuple[list[Highlight], dict[str, str]]:
    """Return the highlights of a pass on one version, and the CSS class of each span by its name."""
    css: dict[str, str] = {}
    for span in content.spans:
        index = next((i for i, members in enumerate(content.sets) if span.name in members), 0)
        css[span.name] = set_css(index)
    found = [Highlight(s.start, s.end, s.name) for s in content.spans if s.version == version.sha256]
    return found, css
