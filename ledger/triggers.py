"""Database triggers that keep rows as they were written, on SQLite and on PostgreSQL.

An app declares what it wants protected with `protect`, in its models module or in `AppConfig.ready`. The triggers are
installed after every `migrate` (SQLite drops a table's triggers when a migration remakes it), again and again without
harm. `save()` overrides would not stop `update`, `bulk_update`, upserts or plain SQL; triggers do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations import Migration

NEVER = "never"
ALLOWED = "allowed"
WHEN = "when:"

_MAX_NAME = 63


@dataclass(frozen=True)
class Protection:
    """What may not happen to the rows of one model; see `protect`."""

    model: type[models.Model]
    update: str
    delete: str
    mutable: tuple[str, ...]
    write_once: tuple[str, ...]

    @property
    def table(self) -> str:
        """The database table."""
        return self.model._meta.db_table


@dataclass(frozen=True)
class Trigger:
    """One trigger as it has to stand in the database; on PostgreSQL with the function of the same name that it calls.

    The condition stands in the function's body and not in the trigger's WHEN: PostgreSQL would refuse to alter or drop
    a column that a WHEN names, and migrations would stop.
    """

    table: str
    name: str
    create: str
    body: str = ""

    @property
    def mark(self) -> str:
        """Digest of the definition, kept as the trigger's comment on PostgreSQL."""
        return "cutline " + hashlib.sha256(f"{self.create}\n{self.body}".encode()).hexdigest()[:32]


_protections: dict[str, Protection] = {}


def protect(
    model: type[models.Model],
    *,
    update: str = NEVER,
    delete: str = NEVER,
    mutable: tuple[str, ...] = (),
    write_once: tuple[str, ...] = (),
) -> None:
    """Declare that rows of `model` are protected.

    `update` and `delete` are each `"never"`, `"allowed"` or `"when:<SQL condition>"`: refused where the condition on
    `OLD` holds, e.g. `"when:OLD.locked_at IS NOT NULL"` (for updates it may name `NEW` too). The condition is put into
    both databases as it stands, so it must be SQL that both understand. `mutable` names fields that an otherwise
    refused update may still change; `write_once` fields that it may change from NULL to a value, once. TRUNCATE is
    always refused. Declaring the same model again replaces what was declared. Raises ValueError for an unknown rule
    or field.
    """
    for name, rule in (("update", update), ("delete", delete)):
        if rule not in (NEVER, ALLOWED) and not (rule.startswith(WHEN) and rule.removeprefix(WHEN).strip()):
            raise ValueError(f"{name}={rule!r} of {model.__name__}: write 'never', 'allowed' or 'when:<condition>'.")
    columns = {field.name: field.column for field in model._meta.concrete_fields if field.column}
    if unknown := sorted({*mutable, *write_once} - columns.keys()):
        raise ValueError(f"{model.__name__} has no column for {', '.join(unknown)}.")
    _protections[model._meta.label] = Protection(
        model=model,
        update=update,
        delete=delete,
        mutable=tuple(columns[name] for name in mutable),
        write_once=tuple(columns[name] for name in write_once),
    )


def protections() -> tuple[Protection, ...]:
    """Return everything declared, in order of declaration."""
    return tuple(_protections.values())


def _name(table: str, event: str) -> str:
    name = f"cutline_{table}_{event}"
    if len(name) <= _MAX_NAME:
        return name
    return f"cutline_{hashlib.sha256(table.encode()).hexdigest()[:16]}_{event}"


def _columns(connection: BaseDatabaseWrapper, table: str) -> list[str]:
    # An empty reading and not the introspection, which on SQLite parses the table's whole SQL for its collations.
    with connection.cursor() as cursor:
        cursor.execute(f'SELECT * FROM "{table}" LIMIT 0')  # noqa: S608
        return [column[0] for column in cursor.description]


def _update_condition(connection: BaseDatabaseWrapper, protection: Protection) -> str | None:
    """Return when an update is refused; an empty string for always, None for never."""
    if protection.update == ALLOWED:
        return None
    guard = protection.update.removeprefix(WHEN).strip() if protection.update != NEVER else ""
    changes = ""
    if protection.mutable or protection.write_once:
        parts = []
        # The table's own columns and not the model's: half-way through a plan of migrations they differ.
        for column in _columns(connection, protection.table):
            name = f'"{column}"'
            changed = f"NEW.{name} IS DISTINCT FROM OLD.{name}"
            if column in protection.write_once:
                parts.append(f"(OLD.{name} IS NOT NULL AND {changed})")
            elif column not in protection.mutable:
                parts.append(changed)
        changes = " OR ".join(parts)
    return " AND ".join(f"({part})" for part in (guard, changes) if part)


def _delete_condition(protection: Protection) -> str | None:
    if protection.delete == ALLOWED:
        return None
    return f"({protection.delete.removeprefix(WHEN).strip()})" if protection.delete != NEVER else ""


def expected(connection: BaseDatabaseWrapper, protection: Protection) -> list[Trigger]:
    """Return the triggers a protected table must have on this database."""
    conditions = {
        "UPDATE": _update_condition(connection, protection),
        "DELETE": _delete_condition(protection),
    }
    build = _on_postgresql if connection.vendor == "postgresql" else _on_sqlite
    triggers = [build(protection.table, event, when) for event, when in conditions.items() if when is not None]
    if connection.vendor == "postgresql":
        triggers.append(_on_postgresql(protection.table, "TRUNCATE", ""))
    return triggers


def _message(table: str, event: str) -> str:
    return f"{table}: the row is immutable, {event} refused"


def _on_sqlite(table: str, event: str, condition: str) -> Trigger:
    name = _name(table, event.lower())
    when = f" WHEN ({condition})" if condition else ""
    return Trigger(
        table,
        name,
        f'CREATE TRIGGER "{name}" BEFORE {event} ON "{table}" FOR EACH ROW{when} '
        f"BEGIN SELECT RAISE(ABORT, '{_message(table, event)}'); END",
    )


def _on_postgresql(table: str, event: str, condition: str) -> Trigger:
    name = _name(table, event.lower())
    each = "STATEMENT" if event == "TRUNCATE" else "ROW"
    refuse = f"RAISE EXCEPTION USING ERRCODE = 'restrict_violation', MESSAGE = '{_message(table, event)}';"
    if condition:
        kept = "OLD" if event == "DELETE" else "NEW"
        refuse = f"IF ({condition}) THEN {refuse} END IF; RETURN {kept};"
    return Trigger(
        table,
        name,
        f'CREATE TRIGGER "{name}" BEFORE {event} ON "{table}" FOR EACH {each} EXECUTE FUNCTION "{name}"()',
        f"BEGIN {refuse} END",
    )


def _present(connection: BaseDatabaseWrapper) -> list[Protection]:
    """Return the protections whose table exists in this database."""
    tables = set(connection.introspection.table_names())
    return [protection for protection in protections() if protection.table in tables]


def missing(using: str = DEFAULT_DB_ALIAS) -> list[str]:
    """Return what is wrong with the triggers of `using`, one sentence each: missing, changed or switched off."""
    connection = connections[using]
    standing = _standing(connection)
    return [
        f"{trigger.table}: trigger {trigger.name} is {state}"
        for protection in _present(connection)
        for trigger in expected(connection, protection)
        if (state := _state(connection, trigger, standing)) != _STANDS
    ]


_STANDS = "standing"
_MISSING = "missing"
_OTHER = "of another definition"
_OFF = "not enabled always"


def _standing(connection: BaseDatabaseWrapper) -> dict[str, tuple[str, ...]]:
    """Return, by name, what the database says of its triggers of ours."""
    if connection.vendor == "postgresql":
        sql = (
            "SELECT t.tgname, t.tgenabled::text, coalesce(obj_description(t.oid, 'pg_trigger'), ''), p.prosrc, "
            "c.relname FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid JOIN pg_class c ON c.oid = t.tgrelid "
            "WHERE t.tgname LIKE 'cutline\\_%' AND pg_table_is_visible(c.oid)"
        )
    else:
        sql = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return {name: tuple(rest) for name, *rest in cursor.fetchall()}


def _state(connection: BaseDatabaseWrapper, trigger: Trigger, standing: dict[str, tuple[str, ...]]) -> str:
    found = standing.get(trigger.name)
    if found is None:
        return _MISSING
    if connection.vendor != "postgresql":
        return _STANDS if found == (trigger.create,) else _OTHER
    enabled, comment, body, table = found
    if (comment, body, table) != (trigger.mark, trigger.body, trigger.table):
        return _OTHER
    return _STANDS if enabled == "A" else _OFF


def reinstall(connection: BaseDatabaseWrapper | None = None, app_label: str | None = None) -> None:
    """Install every declared trigger whose table exists (of one app where named); those that stand are left alone.

    A trigger that an earlier declaration of the same table wanted and the present one does not is dropped.
    """
    connection = connection or connections[DEFAULT_DB_ALIAS]
    standing = _standing(connection)
    todo, outdated = [], []
    for protection in _present(connection):
        if app_label is None or protection.model._meta.app_label == app_label:
            wanted = expected(connection, protection)
            todo += [trigger for trigger in wanted if _state(connection, trigger, standing) != _STANDS]
            names = {trigger.name for trigger in wanted}
            of_before = [
                Trigger(protection.table, _name(protection.table, event), "") for event in ("update", "delete")
            ]
            outdated += [trigger for trigger in of_before if trigger.name in standing.keys() - names]
    with connection.cursor() as cursor:
        for trigger in outdated:
            cursor.execute(_drop(connection, trigger))
        for trigger in todo:
            cursor.execute(_drop(connection, trigger))
            if connection.vendor == "postgresql":
                cursor.execute(
                    f'CREATE OR REPLACE FUNCTION "{trigger.name}"() RETURNS trigger LANGUAGE plpgsql '
                    f"AS $cutline${trigger.body}$cutline$"
                )
            cursor.execute(trigger.create)
            if connection.vendor == "postgresql":
                cursor.execute(_switch(trigger, "ENABLE ALWAYS"))
                cursor.execute(f'COMMENT ON TRIGGER "{trigger.name}" ON "{trigger.table}" IS \'{trigger.mark}\'')


def _drop(connection: BaseDatabaseWrapper, trigger: Trigger) -> str:
    if connection.vendor == "postgresql":
        return f'DROP TRIGGER IF EXISTS "{trigger.name}" ON "{trigger.table}"'
    return f'DROP TRIGGER IF EXISTS "{trigger.name}"'


@contextmanager
def lifted(connection: BaseDatabaseWrapper | None = None) -> Iterator[None]:
    """Take the triggers of a connection (the default one) away in a `with` block. For test teardown and tampering."""
    connection = connection or connections[DEFAULT_DB_ALIAS]
    postgresql = connection.vendor == "postgresql"
    standing = _standing(connection)
    triggers = [
        trigger
        for protection in _present(connection)
        for trigger in expected(connection, protection)
        if trigger.name in standing
    ]
    with connection.cursor() as cursor:
        for trigger in triggers:
            cursor.execute(_switch(trigger, "DISABLE") if postgresql else _drop(connection, trigger))
    try:
        yield
    finally:
        if postgresql:
            standing = _standing(connection)
            with connection.cursor() as cursor:
                for trigger in triggers:
                    if _state(connection, trigger, standing) == _OFF:
                        cursor.execute(_switch(trigger, "ENABLE ALWAYS"))
        reinstall(connection)


def _switch(trigger: Trigger, how: str) -> str:
    return f'ALTER TABLE "{trigger.table}" {how} TRIGGER "{trigger.name}"'


def install_after_migrate(sender: object, using: str = DEFAULT_DB_ALIAS, **_: object) -> None:
    """Receiver of `post_migrate`: install the triggers of the app that was just migrated."""
    reinstall(connections[using], app_label=getattr(sender, "label", None))


def lift_before_migrate(
    sender: object,
    using: str = DEFAULT_DB_ALIAS,
    plan: Sequence[tuple[Migration, bool]] = (),
    **_: object,
) -> None:
    """Receiver of `pre_migrate`: on SQLite, take away the triggers of an app that is about to change its tables.

    SQLite refuses to drop a column that a trigger names. `post_migrate` installs them again; where the migration
    fails in between, the system check cutline.W201 says so.
    """
    connection = connections[using]
    label = getattr(sender, "label", None)
    if connection.vendor != "sqlite" or not any(migration.app_label == label for migration, _ in plan):
        return
    with connection.cursor() as cursor:
        for protection in _present(connection):
            if protection.model._meta.app_label == label:
                for trigger in expected(connection, protection):
                    cursor.execute(_drop(connection, trigger))
