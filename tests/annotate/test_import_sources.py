"""Sources on their way in: bytes as they are, all or nothing, and a ledger record that can be checked."""

import datetime
import hashlib

import pytest
from django.db import DatabaseError, transaction

from annotate.domain.errors import BadInput, BadInputs, EncodingRefused
from annotate.domain.import_formats.media_types import media_type_of
from annotate.domain.import_formats.sources_toml import SourceEntry, plain_entry
from annotate.domain.spans import ByteSpan
from annotate.domain.vocabulary import Role
from annotate.models import Source, SourceVersion
from annotate.permissions import OPERATOR, NotAllowed
from annotate.services.import_folder import import_folder
from annotate.services.import_sources import import_source_version, import_versions
from annotate.services.transcode import quotation_in_original
from ledger.models import Record
from ledger.services.verify import verify
from tests.annotate.tampering import tampering
from tests.factories import DAY, make_member, make_study

pytestmark = pytest.mark.django_db

SIDECAR = """
[[source]]
document_id = "policy"
title = "Policy"
file = "texts/new.md"
version_label = "2026"
observation_date = 2026-10-05
effective_from = 2026-03-01
supersedes = "2025"
access_labels = ["hr"]
access_ranges = [{ from_quote = "Secret", to_quote = "end.", labels = ["finance"] }]

[[source]]
document_id = "policy"
file = "texts/old.md"
version_label = "2025"
observation_date = 2026-10-05
effective_to = 2026-02-28
"""


def entry(file="a.md", document_id="a", version_label="1", **fields):
    return SourceEntry(file=file, document_id=document_id, version_label=version_label, observation_date=DAY, **fields)


def write_folder(folder):
    (folder / "texts").mkdir()
    (folder / "sources.toml").write_text(SIDECAR)
    (folder / "texts" / "new.md").write_bytes("# New\r\nGrüße. Secret: 💩 end.\r".encode())
    (folder / "texts" / "old.md").write_bytes(b"# Old\n")
    return folder


def test_folder_with_a_sidecar_is_imported_as_described(tmp_path):
    study = make_study()
    outcomes = import_folder(OPERATOR, study, write_folder(tmp_path))
    assert [(item.file, item.created) for item in outcomes] == [("texts/new.md", True), ("texts/old.md", True)]
    new, old = (SourceVersion.objects.get(version_label=label) for label in ("2026", "2025"))
    content = "# New\r\nGrüße. Secret: 💩 end.\r".encode()
    assert bytes(new.content) == content
    assert new.sha256 == hashlib.sha256(content).hexdigest()
    assert new.supersedes == old
    start = content.index(b"Secret")
    assert new.access_ranges == [[start, len(content) - 1, ["finance"]]]
    assert new.access_labels == ["hr"]
    assert new.media_type == "text/markdown"
    # The last day in force is the 28th, so the first day it no longer is follows it without a gap.
    assert old.effective_to == new.effective_from == datetime.date(2026, 3, 1)
    assert Source.objects.get().title == "Policy"


def test_identical_import_again_changes_nothing_and_says_so(tmp_path):
    study = make_study()
    import_folder(OPERATOR, study, write_folder(tmp_path))
    records = Record.objects.count()
    again = import_folder(OPERATOR, study, tmp_path)
    assert not any(item.created for item in again)
    assert "unchanged" in again[0].note
    assert Record.objects.count() == records
    assert SourceVersion.objects.count() == 2


def test_folder_without_a_sidecar_is_read_sorted_and_recursively(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.txt").write_bytes(b"b")
    (tmp_path / "sub" / "a.md").write_bytes(b"\xef\xbb\xbf# Title\na")
    (tmp_path / ".hidden").write_bytes(b"x")
    outcomes = import_folder(OPERATOR, make_study(), tmp_path, observed=DAY, version_label="v1")
    assert [item.file for item in outcomes] == ["b.txt", "sub/a.md"]
    assert [item.version.source.document_id for item in outcomes] == ["b", "sub-a"]
    assert bytes(outcomes[1].version.content).startswith(b"\xef\xbb\xbf")


def test_undescribed_file_imported_on_another_day_is_the_same_version(tmp_path):
    study = make_study()
    file = tmp_path / "a.md"
    file.write_bytes(b"text")
    import_folder(OPERATOR, study, file, observed=DAY)
    later = import_folder(OPERATOR, study, file, observed=DAY + datetime.timedelta(days=1))
    assert not later[0].created
    file.write_bytes(b"other text")
    assert import_folder(OPERATOR, study, file, observed=DAY + datetime.timedelta(days=1))[0].created


def test_one_bad_file_stops_the_whole_folder_and_every_bad_one_is_named(tmp_path):
    for name, data in {"good.md": b"fine", "latin.md": b"Gr\xfc\xdfe", "empty.md": b"", "z.md": b"\xff\xfea"}.items():
        (tmp_path / name).write_bytes(data)
    with pytest.raises(BadInputs) as refused:
        import_folder(OPERATOR, make_study(), tmp_path)
    assert [problem.where for problem in refused.value.problems] == ["empty.md", "latin.md", "z.md"]
    assert "0xfc at offset 2" in str(refused.value)
    assert not Source.objects.exists()
    assert not Record.objects.filter(kind="source.imported").exists()


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ('file = "texts/old.md"|file = "texts/gone.md"', "texts/gone.md"),
        ('file = "texts/old.md"|file = "../old.md"', "file"),
        ('from_quote = "Secret"|from_quote = "absent"', "access range 1"),
        ('from_quote = "Secret", to_quote = "end."|start = 9, end = 10', "access range 1"),
        ('from_quote = "Secret", to_quote = "end."|start = 9', "access range 1"),
        ('labels = ["finance"]|labels = []', "labels"),
        ('supersedes = "2025"|supersedes = "2024"', "texts/new.md"),
        ('supersedes = "2025"|superseds = "2025"', "superseds"),
        ('version_label = "2025"|version_label = "2026"', "texts/old.md"),
        ("observation_date = 2026-10-05|observation_date = 2026-10-05T10:00:00", "observation_date"),
        ("effective_to = 2026-02-28|effective_to = 28", "effective_to"),
        ('[[source]]\ndocument_id = "policy"\ntitle|[[sources]]\ndocument_id = "policy"\ntitle', "sources"),
        ('title = "Policy"|title = "Pol', "sources.toml"),
    ],
)
def test_sidecar_with_a_mistake_is_refused_at_its_place_and_nothing_is_written(tmp_path, change, place):
    write_folder(tmp_path)
    before, after = change.split("|")
    assert before in SIDECAR
    (tmp_path / "sources.toml").write_text(SIDECAR.replace(before, after))
    with pytest.raises(BadInput) as refused:
        import_folder(OPERATOR, make_study(), tmp_path)
    assert any(place in problem.where for problem in refused.value.problems)
    assert not SourceVersion.objects.exists()


def test_link_out_of_the_folder_is_refused(tmp_path):
    (tmp_path / "secret.txt").write_bytes(b"secret")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.md").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(BadInput, match="link out of the folder"):
        import_folder(OPERATOR, make_study(), folder)


def test_same_label_with_other_bytes_is_refused():
    study = make_study()
    import_source_version(OPERATOR, study, entry(), b"one")
    with pytest.raises(BadInput, match="has other bytes"):
        import_source_version(OPERATOR, study, entry(), b"two")


def test_same_bytes_with_another_label_or_other_metadata_are_refused():
    study = make_study()
    import_source_version(OPERATOR, study, entry(access_labels=frozenset({"hr"})), b"one")
    with pytest.raises(BadInput, match="already version"):
        import_source_version(OPERATOR, study, entry(version_label="2"), b"one")
    with pytest.raises(BadInput) as refused:
        import_source_version(OPERATOR, study, entry(access_labels=frozenset()), b"one")
    assert refused.value.where == "a.md, access_labels"


def test_same_bytes_in_two_documents_are_two_versions():
    study = make_study()
    import_versions(OPERATOR, study, [(entry(), b"one"), (entry(file="b.md", document_id="b"), b"one")])
    assert SourceVersion.objects.filter(sha256=hashlib.sha256(b"one").hexdigest()).count() == 2


def test_versions_that_supersede_each_other_in_a_circle_are_refused():
    files = [
        (entry(file="1", version_label="1", supersedes="2"), b"one"),
        (entry(file="2", version_label="2", supersedes="1"), b"two"),
    ]
    with pytest.raises(BadInput, match="circle"):
        import_versions(OPERATOR, make_study(), files)


def test_file_above_the_size_limit_is_refused_unread(tmp_path, settings):
    settings.MAX_SOURCE_BYTES = 1024
    (tmp_path / "a.md").write_bytes(b"x" * 1025)
    with pytest.raises(BadInput, match="1025 bytes"):
        import_folder(OPERATOR, make_study(), tmp_path)


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.ADJUDICATOR, Role.OBSERVER])
def test_only_a_lead_imports(role):
    study = make_study()
    person = make_member(study, role)
    with pytest.raises(NotAllowed):
        import_source_version(person, study, entry(), b"one")
    lead = make_member(study, Role.LEAD)
    assert import_source_version(lead, study, entry(), b"one").version.imported_by == lead
    with pytest.raises(NotAllowed):
        import_source_version(lead, make_study(), entry(), b"one")


def test_archived_study_takes_nothing_in():
    study = make_study(archived_at=datetime.datetime.now(datetime.UTC))
    with pytest.raises(BadInput, match="archived"):
        import_source_version(OPERATOR, study, entry(), b"one")


def test_latin_1_file_becomes_a_derived_version_that_maps_back_to_its_bytes():
    study = make_study()
    original = "Gebühr: 10\xa0€, höchstens.\r\n".encode("cp1252")
    version = import_source_version(OPERATOR, study, entry(encoding="cp1252"), original).version
    version.refresh_from_db()
    content = bytes(version.content)
    assert content.decode() == "Gebühr: 10\xa0€, höchstens.\r\n"
    assert version.derived["parent"] == hashlib.sha256(original).hexdigest()
    assert version.derived["settings"] == {"encoding": "cp1252"}
    start = content.index("10\xa0€".encode())
    place, quotation = quotation_in_original(version, ByteSpan(start, start + len("10\xa0€".encode())))
    assert quotation == b"10\xa0\x80"
    assert original[place.start : place.end] == quotation
    assert verify().ok


@pytest.mark.parametrize(
    ("encoding", "of_a_letter"),
    [
        ("utf-16", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
        ("utf-32", "utf-32-le"),
        ("shift_jis", "shift_jis"),
        ("gb18030", "gb18030"),
    ],
)
def test_every_character_of_a_transcoded_text_maps_back(encoding, of_a_letter):
    text = "料金表 A\r\nかな b\n"
    version = import_source_version(OPERATOR, make_study(), entry(encoding=encoding), text.encode(encoding)).version
    assert bytes(version.content).decode() == text
    position = 0
    for letter in text:
        span = ByteSpan(position, position + len(letter.encode()))
        assert quotation_in_original(version, span)[1].decode(of_a_letter) == letter
        position = span.end
    with pytest.raises(BadInput, match="no boundary"):
        quotation_in_original(version, ByteSpan(1, 3))


@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("no-such", b"x"),
        ("rot13", b"x"),
        ("utf-16", b"a\0"),
        ("ascii", b"\xff"),
        ("iso2022_jp", "かな漢字".encode("iso2022_jp")),
    ],
)
def test_transcoding_that_cannot_be_exact_is_refused(encoding, data):
    with pytest.raises(EncodingRefused):
        import_source_version(OPERATOR, make_study(), entry(encoding=encoding), data)


def test_version_cannot_be_changed_or_deleted_in_the_database():
    version = import_source_version(OPERATOR, make_study(), entry(), b"one").version
    for change in (
        lambda: SourceVersion.objects.filter(pk=version.pk).update(content=b"two"),
        lambda: SourceVersion.objects.filter(pk=version.pk).update(access_labels=[]),
        lambda: SourceVersion.objects.filter(pk=version.pk).delete(),
    ):
        with pytest.raises(DatabaseError), transaction.atomic():
            change()
    assert bytes(SourceVersion.objects.get().content) == b"one"


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ({"content": b"two"}, "source.bytes"),
        ({"access_labels": ["hr"]}, "row.differs"),
        ({"access_ranges": [[0, 1, ["hr"]]]}, "row.differs"),
        ({"effective_from": DAY}, "row.differs"),
        ({"version_label": "other"}, "row.missing"),
    ],
)
def test_tampered_version_is_found_by_the_ledger(change, finding):
    version = import_source_version(OPERATOR, make_study(), entry(), b"one").version
    assert verify().ok
    with tampering():
        SourceVersion.objects.filter(pk=version.pk).update(**change)
    assert finding in {item.kind for item in verify().findings}


def test_file_nobody_describes_gets_a_document_id_it_can_be_named_by():
    assert plain_entry("sub dir/Ünï code (1).md", DAY).document_id == "sub-dir-Ünï-code--1"
    assert plain_entry("???.txt", DAY).document_id == "document"
    # Code files of one name are different files; a text of one name in two formats is one document.
    assert plain_entry("src/main.py", DAY).document_id == "src-main.py"
    assert plain_entry("src/main.c", DAY).document_id != plain_entry("src/main.h", DAY).document_id


@pytest.mark.parametrize(
    "change",
    [
        {"document_id": "a b"},
        {"document_id": "x" * 121},
        {"version_label": " "},
        {"version_label": "x" * 81},
        {"title": "nul\0"},
        {"title": "x" * 301},
        {"media_type": "<script>"},
        {"locale": "english please"},
        {"tenant": "x" * 81},
        {"access_labels": frozenset({"two words"})},
        {"effective_from": DAY, "effective_to": DAY},
    ],
)
def test_entry_from_a_form_that_no_store_could_hold_is_refused(change):
    field = list(change)[-1]
    with pytest.raises(BadInput) as refused:
        import_source_version(OPERATOR, make_study(), entry(**change), b"text")
    assert all(problem.where == f"a.md, {field}" for problem in refused.value.problems)


@pytest.mark.parametrize(
    ("file", "media_type"),
    [
        ("src/tool.PY", "text/x-python"),
        ("app.test.ts", "text/typescript"),
        ("a.go", "text/x-go"),
        ("lib.rs", "text/x-rust"),
        ("x.cpp", "text/x-c++"),
        ("build.sh", "text/x-sh"),
        ("schema.sql", "text/x-sql"),
        ("pyproject.toml", "application/toml"),
        ("ci.yml", "application/yaml"),
        ("notes.txt", "text/plain"),
        ("Makefile", "text/plain"),
        (".py", "text/plain"),
        ("", "text/plain"),
    ],
)
def test_media_type_follows_from_the_ending_of_a_name(file: str, media_type: str) -> None:
    assert media_type_of(file) == media_type


def test_code_files_nobody_described_are_told_by_their_endings(tmp_path):
    (tmp_path / "tool.py").write_text("def borrow(): ...\n")
    (tmp_path / "store.go").write_text("package store\n")
    import_folder(OPERATOR, make_study(), tmp_path)
    found = dict(SourceVersion.objects.values_list("source__document_id", "media_type"))
    assert found == {"tool.py": "text/x-python", "store.go": "text/x-go"}
