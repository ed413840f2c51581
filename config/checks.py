"""Numbered system checks of the installation: cutline.E0## stops, cutline.W0## warns. They read settings only."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core import checks

_BROKER_SCHEMES = ("redis", "rediss", "unix")


@checks.register
def broker_outlasts_a_task(**_: Any) -> list[checks.CheckMessage]:
    """E001: a visibility timeout not above the hard limit makes Redis deliver a running task a second time."""
    timeout = getattr(settings, "CELERY_BROKER_TRANSPORT_OPTIONS", {}).get("visibility_timeout", 3600)
    limit = settings.CELL_HARD_LIMIT_SECONDS
    if timeout > limit:
        return []
    return [
        checks.Error(
            f"The broker's visibility timeout ({timeout} s) does not exceed the hard limit of a cell ({limit} s): "
            "a running task would be delivered again.",
            hint="Raise CELERY_BROKER_TRANSPORT_OPTIONS['visibility_timeout'] above CUTLINE_CELL_HARD_LIMIT.",
            id="cutline.E001",
        )
    ]


@checks.register
def pool_has_no_persistent_connections(**_: Any) -> list[checks.CheckMessage]:
    """E002: psycopg's pool refuses CONN_MAX_AGE other than 0, at the first query instead of at the start."""
    return [
        checks.Error(
            f"Database '{alias}' has a connection pool and CONN_MAX_AGE={database['CONN_MAX_AGE']!r}; "
            "the pool keeps connections itself.",
            hint="Leave conn_max_age out of DATABASE_URL, or unset CUTLINE_DB_POOL.",
            id="cutline.E002",
        )
        for alias, database in settings.DATABASES.items()
        if database.get("OPTIONS", {}).get("pool") and database.get("CONN_MAX_AGE", 0) != 0
    ]


@checks.register
def sqlite_takes_the_lock_first(**_: Any) -> list[checks.CheckMessage]:
    """E003: SQLite without IMMEDIATE transactions fails with "database is locked" as soon as two processes write."""
    return [
        checks.Error(
            f"Database '{alias}' is SQLite without transaction_mode IMMEDIATE: two processes that write would fail.",
            hint="Take the OPTIONS for SQLite from config/settings.py.",
            id="cutline.E003",
        )
        for alias, database in settings.DATABASES.items()
        if database["ENGINE"].endswith("sqlite3")
        and database.get("OPTIONS", {}).get("transaction_mode", "").upper() != "IMMEDIATE"
    ]


@checks.register
def broker_address_is_usable(**_: Any) -> list[checks.CheckMessage]:
    """E004: an address that is no Redis address fails only when the first worker starts."""
    scheme = urlsplit(settings.REDIS_URL).scheme
    if not settings.REDIS_URL or scheme in _BROKER_SCHEMES:
        return []
    return [
        checks.Error(
            f"REDIS_URL has the scheme {scheme!r}; a Valkey or Redis address begins with "
            f"{', '.join(name + '://' for name in _BROKER_SCHEMES)}.",
            hint="Write it like redis://host:6379/0.",
            id="cutline.E004",
        )
    ]


@checks.register
def broker_has_a_database_for_many_hosts(**_: Any) -> list[checks.CheckMessage]:
    """W001: a broker invites workers on other hosts, which cannot share a SQLite file."""
    if not settings.REDIS_URL or not settings.DATABASES["default"]["ENGINE"].endswith("sqlite3"):
        return []
    return [
        checks.Warning(
            "REDIS_URL is set but the database is SQLite: only workers on this very host can share it.",
            hint="Set DATABASE_URL to a PostgreSQL address before starting workers on another host.",
            id="cutline.W001",
        )
    ]


@checks.register
def lease_is_shorter_than_the_hard_limit(**_: Any) -> list[checks.CheckMessage]:
    """W002: a lease as long as the hard limit leaves a dead worker's cell untouched for that long."""
    lease, limit = settings.LEASE_SECONDS, settings.CELL_HARD_LIMIT_SECONDS
    if lease < limit:
        return []
    return [
        checks.Warning(
            f"A lease ({lease} s) lasts as long as a cell may run at all ({limit} s): a killed worker's cell waits "
            "that long although leases are renewed while a cell runs.",
            hint="Set CUTLINE_LEASE_SECONDS well below CUTLINE_CELL_HARD_LIMIT; 120 is a good value.",
            id="cutline.W002",
        )
    ]
