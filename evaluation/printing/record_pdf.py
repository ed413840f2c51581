"""A release record as a PDF: text that can be searched and copied, and equal bytes for an equal record.

The one font that ships (DejaVu Sans) has no glyphs for many scripts, and scripts that are written from right to left or
whose letters join would need shaping. Such characters are never dropped or drawn as empty boxes: their code points
stand in brackets, and the last page says so.
"""

from __future__ import annotations

import unicodedata
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from evaluation.domain.release_record import Facts, Grid, Numbers, ReleaseRecord, Words

FONT_PATH = Path(__file__).resolve().parent / "fonts" / "DejaVuSans.ttf"
_FONT = "DejaVu Sans"
_SIZES = {"title": 17.0, "heading": 12.0, "body": 9.0, "small": 7.5}
_LINE = 4.4
"""Height of a line of text in mm."""
_BESIDE = 8
"""How many named numbers stand side by side."""

NOTE = (
    "Characters in brackets, as in [U+4E2D], have no glyph in this document's font; the records hold them as they are."
)
#: Drawn from right to left, or with letters that join: beyond what is set here.
_SHAPED = ((0x0590, 0x08FF), (0x0900, 0x109F), (0x1780, 0x18AF), (0xFB1D, 0xFDFF), (0xFE70, 0xFEFF), (0x200E, 0x200F))
_RIGHT_TO_LEFT = {"R", "AL", "RLE", "RLO", "RLI", "LRE", "LRO", "LRI", "PDF", "PDI", "FSI"}


def printable(text: str) -> str:
    """Return `text` with every character that cannot be set replaced by its code point in brackets.

    Line ends stay; neighbouring characters share one pair of brackets.
    """
    out: list[str] = []
    run: list[str] = []
    for sign in [*text, ""]:
        if sign and not _can_be_set(sign):
            run.append(f"U+{ord(sign):04X}")
            continue
        if run:
            out.append(f"[{' '.join(run)}]")
            run = []
        out.append(sign)
    return "".join(out)


def record_pdf(record: ReleaseRecord) -> bytes:
    """Return the PDF. Its bytes depend on the record alone: the time in it is the record's own."""
    pdf = _document(record)
    _write(pdf, "title", record.title)
    _write(pdf, "body", record.lede)
    for part in record.parts:
        pdf.ln(3)
        pdf.set_draw_color(160)
        pdf.line(pdf.l_margin, pdf.get_y(), pdf.w - pdf.r_margin, pdf.get_y())
        pdf.ln(2)
        with pdf.unbreakable() as kept:
            _write(kept, "heading", part.heading)
            kept.ln(1)
        for place, block in enumerate(part.blocks):
            if place:
                pdf.ln(2.5)
            match block:
                case Facts():
                    _table(pdf, [], [list(row) for row in block.rows], (30, 70))
                case Numbers():
                    for first in range(0, len(block.rows), _BESIDE):
                        names, values = zip(*block.rows[first : first + _BESIDE], strict=True)
                        _table(pdf, list(names), [list(values)], (1,) * len(names))
                case Grid():
                    _table(pdf, list(block.columns), [list(row) for row in block.rows], _widths(block))
                case Words():
                    for paragraph in block.paragraphs:
                        _write(pdf, "small" if block.code else "body", paragraph)
                        pdf.ln(1)
    if pdf.replaced:
        pdf.ln(3)
        _write(pdf, "small", NOTE)
    return bytes(pdf.output())


def _document(record: ReleaseRecord) -> Any:
    # Imported late: no page but this one should pay for it.
    from fpdf import FPDF

    class Document(FPDF):
        """An A4 page with its number and the record's title at the foot."""

        replaced = False

        def footer(self) -> None:
            self.set_y(-12)
            self.set_font(_FONT, size=_SIZES["small"])
            self.set_text_color(90)
            self.cell(0, 6, f"{printable(record.title)} · page {self.page_no()} of {{nb}}", align="L")
            self.set_text_color(0)

    pdf = Document(format="A4")
    pdf.set_margins(18, 16, 18)
    pdf.set_auto_page_break(auto=True, margin=18)
    pdf.add_font(_FONT, fname=FONT_PATH)
    pdf.set_title(record.title)
    pdf.set_lang("en")
    pdf.set_producer("Cutline")
    pdf.set_creator("Cutline")
    pdf.set_creation_date(datetime.fromisoformat(record.stamp))
    pdf.add_page()
    return pdf


def _write(pdf: Any, size: str, text: str) -> None:
    pdf.set_font(_FONT, size=_SIZES[size])
    pdf.multi_cell(0, _SIZES[size] * 0.5, _set(pdf, text), align="L", new_x="LMARGIN", new_y="NEXT")


def _table(pdf: Any, columns: list[str], rows: list[list[str]], widths: tuple[int, ...]) -> None:
    from fpdf.enums import TableBordersLayout, VAlign
    from fpdf.fonts import FontFace

    pdf.set_font(_FONT, size=_SIZES["body"] if not columns else _SIZES["small"])
    with pdf.table(
        col_widths=widths,
        text_align="LEFT",
        v_align=VAlign.T,
        line_height=_LINE if not columns else _LINE * 0.85,
        borders_layout=TableBordersLayout.HORIZONTAL_LINES if columns else TableBordersLayout.NONE,
        first_row_as_headings=bool(columns),
        headings_style=FontFace(emphasis="", color=90),
        padding=0.6,
    ) as table:
        for row in ([columns] if columns else []) + rows:
            line = table.row()
            for cell in row:
                line.cell(_set(pdf, cell))


def _widths(block: Grid) -> tuple[int, ...]:
    """Share the width by the longest word and the text of each column, so that words of one line stay whole."""
    texts = [[column, *(row[place] for row in block.rows)] for place, column in enumerate(block.columns)]
    longest = [max(len(word) for text in own for word in [*text.split(), ""]) for own in texts]
    return tuple(
        max(8, min(60, round(sum(map(len, own)) / len(own))), min(40, word + 3))
        for own, word in zip(texts, longest, strict=True)
    )


def _set(pdf: Any, text: str) -> str:
    found = printable(text)
    if found != text:
        pdf.replaced = True
    return found


def _can_be_set(sign: str) -> bool:
    if sign == "\n":
        return True
    code = ord(sign)
    if unicodedata.category(sign) in {"Cc", "Cf", "Cs"} or unicodedata.bidirectional(sign) in _RIGHT_TO_LEFT:
        return False
    return code in _glyphs() and not any(first <= code <= last for first, last in _SHAPED)


@cache
def _glyphs() -> frozenset[int]:
    from fontTools.ttLib import TTFont

    with TTFont(FONT_PATH, lazy=True) as font:
        return frozenset(font.getBestCmap())
