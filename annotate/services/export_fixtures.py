"""Write a fixture set to a folder: its canonical bytes, and each fixture in its published layout."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from annotate.domain.errors import BadInput
from annotate.domain.fixture import fixture_spans
from annotate.domain.published_layout import not_carried, published_bytes
from annotate.models import FixtureSet, SourceVersion
from annotate.permissions import By
from annotate.services.authorise import authorise
from ledger.domain.canonical import digest, parse_canonical


@dataclass(frozen=True)
class FixtureExport:
    """What an export wrote: the folder, the number of fixtures, and what the published layout does not carry."""

    path: Path
    fixtures: int
    not_carried: tuple[str, ...]


def export_fixtures(by: By, fixture_set: FixtureSet, path: Path) -> FixtureExport:
    """Write `set.json`, `canonical/ID.json` and `published/ID.json` into the new folder `path`, all or nothing.

    The canonical files are the very bytes that were hashed. Raises NotAllowed, and BadInput for a folder that holds
    something already or cannot be written, and for a fixture whose bytes do not have its digest.
    """
    authorise(by, fixture_set.study, "dataset.export")
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise BadInput(str(path), "it is there already and not empty", "Name a new folder; nothing is overwritten.")
    files, lost = _files(fixture_set)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    except OSError as error:
        raise BadInput(str(path), error.strerror or "it cannot be written", "Name another folder.") from error
    try:
        for name, data in files.items():
            (made / name).parent.mkdir(exist_ok=True)
            (made / name).write_bytes(data)
        made.chmod(0o755)
        if path.exists():
            path.rmdir()
        os.replace(made, path)
    except OSError as error:
        raise BadInput(str(path), error.strerror or "it cannot be written", "Name another folder.") from error
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return FixtureExport(path, len(files) // 2, tuple(lost))


def _files(fixture_set: FixtureSet) -> tuple[dict[str, bytes], list[str]]:
    rows = [(row.fixture_id, bytes(row.canonical), row.digest) for row in fixture_set.fixtures.order_by("fixture_id")]
    for key, data, recorded in (("set", bytes(fixture_set.canonical), fixture_set.digest), *rows):
        if digest(data) != recorded:
            raise BadInput(f"fixture {key}", "its bytes do not have its digest", "Run manage.py verify_ledger.")
    values = {key: parse_canonical(data) for key, data, _ in rows}
    wanted = {span["version"] for value in values.values() for span in fixture_spans(value)}
    texts = {
        sha256: bytes(content)
        for sha256, content in SourceVersion.objects.filter(source__study=fixture_set.study, sha256__in=wanted)
        .values_list("sha256", "content")
        .iterator(chunk_size=20)
    }
    files = {"set.json": bytes(fixture_set.canonical)}
    lost: set[str] = set()
    for key, data, _ in rows:
        files[f"canonical/{key}.json"] = data
        files[f"published/{key}.json"] = published_bytes(values[key], texts)
        lost.update(not_carried(values[key]))
    return files, sorted(lost)
