"""`sources.toml`: what a folder's files are. One `[[source]]` table per file.

`effective_to` is the **last** day a version is in force, as people write it. Cutline stores the first day it no longer
is, so that versions that follow each other share a date and no day falls between them; `SourceEntry` holds that form.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from annotate.domain.access import LabelledRange, check_labels, check_ranges
from annotate.domain.errors import BadInput
from annotate.domain.import_formats.fields import IDENTIFIER, LOCALE, Fields, parse_toml, raise_all
from annotate.domain.import_formats.media_types import is_code, media_type_of
from annotate.domain.spans import locate_quote

SIDECAR = "sources.toml"

_MEDIA_TYPE = re.compile(r"[a-z0-9][\w.+-]*/[a-z0-9][\w.+-]*")


@dataclass(frozen=True)
class RangeRule:
    """A restricted range as it was written: by quotes or by byte offsets. `resolve` finds it in the text."""

    labels: frozenset[str]
    from_quote: str = ""
    to_quote: str = ""
    start: int | None = None
    end: int | None = None

    def resolve(self, content: bytes, where: str) -> LabelledRange:
        """Return the range in bytes of `content`: from the first byte of `from_quote` to the last of `to_quote`.

        Raises SpanError when a quote does not occur exactly once or the offsets are no span.
        """
        if self.start is not None:
            return check_ranges([[self.start, self.end, sorted(self.labels)]], content, where)[0]
        try:
            first = locate_quote(content, self.from_quote)
            last = locate_quote(content, self.to_quote) if self.to_quote else first
        except BadInput as problem:
            raise problem.inside(where) from problem
        return check_ranges([[first.start, last.end, sorted(self.labels)]], content, where)[0]


@dataclass(frozen=True)
class SourceEntry:
    """What is said about one file. None means “not said”: a re-import compares only what is said.

    `file` is relative to the folder, with forward slashes; `effective_to` is the first day no longer in force;
    `supersedes` is the version label of the same document, or `document_id@label`.
    """

    file: str
    document_id: str
    version_label: str
    observation_date: datetime.date
    title: str | None = None
    effective_from: datetime.date | None = None
    effective_to: datetime.date | None = None
    media_type: str | None = None
    locale: str | None = None
    tenant: str | None = None
    supersedes: str | None = None
    access_labels: frozenset[str] | None = None
    access_ranges: tuple[RangeRule, ...] | None = None
    encoding: str | None = None
    #: False where the label and date are only defaults (a file without a sidecar).
    dated: bool = field(default=True)

    def problems(self) -> list[BadInput]:
        """Return what no store could hold, whoever made the entry: a form, a sidecar or a data set."""
        found = []
        if not IDENTIFIER.fullmatch(self.document_id):
            found.append(
                BadInput(
                    f"{self.file}, document_id",
                    f"“{self.document_id}” is no identifier",
                    "Use up to 120 letters, digits, . _ and -.",
                )
            )
        for name, value, longest in (
            ("version_label", self.version_label, 80),
            ("title", self.title, 300),
            ("media_type", self.media_type, 100),
            ("tenant", self.tenant, 80),
        ):
            if value is not None and (len(value) > longest or "\0" in value):
                found.append(
                    BadInput(
                        f"{self.file}, {name}", "it is too long or holds a NUL", f"Use up to {longest} characters."
                    )
                )
        if not self.version_label.strip():
            found.append(BadInput(f"{self.file}, version_label", "it is empty", "Give the version a label."))
        if self.media_type is not None and not _MEDIA_TYPE.fullmatch(self.media_type):
            found.append(
                BadInput(f"{self.file}, media_type", f"“{self.media_type}” is none", "Write one such as text/plain.")
            )
        if self.locale is not None and not LOCALE.fullmatch(self.locale):
            found.append(
                BadInput(
                    f"{self.file}, locale", f"“{self.locale}” is no language tag", "Write one such as de or pt-BR."
                )
            )
        if self.effective_from and self.effective_to and self.effective_to <= self.effective_from:
            found.append(
                BadInput(f"{self.file}, effective_to", "it is not after effective_from", "Give a later day or none.")
            )
        if self.access_labels is not None:
            try:
                check_labels(self.access_labels, f"{self.file}, access_labels")
            except BadInput as problem:
                found.append(problem)
        return found


def parse_sources_toml(data: bytes, where: str = SIDECAR) -> tuple[SourceEntry, ...]:
    """Return the entries in the order of the file; raises BadInputs with every problem found."""
    document = Fields(parse_toml(data, where), where)
    tables = document.tables("source")
    document.close()
    problems = list(document.problems)
    if not tables and not problems:
        problems.append(BadInput(where, "it names no source", "Write one [[source]] table per file."))
    entries = []
    for number, table in enumerate(tables, 1):
        entry, found = _entry(table, f"{where}, source {number}")
        problems += found
        if entry:
            entries.append(entry)
    problems += _doubled(entries, where)
    raise_all(where, problems)
    return tuple(entries)


def plain_entry(file: str, observed: datetime.date, version_label: str = "") -> SourceEntry:
    """Return the entry of a file nobody described: its path names the document, without suffix unless it is code."""
    path = PurePosixPath(file)
    name = path.name if is_code(file) else path.name.removesuffix(path.suffix)
    stem = "-".join((*path.parent.parts, name or path.name))
    document_id = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in stem).strip("-._")
    return SourceEntry(
        file=file,
        document_id=document_id[:120] or "document",
        version_label=version_label or observed.isoformat(),
        observation_date=observed,
        media_type=media_type_of(file),
        dated=bool(version_label),
    )


def _entry(table: Mapping[str, Any], where: str) -> tuple[SourceEntry | None, list[BadInput]]:
    fields = Fields(table, where)
    file = fields.text("file", required=True, longest=500)
    if file:
        fields.where = where = f"{where} ({file})"
        path = PurePosixPath(file)
        if path.is_absolute() or ".." in path.parts or "\\" in file:
            fields.problem(
                "file", f"“{file}” leaves the folder", "Give a path inside the folder, with forward slashes."
            )
    observed = fields.day("observation_date", required=True)
    effective_from, last_day = fields.day("effective_from"), fields.day("effective_to")
    if effective_from and last_day and last_day < effective_from:
        fields.problem("effective_to", f"{last_day} lies before effective_from", "Give the last day it is in force.")
    effective_to = _day_after(last_day, fields)
    document_id = fields.identifier("document_id", required=True)
    version_label = fields.text("version_label", required=True, longest=80)
    said: dict[str, Any] = {
        "title": fields.text("title", longest=300) if fields.has("title") else None,
        "media_type": fields.text("media_type", longest=100) if fields.has("media_type") else media_type_of(file),
        "locale": fields.locale("locale") if fields.has("locale") else None,
        "tenant": fields.text("tenant", longest=80) if fields.has("tenant") else None,
        "supersedes": fields.text("supersedes", longest=210) or None,
        "access_labels": fields.labels("access_labels") if fields.has("access_labels") else None,
        "access_ranges": _rules(fields) if fields.has("access_ranges") else None,
        "encoding": fields.text("encoding", longest=40) or None,
    }
    fields.close()
    if fields.problems or observed is None:
        return None, fields.problems
    return (
        SourceEntry(
            file=file,
            document_id=document_id,
            version_label=version_label,
            observation_date=observed,
            effective_from=effective_from,
            effective_to=effective_to,
            **said,
        ),
        [],
    )


def _day_after(day: datetime.date | None, fields: Fields) -> datetime.date | None:
    if day == datetime.date.max:
        fields.problem("effective_to", "it is the last day of the calendar", "Leave it out: the version has no end.")
        return None
    return day and day + datetime.timedelta(days=1)


def _rules(fields: Fields) -> tuple[RangeRule, ...]:
    rules = []
    for number, table in enumerate(fields.tables("access_ranges"), 1):
        rule = Fields(table, f"{fields.where}, access range {number}")
        found = RangeRule(
            labels=rule.labels("labels"),
            from_quote=rule.text("from_quote"),
            to_quote=rule.text("to_quote"),
            start=rule.whole("start"),
            end=rule.whole("end"),
        )
        rule.close()
        by_bytes = found.start is not None and found.end is not None
        if not rule.problems and (by_bytes == bool(found.from_quote) or (found.start is None) != (found.end is None)):
            rule.problem("", "its place is unclear", "Give from_quote and to_quote, or start and end in bytes.")
        if not rule.problems and not found.labels:
            rule.problem("labels", "it names no label, so it would restrict nothing", "Name at least one label.")
        fields.problems += rule.problems
        rules.append(found)
    return tuple(rules)


def _doubled(entries: list[SourceEntry], where: str) -> list[BadInput]:
    problems = []
    seen: dict[tuple[str, str], str] = {}
    for entry in entries:
        key = (entry.document_id, entry.version_label)
        if key in seen:
            problems.append(
                BadInput(
                    f"{where} ({entry.file})",
                    f"version “{entry.version_label}” of {entry.document_id} is already that of {seen[key]}",
                    "Give each version of a document a label of its own.",
                )
            )
        seen.setdefault(key, entry.file)
    return problems
