"""A row that was moved to its twin, which reads the same in every word, is found."""

from __future__ import annotations

import os
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from django.db import Error, connection, models, transaction
from pytest_django import DjangoDbBlocker

from ledger.services.verify import verify
from ledger.triggers import lifted
from tests.ledger import tampering
from tests.ledger.flips import Column, model_of
from tests.ledger.twin_world import make_twin_world

#: Where a record names a thing by words that its twin has too.
NAMES = [
    Column(table, field)
    for table, field in (
        ("annotate_sourceversion", "supersedes"),
        ("annotate_mark", "version"),
        ("annotate_submission", "guideline"),
        ("annotate_adjudicationitem", "submission_a"),
        ("annotate_adjudicationitem", "submission_b"),
        ("annotate_decision", "disagreement"),
        ("annotate_adjudicatedresult", "item"),
        ("annotate_discussionnote", "assignment"),
        ("annotate_fixtureset", "successor_of"),
        ("annotate_fixture", "question"),
        ("annotate_heldoutopening", "fixture_set"),
        ("evaluation_plan", "fixture_set"),
        ("evaluation_sweep", "plan"),
    )
]
#: Moves of each column that are tried.
MOVES = 2


@pytest.fixture(scope="module")
def twins(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """The world, once for all columns and with the triggers lifted; nothing of it stays."""
    with django_db_blocker.unblock(), transaction.atomic():
        make_twin_world()
        connection.check_constraints()
        with lifted(connection):
            yield
        transaction.set_rollback(True)


@pytest.mark.django_db
@pytest.mark.usefixtures("twins")
def test_the_twins_are_clean() -> None:
    assert verify().findings == ()


@pytest.mark.django_db
@pytest.mark.usefixtures("twins")
@pytest.mark.parametrize("column", NAMES, ids=str)
def test_a_row_moved_to_its_twin_is_found(column: Column) -> None:
    model = model_of(column)
    field = model._meta.get_field(column.field)
    assert isinstance(field, models.ForeignKey)
    targets = list(field.related_model._base_manager.values_list("pk", flat=True))
    rows = model._base_manager.exclude(**{field.name: None}).values_list("pk", field.attname)
    moves = sorted((key, before, to) for key, before in rows for to in targets if to != before)
    random = Random(f"{os.environ.get('CUTLINE_FLIPS', '20261130')} {column}")
    drawn = random.sample(moves, min(MOVES, len(moves)))
    assert [move for move in drawn if not _found(model, field, move[0], move[2])] == []


def _found(model: type[models.Model], field: models.Field[Any, Any], key: int, to: int) -> bool:
    """Move the row and verify; whether that was found, or the database refused it."""
    with transaction.atomic():
        try:
            with transaction.atomic():
                tampering.run(f'UPDATE {model._meta.db_table} SET "{field.column}" = %s WHERE id = %s', [to, key])
                connection.check_constraints()
            return bool(verify(first=True).findings)
        except Error:
            return True
        finally:
            transaction.set_rollback(True)
