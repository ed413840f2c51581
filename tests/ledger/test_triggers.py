import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import IntegrityError, connection, models, transaction
from django.test.utils import isolate_apps

from ledger import checks, triggers
from ledger.models import Head, Record, Result, Seal
from ledger.services import ResultEntry, append, put_results, seal

POSTGRESQL = "postgresql"


def run(sql, params=()):
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.rowcount


def refused(sql, params=(), *, table):
    with pytest.raises(IntegrityError, match=f"{table}: the row is immutable"), transaction.atomic():
        run(sql, params)


@pytest.fixture
def filled(db):
    append("test.plain", {"a": 1}, "s")
    put_results("s", [ResultEntry("k", "test.rank", 1), ResultEntry("l", "test.rank", 2)])
    seal("s", 2)


WAYS = {
    "update": lambda: Record.objects.update(kind="x"),
    "update without change": lambda: Seal.objects.update(root=models.F("root")),
    "save": lambda: Result.objects.first().save(force_update=True),
    "bulk_update": lambda: Record.objects.bulk_update(Record.objects.all(), ["scope"]),
    "delete": lambda: Result.objects.all().delete(),
    "raw delete": lambda: run("DELETE FROM ledger_seal"),
    "instance delete": lambda: Record.objects.first().delete(),
    "upsert": lambda: Seal.objects.bulk_create(
        [Seal(scope="s", root="0", leaf_count=0, record_seq=9)],
        update_conflicts=True,
        update_fields=["root"],
        unique_fields=["scope"],
    ),
    "replace or truncate": lambda: (
        run("TRUNCATE ledger_result")
        if connection.vendor == POSTGRESQL
        else run("REPLACE INTO ledger_seal SELECT scope, 'x', leaf_count, record_seq FROM ledger_seal")
    ),
    "truncate cascade or replace by other unique column": lambda: (
        run("TRUNCATE ledger_record, ledger_seal CASCADE")
        if connection.vendor == POSTGRESQL
        else run("REPLACE INTO ledger_seal SELECT 'other', root, leaf_count, record_seq FROM ledger_seal")
    ),
    "head back": lambda: Head.objects.update(seq=1),
    "head twice on": lambda: Head.objects.update(seq=models.F("seq") + 2),
    "head deleted": lambda: Head.objects.all().delete(),
}


@pytest.mark.parametrize("way", WAYS)
def test_ledger_rows_cannot_be_changed(filled, way):
    before = [list(model.objects.order_by("pk").values_list()) for model in (Record, Result, Seal, Head)]
    with pytest.raises(IntegrityError, match="the row is immutable"), transaction.atomic():
        WAYS[way]()
    assert [list(model.objects.order_by("pk").values_list()) for model in (Record, Result, Seal, Head)] == before


@pytest.fixture
def declare(db, monkeypatch):
    """Return a function that makes a table, declares its protection and installs the triggers."""
    monkeypatch.setattr(triggers, "_protections", dict(triggers._protections))
    with isolate_apps("ledger"):

        class Note(models.Model):
            body = models.TextField()
            locked_at = models.TextField(null=True)
            retired = models.IntegerField(null=True)
            seen = models.IntegerField(null=True)

            class Meta:
                app_label = "ledger"
                db_table = "test_note"

            def __str__(self):
                return self.body

        run("CREATE TABLE test_note (id integer PRIMARY KEY, body text, locked_at text, retired integer, seen integer)")
        run("INSERT INTO test_note VALUES (1, 'open', NULL, NULL, NULL), (2, 'locked', 'now', NULL, 7)")

        def declare(**rules):
            triggers.protect(Note, **rules)
            triggers.reinstall(connection)
            assert triggers.missing() == []

        yield declare


def test_replication_role_does_not_switch_the_triggers_off(filled):
    if connection.vendor == POSTGRESQL:
        run("SET LOCAL session_replication_role = replica")
    refused("DELETE FROM ledger_record", table="ledger_record")


def test_rows_without_rules_are_wholly_immutable(declare):
    declare()
    refused("UPDATE test_note SET seen = seen", table="test_note")
    refused("DELETE FROM test_note WHERE id = 1", table="test_note")
    if connection.vendor == POSTGRESQL:
        refused("TRUNCATE test_note", table="test_note")


def test_condition_protects_locked_rows_only(declare):
    declare(update="when:OLD.locked_at IS NOT NULL", delete="when:OLD.locked_at IS NOT NULL")
    assert run("UPDATE test_note SET body = 'edited' WHERE id = 1") == 1
    assert run("UPDATE test_note SET locked_at = 'now' WHERE id = 1") == 1
    refused("UPDATE test_note SET locked_at = NULL WHERE id = 1", table="test_note")
    refused("UPDATE test_note SET body = 'x'", table="test_note")
    refused("DELETE FROM test_note WHERE id = 2", table="test_note")
    run("INSERT INTO test_note (id, body) VALUES (3, 'x')")
    assert run("DELETE FROM test_note WHERE id = 3") == 1


def test_mutable_columns_change_and_write_once_columns_change_once(declare):
    declare(mutable=("seen",), write_once=("retired",))
    assert run("UPDATE test_note SET seen = 1") == 2
    assert run("UPDATE test_note SET seen = NULL, body = body") == 2
    assert run("UPDATE test_note SET retired = 5 WHERE id = 1") == 1
    assert run("UPDATE test_note SET retired = 5, seen = 3 WHERE id = 1") == 1
    refused("UPDATE test_note SET retired = 6 WHERE id = 1", table="test_note")
    refused("UPDATE test_note SET retired = NULL WHERE id = 1", table="test_note")
    refused("UPDATE test_note SET body = 'x', seen = 1", table="test_note")
    refused("UPDATE test_note SET id = 9 WHERE id = 1", table="test_note")
    refused("UPDATE test_note SET locked_at = 'x' WHERE id = 1", table="test_note")


def test_condition_and_mutable_columns_go_together(declare):
    declare(update="when:OLD.locked_at IS NOT NULL", delete="allowed", mutable=("seen",))
    assert run("UPDATE test_note SET body = 'x' WHERE id = 1") == 1
    assert run("UPDATE test_note SET seen = 8 WHERE id = 2") == 1
    refused("UPDATE test_note SET body = 'x' WHERE id = 2", table="test_note")
    assert run("DELETE FROM test_note") == 2


def test_new_rules_replace_the_old_ones(declare):
    declare()
    declare(update="allowed", delete="allowed")
    assert run("UPDATE test_note SET body = 'x'") == 2
    declare(update="allowed")
    refused("DELETE FROM test_note", table="test_note")


@pytest.mark.parametrize("rules", [{"update": "sometimes"}, {"delete": "when:"}, {"mutable": ("nothing",)}])
def test_rules_that_cannot_be_read_are_refused(declare, rules):
    with pytest.raises(ValueError):
        declare(**rules)


def test_lifted_gives_way_and_puts_back(filled):
    with triggers.lifted(connection):
        run("UPDATE ledger_record SET kind = 'x' WHERE seq = 1")
        assert triggers.missing()
    assert triggers.missing() == []
    refused("UPDATE ledger_record SET kind = 'y'", table="ledger_record")


def test_check_lists_missing_and_changed_triggers(db):
    assert checks.protection_faults() == []
    table = ' ON "ledger_seal"' if connection.vendor == POSTGRESQL else ""
    run(f'DROP TRIGGER "cutline_ledger_seal_update"{table}')
    run(f'DROP TRIGGER "cutline_ledger_seal_delete"{table}')
    if connection.vendor == POSTGRESQL:
        run("ALTER TABLE ledger_record ENABLE TRIGGER cutline_ledger_record_update")
        run(
            "CREATE OR REPLACE FUNCTION cutline_ledger_head_delete() RETURNS trigger LANGUAGE plpgsql "
            "AS $$BEGIN RETURN OLD; END$$"
        )
    else:
        run("DROP TRIGGER cutline_ledger_record_update")
        run("DROP TRIGGER cutline_ledger_head_delete")
        run("CREATE TRIGGER cutline_ledger_head_delete BEFORE DELETE ON ledger_head BEGIN SELECT 1; END")
    faults = checks.protection_faults()
    assert [fault.id for fault in faults] == ["cutline.W201"] * 4
    assert checks.check_protection(None, ["default"]) == faults
    assert checks.check_protection(None, None) == []
    triggers.install_after_migrate(apps.get_app_config("ledger"))
    assert checks.protection_faults() == []


def test_check_sees_recursive_triggers_off(db):
    if connection.vendor == POSTGRESQL:
        assert not [fault for fault in checks.protection_faults() if fault.id == "cutline.E202"]
        return
    run("PRAGMA recursive_triggers=OFF")
    try:
        assert [fault.id for fault in checks.protection_faults()] == ["cutline.E202"]
    finally:
        run("PRAGMA recursive_triggers=ON")


@pytest.mark.django_db(transaction=True)
def test_triggers_stand_again_after_a_migration_remakes_a_table():
    before, after = Seal._meta.get_field("root"), models.CharField(max_length=80)
    after.set_attributes_from_name("root")
    after.model = Seal
    with connection.schema_editor() as editor:
        editor.alter_field(Seal, before, after)
    with connection.schema_editor() as editor:
        editor.alter_field(Seal, after, before)
    if connection.vendor != POSTGRESQL:
        assert len(triggers.missing()) == 2
    call_command("migrate", verbosity=0)
    assert triggers.missing() == []


@pytest.mark.django_db(transaction=True)
def test_column_named_in_a_condition_can_be_dropped_by_a_migration(monkeypatch):
    monkeypatch.setattr(triggers, "_protections", dict(triggers._protections))
    with isolate_apps("ledger"):

        class Draft(models.Model):
            body = models.TextField()
            extra = models.IntegerField(null=True)
            seen = models.IntegerField(null=True)

            class Meta:
                app_label = "ledger"
                db_table = "test_draft"

            def __str__(self):
                return self.body

        with connection.schema_editor() as editor:
            editor.create_model(Draft)
        try:
            triggers.protect(Draft, mutable=("seen",))
            triggers.reinstall(connection)

            class Plan:
                app_label = "ledger"

            sender = apps.get_app_config("ledger")
            triggers.lift_before_migrate(sender, plan=[(Plan(), False)])
            with connection.schema_editor() as editor:
                editor.remove_field(Draft, Draft._meta.get_field("extra"))
            triggers.install_after_migrate(sender)
            assert triggers.missing() == []
            run("INSERT INTO test_draft (id, body) VALUES (1, 'x')")
            assert run("UPDATE test_draft SET seen = 1") == 1
            refused("UPDATE test_draft SET body = 'y'", table="test_draft")
        finally:
            with connection.schema_editor() as editor:
                editor.delete_model(Draft)
            triggers.reinstall(connection)
