"""Numbered system checks of the ledger. Run with `manage.py check --database default`; callable at any time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import DEFAULT_DB_ALIAS, connections

from ledger import triggers

MISSING_TRIGGER = "cutline.W201"
RECURSIVE_TRIGGERS_OFF = "cutline.E202"


def protection_faults(using: str = DEFAULT_DB_ALIAS) -> list[CheckMessage]:
    """Return W201 for each trigger that is missing, changed or off, and E202 where SQLite hides REPLACE from triggers.

    W201 is a warning because `migrate` runs the database checks first, and `migrate` is what installs the triggers.
    """
    faults: list[CheckMessage] = [
        Warning(
            f"{fault}; rows that must not change are not protected.",
            hint=f"Run manage.py migrate --database {using}: it installs every declared trigger.",
            id=MISSING_TRIGGER,
        )
        for fault in triggers.missing(using)
    ]
    connection = connections[using]
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA recursive_triggers")
            if cursor.fetchone()[0] != 1:
                faults.append(
                    Error(
                        f"PRAGMA recursive_triggers is off on {using!r}: REPLACE deletes protected rows unseen.",
                        hint="Add PRAGMA recursive_triggers=ON to the database's OPTIONS['init_command'].",
                        id=RECURSIVE_TRIGGERS_OFF,
                    )
                )
    return faults


@register(Tags.database)
def check_protection(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **_: Any
) -> list[CheckMessage]:
    """Check every database that is named on the command line (or by `migrate`)."""
    return [fault for using in databases or () for fault in protection_faults(using)]
