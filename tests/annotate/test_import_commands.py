"""The import commands: who acts, what is printed, and exit codes a script can trust."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command, get_commands, load_command_class

from annotate.domain.vocabulary import Role
from annotate.models import Question, SourceVersion, Study
from tests.factories import make_member, make_person, make_study

COMMANDS = [
    name
    for name in ("import_sources", "import_questions", "import_dataset", "import_fixture", "export_dataset")
    if get_commands()[name] == "annotate"
]
QUESTIONS = '[[question]]\nkey = "one"\ntext = "One?"\nas_of = 2026-10-21\n'


def run(*arguments):
    out = StringIO()
    call_command(*map(str, arguments), stdout=out, stderr=StringIO())
    return out.getvalue()


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_each_command_shows_an_example(name, capsys):
    parser = load_command_class("annotate", name).create_parser("manage.py", name)
    assert f"Example: manage.py {name} " in parser.format_help()


@pytest.mark.django_db
def test_sources_and_questions_are_imported_and_again_is_harmless(tmp_path):
    (tmp_path / "a.md").write_bytes(b"# A\r\ntext")
    told = run("import_sources", tmp_path / "a.md", "--study", "s", "--create-study", "S", "--observed", "2026-10-21")
    assert "1 imported, 0 unchanged, study s" in told
    assert "0 imported, 1 unchanged" in run("import_sources", tmp_path / "a.md", "--study", "s")
    (tmp_path / "questions.toml").write_text(QUESTIONS)
    assert "1 written, 0 rewritten, 0 unchanged" in run("import_questions", tmp_path / "questions.toml", "--study", "s")
    assert "0 written, 0 rewritten, 1 unchanged" in run("import_questions", tmp_path / "questions.toml", "--study", "s")


@pytest.mark.django_db
def test_file_in_another_encoding_is_transcoded_when_asked(tmp_path):
    (tmp_path / "a.txt").write_bytes("Grüße".encode("latin-1"))
    make_study("s")
    with pytest.raises(CommandError, match=r"0xfc at offset 2 .* explicit transcoding"):
        run("import_sources", tmp_path, "--study", "s")
    run("import_sources", tmp_path, "--study", "s", "--encoding", "latin-1")
    assert bytes(SourceVersion.objects.get().content).decode() == "Grüße"


@pytest.mark.django_db
@pytest.mark.parametrize(
    "arguments",
    [
        ("import_sources", "{}/gone", "--study", "s"),
        ("import_sources", "{}", "--study", "s"),
        ("import_sources", "{}/a.md", "--study", "no-such"),
        ("import_sources", "{}/a.md", "--study", "s", "--observed", "yesterday"),
        ("import_sources", "{}/a.md", "--study", "s", "--as", "nobody"),
        ("import_sources", "{}/a.md", "--study", "No Slug", "--create-study", "T"),
        ("import_questions", "{}/gone.toml", "--study", "s"),
        ("import_questions", "{}/a.md", "--study", "s"),
        ("export_dataset", "--study", "s", "--output", "{}/no/such/folder.json"),
    ],
)
def test_unusable_input_ends_with_code_two_and_writes_nothing(tmp_path, arguments):
    make_study("s")
    (tmp_path / "a.md").write_bytes(b"text")
    (tmp_path / "empty.md").write_bytes(b"")
    with pytest.raises(CommandError) as refused:
        run(*(argument.format(tmp_path) for argument in arguments))
    assert refused.value.returncode == 2
    assert (SourceVersion.objects.count(), Question.objects.count(), Study.objects.count()) == (0, 0, 1)


@pytest.mark.django_db
def test_person_acts_by_their_roles_and_is_refused_with_code_three(tmp_path):
    study = make_study("s")
    (tmp_path / "a.md").write_bytes(b"text")
    for name in (make_member(study, Role.OBSERVER).username, make_person().username):
        with pytest.raises(CommandError) as refused:
            run("import_sources", tmp_path, "--study", "s", "--as", name)
        assert refused.value.returncode == 3
    lead = make_member(study, Role.LEAD)
    run("import_sources", tmp_path, "--study", "s", "--as", lead.username)
    assert SourceVersion.objects.get().imported_by == lead
    stranger = make_person()
    with pytest.raises(CommandError):
        run("import_sources", tmp_path, "--study", "t", "--create-study", "T", "--as", stranger.username)
    assert not Study.objects.filter(slug="t").exists()
