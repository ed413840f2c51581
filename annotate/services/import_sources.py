"""Import source versions from their bytes. All of a run is written, or nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from annotate.domain.access import LabelledRange
from annotate.domain.errors import BadInput, BadInputs
from annotate.domain.import_formats.sources_toml import SourceEntry
from annotate.domain.spans import accept_text
from annotate.models import Source, SourceVersion, Study
from annotate.permissions import By, person_or_none
from annotate.records import record_source
from annotate.services.authorise import authorise
from annotate.services.transcode import derive

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Imported:
    """What became of one file. `created` is False when the same bytes were there already; `note` says what was kept."""

    file: str
    version: SourceVersion
    created: bool
    note: str = ""


@dataclass(frozen=True)
class _Prepared:
    """A checked file, before the database was asked anything."""

    entry: SourceEntry
    content: bytes
    sha256: str
    lineage: dict[str, Any]
    ranges: tuple[LabelledRange, ...] | None

    @property
    def place(self) -> tuple[str, str]:
        return (self.entry.document_id, self.entry.version_label)


def import_source_version(by: By, study: Study, entry: SourceEntry, content: bytes) -> Imported:
    """Import one version from its bytes. Raises NotAllowed or BadInput, as `import_versions` does."""
    return import_versions(by, study, [(entry, content)])[0]


def import_versions(
    by: By,
    study: Study,
    files: Sequence[tuple[SourceEntry, bytes]],
    *,
    where: str = "import",
    problems: Iterable[BadInput] = (),
    progress: Progress | None = None,
) -> list[Imported]:
    """Import several versions in one transaction and return what became of each, in the order given.

    Raises NotAllowed, or the one BadInput or all of them as BadInputs: bytes that are empty, too long or not UTF-8, an
    access range that is no span, a label that other bytes have, metadata that differ from what is stored for the same
    bytes, an unknown superseded version. `problems` found while reading are raised with these.
    """
    authorise(by, study, "source.import")
    found = list(problems)
    prepared = []
    for entry, data in files:
        try:
            prepared.append(_prepare(entry, data))
        except BadInput as problem:
            found.append(problem)
    try:
        with transaction.atomic():
            # Two imports at once take turns here, so that what is checked is still so when it is written.
            Study.objects.select_for_update().get(pk=study.pk)
            batch = _Batch(by, study, prepared)
            found += batch.problems
            if found:
                raise found[0] if len(found) == 1 else BadInputs(where, found)
            return batch.write(progress)
    except IntegrityError as error:
        raise BadInput(where, f"another import wrote the same ({error})", "Run it again.") from error


class _Batch:
    """Checks prepared files against the study's rows and each other, then writes them."""

    def __init__(self, by: By, study: Study, prepared: Sequence[_Prepared]) -> None:
        self._by, self._study, self._prepared = by, study, prepared
        self._sources = {source.document_id: source for source in Source.objects.filter(study=study)}
        rows = SourceVersion.objects.filter(source__study=study).select_related("source", "supersedes").defer("content")
        self._stored = {(row.source.document_id, row.version_label): row for row in rows}
        self._by_bytes = {(row.source.document_id, row.sha256): row for row in self._stored.values()}
        self._waiting = {item.place: item for item in prepared}
        # A document's title is the first one said in the file, whichever version is written first.
        self._titles = {item.entry.document_id: item.entry.title for item in reversed(prepared) if item.entry.title}
        self.problems = [problem for item in prepared for problem in self._check(item)]
        self._order = self._ordered()

    def _check(self, item: _Prepared) -> list[BadInput]:
        entry, where = item.entry, item.entry.file
        same_label = self._stored.get(item.place)
        same_bytes = self._by_bytes.get((entry.document_id, item.sha256))
        problems = []
        twin = next(
            (
                other
                for other in self._prepared
                if other is not item and (other.place == item.place or _same_bytes(other, item))
            ),
            None,
        )
        if twin is not None:
            problems.append(
                BadInput(
                    where, f"{twin.entry.file} is the same document in the same version or bytes", "Import one of them."
                )
            )
        if same_label and same_label.sha256 != item.sha256:
            problems.append(
                BadInput(
                    where,
                    f"version “{entry.version_label}” of {entry.document_id} has other bytes "
                    f"(stored {same_label.sha256[:12]}…, here {item.sha256[:12]}…)",
                    "Versions never change: give the new text a label of its own.",
                )
            )
        elif same_bytes and (entry.dated and same_bytes.version_label != entry.version_label):
            problems.append(
                BadInput(
                    where,
                    f"these bytes are already version “{same_bytes.version_label}” of {entry.document_id}",
                    "Use that version; the same bytes are one version.",
                )
            )
        elif same_bytes:
            problems += _differences(item, same_bytes, self._superseded(item))
        if entry.supersedes and self._superseded(item) is None:
            problems.append(
                BadInput(
                    where,
                    f"it supersedes “{entry.supersedes}”, which is no version here",
                    "Name a version label of the same document, or document_id@label.",
                )
            )
        return problems

    def _superseded(self, item: _Prepared) -> SourceVersion | _Prepared | None:
        place = _superseded_place(item.entry)
        if place is None or place == item.place:
            return None
        return self._stored.get(place) or self._waiting.get(place)

    def _ordered(self) -> list[_Prepared]:
        """Return the files with every superseded version before the one that supersedes it."""
        done: list[_Prepared] = []
        state: dict[tuple[str, str], str] = {}

        def visit(item: _Prepared) -> None:
            if state.get(item.place) == "done":
                return
            if state.get(item.place) == "open":
                self.problems.append(
                    BadInput(item.entry.file, "it supersedes itself by way of others", "Break the circle.")
                )
                return
            state[item.place] = "open"
            before = self._superseded(item)
            if isinstance(before, _Prepared):
                visit(before)
            state[item.place] = "done"
            done.append(item)

        for item in self._prepared:
            visit(item)
        return done

    def write(self, progress: Progress | None) -> list[Imported]:
        outcomes: dict[str, Imported] = {}
        for number, item in enumerate(self._order, 1):
            outcomes[item.entry.file] = self._write(item)
            if progress:
                progress(number, len(self._order), item.entry.file)
        return [outcomes[item.entry.file] for item in self._prepared]

    def _write(self, item: _Prepared) -> Imported:
        entry = item.entry
        known = self._by_bytes.get((entry.document_id, item.sha256))
        if known:
            return Imported(entry.file, known, created=False, note="unchanged: these bytes are stored already")
        source, note = self._source(item)
        place = _superseded_place(entry)
        version = SourceVersion(
            source=source,
            content=item.content,
            sha256=item.sha256,
            byte_length=len(item.content),
            version_label=entry.version_label,
            observation_date=entry.observation_date,
            effective_from=entry.effective_from,
            effective_to=entry.effective_to,
            media_type=entry.media_type or "text/plain",
            locale=entry.locale or "en",
            supersedes=self._stored[place] if place else None,
            access_labels=sorted(entry.access_labels or ()),
            access_ranges=[item.as_row() for item in item.ranges or ()],
            derived=item.lineage,
            imported_by=person_or_none(self._by),
        )
        version.save(force_insert=True)
        self._stored[item.place] = version
        record_source(version)
        return Imported(entry.file, version, created=True, note=note)

    def _source(self, item: _Prepared) -> tuple[Source, str]:
        entry = item.entry
        source = self._sources.get(entry.document_id)
        if source is None:
            source = Source.objects.create(
                study=self._study,
                document_id=entry.document_id,
                title=self._titles.get(entry.document_id) or _heading(item.content) or entry.document_id,
                tenant=entry.tenant or "",
            )
            self._sources[entry.document_id] = source
        kept = entry.title is not None and entry.title != source.title
        return source, f"the document keeps its title “{source.title}”" if kept else ""


def _prepare(entry: SourceEntry, data: bytes) -> _Prepared:
    derived = derive(data, entry.encoding, entry.file) if data else derive(data, None, entry.file)
    accept_text(derived.content, entry.file, settings.MAX_SOURCE_BYTES)
    ranges: list[LabelledRange] = []
    problems = entry.problems()
    for number, rule in enumerate(entry.access_ranges or (), 1):
        try:
            ranges.append(rule.resolve(derived.content, f"{entry.file}, access range {number}"))
        except BadInput as problem:
            problems.append(problem)
    if problems:
        raise BadInputs(entry.file, problems)
    return _Prepared(
        entry=entry,
        content=derived.content,
        sha256=hashlib.sha256(derived.content).hexdigest(),
        lineage=derived.lineage,
        ranges=tuple(sorted(ranges, key=lambda item: (item.start, item.end)))
        if entry.access_ranges is not None
        else None,
    )


def _superseded_place(entry: SourceEntry) -> tuple[str, str] | None:
    if not entry.supersedes:
        return None
    document_id, separator, label = entry.supersedes.partition("@")
    return (document_id, label) if separator else (entry.document_id, entry.supersedes)


def _same_bytes(one: _Prepared, other: _Prepared) -> bool:
    return one.entry.document_id == other.entry.document_id and one.sha256 == other.sha256


def _differences(
    item: _Prepared, stored: SourceVersion, superseded: SourceVersion | _Prepared | None
) -> list[BadInput]:
    """Return where what is said now differs from what is stored for the same bytes; unsaid things do not differ."""
    entry = item.entry
    said: dict[str, tuple[Any, Any]] = {
        "effective_from": (entry.effective_from, stored.effective_from),
        "effective_to": (entry.effective_to, stored.effective_to),
        "media_type": (entry.media_type, stored.media_type),
        "locale": (entry.locale, stored.locale),
        "tenant": (entry.tenant, stored.source.tenant),
        "access_labels": (
            None if entry.access_labels is None else sorted(entry.access_labels),
            sorted(stored.access_labels),
        ),
        "access_ranges": (
            None if item.ranges is None else [labelled.as_row() for labelled in item.ranges],
            stored.access_ranges,
        ),
    }
    if entry.dated:
        said["observation_date"] = (entry.observation_date, stored.observation_date)
    if superseded is not None:
        said["supersedes"] = (superseded.sha256, stored.supersedes.sha256 if stored.supersedes else "none")
    return [
        BadInput(
            f"{entry.file}, {name}",
            f"stored for these bytes is {before}, here it is {now}",
            "A version is never edited, its metadata included: restore the value, or import another document.",
        )
        for name, (now, before) in said.items()
        if now is not None and now != before
    ]


def _heading(content: bytes) -> str:
    """Return the first Markdown heading of the first lines, for a title."""
    for line in content[:4096].decode("utf-8", "ignore").splitlines()[:20]:
        if line.startswith("# "):
            return line[2:].strip().replace("\0", "")[:300]
    return ""
