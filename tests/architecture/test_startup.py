"""What an installation may start with: unusable values are refused by name, and keys are never guessed or shared."""

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import environment
from tests.architecture.tree import ROOT

PRODUCTION = {
    "DATABASE_URL": "postgres://cutline:unused@127.0.0.1:1/cutline",
    "REDIS_URL": "redis://127.0.0.1:1/0",
    "CUTLINE_SECRET_KEY": "".join(chr(33 + n % 90) for n in range(60)),
    "CUTLINE_ALLOWED_HOSTS": "cutline.example",
    "CUTLINE_TRUSTED_ORIGINS": "https://cutline.example",
    "CUTLINE_HTTPS": "1",
    "CUTLINE_BEHIND_PROXY": "1",
    "CUTLINE_DB_POOL": "1",
    "DJANGO_SETTINGS_MODULE": "config.settings",
}


def _check(changes: dict[str, str | None], var: Path) -> subprocess.CompletedProcess[str]:
    given = os.environ | PRODUCTION | {"CUTLINE_VAR": str(var)} | changes
    env = {name: value for name, value in given.items() if value is not None}
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


def test_production_settings_pass_the_deployment_check(tmp_path: Path) -> None:
    done = _check({}, tmp_path)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == [], "a server installation writes nothing at the start"


def test_server_without_a_key_of_its_own_does_not_start(tmp_path: Path) -> None:
    done = _check({"CUTLINE_SECRET_KEY": None}, tmp_path)
    assert done.returncode != 0
    assert "CUTLINE_SECRET_KEY is not set" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("CUTLINE_SECRET_KEY", "too-short", "shorter than 32"),
        ("CUTLINE_HTTPS", "maybe", "write 1 or 0"),
        ("CUTLINE_LEASE_SECONDS", "soon", "write a whole number"),
        ("CUTLINE_CELL_HARD_LIMIT", "59", "smallest allowed value is 60"),
    ],
)
def test_unusable_value_is_refused_by_name(
    name: str, value: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    doc = environment.DECLARED[name]
    readers = {
        "CUTLINE_SECRET_KEY": lambda: environment.secret_key(tmp_path, embedded=True),
        "CUTLINE_HTTPS": lambda: environment.flag(name, False, doc),
        "CUTLINE_LEASE_SECONDS": lambda: environment.integer(name, 120, doc, minimum=5),
        "CUTLINE_CELL_HARD_LIMIT": lambda: environment.integer(name, 1800, doc, minimum=60),
    }
    with pytest.raises(ImproperlyConfigured, match=f"{name}.*{said}"):
        readers[name]()


def test_embedded_key_is_made_once_even_by_many_first_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUTLINE_SECRET_KEY", raising=False)
    var = tmp_path / "var"
    with ThreadPoolExecutor(16) as pool:
        keys = set(pool.map(lambda _: environment.secret_key(var, embedded=True), range(64)))
    (key,) = keys
    assert len(key) >= 48
    assert [path.name for path in var.iterdir()] == ["secret_key"]
    assert stat.S_IMODE((var / "secret_key").stat().st_mode) == 0o600


def test_embedded_start_with_a_given_key_makes_the_folder_of_its_database(tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
    env |= {"CUTLINE_SECRET_KEY": "k" * 40, "CUTLINE_VAR": str(tmp_path / "new" / "var")}
    env["DJANGO_SETTINGS_MODULE"] = "config.settings"
    command = [sys.executable, "manage.py", "check", "--database", "default"]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert "unable to open database file" not in done.stderr
    assert (tmp_path / "new" / "var").is_dir()


def _manage(*arguments: str, var: Path) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"CUTLINE_VAR": str(var), "DJANGO_SETTINGS_MODULE": "config.settings", "DATABASE_URL": ""}
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


def test_folder_that_cannot_be_written_to_is_refused_by_name(tmp_path: Path) -> None:
    taken = tmp_path / "a file"
    taken.touch()
    done = _manage("demo", "--no-serve", var=taken)
    assert done.returncode == 2
    assert f"CUTLINE_VAR='{taken}': no folder to write to" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", [["work", "--once"], ["results", "latest"], ["verify_ledger"]])
def test_database_without_tables_says_to_migrate_and_keeps_the_traceback_for_who_asks(
    command: list[str], tmp_path: Path
) -> None:
    done = _manage(*command, var=tmp_path / "blank in name ü")
    assert done.returncode == 1
    assert "run manage.py migrate" in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr
    assert "Traceback" in _manage(*command, "--traceback", var=tmp_path / "blank in name ü").stderr


def test_file_that_is_no_database_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "cutline.sqlite3").write_text("no database at all, and long enough to be looked at")
    done = _manage("work", "--once", var=tmp_path)
    assert done.returncode == 1
    assert "file is not a database" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("given", ["s3cret", "=s3cret", "search.example=", "a.example=x,b.example", "a.example=s3crét"])
def test_unusable_token_stops_the_start_without_being_repeated(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTLINE_RETRIEVAL_TOKENS", given)
    with pytest.raises(ImproperlyConfigured, match=r"CUTLINE_RETRIEVAL_TOKENS, item \d: write host=token") as stopped:
        environment.tokens("CUTLINE_RETRIEVAL_TOKENS", "")
    assert "s3cr" not in str(stopped.value)


def test_tokens_are_read_by_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTLINE_RETRIEVAL_TOKENS", " a.example = abc== , b.example:8443=Basic dTpw ,")
    assert environment.tokens("CUTLINE_RETRIEVAL_TOKENS", "") == {"a.example": "abc==", "b.example:8443": "Basic dTpw"}
