"""The published layout of fixtures: the seed byte for byte, from its file, by hand, and by the commands."""

import datetime
import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from annotate.domain.content import PassContent
from annotate.domain.published_layout import not_carried
from annotate.domain.vocabulary import Segment
from annotate.models import FixtureSet
from annotate.permissions import OPERATOR
from annotate.selectors.fixtures import fixture_values
from annotate.services.export_fixtures import export_fixtures
from annotate.services.freeze_fixtures import freeze_fixtures
from annotate.services.import_fixture import import_fixture
from tests.annotate.passes import Desk, make_desk
from tests.annotate.settled import settle
from tests.factories import DAY, make_source_version, make_study

pytestmark = pytest.mark.django_db


SEED = (Path(__file__).parent.parent / "golden" / "temporary-retention-v1.json").read_bytes()


def marked_by_hand() -> Desk:
    desk = make_desk(
        key="temporary-retention-v1", document_id="temporary-retention-v1", text=json.loads(SEED)["question"]
    )
    settle(desk)
    return desk


def test_the_published_fixture_is_regenerated_byte_for_byte_from_imported_rows(tmp_path):
    study = make_study()
    import_fixture(OPERATOR, study, SEED, observed=DAY)
    frozen = freeze_fixtures(OPERATOR, study, "seed")
    exported = export_fixtures(OPERATOR, frozen, tmp_path / "out")
    assert (tmp_path / "out/published/temporary-retention-v1.json").read_bytes() == SEED
    assert exported.fixtures == 1


def test_the_same_fixture_marked_by_hand_exports_identically(tmp_path):
    imported = make_study()
    import_fixture(OPERATOR, imported, SEED, observed=DAY)
    by_hand = marked_by_hand()
    one = freeze_fixtures(OPERATOR, imported, "seed")
    two = freeze_fixtures(by_hand.lead, by_hand.study, "seed")
    export_fixtures(OPERATOR, one, tmp_path / "one")
    export_fixtures(by_hand.lead, two, tmp_path / "two")
    name = "temporary-retention-v1.json"
    assert (tmp_path / "two/published" / name).read_bytes() == SEED
    canonical = [(tmp_path / folder / "canonical" / name).read_bytes() for folder in ("one", "two")]
    assert canonical[0] == canonical[1], "the canonical bytes are those of the same fixture too"
    assert one.fixtures.get().digest == two.fixtures.get().digest


def test_spans_of_several_sources_carry_their_digest(tmp_path):
    study = make_study()
    one = make_desk("alpha \r\n “rule”", study=study, document_id="alpha")
    two = make_source_version(study, "beta 💩\x00", document_id="beta")
    spans = (one.span("rule", 0, 5), replace(one.span("tail", 0, 9), version=two.sha256))
    settle(one, one.content(spans=spans, sets=(("rule", "tail"),)))
    frozen = freeze_fixtures(one.lead, study, "v1")
    export_fixtures(one.lead, frozen, tmp_path / "out")
    published = json.loads((tmp_path / "out/published" / f"{one.question.key}.json").read_bytes())
    texts = {source["source_version"]: source["source_text"].encode() for source in published["sources"]}
    assert texts == {f"sha256:{v.sha256}": bytes(v.content) for v in (one.version, two)}
    assert published["spans"] == {
        "rule": [f"sha256:{one.version.sha256}", 0, 5],
        "tail": [f"sha256:{two.sha256}", 0, 9],
    }


def test_an_unanswerable_question_is_published_without_a_source(tmp_path):
    desk = make_desk()
    nothing = PassContent(replace(desk.content().contract, answerable=False, answer=""))
    settle(desk, nothing, segment=Segment.UNANSWERABLE_CONTROL)
    frozen = freeze_fixtures(desk.lead, desk.study, "v1")
    exported = export_fixtures(desk.lead, frozen, tmp_path / "out")
    published = json.loads((tmp_path / "out/published" / f"{desk.question.key}.json").read_bytes())
    assert published["spans"] == {}
    assert published["sufficient_support_sets"] == []
    assert "answerable" in exported.not_carried
    assert "answerable" in not_carried(fixture_values(frozen)[0])


def test_the_commands_freeze_and_export_with_exit_codes(tmp_path):
    desk = make_desk(key="q1")
    out = StringIO()
    with pytest.raises(CommandError, match="0 of 2 passes") as raised:
        call_command("freeze", study=desk.study.slug, name="v1", stdout=out)
    assert raised.value.returncode == 2
    settle(desk)
    with pytest.raises(CommandError) as raised:
        call_command("freeze", study=desk.study.slug, name="v1", username=desk.one.username)
    assert raised.value.returncode == 3
    keys = tmp_path / "keys.txt"
    keys.write_text("# the first lot\nq1\n\n")
    call_command("freeze", study=desk.study.slug, name="v1", questions=keys, stdout=out)
    frozen = FixtureSet.objects.get()
    assert frozen.digest in out.getvalue()
    notes = StringIO()
    call_command("export_fixtures", tmp_path / "out", study=desk.study.slug, fixture_set="v1", stdout=out, stderr=notes)
    assert (tmp_path / "out/set.json").read_bytes() == bytes(frozen.canonical)
    assert (tmp_path / "out/canonical/q1.json").read_bytes() == bytes(frozen.fixtures.get().canonical)
    assert "segment" in notes.getvalue()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["keys.txt", "out"], "nothing half-written is left"
    for problem in (
        lambda: call_command("export_fixtures", tmp_path / "out", study=desk.study.slug, fixture_set="v1"),
        lambda: call_command("export_fixtures", tmp_path / "new", study=desk.study.slug, fixture_set="v9"),
        lambda: call_command("export_fixtures", keys / "below", study=desk.study.slug, fixture_set="v1"),
        lambda: call_command("freeze", study="nowhere", name="v1"),
        lambda: call_command("freeze", study=desk.study.slug, name="v2", successor_of="v0"),
    ):
        with pytest.raises(CommandError) as raised:
            problem()
        assert raised.value.returncode == 2


def test_the_date_of_a_freeze_is_not_in_its_digest(monkeypatch):
    digests = set()
    for moment in (
        datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
        datetime.datetime(2027, 1, 1, tzinfo=datetime.UTC),
    ):
        monkeypatch.setattr("django.utils.timezone.now", lambda moment=moment: moment)
        study = make_study()
        import_fixture(OPERATOR, study, SEED, observed=DAY)
        digests.add(freeze_fixtures(OPERATOR, study, "seed").fixtures.get().digest)
    assert len(digests) == 1
