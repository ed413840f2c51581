import random
import threading

import pytest
from django.db import connection, transaction

from ledger import registry
from ledger.domain.canonical import canonical_bytes, digest
from ledger.domain.chain import GENESIS, ExternalHead
from ledger.models import Head, Record, Result
from ledger.registry import Finding
from ledger.services import ResultEntry, append, put_results, seal, verify
from tests.ledger.tampering import COLUMNS, change_one_byte, forged, rechain, run


@pytest.fixture
def filled(db):
    """Eight records (two of them seals) and two sealed scopes; returns the head as noted outside."""
    with transaction.atomic():
        return fill()


def fill():
    for number in range(3):
        append("test.note", {"quote": f"§ {number}", "n": number}, "study:1", ["legal", "hr"][: number % 3])
    for scope in ("sweep:1", "sweep:2"):
        put_results(scope, [ResultEntry(f"q{n}", "test.rank", {"r": [n] * 400}) for n in range(4)])
        put_results(scope, [ResultEntry("a", "test.answer", {"answer": "no"})])
        append("test.plain", "cell done", scope)
        seal(scope, 5)
    append("test.plain", None, "study:1")
    head = Head.objects.get()
    return ExternalHead(head.seq, head.link)


def kinds(report):
    return {finding.kind for finding in report.findings}


def test_untouched_ledger_is_clean(filled):
    report = verify(filled)
    assert report.ok
    assert (report.records, report.results, report.seals) == (8, 10, 2)
    assert report.head == filled
    assert report.notes == ()


def test_empty_ledger_is_clean(db):
    report = verify(ExternalHead(0, GENESIS))
    assert (report.ok, report.head) == (True, ExternalHead(0, GENESIS))


def test_older_head_still_fits_a_grown_chain(filled):
    append("test.plain", 1, "s")
    assert verify(filled).ok


def test_unsealed_results_are_named_in_the_notes(filled):
    put_results("sweep:3", [ResultEntry("a", "test.answer", 1)])
    report = verify()
    assert report.ok
    assert len(report.notes) == 2
    assert "no head from outside" in report.notes[0]
    assert "sweep:3" in report.notes[1]


@pytest.mark.parametrize("column", [f"{table}.{column}" for table in COLUMNS for column in COLUMNS[table]])
def test_changing_any_byte_of_any_column_is_found(filled, column):
    table, name = column.split(".")
    changed = 0
    with forged():
        for draw in range(12):
            with transaction.atomic():
                if change_one_byte(random.Random(f"{column} {draw}"), table, name):
                    changed += 1
                    assert not verify(filled).ok, f"draw {draw} of {column} went unnoticed"
                transaction.set_rollback(True)
        assert verify(filled).ok
    # Constraints refuse any other id of the head and any unknown encoding.
    assert changed or column in ("ledger_head.id", "ledger_result.encoding")


@pytest.mark.parametrize("seq", [1, 4, 8])
def test_deleted_record_is_found(filled, seq):
    with forged():
        run("DELETE FROM ledger_record WHERE seq = %s", [seq])
        assert kinds(verify()) & {"chain.gap", "head.truncated"}


def test_reordered_records_are_found(filled):
    with forged():
        run("UPDATE ledger_record SET seq = 100 WHERE seq = 2")
        run("UPDATE ledger_record SET seq = 2 WHERE seq = 3")
        run("UPDATE ledger_record SET seq = 3 WHERE seq = 100")
        assert {"chain.previous", "chain.link"} <= kinds(verify())


def test_chain_cut_off_with_its_head_is_found_by_the_head_outside(filled):
    with forged():
        run("DELETE FROM ledger_record WHERE seq = 8")
        link = Record.objects.get(seq=7).link
        Head.objects.update(seq=7, link=link)
        assert verify().ok
        assert "head.truncated" in kinds(verify(filled))
    with forged():
        run("DELETE FROM ledger_record")
        run("DELETE FROM ledger_head")
        run("DELETE FROM ledger_seal")
        assert verify().ok
        assert "head.truncated" in kinds(verify(filled))


@pytest.mark.parametrize("start", [1, 3, 8])
def test_rechained_ledger_is_found_by_the_head_outside(filled, start):
    data = canonical_bytes("forged")
    with forged():
        run(
            "UPDATE ledger_record SET payload = %s, payload_digest = %s WHERE seq = %s",
            [data, digest(data), start],
        )
        rechain(start)
        assert verify().ok
        assert "head.rechained" in kinds(verify(filled))


def test_rechained_after_deleting_one_is_found_by_the_head_outside(filled):
    with forged():
        run("DELETE FROM ledger_record WHERE seq = 8")
        rechain(8)
        append_link = Record.objects.get(seq=7)
        Head.objects.update(seq=7, link=append_link.link)
        append("test.plain", "another", "study:1")
        assert verify().ok
        assert "head.rechained" in kinds(verify(filled))


@pytest.mark.parametrize("last", [1, 3, 5])
def test_last_records_cut_off_with_their_results_seals_and_head_are_found_by_the_head_outside(filled, last):
    with forged():
        cut = set(Record.objects.filter(seq__gt=8 - last).values_list("scope", flat=True))
        kept = set(Record.objects.filter(seq__lte=8 - last).values_list("scope", flat=True))
        run("DELETE FROM ledger_record WHERE seq > %s", [8 - last])
        run("DELETE FROM ledger_seal WHERE record_seq > %s", [8 - last])
        for scope in cut - kept:
            run("DELETE FROM ledger_result WHERE scope = %s", [scope])
        Head.objects.update(seq=8 - last, link=Record.objects.get(seq=8 - last).link)
        assert verify().ok
        assert kinds(verify(filled)) == {"head.truncated"}
        # Grown again to the old height with records of another story, it is told by its link.
        for number in range(last + 1):
            append("test.plain", number, "study:1")
        assert verify().ok
        assert kinds(verify(filled)) == {"head.rechained"}


@pytest.mark.parametrize("pair", [(1, 2), (2, 8), (7, 8)])
def test_two_records_exchanged_and_everything_chained_anew_are_found_by_the_head_outside(filled, pair):
    one, two = pair
    with forged():
        _exchange(one, two)
        rechain(one)
        assert verify().ok
        assert "head.rechained" in kinds(verify(filled))


def _exchange(one, two):
    """Give each record the other's place; where one of them is a seal's, its row moves along."""
    run("UPDATE ledger_record SET seq = 100 WHERE seq = %s", [one])
    run("UPDATE ledger_record SET seq = %s WHERE seq = %s", [one, two])
    run("UPDATE ledger_record SET seq = %s WHERE seq = 100", [two])
    run("UPDATE ledger_seal SET record_seq = 100 WHERE record_seq = %s", [one])
    run("UPDATE ledger_seal SET record_seq = %s WHERE record_seq = %s", [one, two])
    run("UPDATE ledger_seal SET record_seq = %s WHERE record_seq = 100", [two])


def test_older_copy_of_the_database_put_back_is_found_by_the_head_noted_since(filled):
    append("test.plain", "since", "study:1")
    with transaction.atomic():
        put_results("sweep:3", [ResultEntry("a", "test.answer", 1)])
        seal("sweep:3", 1)
    head = verify().head
    with forged():
        # As the copy was: nothing of what came after it, and sound in itself.
        run("DELETE FROM ledger_result WHERE scope = 'sweep:3'")
        run("DELETE FROM ledger_seal WHERE scope = 'sweep:3'")
        run("DELETE FROM ledger_record WHERE seq > 8")
        Head.objects.update(seq=filled.seq, link=filled.link)
        assert verify(filled).ok
        assert kinds(verify(head)) == {"head.truncated"}
        # Work goes on in the copy, further than the head was.
        for number in range(4):
            append("test.plain", number, "study:1")
        assert verify(filled).ok
        assert kinds(verify(head)) == {"head.rechained"}


@pytest.mark.parametrize("again", [False, True], ids=["gaps left", "chained anew"])
def test_whole_study_deleted_is_found_by_the_head_outside(filled, again):
    with forged():
        run("DELETE FROM ledger_record WHERE scope IN ('study:1', 'sweep:1')")
        run("DELETE FROM ledger_seal WHERE scope = 'sweep:1'")
        run("DELETE FROM ledger_result WHERE scope = 'sweep:1'")
        assert "chain.gap" in kinds(verify())
        if again:
            for seq, old in enumerate(Record.objects.order_by("seq").values_list("seq", flat=True), 1):
                run("UPDATE ledger_record SET seq = %s WHERE seq = %s", [seq, old])
                run("UPDATE ledger_seal SET record_seq = %s WHERE record_seq = %s", [seq, old])
            rechain()
            assert verify().ok
        assert kinds(verify(filled)) & {"head.truncated", "head.rechained"}


def test_record_put_in_without_the_service_is_found(filled):
    last = Record.objects.get(seq=8)
    with forged():
        Record.objects.create(
            seq=9, kind="test.plain", scope="s", labels=[], labels_bytes=b"[]", payload=b"1",
            payload_digest=digest(b"1"), salt=b"0" * 16, previous=last.link, link="00" * 32,
            recorded_at=last.recorded_at,
        )  # fmt: skip
        assert "chain.beyond" in kinds(verify())


def test_head_deleted_is_found(filled):
    with forged():
        run("DELETE FROM ledger_head")
        assert "head.missing" in kinds(verify())


FORGERIES = {
    "result deleted": ("DELETE FROM ledger_result WHERE scope = 'sweep:1' AND key = 'q1'", {"seal.count", "seal.root"}),
    "scope emptied": ("DELETE FROM ledger_result WHERE scope = 'sweep:1'", {"seal.count", "seal.root"}),
    "encoding retold": ("UPDATE ledger_result SET encoding = 'identity'", {"result.payload", "result.digest"}),
    "result moved": ("UPDATE ledger_result SET scope = 'x' WHERE scope = 'sweep:1' AND key = 'a'", {"seal.count"}),
    "seal deleted": ("DELETE FROM ledger_seal WHERE scope = 'sweep:1'", {"seal.missing"}),
    "seal made up": ("INSERT INTO ledger_seal VALUES ('new', 'ab', 0, 3)", {"seal.unknown", "seal.root"}),
    "seal made up beyond the head": ("INSERT INTO ledger_seal VALUES ('new', 'ab', 0, 99)", {"seal.unknown"}),
    "seal retold": ("UPDATE ledger_seal SET root = 'ab' WHERE scope = 'sweep:1'", {"seal.differs"}),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forged_seals_and_results_are_found(filled, forgery):
    sql, expected = FORGERIES[forgery]
    with forged():
        run(sql)
        assert expected <= kinds(verify())


def test_result_replaced_as_a_whole_breaks_its_root(filled):
    with forged():
        data = canonical_bytes({"answer": "yes"})
        Result.objects.filter(scope="sweep:1", key="a").update(payload=data, payload_digest=digest(data))
        assert kinds(verify()) == {"seal.root"}


def test_resealing_a_changed_scope_through_the_services_is_found(filled):
    with forged():
        run("DELETE FROM ledger_seal WHERE scope = 'sweep:1'")
        put_results("sweep:1", [ResultEntry("late", "test.rank", 1)])
        seal("sweep:1", 6)
        assert {"seal.differs", "seal.root"} <= kinds(verify())


def test_unknown_kind_is_a_finding(filled):
    append("nobody.registered", 1, "s")
    (finding,) = verify().findings
    assert (finding.kind, finding.seq) == ("kind.unknown", 9)


def test_registered_verifiers_are_called_and_one_that_breaks_is_reported(filled):
    seen = []

    def check(record):
        seen.append((record.seq, record.value["n"]))
        if record.value["n"] == 1:
            yield Finding("note.differs", record.seq, "note 1", "the row says something else.")
        if record.value["n"] == 2:
            # A failing statement must not spoil the verification's own reading on PostgreSQL.
            run("SELECT * FROM no_such_table")

    with registry.opened():
        registry._kinds.pop("test.note")
        registry.register("test.note", check)
        registry.register_table("rows", lambda: [Finding("rows.missing", None, "rows", "3 rows are gone.")])
        report = verify()
    assert seen == [(1, 0), (2, 1), (3, 2)]
    assert [finding.kind for finding in report.findings] == ["note.differs", "verifier.failed", "rows.missing"]
    assert report.records == 8


def test_verifiers_are_spared_broken_records(filled):
    seen = []
    with registry.opened(), forged():
        registry._kinds.pop("test.note")
        registry.register("test.note", lambda record: seen.append(record.seq) or [])
        run("UPDATE ledger_record SET payload_digest = %s WHERE seq = 2", ["00" * 32])
        verify()
    assert seen == [1, 3]


def test_findings_beyond_the_limit_are_counted(db, monkeypatch):
    monkeypatch.setattr("ledger.domain.report.KEPT_FINDINGS", 3)
    for number in range(5):
        append("nobody.registered", number, "s")
    report = verify()
    assert (len(report.findings), report.total_findings, report.ok) == (3, 5, False)


def test_verification_stops_at_the_first_finding_when_asked(filled):
    with forged():
        run("UPDATE ledger_record SET payload_digest = %s WHERE seq IN (2, 4)", ["00" * 32])
        report = verify(filled, first=True)
        assert [finding.seq for finding in report.findings] == [2]
        assert (report.total_findings, report.results, report.ok) == (1, 0, False)
        assert verify(filled).total_findings > 1


def test_verification_streams_and_reports_progress(db):
    with transaction.atomic():
        put_results("s", (ResultEntry(f"{n}", "test.rank", n) for n in range(2100)))
    ticks = []
    assert verify(progress=ticks.append).ok
    assert ticks == [1000, 2000]


@pytest.mark.django_db(transaction=True)
def test_verification_outside_a_transaction_works_and_takes_no_write_lock(filled):
    assert not connection.in_atomic_block
    assert verify(filled).ok


@pytest.mark.django_db(transaction=True)
def test_verification_is_clean_while_others_write(filled):
    stop, failures = threading.Event(), []

    def write():
        try:
            number = 0
            while not stop.is_set():
                number += 1
                with transaction.atomic():
                    put_results(f"busy:{number}", [ResultEntry("q", "test.rank", number)])
                with transaction.atomic():
                    append("test.plain", number, "busy")
                    seal(f"busy:{number}", 1)
        except Exception as error:
            failures.append(error)
        finally:
            connection.close()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        reports = [verify(filled) for _ in range(8)]
    finally:
        stop.set()
        writer.join(timeout=60)
    assert not failures
    assert [report.findings for report in reports] == [()] * 8
    assert reports[-1].records > reports[0].records
    assert verify(reports[-1].head).ok
