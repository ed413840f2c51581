"""Files and arguments nobody wrote in good faith: refused with a place, without a traceback, and nothing written."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from annotate.domain.access import check_labels
from annotate.domain.errors import BadInput, shown
from annotate.domain.import_formats.fields import parse_json, parse_toml
from annotate.domain.import_formats.questions_toml import parse_questions_toml
from annotate.domain.import_formats.sources_toml import parse_sources_toml
from annotate.domain.spans import ByteSpan, locate_quote
from annotate.models import SourceVersion
from annotate.permissions import OPERATOR
from annotate.services.import_folder import import_folder
from tests.factories import make_study

WIDE = "0x" + "f" * 5000
QUESTION = b'[[question]]\nkey = "one"\ntext = "What?"\nas_of = 2026-10-21\n'
SOURCE = '[[source]]\nfile = "{}"\ndocument_id = "one"\nversion_label = "v1"\nobservation_date = 2026-01-01\n'


@pytest.mark.parametrize("name", ["key", "text", "segment", "mandatory", "reader_labels", "as_of", "unknown"])
def test_questions_toml_with_a_number_too_wide_to_print(name: str) -> None:
    lines = [line for line in QUESTION.decode().splitlines() if not line.startswith(f"{name} ")]
    with pytest.raises(BadInput, match="64 bits"):
        parse_questions_toml("\n".join([*lines, f"{name} = {WIDE}"]).encode())


def test_sources_toml_with_an_offset_too_wide_to_print() -> None:
    ranges = f'access_ranges = [{{start = 0, end = {WIDE}, labels = ["hr"]}}]\n'
    with pytest.raises(BadInput, match="64 bits"):
        parse_sources_toml((SOURCE.format("a.txt") + ranges).encode())


def test_toml_number_at_the_edge_of_64_bits() -> None:
    assert parse_toml(b"a = [-9223372036854775808, 0x7fffffffffffffff]", "t")["a"] == [-(2**63), 2**63 - 1]
    with pytest.raises(BadInput, match="64 bits"):
        parse_toml(b"a = [{b = 0x8000000000000000}]", "t")


def test_toml_nested_deeper_than_the_stack() -> None:
    for deep in (b"[" * 100_000, b"{a = " * 100_000):
        with pytest.raises(BadInput):
            parse_questions_toml(b"[[question]]\nkey = " + deep)


@pytest.mark.parametrize("part", [b"a.", b"a . ", b'"a b".', b"'a'. "])
def test_toml_name_of_endless_parts(part: bytes) -> None:
    for name in (part * 100_000 + b"b = 1", b"[" + part * 100_000 + b"b]", b"key = {" + part * 100_000 + b"b = 1}"):
        with pytest.raises(BadInput, match=r"line 2: a dotted name of more than 64 parts"):
            parse_questions_toml(b"[[question]]\n" + name)
    dotted = b'text = "' + part.replace(b'"', b"") * 40 + b'"\n'
    assert parse_questions_toml(QUESTION.replace(b'text = "What?"\n', dotted))[0].key == "one"


def test_message_about_a_huge_value_stays_short() -> None:
    deep: object = 1
    for _ in range(5_000):
        deep = {"a": deep}
    for value in (["x"] * 100_000, "y" * 100_000, b"z" * 100_000, deep, {"a": list(range(10_000))}):
        assert len(shown(value)) < 1_000
    big = b"text = [" + b'"x",' * 100_000 + b"]\n"
    with pytest.raises(BadInput) as refused:
        parse_questions_toml(QUESTION.replace(b'text = "What?"\n', big))
    assert len(str(refused.value)) < 2_000


def test_toml_and_json_behind_a_byte_order_mark() -> None:
    assert parse_questions_toml(b"\xef\xbb\xbf" + QUESTION)[0].key == "one"
    assert parse_json(b'\xef\xbb\xbf{"a": 1}', "t") == {"a": 1}


def test_json_with_half_a_character() -> None:
    for data in (b'{"\\ud800": 1}', b'["\\udfff"]', b'"a\\ud83d"'):
        with pytest.raises(BadInput, match="half a character"):
            parse_json(data, "t")
    assert parse_json(b'"\\ud83d\\ude00"', "t") == "😀"


def test_labels_given_as_a_table() -> None:
    with pytest.raises(BadInput, match="no list of labels"):
        check_labels({"hr": True})
    with pytest.raises(BadInput, match="no list of labels"):
        parse_questions_toml(QUESTION + b"reader_labels = {hr = 1}\n")


def test_quote_occurrences_counted_around_hidden_bytes() -> None:
    content = b"pay 1, pay 2, pay 3"
    hidden = [ByteSpan(7, 12)]
    assert locate_quote(content, "pay", 2, hidden) == (14, 17)
    assert locate_quote(content, "pay 3", None, hidden) == (14, 19)
    for guess in ("pay 2", "1, pay", "2, pay 3"):
        with pytest.raises(BadInput, match="does not occur"):
            locate_quote(content, guess, None, hidden)


@pytest.mark.django_db
def test_folder_with_a_pipe_named_as_a_source(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "sources.toml").write_text(SOURCE.format("pipe"))
    study = make_study()
    # Were the pipe read, nothing but a writer would end the wait.
    watch = threading.Timer(20, lambda: os.close(os.open(tmp_path / "pipe", os.O_WRONLY | os.O_NONBLOCK)))
    watch.start()
    try:
        with pytest.raises(BadInput, match="it is no file"):
            import_folder(OPERATOR, study, tmp_path)
    finally:
        watch.cancel()
    assert not SourceVersion.objects.filter(source__study=study).exists()


@pytest.mark.django_db
def test_folder_whose_sources_toml_is_a_link_out_of_it(tmp_path: Path) -> None:
    (tmp_path / "outside.toml").write_text(SOURCE.format("a.txt"))
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.txt").write_text("Text.")
    (folder / "sources.toml").symlink_to(tmp_path / "outside.toml")
    for path in (folder, folder / "sources.toml", folder / "a.txt"):
        with pytest.raises(BadInput, match="link out of the folder"):
            import_folder(OPERATOR, make_study(), path)


@pytest.mark.django_db
def test_folder_with_a_file_name_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("Text.")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.txt")).write_text("Text.")
    study = make_study()
    with pytest.raises(BadInput, match="its name is not UTF-8") as refused:
        import_folder(OPERATOR, study, tmp_path)
    str(refused.value).encode()
    assert not SourceVersion.objects.filter(source__study=study).exists()


@pytest.mark.django_db
def test_freeze_with_a_list_of_keys_that_is_not_utf8(tmp_path: Path) -> None:
    keys = tmp_path / "keys.txt"
    keys.write_bytes(b"one\ntw\xff\n")
    with pytest.raises(CommandError, match="not UTF-8: byte 0xff at offset 6") as refused:
        call_command("freeze", study=make_study().slug, name="set", questions=keys)
    assert refused.value.returncode == 2


def test_command_argument_that_is_not_utf8() -> None:
    command = [sys.executable.encode(), b"manage.py", b"import_sources", b"x", b"--study", b"\xff"]
    done = subprocess.run(command, check=False, cwd=settings.BASE_DIR, capture_output=True, timeout=120)
    assert done.returncode == 2
    assert b"argument 4" in done.stderr
    assert b"not UTF-8" in done.stderr
    assert b"Traceback" not in done.stderr
