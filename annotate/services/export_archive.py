"""Export a frozen fixture set as one archive that a stranger can verify and another installation can take in."""

from __future__ import annotations

import base64
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from annotate import archive_files
from annotate.domain import archive
from annotate.domain.errors import BadInput
from annotate.models import FixtureSet, SourceVersion
from annotate.permissions import By, Operator, actor_for
from annotate.selectors.fixtures import require_manifest
from annotate.selectors.sources import hidden_from
from annotate.services.authorise import authorise
from annotate.services.export_fixtures import checked_bytes, frozen_fixtures
from ledger.domain.canonical import canonical_bytes, parse_canonical

_FILES = Path(archive_files.__file__).parent


@dataclass(frozen=True)
class Archive:
    """The archive's bytes with the number of fixtures and source texts in it."""

    data: bytes
    fixtures: int
    sources: int


def fixture_archive(by: By, fixture_set: FixtureSet, *, sources: bool) -> Archive:
    """Return the archive of a set; with `sources` every source text is in it, else their digests only.

    Equal sets give equal bytes. Raises NotAllowed for who may not export, who may not know of every source and, with
    `sources`, who may not read every byte of them; BadInput for a row whose bytes do not have their digest.
    """
    authorise(by, fixture_set.study, "dataset.export")
    require_manifest(by, fixture_set)
    files = {archive.SET: checked_bytes("set", fixture_set), archive.VERIFY: (_FILES / "verify.py").read_bytes()}
    for schema in sorted(_FILES.glob("*.schema.json")):
        files[f"{archive.SCHEMAS}/{schema.name}"] = schema.read_bytes()
    count = 0
    for key, canonical, _, published in frozen_fixtures(fixture_set, published=sources):
        files[f"{archive.CANONICAL}/{key}.json"] = canonical
        if published is not None:
            files[f"{archive.PUBLISHED}/{key}.json"] = published
        count += 1
    texts = _texts(by, fixture_set) if sources else {}
    files |= texts
    before = fixture_set.successor_of
    facts = [f"{count} fixtures, {len(parse_canonical(files[archive.SET])['sources'])} source versions"]
    facts.append("source texts are in it" if sources else "source texts are not in it, their digests are")
    if before is not None:
        changes = archive.set_changes(
            parse_canonical(checked_bytes("set", before)), parse_canonical(files[archive.SET])
        )
        files[archive.CHANGES] = canonical_bytes({"predecessor": before.digest, **changes})
        facts.append(f"it corrects the set {before.digest} ({before.name}); {archive.CHANGES} lists what changed")
    files[archive.README] = archive.readme(fixture_set.name, fixture_set.digest, facts)
    return Archive(archive.pack(files), count, len(texts))


def export_archive(by: By, fixture_set: FixtureSet, path: Path, *, sources: bool) -> Archive:
    """Write `fixture_archive` to the new file `path`, whole or not at all. Raises BadInput for a path in use."""
    made = fixture_archive(by, fixture_set, sources=sources)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}-", delete=False) as part:
            part.write(made.data)
        try:
            os.chmod(part.name, 0o644)
            # A link, not a rename: it fails where the name is taken, and nothing is ever overwritten.
            os.link(part.name, path)
        finally:
            os.unlink(part.name)
    except FileExistsError as error:
        raise BadInput(str(path), "it is there already", "Name a new file; nothing is overwritten.") from error
    except OSError as error:
        raise BadInput(str(path), error.strerror or "it cannot be written", "Name another file.") from error
    return made


def _texts(by: By, fixture_set: FixtureSet) -> dict[str, bytes]:
    """Return the bytes of every version the manifest names, and the originals of derived ones."""
    named = {one["digest"] for one in parse_canonical(bytes(fixture_set.canonical))["sources"]}
    clearance = actor_for(by, fixture_set.study).clearance
    files: dict[str, bytes] = {}
    for version in SourceVersion.objects.filter(source__study=fixture_set.study, sha256__in=named).iterator(20):
        if not isinstance(by, Operator) and hidden_from(version, clearance):
            raise BadInput(
                f"fixture set {fixture_set.name}",
                "your labels do not cover every byte of its sources",
                "Export it without the sources, or ask somebody who may read them.",
            )
        files[f"{archive.SOURCES}/{version.sha256}"] = bytes(version.content)
        if version.derived:
            original = base64.b64decode(version.derived["parent_bytes"], validate=True)
            files[f"{archive.ORIGINALS}/{version.derived['parent']}"] = original
    return files
