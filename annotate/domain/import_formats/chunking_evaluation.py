"""The chunking-evaluation data set: corpora as Markdown files, questions and their references as one CSV file.

A reference holds its quote and its half-open place in **Unicode code points**. Every one is checked against the bytes;
the files are decoded as they are, without newline translation. All references of a question are one joint set.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass

from annotate.domain.coordinates import ByteOffset, CodePointOffset, CoordinateMap
from annotate.domain.errors import BadInput
from annotate.domain.import_formats.fields import parse_json
from annotate.domain.spans import decode_utf8_or_refuse, occurrences

UNIT = CodePointOffset.unit
QUESTIONS_FILE = "questions_df.csv"
CORPORA_FOLDER = "corpora"
_COLUMNS = ("question", "references", "corpus_id")
_REFERENCE = {"content", "start_index", "end_index"}
_LONGEST_FIELD = 16 * 1024 * 1024


@dataclass(frozen=True)
class Reference:
    """One verified reference: bytes `[start, end)` of its corpus. `occurrences` counts its quote there (at least 1).

    `occurrence` says which of them was labelled, from 1. `right_as_bytes` tells whether the file's numbers, read as
    byte offsets, would have hit the quote too: a measure of what a confusion of units would have cost.
    """

    start: int
    end: int
    occurrence: int
    occurrences: int
    right_as_bytes: bool

    @property
    def ambiguous(self) -> bool:
        """Whether the quote alone does not say which place is meant."""
        return self.occurrences > 1


@dataclass(frozen=True)
class Row:
    """One question; `number` counts the CSV's records from 1, its header apart."""

    number: int
    text: str
    corpus_id: str
    references: tuple[Reference, ...]


@dataclass(frozen=True)
class Dataset:
    """The whole set. `mismatches` are the references whose place does not hold their quote, one problem each."""

    corpora: Mapping[str, bytes]
    rows: tuple[Row, ...]
    mismatches: tuple[BadInput, ...]
    references: int


def read_dataset(questions: bytes, corpora: Mapping[str, bytes]) -> Dataset:
    """Check every reference and return the set; mismatching references are in `mismatches` and in no row.

    `corpora` maps corpus ids to bytes. Raises BadInput for a file that is not UTF-8 or no such CSV. A row that names no
    corpus, has no reference or an unreadable one is a mismatch too.
    """
    maps = {name: CoordinateMap(content) for name, content in corpora.items()}
    rows, mismatches = [], []
    total = 0
    for number, record in _records(questions):
        where = f"{QUESTIONS_FILE}, row {number}"
        corpus_id = record["corpus_id"]
        if corpus_id not in corpora:
            known = ", ".join(sorted(corpora))
            mismatches.append(BadInput(where, f"there is no corpus “{corpus_id}”", f"Known are {known}."))
            continue
        if not record["question"].strip() or "\0" in record["question"]:
            mismatches.append(BadInput(where, "its question is empty or holds a NUL", "Write the question."))
            continue
        try:
            listed = _listed(record["references"], where)
        except BadInput as problem:
            mismatches.append(problem)
            continue
        found = []
        for place, raw in enumerate(listed, 1):
            total += 1
            try:
                found.append(_reference(raw, corpora[corpus_id], maps[corpus_id], f"{where}, reference {place}"))
            except BadInput as problem:
                mismatches.append(problem)
        rows.append(Row(number, record["question"], corpus_id, tuple(found)))
    return Dataset(dict(corpora), tuple(rows), tuple(mismatches), total)


def _records(data: bytes) -> list[tuple[int, dict[str, str]]]:
    text = decode_utf8_or_refuse(data, QUESTIONS_FILE)
    csv.field_size_limit(_LONGEST_FIELD)
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    records = []
    try:
        # The header is read here, and may be no CSV either.
        if missing := set(_COLUMNS) - set(reader.fieldnames or ()):
            raise BadInput(
                f"{QUESTIONS_FILE}, header",
                f"the column {', '.join(sorted(missing))} is missing",
                f"The columns are {', '.join(_COLUMNS)}.",
            )
        for number, record in enumerate(reader, 1):
            if None in record or None in record.values():
                raise BadInput(
                    f"{QUESTIONS_FILE}, row {number}", "its fields do not fit the header", "Quote commas and line ends."
                )
            records.append((number, record))
    except csv.Error as error:
        where = f"{QUESTIONS_FILE}, line {max(1, reader.line_num)}"
        mend = "Put fields that hold quotes, commas or line ends in quotes, and write each quote in them twice."
        raise BadInput(where, f"it is no CSV: {error}", mend) from error
    return records


def _listed(raw: str, where: str) -> list[object]:
    listed = parse_json(raw.encode(), f"{where}, references")
    if not isinstance(listed, list) or not listed:
        raise BadInput(where, "its references are no list with at least one entry", "Give at least one reference.")
    return listed


def _reference(raw: object, content: bytes, coordinates: CoordinateMap, where: str) -> Reference:
    if not isinstance(raw, dict) or set(raw) != _REFERENCE or not isinstance(raw["content"], str):
        raise BadInput(where, "it is no reference", "Give content, start_index and end_index, and nothing else.")
    quote = raw["content"].encode("utf-8", "surrogatepass")
    try:
        start = coordinates.to_bytes(CodePointOffset(raw["start_index"])).value
        end = coordinates.to_bytes(CodePointOffset(raw["end_index"])).value
    except BadInput as problem:
        raise problem.inside(where) from problem
    if end <= start:
        raise BadInput(where, f"bytes {start} to {end} hold no text", "Give the start first and the end after it.")
    places = occurrences(content, quote)
    if content[start:end] != quote:
        shown = content[start:end].decode("utf-8", "replace")
        also = f"; the quote occurs at {_code_points(places, coordinates)}" if places else "; the quote occurs nowhere"
        raise BadInput(
            where,
            f"{UNIT}s {raw['start_index']} to {raw['end_index']} hold “{shown[:80]}”, its quote is "
            f"“{raw['content'][:80]}”{also}",
            "Mend the offsets in the data set; nothing is guessed.",
        )
    return Reference(
        start=start,
        end=end,
        occurrence=places.index(start) + 1,
        occurrences=len(places),
        right_as_bytes=content[raw["start_index"] : raw["end_index"]] == quote,
    )


def _code_points(places: list[int], coordinates: CoordinateMap) -> str:
    shown = [str(coordinates.to_code_points(ByteOffset(place)).value) for place in places[:5]]
    return f"{UNIT} {', '.join(shown)}{', …' if len(places) > 5 else ''}"
