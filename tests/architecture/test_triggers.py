"""After `migrate`, every table that declares itself immutable is protected by the database itself."""

import pytest
from django.db import DatabaseError, connection, transaction

from ledger import triggers


@pytest.mark.django_db
def test_every_declared_trigger_stands_after_migrate() -> None:
    assert triggers.protections(), "nothing declares itself immutable: was an app's ready() changed?"
    assert triggers.missing() == []


@pytest.mark.django_db
def test_flush_of_a_transactional_test_leaves_the_triggers_standing() -> None:
    with transaction.atomic(), triggers.lifted(connection):
        assert triggers.missing() != []
    assert triggers.missing() == []


@pytest.mark.django_db(transaction=True)
def test_truncate_is_refused_on_postgresql() -> None:
    if connection.vendor != "postgresql":
        assert triggers.missing() == []
        return
    table = triggers.protections()[0].table
    with pytest.raises(DatabaseError, match="immutable"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f'TRUNCATE "{table}" CASCADE')
