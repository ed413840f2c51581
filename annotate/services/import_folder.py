"""Import a file or a folder of sources from disk."""

from __future__ import annotations

import datetime
import stat
from dataclasses import replace
from pathlib import Path

from django.conf import settings

from annotate.domain.errors import BadInput, BadInputs
from annotate.domain.import_formats.sources_toml import SIDECAR, SourceEntry, parse_sources_toml, plain_entry
from annotate.domain.spans import check_size
from annotate.models import Study
from annotate.permissions import By
from annotate.services.authorise import authorise
from annotate.services.import_sources import Imported, Progress, import_versions


def import_folder(
    by: By,
    study: Study,
    path: Path,
    *,
    observed: datetime.date | None = None,
    version_label: str = "",
    encoding: str | None = None,
    progress: Progress | None = None,
) -> list[Imported]:
    """Import a file, or a folder described by its `sources.toml` or, without one, every file in it, sorted.

    A file nobody describes gets its path as document id, `observed` (today) as observation date and `version_label`
    (that date) as label. Raises NotAllowed, or BadInputs naming each file that cannot be imported.
    """
    authorise(by, study, "source.import")
    entries, folder = _entries(path, observed or datetime.date.today(), version_label)
    if encoding:
        entries = [replace(entry, encoding=entry.encoding or encoding) for entry in entries]
    files, problems = [], []
    for entry in entries:
        try:
            files.append((entry, _read(folder, entry.file)))
        except BadInput as problem:
            problems.append(problem)
    return import_versions(by, study, files, where=str(path), problems=problems, progress=progress)


def _entries(path: Path, observed: datetime.date, version_label: str) -> tuple[list[SourceEntry], Path]:
    if path.is_file():
        sidecar = path.parent / SIDECAR
        if path.name == SIDECAR:
            return list(parse_sources_toml(_read(path.parent, SIDECAR), SIDECAR)), path.parent
        if sidecar.is_file():
            entries = parse_sources_toml(_read(path.parent, SIDECAR), str(sidecar))
            described = [entry for entry in entries if entry.file == path.name]
            if described:
                return described, path.parent
        return [plain_entry(path.name, observed, version_label)], path.parent
    if not path.is_dir():
        raise BadInput(str(path), "there is no such file or folder", "Check the path.")
    sidecar = path / SIDECAR
    if sidecar.is_file():
        return list(parse_sources_toml(_read(path, SIDECAR), SIDECAR)), path
    names = sorted(
        file.relative_to(path).as_posix()
        for file in path.rglob("*")
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts)
    )
    if unreadable := [name for name in names if name != _shown_name(name)]:
        raise BadInputs(
            str(path),
            [BadInput(_shown_name(name), "its name is not UTF-8", "Rename the file.") for name in unreadable],
        )
    if not names:
        raise BadInput(str(path), "the folder holds no file", "Give a folder with the texts to import.")
    return [plain_entry(name, observed, version_label) for name in names], path


def _shown_name(name: str) -> str:
    """Return a file's name with U+FFFD for every byte that is no UTF-8, which no message or store could hold."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _read(folder: Path, name: str) -> bytes:
    file = folder / name
    # A link may not lead out of the folder that was named.
    if not file.resolve().is_relative_to(folder.resolve()):
        raise BadInput(name, "it is a link out of the folder", "Copy the file into the folder.")
    try:
        if not file.is_dir() and not stat.S_ISREG(file.stat().st_mode):
            # A pipe would be waited for without end.
            raise BadInput(name, "it is no file", "Name a file with text.")
        check_size(file.stat().st_size, name, settings.MAX_SOURCE_BYTES)
        return file.read_bytes()
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        raise BadInput(name, reason[0].lower() + reason[1:], f"Check that {SIDECAR} names it rightly.") from error
