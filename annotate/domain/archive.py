"""A fixture set as one file that a stranger can check with `sha256sum`, and that another installation takes in.

The archive is a gzipped tar whose bytes depend on its content only: members sorted by name, no times, no owners. The
canonical files are the very bytes that were hashed when the set was frozen.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

from annotate.domain.errors import BadInput

SET, SUMS, README, VERIFY, CHANGES = "set.json", "SHA256SUMS", "README.md", "verify.py", "changes.json"
CANONICAL, PUBLISHED, SOURCES, ORIGINALS, SCHEMAS = "canonical", "published", "sources", "originals", "schemas"
FOLDERS = frozenset({CANONICAL, PUBLISHED, SOURCES, ORIGINALS, SCHEMAS})

#: Unpacked bytes read from an archive at most: a small file can hold a large one.
MOST_BYTES = 1 << 30
MOST_MEMBERS = 100_000
#: Read at most between one file's bytes and the next one's: an extended header says how long it is itself, and tarfile
#: would read it whole. Names of the longest identifiers take 2 kB.
MOST_HEADER = 64 * 1024


def sums(files: Mapping[str, bytes]) -> bytes:
    """Return the lines that `sha256sum -c` reads, one per file, by name."""
    lines = (f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files))
    return "".join(lines).encode("utf-8")


def pack(files: Mapping[str, bytes]) -> bytes:
    """Return the archive of `files`, its own SHA256SUMS included; equal files give equal bytes."""
    whole = {**files, SUMS: sums(files)}
    out = io.BytesIO()
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name in sorted(whole):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(whole[name]), 0o644
            tar.addfile(member, io.BytesIO(whole[name]))
    return out.getvalue()


def unpack(data: bytes, where: str) -> dict[str, bytes]:
    """Return the files of an archive, each checked against its SHA256SUMS.

    Raises BadInput for a file that is no such archive, a member of another name than an archive has (links and paths
    that lead elsewhere among them), one that is doubled, missing, not listed or damaged, and for more than it may hold.
    """
    files: dict[str, bytes] = {}
    total = 0
    try:
        with _Metered(fileobj=io.BytesIO(data), mode="rb") as stream, tarfile.open(fileobj=stream, mode="r:") as tar:
            for member in tar:
                _check_member(member, files, where)
                total += member.size
                if total > MOST_BYTES or len(files) >= MOST_MEMBERS:
                    raise BadInput(
                        where, "it unpacks to more than an archive may hold", f"At most {MOST_BYTES:,} bytes."
                    )
                content = tar.extractfile(member)
                stream.left = member.size
                files[member.name] = content.read() if content else b""
                stream.left = MOST_HEADER
    except (tarfile.TarError, OSError, EOFError, ValueError, zlib.error) as error:
        raise BadInput(
            where, f"it is no gzipped tar archive: {error}", "Export it again with export_archive."
        ) from error
    told = _told(files.pop(SUMS, None), where)
    for name in sorted(told.keys() | files.keys()):
        if name not in files or name not in told:
            what = "is listed and not there" if name in told else "is there and not listed"
            raise BadInput(f"{where}, {name}", what, "Get the archive again from where it was exported.")
        if hashlib.sha256(files[name]).hexdigest() != told[name]:
            raise BadInput(f"{where}, {name}", "its bytes do not have the listed digest", "Get the archive again.")
    if SET not in files:
        raise BadInput(where, f"it holds no {SET}", "Export it again with export_archive.")
    return files


class _Metered(gzip.GzipFile):
    """The unpacked stream, of which tarfile may read `left` more bytes before it is allowed others."""

    left = MOST_HEADER

    def read(self, size: int | None = -1) -> bytes:
        """Return the next `size` bytes; raises tarfile.ReadError where that is more than may be read now."""
        self.left -= self.left + 1 if size is None or size < 0 else size
        if self.left < 0:
            raise tarfile.ReadError(f"a header of more than {MOST_HEADER} bytes")
        return super().read(size)


def _check_member(member: tarfile.TarInfo, files: Mapping[str, bytes], where: str) -> None:
    folder, slash, name = member.name.rpartition("/")
    plain = name not in {"", ".", ".."} and (folder in FOLDERS if slash else True)
    if not member.isfile() or not plain or member.name in files:
        raise BadInput(f"{where}, {member.name[:200]}", "is no file an archive has", "Get the archive again.")


def _told(listed: bytes | None, where: str) -> dict[str, str]:
    if listed is None:
        raise BadInput(where, f"it holds no {SUMS}", "Export it again with export_archive.")
    told: dict[str, str] = {}
    for number, line in enumerate(listed.decode("utf-8", "replace").splitlines(), 1):
        value, separator, name = line.partition("  ")
        if len(value) != 64 or not separator or name in told:
            raise BadInput(f"{where}, {SUMS}, line {number}", "is no line of sha256sum", "Get the archive again.")
        told[name] = value
    return told


def set_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return what a successor changed: fixtures and sources by name, added, removed or changed.

    Both are parsed manifests (`domain.fixture.set_manifest`). Every member of a list is in exactly one list.
    """
    changes: dict[str, list[str]] = {}
    for what, name in (("fixtures", lambda one: one["fixture_id"]), ("sources", _named)):
        old, new = ({name(one): one for one in told[what]} for told in (before, after))
        changes[f"{what}_added"] = sorted(new.keys() - old.keys())
        changes[f"{what}_removed"] = sorted(old.keys() - new.keys())
        changes[f"{what}_changed"] = sorted(key for key in old.keys() & new.keys() if old[key] != new[key])
    return changes


def fixture_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the members in which two parsed fixtures of one question differ, in the order of their names."""
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def source_name(document_id: str, version_label: str) -> str:
    """Return what a source version is called in `set_changes`."""
    return f"{document_id}@{version_label}"


def _named(source: Mapping[str, Any]) -> str:
    return source_name(source["document_id"], source["version_label"])


def readme(name: str, set_digest: str, lines: Iterable[str]) -> bytes:
    """Return the archive's README; `lines` are facts to list."""
    facts = "\n".join(f"- {line}" for line in lines)
    return f"""# Fixture set {name}

Frozen questions with their adjudicated evidence, as Cutline hashed them.

{facts}

Check it, in the unpacked folder:

    sha256sum -c SHA256SUMS
    python3 verify.py

The second line recomputes every digest from the bytes and prints the set's, which must be `{set_digest}`.

- `set.json`: the manifest that the set's digest is taken of: every fixture and source version by digest.
- `canonical/`: one file per question, exactly the bytes that are hashed. Offsets are UTF-8 bytes, half-open.
- `published/`: the same for people and other tools, with the text (only where the sources are here).
- `sources/`: source texts by SHA-256 (only where they were exported); `originals/`: files a text was transcoded from.
- `schemas/`: JSON Schemas of `set.json` and of the canonical and published files.

Take it into another installation:

    manage.py import_archive --study STUDY --create-study TITLE --name {name} THIS.tar.gz
""".encode()
