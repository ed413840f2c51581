import json
import subprocess
import sys

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command, load_command_class

from ledger.services import ResultEntry, append, put_results, seal
from tests.ledger.tampering import forged, run


@pytest.fixture
def filled(db):
    append("test.note", {"quote": "Geheimnis"}, "study:1")
    put_results("sweep:1", [ResultEntry("q", "test.rank", 1)])
    seal("sweep:1", 1)


def test_clean_ledger_prints_its_head(filled, capsys, tmp_path):
    head = tmp_path / "head.json"
    call_command("verify_ledger", "--write-head", str(head))
    out = capsys.readouterr().out
    assert "2 records, 1 results, 1 seals" in out
    assert f"head: {head.read_text().strip()}" in out
    append("test.plain", 1, "s")
    call_command("verify_ledger", "--head", str(head), "--json")
    report = json.loads(capsys.readouterr().out)
    assert (report["ok"], report["head"]["seq"], report["notes"]) == (True, 3, [])


def test_findings_end_with_exit_code_1(filled, capsys, tmp_path):
    with forged():
        run("UPDATE ledger_record SET kind = 'test.plain' WHERE seq = 1")
        with pytest.raises(CommandError) as caught:
            call_command("verify_ledger", "--write-head", str(tmp_path / "head"))
    assert caught.value.returncode == 1
    assert "finding: chain.link at ledger_record seq 1" in capsys.readouterr().out
    assert not (tmp_path / "head").exists()


@pytest.mark.parametrize("arguments", [["--head", "nowhere"], ["--head", "bad"], ["--bundle", "nowhere"]])
def test_wrong_usage_ends_with_exit_code_2(db, tmp_path, arguments):
    (tmp_path / "bad").write_text("12")
    with pytest.raises(CommandError) as caught:
        call_command("verify_ledger", arguments[0], str(tmp_path / arguments[1]))
    assert caught.value.returncode == 2


def test_export_and_verify_the_bundle(filled, capsys, tmp_path):
    (tmp_path / "key").write_text("0123456789abcdef\n")
    call_command("export_ledger", str(tmp_path / "out"))
    call_command("export_ledger", str(tmp_path / "free"), "--text-free", "--key-file", str(tmp_path / "key"))
    call_command("export_ledger", str(tmp_path / "one"), "--scope", "study:1")
    assert "one: 1 records, 0 results" in capsys.readouterr().out
    assert b"Geheimnis" in (tmp_path / "out" / "records.jsonl").read_bytes()
    assert b"Geheimnis" not in (tmp_path / "free" / "records.jsonl").read_bytes()
    for name in ("out", "free", "one"):
        call_command("verify_ledger", "--bundle", str(tmp_path / name))
    path = tmp_path / "out" / "records.jsonl"
    path.write_bytes(path.read_bytes().replace(b"Geheimnis", b"Geheimniz"))
    with pytest.raises(CommandError) as caught:
        call_command("verify_ledger", "--bundle", str(tmp_path / "out"))
    assert caught.value.returncode == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["--text-free"], 2), (["--key-file", "key"], 2), (["--text-free", "--key-file", "nowhere"], 2)],
)
def test_export_options_that_do_not_fit_are_refused(db, tmp_path, arguments, code):
    with pytest.raises(CommandError) as caught:
        call_command("export_ledger", str(tmp_path / "out"), *arguments)
    assert caught.value.returncode == code
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("taken", ["folder", "file"])
def test_export_into_what_is_there_says_so_and_leaves_it(db, tmp_path, taken):
    place = tmp_path / "out"
    if taken == "folder":
        place.mkdir()
    else:
        place.write_text("mine")
    with pytest.raises(CommandError, match=f"is a {taken} already: nothing was exported") as caught:
        call_command("export_ledger", str(place))
    assert caught.value.returncode == 2
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    with pytest.raises(CommandError, match="make it first") as caught:
        call_command("export_ledger", str(tmp_path / "no" / "where"))
    assert caught.value.returncode == 2


@pytest.mark.django_db(transaction=True)
def test_process_with_findings_ends_with_exit_code_1(process_environment, tmp_path):
    (tmp_path / "head").write_text('{"link":"%s","seq":7}' % ("ab" * 32))
    cut = subprocess.run(
        [sys.executable, "manage.py", "verify_ledger", "--head", str(tmp_path / "head")],
        cwd=settings.BASE_DIR,
        env=process_environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (cut.returncode, "head.truncated" in cut.stdout) == (1, True), cut.stderr


@pytest.mark.parametrize("name", ["verify_ledger", "export_ledger"])
def test_help_shows_an_example_and_unknown_options_end_with_2(name, capsys):
    parser = load_command_class("ledger", name).create_parser("manage.py", name)
    assert f"manage.py {name}" in parser.format_help().split("example")[1]
    with pytest.raises(SystemExit) as caught:
        load_command_class("ledger", name).run_from_argv(["manage.py", name, "path", "--no-such-option"])
    assert caught.value.code == 2
