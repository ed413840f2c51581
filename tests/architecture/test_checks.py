"""Each numbered check speaks when it should and is silent on the shipped settings."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.checks import CheckMessage

from config import checks

SQLITE = {"ENGINE": "django.db.backends.sqlite3", "NAME": "x", "OPTIONS": {"transaction_mode": "IMMEDIATE"}}
POSTGRES = {
    "ENGINE": "django.db.backends.postgresql",
    "NAME": "x",
    "CONN_MAX_AGE": 0,
    "OPTIONS": {"pool": {"min_size": 1}},
}
Check = Callable[..., list[CheckMessage]]


@pytest.mark.filterwarnings("ignore:Overriding setting DATABASES")
@pytest.mark.parametrize(
    ("check", "changes", "expected"),
    [
        (checks.broker_outlasts_a_task, {"CELERY_BROKER_TRANSPORT_OPTIONS": {"visibility_timeout": 1801}}, []),
        (checks.broker_outlasts_a_task, {"CELERY_BROKER_TRANSPORT_OPTIONS": {"visibility_timeout": 1800}}, ["E001"]),
        (checks.broker_outlasts_a_task, {"CELERY_BROKER_TRANSPORT_OPTIONS": {}}, []),
        (
            checks.broker_outlasts_a_task,
            {"CELERY_BROKER_TRANSPORT_OPTIONS": {}, "CELL_HARD_LIMIT_SECONDS": 3600},
            ["E001"],
        ),
        (checks.pool_has_no_persistent_connections, {"DATABASES": {"default": POSTGRES}}, []),
        (
            checks.pool_has_no_persistent_connections,
            {"DATABASES": {"default": POSTGRES | {"CONN_MAX_AGE": None}}},
            ["E002"],
        ),
        (
            checks.pool_has_no_persistent_connections,
            {"DATABASES": {"default": POSTGRES | {"CONN_MAX_AGE": 60}}},
            ["E002"],
        ),
        (checks.sqlite_takes_the_lock_first, {"DATABASES": {"default": SQLITE}}, []),
        (checks.sqlite_takes_the_lock_first, {"DATABASES": {"default": SQLITE | {"OPTIONS": {}}}}, ["E003"]),
        (checks.broker_address_is_usable, {"REDIS_URL": ""}, []),
        (checks.broker_address_is_usable, {"REDIS_URL": "rediss://broker:6380/1"}, []),
        (checks.broker_address_is_usable, {"REDIS_URL": "broker:6379"}, ["E004"]),
        (
            checks.broker_has_a_database_for_many_hosts,
            {"REDIS_URL": "redis://b/0", "DATABASES": {"default": SQLITE}},
            ["W001"],
        ),
        (checks.broker_has_a_database_for_many_hosts, {"REDIS_URL": "", "DATABASES": {"default": SQLITE}}, []),
        (
            checks.broker_has_a_database_for_many_hosts,
            {"REDIS_URL": "redis://b/0", "DATABASES": {"default": POSTGRES}},
            [],
        ),
        (checks.lease_is_shorter_than_the_hard_limit, {"LEASE_SECONDS": 120, "CELL_HARD_LIMIT_SECONDS": 1800}, []),
        (
            checks.lease_is_shorter_than_the_hard_limit,
            {"LEASE_SECONDS": 1800, "CELL_HARD_LIMIT_SECONDS": 1800},
            ["W002"],
        ),
    ],
)
def test_check_speaks_only_when_it_should(
    check: Check, changes: dict[str, Any], expected: list[str], settings: Any
) -> None:
    # Only the values: Django's own connections stay as they are.
    for name, value in changes.items():
        setattr(settings, name, value)
    messages = check()
    assert [message.id for message in messages] == [f"cutline.{number}" for number in expected]
    assert all(message.hint for message in messages)
