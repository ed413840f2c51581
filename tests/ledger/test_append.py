import threading
from datetime import UTC

import pytest
from django.db import connection, transaction

from ledger.domain import chain
from ledger.domain.canonical import CanonicalError, canonical_bytes, digest
from ledger.domain.encoding import MAX_PAYLOAD_BYTES
from ledger.models import Head, Record
from ledger.services import LedgerError, PayloadTooLarge, append, verify
from ledger.triggers import lifted


@pytest.mark.django_db
def test_append_chains_records_and_moves_the_head():
    first = append("test.plain", {"b": 1, "a": "é\x00"}, "study:1", ["z", "a", "z"])
    second = append("test.plain", [], "study:2")
    stored = Record.objects.get(seq=first.seq)
    assert (first.seq, second.seq) == (1, 2)
    assert first.previous == chain.GENESIS
    assert second.previous == first.link
    assert stored.payload == b'{"a":"\xc3\xa9\\u0000","b":1}'
    assert stored.value == {"a": "é\x00", "b": 1}
    assert stored.payload_digest == digest(canonical_bytes({"a": "é\x00", "b": 1}))
    assert (stored.labels, stored.labels_bytes) == (["a", "z"], b'["a","z"]')
    assert stored.recorded_at == first.recorded_at
    assert stored.recorded_at.tzinfo in (UTC, first.recorded_at.tzinfo)
    head = Head.objects.get()
    assert (head.seq, head.link) == (2, second.link)


@pytest.mark.django_db(transaction=True)
def test_append_outside_a_transaction_is_refused():
    with pytest.raises(LedgerError, match="outside a transaction"):
        append("test.plain", {}, "s")
    assert not Record.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("kind", "payload", "scope", "labels", "error"),
    [
        ("", {}, "s", (), ValueError),
        ("k" * 101, {}, "s", (), ValueError),
        ("k", {}, "", (), ValueError),
        ("k", {}, "a\x00b", (), ValueError),
        ("k", {}, "s", "label", ValueError),
        ("k", {}, "s", ["\x00"], ValueError),
        ("k", {"x": 0.5}, "s", (), CanonicalError),
        ("k", "x" * MAX_PAYLOAD_BYTES, "s", (), PayloadTooLarge),
    ],
)
def test_append_refuses_what_it_cannot_keep(kind, payload, scope, labels, error):
    with pytest.raises(error):
        append(kind, payload, scope, labels)
    assert not Record.objects.exists()


@pytest.mark.django_db
def test_rolled_back_append_leaves_the_chain_as_it_was():
    first = append("test.plain", 1, "s")
    with transaction.atomic():
        append("test.plain", 2, "s")
        transaction.set_rollback(True)
    second = append("test.plain", 3, "s")
    assert (second.seq, second.previous) == (2, first.link)
    assert verify().ok


@pytest.mark.django_db
def test_append_to_a_chain_without_a_head_is_refused():
    append("test.plain", 1, "s")
    with lifted(connection), connection.cursor() as cursor:
        cursor.execute("DELETE FROM ledger_head")
    with pytest.raises(LedgerError, match="no head"):
        append("test.plain", 2, "s")


@pytest.mark.django_db(transaction=True)
def test_concurrent_appends_keep_the_chain_whole():
    barrier = threading.Barrier(4)
    failures = []

    def work(number):
        try:
            barrier.wait(timeout=30)
            for turn in range(10):
                with transaction.atomic():
                    append("test.plain", {"worker": number, "turn": turn}, f"w{number}")
        except Exception as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert not failures
    report = verify()
    assert (report.ok, report.records) == (True, 40)
    for number in range(4):
        turns = [record.value["turn"] for record in Record.objects.filter(scope=f"w{number}").order_by("seq")]
        assert turns == list(range(10))
