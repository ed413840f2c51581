"""What an answer says to whoever reads it: of a page its source, of a PDF the text that a reader sees and copies."""

from __future__ import annotations

import io
from functools import cache

from django.http import HttpResponse


def said_in(answer: HttpResponse) -> str:
    """Return what an answer's body says; bytes that are no UTF-8 as U+FFFD.

    A PDF's bytes are compressed numbers of glyphs, in which no text is ever found.
    """
    content: bytes = b"".join(answer.streaming_content) if answer.streaming else answer.content
    if answer.get("Content-Type") == "application/pdf":
        return text_of_pdf(content)
    return content.decode("utf-8", "replace")


@cache
def text_of_pdf(content: bytes) -> str:
    """Return the text of every page of a PDF and what its metadata say, read through its fonts' maps to Unicode.

    Blanks and line ends are one blank each: a sentence is broken where its line is full.
    """
    # Imported late: few tests read a PDF.
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(content), strict=True)
    pages = [page.extract_text() for page in reader.pages]
    return " ".join(" ".join([*pages, *map(str, (reader.metadata or {}).values())]).split())
