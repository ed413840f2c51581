"""Files a page offers: always attachments, never something a browser may take for a page."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

from django.http import HttpResponse

#: How a spreadsheet knows a formula; some take the full-width signs for the same.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
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


def parquet_file(name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> HttpResponse:
    """Return rows as a Parquet download; a column of mixed kinds is written as text, None stays null."""
    # Late: importing pyarrow takes longer than most pages.
    import pyarrow as pa
    from pyarrow import parquet

    columns = list(zip(*rows, strict=True)) or [()] * len(header)
    table = pa.table([_column(pa, column) for column in columns], names=list(header))
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink)
    return attachment(sink.getvalue().to_pybytes(), name, "application/vnd.apache.parquet")


def table_file(kind: str, name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> HttpResponse:
    """Return rows as the download `name`.`kind`; a kind is csv or parquet. Raises KeyError for another."""
    write = {"csv": csv_file, "parquet": parquet_file}[kind]
    return write(f"{name}.{kind}", header, rows)


def _column(pa: Any, values: Sequence[object]) -> Any:
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} or len(kinds) < 2:
        kind = {int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
        wide = pa.float64() if float in kinds else kind.get(next(iter(kinds), str), pa.string())
        return pa.array(values, type=wide)
    return pa.array([None if value is None else str(value) for value in values], type=pa.string())


def _cell(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value
