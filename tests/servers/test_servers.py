"""The ground itself: each side tests on the database it says, on servers of its own."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import redis
from django.db import connection, transaction

from tests.servers.processes import listens

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.django_db
def test_connection_is_the_chosen_database(database_name: str) -> None:
    assert connection.vendor == {"sqlite": "sqlite", "postgres": "postgresql"}[database_name]
    assert "test" in str(connection.settings_dict["NAME"])


@pytest.mark.django_db
def test_text_sorts_by_code_point_on_both_databases() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 'Z' < 'a', 'a' < 'ä', 'é' < 'あ'")
        assert [bool(value) for value in cursor.fetchone()] == [True, True, True]


def test_broker_starts_empty_and_keeps_nothing_between_tests(broker_url: str) -> None:
    with redis.Redis.from_url(broker_url) as client:
        assert client.dbsize() == 0
        client.set("left", "behind")


def test_broker_starts_empty_again(broker_url: str) -> None:
    with redis.Redis.from_url(broker_url) as client:
        assert client.dbsize() == 0


def test_child_process_sees_rows_of_the_test_database(process_environment: dict[str, str]) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("CREATE TABLE ground_probe (n integer)")
        cursor.execute("INSERT INTO ground_probe VALUES (41)")
    try:
        code = "import django; django.setup(); from django.db import connection as c; k = c.cursor(); "
        code += "k.execute('SELECT n + 1 FROM ground_probe'); print(k.fetchone()[0])"
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, env=process_environment, capture_output=True, text=True, check=False
        )
        assert (done.stdout.strip(), done.returncode) == ("42", 0), done.stderr
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE ground_probe")


@pytest.mark.parametrize("server", ["postgresql.PostgresqlServer", "valkey.ValkeyServer"])
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills a child with its parent")
def test_server_dies_with_a_killed_run(server: str) -> None:
    module, name = server.split(".")
    code = f"from tests.servers.{module} import {name} as Server; import time; "
    code += "server = Server(); print(server.port, server.folder, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        words = run.stdout.readline().split()
        port, folder = int(words[0]), Path(words[1])
        assert listens(port)
        os.kill(run.pid, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while listens(port):
        assert time.monotonic() < deadline, f"the server on port {port} outlived its run"
        time.sleep(0.05)
    # What a killed run cannot do for itself.
    shutil.rmtree(folder)
