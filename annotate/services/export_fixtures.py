"""Write a fixture set to a folder: its canonical bytes, and each fixture in its published layout."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotate.domain.errors import BadInput
from annotate.domain.fixture import fixture_spans
from annotate.domain.published_layout import not_carried, published_bytes
from annotate.models import Fixture, FixtureSet, SourceVersion
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
    lost: set[str] = set()
    fixtures = 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    except OSError as error:
        raise BadInput(str(path), error.strerror or "it cannot be written", "Name another folder.") from error
    try:
        for folder in ("canonical", "published"):
            (made / folder).mkdir()
        (made / "set.json").write_bytes(checked_bytes("set", fixture_set))
        # One at a time: a published fixture holds the whole text of its sources.
        for key, canonical, value, published in frozen_fixtures(fixture_set):
            (made / "canonical" / f"{key}.json").write_bytes(canonical)
            (made / "published" / f"{key}.json").write_bytes(published or b"")
            lost.update(not_carried(value))
            fixtures += 1
        made.chmod(0o755)
        if path.exists():
            path.rmdir()
        os.replace(made, path)
    except OSError as error:
        raise BadInput(str(path), error.strerror or "it cannot be written", "Name another folder.") from error
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return FixtureExport(path, fixtures, tuple(sorted(lost)))


def frozen_fixtures(
    fixture_set: FixtureSet, *, published: bool = True
) -> Iterator[tuple[str, bytes, dict[str, Any], bytes | None]]:
    """Yield (id, canonical bytes, their value, published bytes or None) of each fixture, by id.

    Raises BadInput for a row whose bytes do not have its digest.
    """
    versions = SourceVersion.objects.filter(source__study=fixture_set.study)
    texts: dict[str, bytes] = {}
    for row in fixture_set.fixtures.order_by("fixture_id"):
        data = checked_bytes(f"fixture {row.fixture_id}", row)
        value = parse_canonical(data)
        if not published:
            yield row.fixture_id, data, value, None
            continue
        wanted = {span["version"] for span in fixture_spans(value)} - texts.keys()
        for sha256, content in versions.filter(sha256__in=wanted).values_list("sha256", "content"):
            texts[sha256] = bytes(content)
        yield row.fixture_id, data, value, published_bytes(value, texts)


def checked_bytes(what: str, row: Fixture | FixtureSet) -> bytes:
    """Return the canonical bytes of a frozen row. Raises BadInput when they do not have its digest."""
    data = bytes(row.canonical)
    if digest(data) != row.digest:
        raise BadInput(what, "its bytes do not have its digest", "Run manage.py verify_ledger.")
    return data
