"""Archives that are none, are damaged, or were changed and made sound again: each is refused and says where."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from annotate.domain import archive
from annotate.domain.errors import BadInput, BadInputs
from annotate.models import FixtureSet
from annotate.permissions import OPERATOR
from annotate.services.export_archive import fixture_archive
from annotate.services.import_archive import import_archive
from ledger.domain.canonical import canonical_bytes, digest, parse_canonical
from tests.annotate.archive_sets import elsewhere, rich_set

pytestmark = pytest.mark.django_db


def packed(members: list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for member, content in members:
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


def link(name: str, kind: bytes) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, "/etc/passwd"
    return member


@pytest.mark.parametrize(
    ("data", "match"),
    [
        pytest.param(b"", "no gzipped tar", id="empty"),
        pytest.param(b"\x1f\x8b" + b"\xff" * 40, "no gzipped tar", id="damaged gzip"),
        pytest.param(gzip.compress(b"no tar"), "no gzipped tar|holds no SHA256SUMS", id="gzip of something else"),
        pytest.param(packed([(tarfile.TarInfo("../set.json"), b"{}")]), "is no file an archive has", id="path up"),
        pytest.param(packed([(tarfile.TarInfo("/set.json"), b"{}")]), "is no file an archive has", id="absolute"),
        pytest.param(packed([(tarfile.TarInfo("canonical/.."), b"{}")]), "is no file an archive has", id="dots"),
        pytest.param(packed([(link("set.json", tarfile.SYMTYPE), b"")]), "is no file an archive has", id="link"),
        pytest.param(packed([(link("set.json", tarfile.LNKTYPE), b"")]), "is no file an archive has", id="hard link"),
        pytest.param(packed([(tarfile.TarInfo("set.json"), b"{}")] * 2), "is no file an archive has", id="doubled"),
        pytest.param(packed([(tarfile.TarInfo("set.json"), b"{}")]), "holds no SHA256SUMS", id="no sums"),
        pytest.param(
            packed([(tarfile.TarInfo("SHA256SUMS"), b"short\n")]), "line 1: is no line of sha256sum", id="bad line"
        ),
        pytest.param(
            packed([(tarfile.TarInfo("SHA256SUMS"), b"0" * 64 + b"  set.json\n")]), "listed and not there", id="missing"
        ),
        pytest.param(
            packed([(tarfile.TarInfo("SHA256SUMS"), b""), (tarfile.TarInfo("set.json"), b"{}")]),
            "there and not listed",
            id="unlisted",
        ),
        pytest.param(
            packed(
                [(tarfile.TarInfo("SHA256SUMS"), b"0" * 64 + b"  set.json\n"), (tarfile.TarInfo("set.json"), b"{}")]
            ),
            "do not have the listed digest",
            id="damaged",
        ),
    ],
)
def test_unpack_refuses_what_is_no_archive_and_says_where(data: bytes, match: str) -> None:
    with pytest.raises(BadInput, match=match):
        archive.unpack(data, "a.tar.gz")


def extended(fill: bytes, **headers: str) -> bytes:
    """Return a gzipped tar whose only member comes after an extended header; `fill` is the member's content."""
    member = tarfile.TarInfo("set.json")
    member.size, member.pax_headers = len(fill), headers
    return gzip.compress(member.tobuf(tarfile.PAX_FORMAT) + fill)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(extended(b"", comment="x" * (8 << 20)), id="one header of 8 MB"),
        pytest.param(
            extended(b"9999999\n" + b"1\n" * (4 << 20), **{"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}),
            id="an endless map of holes",
        ),
        pytest.param(
            gzip.compress(
                b"".join(
                    tarfile.TarInfo.create_pax_global_header({"comment": f"{n}" * 40_000})  # type: ignore[attr-defined]
                    for n in range(9)
                )
            ),
            id="a chain of headers",
        ),
    ],
)
def test_unpack_reads_no_header_of_any_length(data: bytes) -> None:
    with pytest.raises(BadInput, match="a header of more than 65536 bytes"):
        archive.unpack(data, "a.tar.gz")


def test_the_longest_name_of_a_fixture_is_unpacked() -> None:
    files = {"set.json": b"{}", f"canonical/{'q' * 120}.json": b"{}"}
    assert archive.unpack(archive.pack(files), "a.tar.gz") == files


@pytest.mark.parametrize(
    ("change", "match"),
    [
        pytest.param(lambda files: files | {"set.json": b"{}"}, "is not of the form", id="another form"),
        pytest.param(lambda files: files | {"set.json": b"{ }"}, "is not canonical", id="not canonical"),
        pytest.param(
            lambda files: {name: data for name, data in files.items() if not name.startswith("canonical/who-pays")},
            "who-pays.json: is missing",
            id="a fixture is missing",
        ),
        pytest.param(
            lambda files: files | {"canonical/who-pays.json": files["canonical/who-may-keep.json"]},
            "is not the fixture the manifest names",
            id="another fixture",
        ),
        pytest.param(
            lambda files: files | {"canonical/one-more.json": files["canonical/who-may-keep.json"]},
            "one-more.json: is there, and set.json does not name it",
            id="a fixture too many",
        ),
        pytest.param(
            lambda files: files | {f"sources/{'0' * 64}": b"more"},
            "is there, and set.json does not name it",
            id="a source too many",
        ),
        pytest.param(
            lambda files: files | {"published/who-pays.json": files["published/who-pays.json"].replace(b"Who", b"Wha")},
            "does not say what its canonical file",
            id="a published fixture that says something else",
        ),
    ],
)
def test_import_refuses_an_archive_made_sound_again_after_a_change(
    change: Callable[[dict[str, bytes]], dict[str, bytes]], match: str
) -> None:
    frozen = rich_set()
    files = archive.unpack(fixture_archive(OPERATOR, frozen, sources=True).data, "a")
    with pytest.raises(BadInput, match=match):
        import_archive(OPERATOR, elsewhere(frozen), archive.pack(change(dict(files))), "first")


def test_an_archive_damaged_in_any_one_byte_is_refused_or_says_the_same() -> None:
    data = fixture_archive(OPERATOR, rich_set(), sources=True).data
    whole = archive.unpack(data, "a")
    random = Random(20261130)
    for at in random.sample(range(len(data)), 60):
        damaged = bytearray(data)
        damaged[at] ^= 1 << random.randrange(8)
        try:
            assert archive.unpack(bytes(damaged), "a") == whole
        except BadInput:
            continue


def test_a_member_missing_or_of_another_kind_is_refused_and_never_an_error() -> None:
    frozen = rich_set()
    files = archive.unpack(fixture_archive(OPERATOR, frozen, sources=True).data, "a")
    study, random = elsewhere(frozen), Random(20261130)
    for _ in range(25):
        changed = dict(files)
        _spoil_member(random, changed)
        with pytest.raises((BadInput, BadInputs)):
            import_archive(OPERATOR, study, archive.pack(changed), "first")
    assert not FixtureSet.objects.filter(study=study).exists()


def _spoil_member(random: Random, files: dict[str, bytes]) -> None:
    """Take out or replace a member at any depth of the manifest or a fixture, and make every digest right again."""
    name = random.choice(sorted(path for path in files if path == "set.json" or path.startswith("canonical/")))
    value = parse_canonical(files[name])
    place: Any = value
    while True:
        key = random.choice(sorted(place) if isinstance(place, dict) else range(len(place)))
        if not isinstance(place[key], dict | list) or not place[key] or random.random() < 0.4:
            break
        place = place[key]
    if isinstance(place, dict) and random.random() < 0.5:
        del place[key]
    else:
        place[key] = random.choice([other for other in ([], {}, None, 7, [7], {"x": []}) if other != place[key]])
    files[name] = canonical_bytes(value)
    if name != "set.json":
        manifest = parse_canonical(files["set.json"])
        for one in manifest["fixtures"]:
            if name == f"canonical/{one['fixture_id']}.json":
                one["digest"] = digest(files[name])
        files["set.json"] = canonical_bytes(manifest)
