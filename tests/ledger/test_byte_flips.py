"""One changed byte, in any column of any table that `docs/ledger.md` says is compared, is found."""

from __future__ import annotations

import os
from collections.abc import Iterator
from random import Random

import pytest
from django.db import connection, transaction
from pytest_django import DjangoDbBlocker

from ledger.services.verify import verify
from ledger.triggers import lifted
from tests.ledger.audited_world import make_audited_world
from tests.ledger.flips import Column, change, compared_columns

BATCHES = 10
#: Draws of one batch, 500 in all. PostgreSQL reads slower and takes fewer bytes; it draws other columns each time.
DRAWS = {"sqlite": 50, "postgresql": 12}
#: So often a column is drawn again where the database refused the change or it said the same.
TRIES = 60
#: Both slots of every question are taken here, and an encoding is one of two words: the database refuses every byte.
ALWAYS_REFUSED = {"annotate_assignment.slot", "ledger_result.encoding"}


@pytest.fixture(scope="module")
def audited(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """The world, once for all batches and with the triggers lifted; nothing of it stays."""
    with django_db_blocker.unblock(), transaction.atomic():
        make_audited_world()
        # PostgreSQL alters no table that has unchecked foreign keys.
        connection.check_constraints()
        with lifted(connection):
            yield
        transaction.set_rollback(True)


@pytest.mark.django_db
@pytest.mark.usefixtures("audited")
def test_the_world_is_clean_and_has_a_row_in_every_compared_table() -> None:
    assert verify().findings == ()
    with connection.cursor() as cursor:
        empty = []
        for table in sorted({column.table for column in compared_columns()}):
            cursor.execute(f'SELECT count(*) FROM "{table}"')
            if cursor.fetchone() == (0,):
                empty.append(table)
    assert empty == []


@pytest.mark.django_db
@pytest.mark.usefixtures("audited")
@pytest.mark.parametrize("batch", range(BATCHES))
def test_a_changed_byte_of_any_compared_column_is_found(batch: int) -> None:
    # Fixed, so that a run that lands can be run again; `CUTLINE_FLIPS` draws others.
    seed = int(os.environ.get("CUTLINE_FLIPS", "20261130")) + batch
    random, columns = Random(seed), compared_columns()[batch::BATCHES]
    random.shuffle(columns)
    draws = DRAWS[connection.vendor]
    drawn = (columns + random.choices(compared_columns(), k=draws))[:draws]
    missed = [said for column in drawn if (said := _missed(random, column))]
    assert missed == [], f"seed {seed}"


def _missed(random: Random, column: Column) -> str:
    """Change a value of the column and verify; return what was changed where nothing was found."""
    for _ in range(TRIES):
        with transaction.atomic():
            said = change(random, column)
            found = bool(verify(first=True).findings) if said else False
            transaction.set_rollback(True)
        if said:
            return "" if found else said
    assert str(column) in ALWAYS_REFUSED, f"{column}: no change in {TRIES} tries"
    return ""
