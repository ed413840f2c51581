"""Archives of fixture sets: checked by a stranger's tools, taken in elsewhere byte for byte, refused when damaged."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from django.test import Client

from annotate import archive_files
from annotate.domain import archive
from annotate.domain.errors import BadInput
from annotate.domain.import_formats.sources_toml import SourceEntry
from annotate.domain.vocabulary import Necessity, Role, Segment
from annotate.models import AdjudicatedResult, Fixture, FixtureSet, SourceVersion
from annotate.permissions import OPERATOR, NotAllowed
from annotate.records import RESULT_IMPORTED
from annotate.selectors.fixtures import corrections
from annotate.services.export_archive import export_archive, fixture_archive
from annotate.services.freeze_fixtures import freeze_fixtures
from annotate.services.import_archive import import_archive
from annotate.services.import_sources import import_versions
from annotate.services.settled_import import settle_imported
from annotate.verifiers import verify_result
from ledger.domain.canonical import parse_canonical
from ledger.models import Record
from tests.annotate.archive_sets import elsewhere, rich_set, unpacked
from tests.annotate.passes import make_desk
from tests.annotate.settled import settle
from tests.annotate.tampering import tampering
from tests.factories import DAY, make_member, make_study

pytestmark = pytest.mark.django_db


SCHEMAS = Path(archive_files.__file__).parent


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
    assert corrections(OPERATOR, second) == ["fixture who-pays: changed in scope"]
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
