"""Where the servers of this run are: given from outside, handed down by the xdist controller, or started here.

The environment carries the addresses, because the settings module needs them before any conftest is read and because
both xdist workers share one server of each kind:

- `CUTLINE_DB` = `sqlite` (the default) or `postgres`: the database this process tests on;
- `DATABASE_URL`, `REDIS_URL`: somebody's own servers, used instead of starting any (the first on the postgres side);
- `CUTLINE_TEST_POSTGRES`, `CUTLINE_TEST_VALKEY`: written here, read by child processes of the run.
"""

from __future__ import annotations

import atexit
import os
from urllib.parse import urlsplit

POSTGRES, VALKEY = "CUTLINE_TEST_POSTGRES", "CUTLINE_TEST_VALKEY"
DATABASES = ("sqlite", "postgres")


def chosen_database() -> str:
    """Return `sqlite` or `postgres`; raises RuntimeError for any other CUTLINE_DB."""
    name = os.environ.get("CUTLINE_DB") or "sqlite"
    if name not in DATABASES:
        raise RuntimeError(f"CUTLINE_DB={name!r}: the suite runs on {' or '.join(DATABASES)}.")
    return name


def postgres_url() -> str:
    """Return the PostgreSQL address of this run, starting the server at the first call."""
    if POSTGRES not in os.environ:
        from tests.servers.postgresql import PostgresqlServer

        server = PostgresqlServer()
        atexit.register(server.stop)
        os.environ[POSTGRES] = server.url
    return os.environ[POSTGRES]


def valkey_url() -> str:
    """Return the Valkey address of this run, starting the server at the first call: database 0 for SQLite, else 1."""
    if VALKEY not in os.environ:
        from tests.servers.valkey import ValkeyServer

        server = ValkeyServer()
        atexit.register(server.stop)
        os.environ[VALKEY] = server.url
    return urlsplit(os.environ[VALKEY])._replace(path=f"/{DATABASES.index(chosen_database())}").geturl()
