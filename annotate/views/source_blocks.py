"""Blocks of a source as HTML: flat runs, cut at every edge of a span, a sentence and a hidden range.

Made without the template engine: a block is a few hundred short elements, and a page shows the first of them within a
fraction of a second. Everything passes through `format_html`, which escapes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join

from annotate.domain.content import PassContent
from annotate.domain.pass_check import set_name
from annotate.domain.rendering import Highlight, Run, RunKind, runs
from annotate.domain.source_layout import SourceLayout
from annotate.domain.spans import ByteSpan
from annotate.models import SourceVersion
from annotate.selectors.source_text import bytes_of
from annotate.views.source_runs import set_css


@dataclass(frozen=True)
class MarkStyle:
    """How a span is drawn: CSS classes of its sets, and the letters that stand before its first character."""

    css: str
    tag: str


def mark_styles(content: PassContent) -> dict[str, MarkStyle]:
    """Return each span's style by its name. `static/js/workspace/marks.js` draws the same."""
    inside: dict[str, list[int]] = {}
    for index, members in enumerate(content.sets):
        for name in members:
            inside.setdefault(name, []).append(index)
    styles = {}
    for span in content.spans:
        sets = inside.get(span.name, [])
        css = [set_css(index).replace("set-", "in-") for index in sets]
        tag = "".join(set_name(index).removeprefix("set ") for index in sets)
        if span.name in content.forbidden:
            styles[span.name] = MarkStyle("forbidden", "✕")
        elif sets:
            styles[span.name] = MarkStyle(" ".join([set_css(sets[0]), *dict.fromkeys(css)]), tag)
        else:
            styles[span.name] = MarkStyle("loose", "·")
    return styles


def highlights_of(content: PassContent, version: SourceVersion) -> list[Highlight]:
    """Return the spans of `version` as highlights named after them."""
    return [Highlight(span.start, span.end, span.name) for span in content.spans if span.version == version.sha256]


def draw_blocks(
    version: SourceVersion,
    layout: SourceLayout,
    hidden: Sequence[ByteSpan],
    indexes: Iterable[int],
    highlights: Sequence[Highlight] = (),
    styles: Mapping[str, MarkStyle] | None = None,
    *,
    numbered: bool = True,
) -> dict[int, str]:
    """Return index → HTML for consecutive blocks, reading only their bytes; sentences are cut where `numbered`."""
    wanted = [index for index in indexes if 0 <= index < len(layout.blocks)]
    if not wanted:
        return {}
    first, last = layout.blocks[wanted[0]].start, layout.blocks[wanted[-1]].end
    content = bytes_of(version, first, last)
    ranges = [(span.start, span.end) for span in hidden]
    made: dict[int, str] = {}
    for index in wanted:
        block = layout.blocks[index]
        numbers = layout.numbers_in(block.start, block.end) if numbered else {}
        near = [mark for mark in highlights if mark.start < block.end and mark.end > block.start]
        drawn = runs(content, near, ranges, start=block.start, end=block.end, cuts=numbers, base=first)
        firsts = {mark.start: mark.key for mark in reversed(near)}
        body = format_html_join("", "{}", ((_run(run, numbers, styles or {}, firsts),) for run in drawn))
        made[index] = format_html(
            '<div class="block{}" data-block="{}" data-block-start="{}" data-block-end="{}">{}</div>',
            " broken" if block.broken else "",
            index,
            block.start,
            block.end,
            body,
        )
    return made


def _run(run: Run, numbers: Mapping[int, int], styles: Mapping[str, MarkStyle], firsts: Mapping[int, str]) -> str:
    if run.kind is RunKind.HIDDEN:
        return format_html(
            '<span class="restricted" data-hidden data-start="{}" data-end="{}">restricted, bytes {}–{}</span>',
            run.start,
            run.end,
            run.start,
            run.end,
        )
    number = numbers.get(run.start)
    if run.kind is RunKind.TEXT and not run.keys:
        # By far the most frequent runs, so the shortest way.
        if number is None:
            return format_html('<span data-start="{}" data-end="{}">{}</span>', run.start, run.end, run.text)
        return format_html(
            '<span data-start="{}" data-end="{}" data-n="{}">{}</span>', run.start, run.end, number, run.text
        )
    more = format_html(' data-n="{}"', number) if number is not None else ""
    css = ["atom"] if run.kind is RunKind.ATOM else []
    if run.keys:
        css += ["mark", *" ".join(styles[key].css for key in run.keys).split()]
        more = format_html('{} data-marks="{}"', more, " ".join(run.keys))
        if (first := firsts.get(run.start)) in run.keys:
            more = format_html('{} data-tag="{}"', more, styles[first].tag)
    name = " ".join(dict.fromkeys(css))
    if run.kind is RunKind.ATOM:
        return format_html(
            '<span class="{}" data-start="{}" data-end="{}" data-atom="{}"{}></span>',
            name,
            run.start,
            run.end,
            run.text,
            more,
        )
    return format_html(
        '<span class="{}" data-start="{}" data-end="{}"{}>{}</span>', name, run.start, run.end, more, run.text
    )
