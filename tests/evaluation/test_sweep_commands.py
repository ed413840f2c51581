"""The commands: what they print, write, and with which exit code they end."""

from __future__ import annotations

import json
import re
import socket
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command, load_command_class
from django.core.management.base import CommandError

from annotate.models import Study
from evaluation.management.tables import percent
from evaluation.models import Plan, Sweep
from evaluation.services.results import sweep_results
from evaluation.services.ring import ring
from tests.evaluation.sweeps import plan_toml, small_study, started

pytestmark = pytest.mark.django_db
COMMANDS = ("demo", "results", "serve", "sweep", "work")
SOURCES = Path(__file__).resolve().parents[2]


def run(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(plan_toml(), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_an_example_and_the_exit_codes(name: str) -> None:
    text = load_command_class("evaluation", name).create_parser("manage.py", name).format_help()
    assert f"manage.py {name}" in text.split("Examples:")[1]
    assert "Exit code" in text


def test_sweep_with_wait_prints_tables_and_writes_every_figure(plan_file: Path, tmp_path: Path) -> None:
    small_study()
    target = tmp_path / "results.json"
    printed = run("sweep", str(plan_file), "--study", "small", "--wait", "--json", str(target))
    sweep = Sweep.objects.get()
    assert sweep.state == Sweep.State.SEALED
    assert sweep.root in printed
    assert "Disposition" in printed
    data = json.loads(target.read_text(encoding="utf-8"))
    assert data["sweep"]["root"] == sweep.root
    figure = data["figures"][0]
    wanted = {
        "arm",
        "view",
        "stage",
        "segment",
        "sample",
        "label",
        "phase",
        "numerator",
        "denominator",
        "value",
        "status",
    }
    assert wanted <= figure.keys()
    arm = data["arms_by_view"][0]
    assert {"mean", "worst", "fragile", "always", "never"} <= arm.keys()
    assert {"value", "lower", "upper", "signature"} <= data["pairs"][0]["mean"].keys()


def test_sweep_again_goes_on_with_the_sweep_there_is(plan_file: Path) -> None:
    small_study()
    run("sweep", str(plan_file))
    run("sweep", str(plan_file), "--wait")
    run("sweep", str(plan_file), "--wait")
    assert Sweep.objects.count() == Plan.objects.exclude(locked_at=None).count() == 1
    run("sweep", str(plan_file), "--again")
    assert Sweep.objects.count() == 2


def test_json_to_standard_output_is_nothing_but_json(plan_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small_study()
    call_command("sweep", str(plan_file), "--wait", "--json", "-")
    assert json.loads(capsys.readouterr().out)["sweep"]["state"] == "sealed"


def test_results_of_the_latest_sweep(plan_file: Path, tmp_path: Path) -> None:
    small_study()
    run("sweep", str(plan_file), "--wait")
    printed = run("results", "latest", "--json", str(tmp_path / "r.json"))
    assert "Complete support" in printed
    results = sweep_results(Sweep.objects.get())
    for view in results.data["views"]:
        assert printed.count(f"Stage of loss · {view['view']} {view['value']} ") == 1
        for row in results.rows("arms_by_view", view=view["key"], segment="overall", metric="complete-support"):
            (told,) = [one for one in _stage_rows(printed, view) if one[0] == row["arm"]]
            assert told[1] == str(row["interval"]["signature"]["questions"])
            assert told[-2:] == [percent(row["mean"]), f"{len(row['fragile'])} ({percent(row['fragile_share'])})"]
    assert json.loads((tmp_path / "r.json").read_text())["sweep"]["id"] == Sweep.objects.get().pk


def _stage_rows(printed: str, view: dict[str, Any]) -> list[list[str]]:
    """The cells of the table of stages of one view."""
    body = printed.split(f"Stage of loss · {view['view']} {view['value']} ")[1].split("└", maxsplit=1)[0]
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in body.splitlines() if line[:1] == "│"]


def test_plan_with_faults_names_lines_and_ends_with_2(tmp_path: Path) -> None:
    small_study()
    path = tmp_path / "plan.toml"
    path.write_text(plan_toml({"overlap = 12": "overlap = 40"}), encoding="utf-8")
    with pytest.raises(CommandError, match=r"line \d+, arms\[0\]\.overlap") as refused:
        run("sweep", str(path))
    assert refused.value.returncode == 2
    assert not Plan.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (["sweep", "no-such-plan.toml"], "cannot be read", 2),
        (["sweep", "PLAN", "--study", "nobody"], "There is no study 'nobody'. Studies: small", 2),
        (["sweep", "PLAN", "--fixture-set", "v9"], "no fixture set 'v9'. Fixture sets: v1", 2),
        (["sweep", "PLAN", "--json", "x"], "--json needs --wait", 2),
        (["results", "77"], "There is no sweep '77'", 2),
        (["results", "²"], "There is no sweep", 2),
        (["results", "latest"], "There is no sweep", 2),
    ],
)
def test_wrong_arguments_say_what_there_is_and_end_with_2(
    arguments: list[str], said: str, code: int, plan_file: Path
) -> None:
    small_study()
    with pytest.raises(CommandError, match=re.escape(said)) as refused:
        run(*(str(plan_file) if one == "PLAN" else one for one in arguments))
    assert refused.value.returncode == code


def test_results_of_a_running_sweep_end_with_1() -> None:
    sweep = started()
    with pytest.raises(CommandError, match="running") as refused:
        run("results", str(sweep.pk))
    assert refused.value.returncode == 1


def test_tokenizer_that_is_not_there_ends_with_2_and_says_how_to_name_one(tmp_path: Path) -> None:
    small_study()
    path = tmp_path / "plan.toml"
    path.write_text(plan_toml({"cutline-bpe-4k": "no/such/file.json"}), encoding="utf-8")
    with pytest.raises(CommandError, match="a path to a tokenizer") as refused:
        run("sweep", str(path))
    assert refused.value.returncode == 2
    assert not Plan.objects.exists()


@pytest.mark.parametrize("seed", ["-1", "9223372036854775808", "1" * 5_000, "1.5", "٣", ""])
def test_seed_no_database_holds_is_refused_before_anything_is_written(plan_file: Path, seed: str) -> None:
    small_study()
    with pytest.raises(CommandError, match="whole number from 0"):
        run("sweep", str(plan_file), f"--seed={seed}")
    assert not Plan.objects.exists()


@pytest.mark.parametrize("command", ["serve", "demo"])
def test_port_that_is_taken_is_said_before_anything_else_is_done(command: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(CommandError, match=f"127.0.0.1:{port}.*--port") as refused:
            run(command, f"--port={port}")
    assert refused.value.returncode == 2
    assert not Study.objects.exists()


@pytest.mark.parametrize("arguments", [["--port=0"], ["--port=99999"], ["--host=999.1.1.1"], ["--host=" + "a" * 70]])
def test_address_that_cannot_be_is_refused(arguments: list[str]) -> None:
    with pytest.raises(CommandError, match="--port") as refused:
        run("serve", *arguments)
    assert refused.value.returncode == 2


def test_only_one_place_publishes_to_the_broker() -> None:
    """A message sent before the commit finds no cell, so nothing but `ring` may send one."""
    sends = re.compile(r"\.(delay|apply_async|send_task|delay_on_commit|apply_async_on_commit)\(")
    found = {
        str(path.relative_to(SOURCES))
        for app in ("annotate", "config", "evaluation", "ledger")
        for path in (SOURCES / app).rglob("*.py")
        if sends.search(path.read_text(encoding="utf-8"))
    }
    assert found == {"config/celery.py"}
    assert ring.__module__ == "evaluation.services.ring"
