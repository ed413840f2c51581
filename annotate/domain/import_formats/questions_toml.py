"""`questions.toml`: one `[[question]]` table per question, without answers or evidence."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotate.domain.access import check_labels
from annotate.domain.errors import BadInput
from annotate.domain.import_formats.fields import IDENTIFIER, LOCALE, SLUG, Fields, parse_toml, raise_all
from annotate.domain.vocabulary import Partition, Sample, Segment


@dataclass(frozen=True)
class QuestionEntry:
    """A question as it was written. `cluster_document` is the nearest document of one the sources do not answer."""

    key: str
    text: str
    as_of: datetime.date
    segment: Segment = Segment.UNCLASSIFIED
    reader_labels: frozenset[str] = frozenset()
    locale: str = "en"
    slice_tags: tuple[str, ...] = ()
    group: str = ""
    sample: Sample = Sample.REPRESENTATIVE
    partition: Partition = Partition.HELD_OUT
    mandatory: bool = False
    cluster_document: str = ""

    def problems(self, where: str) -> list[BadInput]:
        """Return what no store could hold, whoever made the entry: a form, a file or a data set."""
        found = []
        if not SLUG.fullmatch(self.key):
            found.append(BadInput(f"{where}, key", f"“{self.key}” is no key", "Use up to 120 of a–z, 0–9, - and _."))
        if not self.text.strip() or "\0" in self.text:
            found.append(BadInput(f"{where}, text", "it is empty or holds a NUL character", "Write the question."))
        names = (("group", self.group), ("nearest document", self.cluster_document))
        found += [
            BadInput(f"{where}, {name}", f"“{value}” is no identifier", "Use up to 120 letters, digits, . _ and -.")
            for name, value in names
            if value and not IDENTIFIER.fullmatch(value)
        ]
        if not LOCALE.fullmatch(self.locale):
            found.append(BadInput(f"{where}, locale", f"“{self.locale}” is no language tag", "Write one such as en."))
        for name, labels in (("reader_labels", self.reader_labels), ("slice_tags", self.slice_tags)):
            try:
                check_labels(labels, f"{where}, {name}")
            except BadInput as problem:
                found.append(problem)
        return found

    def as_payload(self) -> dict[str, Any]:
        """Return every field, ready for canonical bytes."""
        return {
            "key": self.key,
            "text": self.text,
            "as_of": self.as_of.isoformat(),
            "segment": self.segment.value,
            "reader_labels": sorted(self.reader_labels),
            "locale": self.locale,
            "slice_tags": list(self.slice_tags),
            "group": self.group,
            "sample": self.sample.value,
            "partition": self.partition.value,
            "mandatory": self.mandatory,
            "cluster_document": self.cluster_document,
        }


def parse_questions_toml(data: bytes, where: str = "questions.toml") -> tuple[QuestionEntry, ...]:
    """Return the questions in the order of the file; raises BadInputs with every problem found."""
    document = Fields(parse_toml(data, where), where)
    tables = document.tables("question")
    document.close()
    problems = list(document.problems)
    if not tables and not problems:
        problems.append(BadInput(where, "it holds no question", "Write one [[question]] table per question."))
    entries = []
    for number, table in enumerate(tables, 1):
        entry, found = _entry(table, f"{where}, question {number}")
        problems += found
        if entry:
            entries.append(entry)
    problems += check_together(entries, where)
    raise_all(where, problems)
    return tuple(entries)


def check_together(entries: list[QuestionEntry], where: str) -> list[BadInput]:
    """Return what is wrong between questions: a key used twice, a group on both sides of the partition."""
    problems = []
    keys: set[str] = set()
    sides: dict[str, QuestionEntry] = {}
    for entry in entries:
        if entry.key in keys:
            problems.append(BadInput(f"{where} ({entry.key})", "the key is used twice", "Give each question its own."))
        keys.add(entry.key)
        first = sides.setdefault(entry.group, entry) if entry.group else entry
        if first.partition is not entry.partition:
            problems.append(
                BadInput(
                    f"{where} ({entry.key})",
                    f"group “{entry.group}” has {first.key} in {first.partition.value} and this in "
                    f"{entry.partition.value}",
                    "Questions of a group share evidence: put them all on one side.",
                )
            )
    return problems


def _entry(table: Mapping[str, Any], where: str) -> tuple[QuestionEntry | None, list[BadInput]]:
    fields = Fields(table, where)
    key = fields.identifier("key", required=True, pattern=SLUG)
    if key:
        fields.where = f"{where} ({key})"
    as_of = fields.day("as_of", required=True)
    if fields.has("nearest_document") and fields.has("cluster_document"):
        fields.problem("nearest_document", "it says the same as cluster_document", "Keep one of the two.")
    nearest = fields.identifier("nearest_document") or fields.identifier("cluster_document")
    entry = QuestionEntry(
        key=key,
        text=fields.text("text", required=True),
        as_of=as_of or datetime.date.min,
        segment=fields.word("segment", Segment, Segment.UNCLASSIFIED),
        reader_labels=fields.labels("reader_labels"),
        locale=fields.locale("locale"),
        slice_tags=tuple(sorted(fields.labels("slice_tags"))),
        group=fields.identifier("group"),
        sample=fields.word("sample", Sample, Sample.REPRESENTATIVE),
        partition=fields.word("partition", Partition, Partition.HELD_OUT),
        mandatory=fields.flag("mandatory"),
        cluster_document=nearest,
    )
    fields.close()
    return (None if fields.problems else entry), fields.problems
