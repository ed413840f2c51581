"""Files a page offers: always attachments, never something a browser may take for a page."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

from django.http import HttpResponse

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def attachment(content: bytes, name: str, media_type: str) -> HttpResponse:
    """Return a download called `name`, its unusual characters replaced by hyphens."""
    response = HttpResponse(content, content_type=media_type)
    response["Content-Disposition"] = f'attachment; filename="{_UNSAFE.sub("-", name)}"'
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "no-store"
    return response


def csv_file(name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> HttpResponse:
    """Return rows as a CSV download in UTF-8; an empty cell stands for a value that there is none of.

    A text that a spreadsheet would take for a formula gets a leading apostrophe.
    """
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(header)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return attachment(out.getvalue().encode(), name, "text/csv; charset=utf-8")


def _cell(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, str) and value[:1] in "=+-@\t\r" and value[:1]:
        return f"'{value}"
    return value
