"""The project's settings as the suite needs them: `config.settings` with a throw-away folder and the chosen database.

The database is chosen here and not in a conftest because pytest-django sets Django up before it reads any conftest.
What differs from production is listed here and nowhere else; `tests/architecture` runs the production settings.
"""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from tests.servers import addresses

TEST_VAR = Path(tempfile.mkdtemp(prefix="cutline-test-"))
atexit.register(shutil.rmtree, TEST_VAR, ignore_errors=True)
(TEST_VAR / "static").mkdir()

# `DATABASE_URL` and `REDIS_URL` from outside replace the servers; they must not reach the settings as they are, since
# the SQLite side shares the environment, and a test that wants a broker asks for one (fixture `broker_url`).
if given := os.environ.pop("DATABASE_URL", ""):
    os.environ.setdefault(addresses.POSTGRES, given)
if given := os.environ.pop("REDIS_URL", ""):
    os.environ.setdefault(addresses.VALKEY, given)

os.environ |= {
    "CUTLINE_VAR": str(TEST_VAR),
    "CUTLINE_SECRET_KEY": "only-for-tests-" + "x" * 40,
    "CUTLINE_HTTPS": "0",
    "CUTLINE_DEBUG": "0",
}
_on_postgres = addresses.chosen_database() == "postgres"
if _on_postgres:
    os.environ["DATABASE_URL"] = addresses.postgres_url()

from config.settings import *  # noqa: E402, F403
from config.settings import DATABASES, STORAGES  # noqa: E402

# The maintenance database is nobody's business but the runner's: a process a test starts gets its environment from
# the fixture `process_environment`, which names the test database.
os.environ.pop("DATABASE_URL", None)

if not _on_postgres:
    # A file, not memory: live_server, threads and worker processes then meet the locks of a real installation.
    DATABASES["default"]["TEST"] = {"NAME": str(TEST_VAR / "test.sqlite3")}

# The production hasher takes 0.3 s a sign-in.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# One test collects for real and serves hashed names; the others read files where they lie.
STORAGES = STORAGES | {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "testserver"]
