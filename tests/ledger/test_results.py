import random
import threading

import pytest
from django.db import connection, transaction

from ledger.domain.encoding import leaf_content
from ledger.domain.merkle import EMPTY_ROOT, merkle_root
from ledger.models import Record, Result, Seal
from ledger.services import (
    SEALED_KIND,
    LedgerError,
    ResultConflict,
    ResultEntry,
    ScopeSealed,
    append,
    put_results,
    seal,
    verify,
)


def entries(count, start=0):
    return [
        ResultEntry(f"q{number}/é", "test.rank", {"rank": [number] * 300}) for number in range(start, start + count)
    ]


@pytest.mark.django_db
def test_results_are_kept_once_however_often_they_come():
    assert put_results("sweep:1", entries(5)) == 5
    assert put_results("sweep:1", entries(7, start=2)) == 7
    assert Result.objects.count() == 9
    row = Result.objects.get(scope="sweep:1", key="q3/é")
    assert (row.encoding, row.value) == ("zlib", {"rank": [3] * 300})


@pytest.mark.django_db
@pytest.mark.parametrize(
    "other", [ResultEntry("k", "test.rank", {"a": 2}), ResultEntry("k", "test.answer", {"a": 1})], ids=["bytes", "kind"]
)
def test_same_key_with_other_content_is_a_conflict(other):
    first = ResultEntry("k", "test.rank", {"a": 1})
    with pytest.raises(ResultConflict), transaction.atomic():
        put_results("s", [first, other])
    put_results("s", [first])
    with pytest.raises(ResultConflict), transaction.atomic():
        put_results("s", [ResultEntry("new", "test.rank", 1), other])
    assert [row.key for row in Result.objects.all()] == ["k"]
    put_results("other scope", [other])


@pytest.mark.django_db
def test_bad_keys_and_payloads_are_refused():
    for entry in (ResultEntry("", "k", 1), ResultEntry("a\x00", "k", 1), ResultEntry("k", "", 1)):
        with pytest.raises(ValueError):
            put_results("s", [entry])
    with pytest.raises(ValueError, match=r"\$\.x"):
        put_results("s", [ResultEntry("k", "k", {"x": 0.5})])


@pytest.mark.django_db(transaction=True)
def test_put_and_seal_outside_a_transaction_are_refused():
    with pytest.raises(LedgerError, match="outside a transaction"):
        put_results("s", entries(1))
    with pytest.raises(LedgerError, match="outside a transaction"):
        seal("s", None)


@pytest.mark.django_db
def test_seal_is_the_root_of_the_results_and_stands_in_the_chain():
    put_results("s", entries(12))
    made = seal("s", 12)
    leaves = [(row.key, leaf_content(row.kind, row.payload_digest)) for row in Result.objects.all()]
    assert made.root == merkle_root(leaves)
    record = Record.objects.get(seq=made.record_seq)
    assert (record.kind, record.scope) == (SEALED_KIND, "s")
    assert record.value == {"leaf_count": 12, "root": made.root, "scope": "s"}
    assert seal("s", None) == made
    assert Record.objects.count() == 1


@pytest.mark.django_db
def test_seal_does_not_depend_on_order_batches_or_scope():
    items = [
        *entries(30),
        ResultEntry("Z", "test.rank", 1),
        ResultEntry("a", "test.rank", 1),
        ResultEntry("\U0001f600", "test.rank", 1),
    ]
    put_results("one", items)
    random.Random(5).shuffle(items)
    for item in items:
        append("test.plain", item.key, "between")
        put_results("two", [item])
    assert seal("one", None).root == seal("two", None).root


@pytest.mark.django_db
def test_sealed_scope_takes_nothing_and_counts_must_agree():
    put_results("s", entries(3))
    with pytest.raises(LedgerError, match="holds 3 results, expected 4"):
        seal("s", 4)
    assert not Seal.objects.exists()
    seal("s", 3)
    with pytest.raises(ScopeSealed):
        put_results("s", entries(1))
    with pytest.raises(LedgerError, match="expected 2"):
        seal("s", 2)


@pytest.mark.django_db
def test_empty_scope_can_be_sealed():
    assert seal("nothing", 0).root == EMPTY_ROOT
    assert verify().ok


@pytest.mark.django_db(transaction=True)
def test_workers_that_bring_the_same_results_at_once_and_a_seal_in_between_lose_nothing():
    barrier = threading.Barrier(5)
    failures, refused = [], []

    def run(work):
        try:
            barrier.wait(timeout=30)
            work()
        except Exception as error:
            failures.append(error)
        finally:
            connection.close()

    def put(offset):
        for start in range(offset, 60, 5):
            try:
                with transaction.atomic():
                    put_results("race", entries(10, start=start))
            except ScopeSealed:
                refused.append(start)

    def close():
        with transaction.atomic():
            seal("race", None)

    threads = [threading.Thread(target=run, args=(lambda offset=offset: put(offset),)) for offset in (0, 0, 2, 3)]
    threads.append(threading.Thread(target=run, args=(close,)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert not failures
    assert Seal.objects.get().leaf_count == Result.objects.count()
    assert verify().ok
