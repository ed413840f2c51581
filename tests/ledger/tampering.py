"""Ways to falsify the ledger's tables past the triggers."""

from __future__ import annotations

import json
from contextlib import contextmanager
from random import Random

from django.db import Error, connection, transaction

from ledger.domain import chain
from ledger.domain.encoding import decode
from ledger.models import Head, Record
from ledger.triggers import lifted

TEXT, BINARY, INTEGER, JSON, MOMENT = "text", "binary", "integer", "json", "moment"
COLUMNS = {
    "ledger_record": {
        "seq": INTEGER,
        "kind": TEXT,
        "scope": TEXT,
        "labels": JSON,
        "labels_bytes": BINARY,
        "payload": BINARY,
        "payload_digest": TEXT,
        "salt": BINARY,
        "previous": TEXT,
        "link": TEXT,
        "recorded_at": MOMENT,
    },
    "ledger_result": {
        "scope": TEXT,
        "key": TEXT,
        "kind": TEXT,
        "payload": BINARY,
        "encoding": TEXT,
        "payload_digest": TEXT,
    },
    "ledger_seal": {"scope": TEXT, "root": TEXT, "leaf_count": INTEGER, "record_seq": INTEGER},
    "ledger_head": {"id": INTEGER, "seq": INTEGER, "link": TEXT},
}
# The columns that tell a row from the others, for the WHERE clause.
KEYS = {
    "ledger_record": ("seq",),
    "ledger_result": ("scope", "key"),
    "ledger_seal": ("scope",),
    "ledger_head": ("id",),
}


def run(sql, params=()):
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.fetchall() if cursor.description else cursor.rowcount


@contextmanager
def forged():
    """Falsify inside the block with the triggers lifted; afterwards everything is as before."""
    with transaction.atomic():
        with lifted(connection):
            yield
        transaction.set_rollback(True)


def change_one_byte(random: Random, table: str, column: str, among: str = "") -> bool:
    """Change one byte (or the least unit) of a random row's column; whether the database took it and it says more.

    `among` is an SQL condition on the rows drawn from. A change that leaves the value's meaning as it was (blank space
    in the JSON copy, padding bits at the end of a deflated payload) is no change.
    """
    keys = KEYS[table]
    condition = f"WHERE {among}" if among else ""
    rows = run(f"SELECT {', '.join(keys)} FROM {table} {condition} ORDER BY {', '.join(keys)}")
    key = random.choice(rows)
    where = " AND ".join(f"{name} = %s" for name in keys)
    ((before,),) = run(f"SELECT {column} FROM {table} WHERE {where}", key)
    after = _changed(random, COLUMNS[table][column], before)
    if after == before:
        return False
    try:
        with transaction.atomic():
            if isinstance(after, bytes) and COLUMNS[table][column] != BINARY:
                sql = f"UPDATE {table} SET {column} = CAST(%s AS TEXT) WHERE {where}"
            else:
                sql = f"UPDATE {table} SET {column} = %s WHERE {where}"
            assert run(sql, (after, *key)) == 1
    except Error:
        return False
    if (table, column) == ("ledger_result", "payload"):
        ((encoding,),) = run(f"SELECT encoding FROM {table} WHERE {where}", key)
        return not _same_plain(encoding, bytes(before), after)
    return True


def _same_plain(encoding: str, before: bytes, after: bytes) -> bool:
    try:
        return decode(encoding, before) == decode(encoding, after)
    except ValueError:
        return False


def flip(random: Random, data: bytes) -> bytes:
    if not data:
        return bytes([random.randrange(256)])
    at = random.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << random.randrange(8))]) + data[at + 1 :]


def _changed(random: Random, kind: str, value):
    sqlite = connection.vendor == "sqlite"
    if kind == BINARY:
        return flip(random, bytes(value))
    if kind == INTEGER:
        return random.choice([value + 1, value - 1, value ^ (1 << random.randrange(40)), -value])
    if kind == JSON:
        labels = value if isinstance(value, list) else json.loads(value)
        if sqlite and random.random() < 0.5:
            return _json_bytes(random, json.dumps(labels))
        return json.dumps(random.choice([[*labels, "x"], labels[1:] if labels else ["y"], {}, [*labels[::-1], ""]]))
    if kind == MOMENT:
        if sqlite:
            return flip(random, str(value).encode())
        return f"{value.replace(microsecond=(value.microsecond + 1) % 1_000_000).isoformat()}"
    if sqlite:
        # CAST in the UPDATE keeps the column's type while the bytes need not be UTF-8.
        return flip(random, value.encode())
    at = random.randrange(len(value))
    return value[:at] + random.choice("0123456789abcdefé\U0001f600 ") + value[at + 1 :]


def _json_bytes(random: Random, text: str):
    after = flip(random, text.encode())
    try:
        return text if json.loads(after) == json.loads(text) else after
    except ValueError:
        return after


def rechain(start: int = 1) -> None:
    """Recompute every link from seq `start` on and the head: what a thorough forger would do."""
    last = Record.objects.filter(seq__lt=start).order_by("seq").last()
    previous, seq = (last.link, last.seq) if last else (chain.GENESIS, 0)
    # Unique columns: move the old values out of the way first.
    run("UPDATE ledger_record SET previous = 'p' || seq, link = 'l' || seq WHERE seq >= %s", [start])
    for record in list(Record.objects.filter(seq__gte=start).order_by("seq")):
        seq = record.seq
        link = chain.link_hash(
            seq=seq,
            kind=record.kind,
            scope=record.scope,
            labels=tuple(record.labels),
            recorded_at=chain.timestamp(record.recorded_at),
            payload=chain.commitment(record.salt, record.payload_digest),
            previous=previous,
        )
        run("UPDATE ledger_record SET previous = %s, link = %s WHERE seq = %s", [previous, link, seq])
        previous = link
    Head.objects.update(seq=seq, link=previous)
