"""Shared by every test: both databases in one run, the servers, and what a test needs to start a process.

`pytest` runs everything on SQLite and on PostgreSQL (xdist `--dist each`, see pyproject.toml). `pytest -n0 PATH` runs
on one, the one CUTLINE_DB names. Nothing is skipped for a missing service: the run starts its own, or fails saying why.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from django.db import connection
from django.test import TransactionTestCase
from hypothesis import settings as hypothesis_settings

from ledger import triggers
from tests.servers import addresses

# Two cores shared by two sides: a slow example says nothing about the code. In CI the same examples every time.
hypothesis_settings.register_profile("suite", deadline=None, derandomize=bool(os.environ.get("CI")))
hypothesis_settings.load_profile("suite")

_BOTH = "CUTLINE_TEST_BOTH"
# A test that reaches none of these (nor the django_db mark) cannot tell one database from the other.
_DATABASE_FIXTURES = frozenset({"db", "transactional_db", "live_server", "process_environment", "broker_url"})


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: list) -> None:
    """Start each server once, in the controller, before the workers inherit its environment."""
    databases = {spec.env.get("CUTLINE_DB") for spec in specs}
    if "postgres" in databases:
        addresses.postgres_url()
    addresses.valkey_url()
    if databases == set(addresses.DATABASES):
        os.environ[_BOTH] = "1"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run once what says nothing about the database: each such file belongs to one side, by its name's checksum.

    That is a test that touches no database, and a browser test (about pages; both sides get their share of them)
    without the mark `both_databases`. Only where both sides run in this very invocation: every test runs at least
    once, and the ones that could behave differently run on both.
    """
    if not os.environ.get(_BOTH) or not hasattr(config, "workerinput"):
        return
    side = addresses.DATABASES.index(addresses.chosen_database())
    kept, elsewhere = [], []
    for item in items:
        mine = zlib.crc32(item.nodeid.split("::")[0].encode()) % 2 == side
        (kept if mine or _runs_on_both(item) else elsewhere).append(item)
    if elsewhere:
        config.hook.pytest_deselected(items=elsewhere)
        items[:] = kept


def _runs_on_both(item: pytest.Item) -> bool:
    if item.get_closest_marker("both_databases"):
        return True
    if item.nodeid.startswith("tests/browser/"):
        return False
    if item.get_closest_marker("django_db") or not _DATABASE_FIXTURES.isdisjoint(getattr(item, "fixturenames", ())):
        return True
    cls = getattr(item, "cls", None)
    return isinstance(cls, type) and issubclass(cls, TransactionTestCase)


@pytest.fixture(autouse=True, scope="session")
def flush_passes_triggers() -> Iterator[None]:
    """Let TransactionTestCase empty tables whose rows are otherwise protected by triggers."""
    original = TransactionTestCase._fixture_teardown

    def teardown(self: TransactionTestCase) -> None:
        with triggers.lifted(connection):
            original(self)

    TransactionTestCase._fixture_teardown = teardown
    yield
    TransactionTestCase._fixture_teardown = original


@pytest.fixture(scope="session")
def database_name() -> str:
    """Return `sqlite` or `postgres`."""
    return addresses.chosen_database()


@pytest.fixture
def broker_url() -> str:
    """Return the address of a running, empty Valkey database that only this worker uses."""
    import redis

    url = addresses.valkey_url()
    with redis.Redis.from_url(url) as client:
        client.flushdb()
    return url


@pytest.fixture
def process_environment(transactional_db: None) -> dict[str, str]:
    """Return the environment for a child process (manage.py, celery, gunicorn) on this test's own database.

    It names no broker; add `| {"REDIS_URL": broker_url}` for one. Rows must be committed to be seen by the child, hence
    transactional_db.
    """
    database = connection.settings_dict
    if connection.vendor == "sqlite":
        url = f"sqlite:///{database['NAME']}"
    else:
        who = ":".join(quote(part, safe="") for part in (database["USER"], database["PASSWORD"]) if part)
        url = f"postgres://{who}@{database['HOST']}:{database['PORT'] or 5432}/{database['NAME']}"
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": url,
        "CUTLINE_HTTPS": "0",
        "PYTHONUNBUFFERED": "1",
    }
