import json
import random
from pathlib import Path

import pytest
from django.db import transaction

from ledger import registry
from ledger.domain.canonical import canonical_bytes, digest, keyed_digest, parse_canonical
from ledger.domain.chain import ExternalHead
from ledger.models import Head, Record
from ledger.services import LedgerError, ResultEntry, append, export_bundle, put_results, seal, verify_bundle
from tests.ledger.tampering import forged, run

KEY = bytes(range(32))
FILES = ("records.jsonl", "results.jsonl", "manifest.json")
SECRETS = ("Geheimnis", "paragraph two", "nein, nur bis Freitag")


@pytest.fixture
def filled(db):
    append("test.note", {"quote": SECRETS[0], "n": 1, "parts": []}, "study:1", ["legal"])
    append("test.note", {"quote": None, "n": 2, "parts": [{"text": SECRETS[1], "start": 0}]}, "study:2")
    append("test.plain", {"n": 3}, "study:1")
    put_results("sweep:1", [ResultEntry(f"q{n}", "test.rank", {"r": [n] * 400}) for n in range(3)])
    put_results("sweep:2", [ResultEntry("q", "test.answer", {"answer": SECRETS[2], "ok": True})])
    put_results("open", [ResultEntry("q", "test.rank", 5)])
    seal("sweep:1", 3)
    seal("sweep:2", 1)
    head = Head.objects.get()
    return ExternalHead(head.seq, head.link)


def kinds(report):
    return {finding.kind for finding in report.findings}


def lines(path):
    return [parse_canonical(line) for line in path.read_bytes().splitlines()]


def test_exported_bundle_verifies_without_the_database(filled, tmp_path, django_db_blocker):
    manifest = export_bundle(tmp_path / "out")
    with django_db_blocker.block():
        report = verify_bundle(tmp_path / "out", filled)
    assert report.ok
    assert (report.records, report.results, report.seals) == (5, 5, 2)
    assert report.head == filled
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(FILES)
    assert manifest == json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["counts"] == {"records": 5, "results": 5}
    first = lines(tmp_path / "out" / "records.jsonl")[0]
    assert first["payload"] == {"quote": SECRETS[0], "n": 1, "parts": []}
    assert first["payload_digest"] == Record.objects.get(seq=1).payload_digest


def test_two_exports_are_byte_identical(filled, tmp_path):
    export_bundle(tmp_path / "one")
    export_bundle(tmp_path / "two")
    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("text_free", [False, True])
def test_any_flipped_byte_is_found(filled, tmp_path, name, text_free):
    export_bundle(tmp_path / "out", text_key=KEY if text_free else None)
    path = tmp_path / "out" / name
    data = path.read_bytes()
    chance = random.Random(f"{name} {text_free}")
    for at in [0, len(data) - 1, *chance.sample(range(len(data)), 60)]:
        path.write_bytes(data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :])
        assert not verify_bundle(tmp_path / "out").ok, f"byte {at} of {name}"
    path.write_bytes(data)
    assert verify_bundle(tmp_path / "out").ok


def rewrite(folder, edit):
    """Edit the lines of both files and make the manifest agree, as a careful forger would."""
    from ledger.domain.bundle import manifest_bytes

    rows = {name: lines(folder / name) for name in FILES[:2]}
    manifest = parse_canonical((folder / "manifest.json").read_bytes()[:-1])
    edit(rows["records.jsonl"], rows["results.jsonl"], manifest)
    for name, found in rows.items():
        data = b"".join(canonical_bytes(row) + b"\n" for row in found)
        (folder / name).write_bytes(data)
        manifest["files"][name] = {"bytes": len(data), "sha256": digest(data)}
    manifest["counts"] = {"records": len(rows["records.jsonl"]), "results": len(rows["results.jsonl"])}
    (folder / "manifest.json").write_bytes(manifest_bytes(manifest))


EDITS = {
    "record dropped": (lambda records, results, manifest: records.pop(1), "chain.gap"),
    "last record dropped": (lambda records, results, manifest: records.pop(), "head.truncated"),
    "records swapped": (lambda records, results, manifest: records.insert(0, records.pop(1)), "chain.order"),
    "payload": (lambda records, results, manifest: records[2].update(payload={"n": 4}), "record.digest"),
    "payload and digest": (
        lambda records, results, manifest: records[2].update(
            payload={"n": 4}, payload_digest=digest(canonical_bytes({"n": 4}))
        ),
        "record.commitment",
    ),
    "label": (lambda records, results, manifest: records[0].update(labels=[]), "chain.link"),
    "time": (
        lambda records, results, manifest: records[0].update(recorded_at="2020-01-01T00:00:00.000000Z"),
        "chain.link",
    ),
    "result dropped": (lambda records, results, manifest: results.pop(), "seal.count"),
    "result payload": (lambda records, results, manifest: results[-1].update(payload={}), "result.digest"),
    "result whole": (
        lambda records, results, manifest: results[-1].update(payload=1, payload_digest=digest(b"1")),
        "seal.root",
    ),
    "result twice": (lambda records, results, manifest: results.append(results[-1]), "result.order"),
    "seal dropped": (lambda records, results, manifest: manifest["seals"].pop(), "seal.missing"),
    "seal retold": (lambda records, results, manifest: manifest["seals"][0].update(root="ab"), "seal.differs"),
    "head": (lambda records, results, manifest: manifest["head"].update(link="ab" * 32), "head.differs"),
    "member added": (lambda records, results, manifest: records[0].update(more=1), "bundle.line"),
    "salt hidden": (lambda records, results, manifest: records[0].pop("salt"), "bundle.line"),
    "other scopes": (lambda records, results, manifest: manifest.update(scopes=["x"]), "bundle.scope"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_bundle_rewritten_with_its_manifest_is_found(filled, tmp_path, edit):
    change, expected = EDITS[edit]
    export_bundle(tmp_path / "out")
    rewrite(tmp_path / "out", change)
    assert expected in kinds(verify_bundle(tmp_path / "out", filled))


def test_bundle_of_another_chain_is_found_by_the_head_outside(filled, tmp_path):
    export_bundle(tmp_path / "out")
    assert "head.rechained" in kinds(verify_bundle(tmp_path / "out", ExternalHead(3, "ab" * 32)))
    assert "head.truncated" in kinds(verify_bundle(tmp_path / "out", ExternalHead(9, "ab" * 32)))


def test_text_free_bundle_holds_no_text_nor_a_digest_to_guess_it_by(filled, tmp_path):
    manifest = export_bundle(tmp_path / "out", text_key=KEY)
    everything = b"".join((tmp_path / "out" / name).read_bytes() for name in FILES).decode()
    for secret in SECRETS:
        assert secret not in everything
        assert digest(secret.encode()) not in everything
        assert digest(canonical_bytes(secret)) not in everything
    for seq in (1, 2):
        record = Record.objects.get(seq=seq)
        assert record.payload_digest not in everything
        assert record.salt.hex() not in everything
    assert digest(canonical_bytes({"answer": SECRETS[2], "ok": True})) not in everything
    first, second, third, *_ = lines(tmp_path / "out" / "records.jsonl")
    mark = {"keyed_digest": keyed_digest(KEY, canonical_bytes(SECRETS[0]))}
    assert first["payload"] == {"quote": mark, "n": 1, "parts": []}
    assert second["payload"]["parts"][0]["start"] == 0
    assert third["payload_digest"] == Record.objects.get(seq=3).payload_digest
    assert manifest["text_free"]


def test_text_free_bundle_verifies_its_chain_and_says_what_it_cannot(filled, tmp_path):
    export_bundle(tmp_path / "out", text_key=KEY)
    report = verify_bundle(tmp_path / "out", filled)
    assert report.ok
    notes = " ".join(report.notes)
    assert "2 records had their text taken out" in notes
    assert "sealed roots of sweep:2" in notes
    rewrite(tmp_path / "out", lambda records, results, manifest: records[0].update(commitment="ab" * 32))
    assert "chain.link" in kinds(verify_bundle(tmp_path / "out"))


def test_kind_without_declared_fields_is_not_exported_text_free(filled, tmp_path):
    append("nobody.registered", {"quote": "x"}, "study:1")
    with pytest.raises(LedgerError, match=r"nobody\.registered"):
        export_bundle(tmp_path / "out", text_key=KEY)
    assert list(tmp_path.iterdir()) == []
    assert export_bundle(tmp_path / "with text")["counts"]["records"] == 6


def test_export_of_one_scope_verifies_each_link(filled, tmp_path):
    manifest = export_bundle(tmp_path / "out", scopes=["study:1", "sweep:1"])
    assert manifest["counts"] == {"records": 3, "results": 3}
    assert [seal["scope"] for seal in manifest["seals"]] == ["sweep:1"]
    report = verify_bundle(tmp_path / "out", filled)
    assert report.ok
    assert "some scopes only" in " ".join(report.notes)
    assert "head.rechained" in kinds(verify_bundle(tmp_path / "out", ExternalHead(filled.seq, "ab" * 32)))
    assert "head.truncated" in kinds(verify_bundle(tmp_path / "out", ExternalHead(9, "ab" * 32)))
    rewrite(tmp_path / "out", lambda records, results, manifest: records[1].update(payload={"n": 0}))
    assert "record.digest" in kinds(verify_bundle(tmp_path / "out"))


def test_empty_ledger_can_be_exported(db, tmp_path):
    export_bundle(tmp_path / "out")
    assert verify_bundle(tmp_path / "out").ok


def test_bad_places_and_keys_are_refused_and_nothing_is_left(filled, tmp_path):
    (tmp_path / "there").mkdir()
    for path, key, message in (
        (tmp_path / "there", None, "already"),
        (tmp_path / "no" / "where", None, "no folder"),
        (tmp_path / "out", b"short", "at least 16"),
    ):
        with pytest.raises(LedgerError, match=message):
            export_bundle(path, text_key=key)
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE ledger_record SET payload = labels_bytes WHERE seq = 3",
        "UPDATE ledger_result SET encoding = 'identity' WHERE scope = 'sweep:1'",
        "UPDATE ledger_result SET payload = (SELECT salt FROM ledger_record WHERE seq = 1) WHERE scope = 'sweep:1'",
    ],
)
def test_damaged_rows_are_not_exported(filled, tmp_path, sql):
    with forged():
        run(sql)
        with pytest.raises(LedgerError, match="run verify_ledger"):
            export_bundle(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_folder_that_is_no_bundle_is_refused(tmp_path):
    with pytest.raises(LedgerError, match="not an exported ledger"):
        verify_bundle(tmp_path)
    with pytest.raises(LedgerError):
        verify_bundle(Path(tmp_path / "nowhere"))


def test_export_streams_many_rows(db, tmp_path):
    with transaction.atomic():
        put_results("s", (ResultEntry(f"{n}", "test.rank", n) for n in range(1200)))
        for number in range(20):
            append("test.plain", number, "s")
        seal("s", 1200)
    ticks = []
    export_bundle(tmp_path / "out", progress=ticks.append)
    assert ticks == [1000]
    assert verify_bundle(tmp_path / "out").ok


def test_registered_text_fields_reach_the_export(filled, tmp_path):
    with registry.opened():
        registry.register_plain("new.kind", text_fields=("rows.*.text",))
        append("new.kind", {"rows": {"a": {"text": "hidden away"}}}, "study:1")
        export_bundle(tmp_path / "out", text_key=KEY)
    assert b"hidden away" not in (tmp_path / "out" / "records.jsonl").read_bytes()
