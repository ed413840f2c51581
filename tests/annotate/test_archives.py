"""Archives of fixture sets: checked by a stranger's tools, taken in elsewhere byte for byte, refused when damaged."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest
from django.test import Client

from annotate import archive_files
from annotate.domain import archive
from annotate.domain.errors import BadInput, BadInputs
from annotate.domain.import_formats.questions_toml import QuestionEntry
from annotate.domain.import_formats.sources_toml import RangeRule, SourceEntry
from annotate.domain.vocabulary import Necessity, Role, Segment
from annotate.models import AdjudicatedResult, Fixture, FixtureSet, SourceVersion, Study
from annotate.permissions import OPERATOR, NotAllowed
from annotate.records import RESULT_IMPORTED
from annotate.selectors.fixtures import corrections
from annotate.services.export_archive import export_archive, fixture_archive
from annotate.services.freeze_fixtures import freeze_fixtures
from annotate.services.import_archive import import_archive
from annotate.services.import_questions import write_questions
from annotate.services.import_sources import import_versions
from annotate.services.settled_import import settle_imported
from annotate.services.studies import create_study
from annotate.verifiers import verify_result
from ledger.domain.canonical import canonical_bytes, digest, parse_canonical
from ledger.models import Record
from tests.annotate.passes import make_desk
from tests.annotate.settled import settle
from tests.annotate.tampering import tampering
from tests.factories import DAY, make_member, make_study

pytestmark = pytest.mark.django_db

SCHEMAS = Path(archive_files.__file__).parent


def rich_set() -> FixtureSet:
    """A set with a restricted range, a superseded and a transcoded version, a topical span and an unanswerable one."""
    desk = make_desk(key="who-may-keep", document_id="rules")
    settle(desk)
    study = desk.study
    latin = "Gebühr: 5 €".encode("cp1252")
    import_versions(
        OPERATOR,
        study,
        [
            (SourceEntry("old", "fees", "1", DAY, title="Fees", encoding="cp1252"), latin),
            (
                SourceEntry(
                    "new",
                    "fees",
                    "2",
                    DAY,
                    supersedes="1",
                    access_ranges=(RangeRule(frozenset({"desk"}), start=0, end=5),),
                ),
                "Five euros\r\nDe\u0301partement \U0001f469\u200d\U0001f680".encode(),
            ),
        ],
    )
    entry = QuestionEntry(
        "who-pays", "Who pays for losses?", DAY, reader_labels=frozenset({"desk"}), cluster_document="fees"
    )
    asked = write_questions(OPERATOR, study, [entry])[0].question
    nothing = replace(desk.content().contract, answerable=False, answer="")
    settle_imported(
        OPERATOR, asked, replace(desk.content(), contract=nothing, spans=(), sets=()), Segment.UNANSWERABLE_CONTROL
    )
    return freeze_fixtures(OPERATOR, study, "first")


def unpacked(data: bytes, folder: Path) -> Path:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        tar.extractall(folder, filter="data")
    return folder


def elsewhere(source: FixtureSet) -> Study:
    """Another installation's empty study: the same short name, in a database without the first one's study."""
    Study.objects.filter(pk=source.study_id).update(slug="was-here")
    return create_study(OPERATOR, parse_canonical(bytes(source.canonical))["study"], "Elsewhere")


def test_archive_is_sound_for_sha256sum_and_the_script_it_carries(tmp_path: Path) -> None:
    frozen = rich_set()
    folder = unpacked(fixture_archive(OPERATOR, frozen, sources=True).data, tmp_path)
    listed = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=folder, capture_output=True, text=True, check=False)
    assert listed.returncode == 0, listed.stderr
    told = subprocess.run([sys.executable, "-I", "verify.py"], cwd=folder, capture_output=True, text=True, check=False)
    assert told.stdout == f"sound: set {frozen.digest}, 2 fixtures, 3 source versions\n", told.stderr
    one = folder / "canonical" / "who-pays.json"
    one.write_bytes(one.read_bytes().replace(b"Who", b"Wha"))
    told = subprocess.run([sys.executable, "-I", "verify.py"], cwd=folder, capture_output=True, text=True, check=False)
    assert told.returncode != 0
    assert one.name in told.stderr


def test_archive_of_equal_sets_has_equal_bytes_and_no_text_unless_asked(tmp_path: Path) -> None:
    frozen = rich_set()
    bare, again = (fixture_archive(OPERATOR, frozen, sources=False) for _ in range(2))
    assert bare.data == again.data
    files = archive.unpack(bare.data, "archive")
    assert {name.split("/")[0] for name in files} == {"set.json", "canonical", "schemas", "README.md", "verify.py"}
    assert not any(b"Gebuehr" in one or "Gebühr".encode() in one for one in files.values())


def test_files_of_an_archive_follow_their_published_schemas() -> None:
    files = archive.unpack(fixture_archive(OPERATOR, rich_set(), sources=True).data, "archive")
    for name, schema in (("canonical", "fixture"), ("published", "published-fixture"), ("set.json", "fixture-set")):
        rules = json.loads((SCHEMAS / f"{schema}.schema.json").read_bytes())
        check = jsonschema.Draft202012Validator(rules, format_checker=jsonschema.FormatChecker())
        check.check_schema(rules)
        matching = [data for path, data in files.items() if path.partition("/")[0] == name]
        assert matching
        for data in matching:
            check.validate(json.loads(data))
        broken = json.loads(matching[0]) | {"colour": "red"}
        with pytest.raises(jsonschema.ValidationError):
            check.validate(broken)


def test_published_seed_fixture_follows_its_schema() -> None:
    rules = json.loads((SCHEMAS / "published-fixture.schema.json").read_bytes())
    seed = Path(__file__).parent.parent / "golden" / "temporary-retention-v1.json"
    jsonschema.Draft202012Validator(rules).validate(json.loads(seed.read_bytes()))


def test_archive_taken_in_elsewhere_is_the_same_set_byte_for_byte() -> None:
    frozen = rich_set()
    data = fixture_archive(OPERATOR, frozen, sources=True).data
    before = (bytes(frozen.canonical), {row.fixture_id: bytes(row.canonical) for row in frozen.fixtures.all()})
    study = elsewhere(frozen)
    made = import_archive(OPERATOR, study, data, "first")
    rows = {row.fixture_id: bytes(row.canonical) for row in made.fixture_set.fixtures.all()}
    assert (bytes(made.fixture_set.canonical), rows) == before
    assert (made.new_sources, made.new_questions) == (3, 2)
    assert fixture_archive(OPERATOR, made.fixture_set, sources=True).data == data


def test_necessity_comes_with_an_archive_and_is_verified() -> None:
    desk = make_desk(key="one", document_id="rules")
    names = [span.name for span in desk.content().spans]
    settle(desk, topical=(names[-1],))
    frozen = freeze_fixtures(OPERATOR, desk.study, "first")
    data = fixture_archive(OPERATOR, frozen, sources=True).data
    study = elsewhere(frozen)
    made = import_archive(OPERATOR, study, data, "first")
    result = AdjudicatedResult.objects.get(question__study=study)
    words = {row.span_name: row.necessity for row in result.span_decisions.all()}
    assert words[names[-1]] == Necessity.TOPICAL
    assert made.fixture_set.digest == frozen.digest
    record = Record.objects.filter(kind=RESULT_IMPORTED).latest("seq")
    assert not list(verify_result(record))
    with tampering():
        result.span_decisions.filter(span_name=names[-1]).update(necessity=Necessity.NECESSARY)
    assert [found.kind for found in verify_result(record)] == ["row.differs"]


def test_import_refuses_a_study_whose_own_sources_make_it_another_set() -> None:
    frozen = rich_set()
    data = fixture_archive(OPERATOR, frozen, sources=True).data
    study = elsewhere(frozen)
    import_versions(OPERATOR, study, [(SourceEntry("more", "more", "1", DAY), b"Another document.")])
    with pytest.raises(BadInput, match="sources or clusters of its own"):
        import_archive(OPERATOR, study, data, "first")
    assert not FixtureSet.objects.filter(study=study).exists()
    assert SourceVersion.objects.filter(source__study=study).count() == 1


def test_import_refuses_another_study_and_an_archive_without_texts() -> None:
    frozen = rich_set()
    with pytest.raises(BadInput, match=f"belongs to “{frozen.study.slug}”"):
        import_archive(OPERATOR, make_study("other"), fixture_archive(OPERATOR, frozen, sources=True).data, "first")
    study = elsewhere(frozen)
    bare = fixture_archive(OPERATOR, frozen, sources=False)
    with pytest.raises(BadInput, match="carries no source texts"):
        import_archive(OPERATOR, study, bare.data, "first")


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


def test_successor_lists_what_it_changed_on_its_page_and_in_its_archive(client: Client) -> None:
    first = rich_set()
    desk_question = Fixture.objects.get(fixture_set=first, fixture_id="who-pays").question
    content = replace(make_desk(key="x", document_id="y").content(), spans=(), sets=())
    settle_imported(
        OPERATOR,
        desk_question,
        replace(content, contract=replace(content.contract, answerable=False, answer="", scope="Losses only.")),
        Segment.UNANSWERABLE_CONTROL,
    )
    second = freeze_fixtures(OPERATOR, first.study, "second", successor_of=first)
    assert corrections(second) == ["fixture who-pays: changed in scope"]
    files = archive.unpack(fixture_archive(OPERATOR, second, sources=False).data, "a")
    changes = parse_canonical(files["changes.json"])
    assert (changes["predecessor"], changes["fixtures_changed"]) == (first.digest, ["who-pays"])
    client.force_login(make_member(first.study, Role.LEAD, clearance={"desk"}))
    page = client.get(f"/studies/{first.study.slug}/fixtures/{second.pk}/").content.decode()
    assert "fixture who-pays: changed in scope" in page


def test_archive_with_texts_needs_every_label(client: Client) -> None:
    frozen = rich_set()
    lead = make_member(frozen.study, Role.LEAD)
    with pytest.raises(BadInput, match="do not cover every byte"):
        fixture_archive(lead, frozen, sources=True)
    client.force_login(lead)
    answer = client.get(f"/studies/{frozen.study.slug}/fixtures/{frozen.pk}/archive/?sources=1", follow=True)
    assert "do not cover every byte" in answer.content.decode()
    bare = client.get(f"/studies/{frozen.study.slug}/fixtures/{frozen.pk}/archive/")
    assert bare.content == fixture_archive(OPERATOR, frozen, sources=False).data
    assert bare["Content-Disposition"] == 'attachment; filename="first.tar.gz"'
    with pytest.raises(NotAllowed):
        fixture_archive(make_member(frozen.study, Role.ANNOTATOR), frozen, sources=False)


def test_export_never_overwrites_and_leaves_nothing_half_written(tmp_path: Path) -> None:
    frozen = rich_set()
    path = tmp_path / "set.tar.gz"
    export_archive(OPERATOR, frozen, path, sources=False)
    before = path.read_bytes()
    with pytest.raises(BadInput, match="is there already"):
        export_archive(OPERATOR, frozen, path, sources=True)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["set.tar.gz"]
