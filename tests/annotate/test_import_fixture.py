"""The published JSON fixture on its way in, byte for byte, and what is refused."""

import hashlib
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotate.domain.content_codec import content_from_payload
from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import DependencyType, MissingBehaviour, Role, SpanLabel, StudyKind
from annotate.models import AdjudicatedResult, Question, SourceVersion, Study
from annotate.permissions import OPERATOR, NotAllowed
from annotate.services.export_fixtures import export_fixtures
from annotate.services.freeze_fixtures import freeze_fixtures
from annotate.services.import_fixture import import_fixture
from ledger.domain.canonical import parse_canonical
from ledger.services.verify import verify
from tests.factories import DAY, make_member, make_study

pytestmark = pytest.mark.django_db

PATH = Path(__file__).parents[1] / "golden" / "temporary-retention-v1.json"
FIXTURE = PATH.read_bytes()


def test_published_fixture_becomes_a_source_a_question_and_a_settled_result():
    study = make_study()
    imported = import_fixture(OPERATOR, study, FIXTURE, observed=DAY)
    assert imported.created
    version = SourceVersion.objects.get()
    assert version.sha256 == "ad0875163c10c4b7fd2d6efed6efae515cef0f8ea236b45216cb8ef12c8a5563"
    question = Question.objects.get()
    assert (question.key, question.segment) == ("temporary-retention-v1", "rule-and-exception")
    content = content_from_payload(parse_canonical(bytes(imported.result.content)))
    assert [(span.name, span.start, span.end, span.label) for span in content.spans] == [
        ("rule", 0, 37, SpanLabel.RULE),
        ("qualifier", 38, 89, SpanLabel.QUALIFIER),
    ]
    assert content.sets == (("rule", "qualifier"),)
    assert content.contract.answer == "At most 7 days."
    assert content.contract.missing_text == "Abstain on the temporary-request limit."
    assert content.contract.missing_behaviour is MissingBehaviour.ABSTAIN
    assert content.contract.dependency is DependencyType.EXCEPTION
    assert verify().ok


def published_again(study, folder):
    """Freeze the study and return its published fixtures by id."""
    export_fixtures(OPERATOR, freeze_fixtures(OPERATOR, study, "set"), folder)
    return {file.stem: file.read_bytes() for file in (folder / "published").iterdir()}


def test_published_fixture_is_regenerated_from_the_rows_byte_for_byte(tmp_path):
    study = make_study()
    import_fixture(OPERATOR, study, FIXTURE, observed=DAY)
    assert published_again(study, tmp_path / "out") == {"temporary-retention-v1": FIXTURE}


def test_fixture_over_two_sources_survives_export_and_import(tmp_path):
    texts = {hashlib.sha256(text.encode()).hexdigest(): text for text in ("Limit: 7 days. 💩\r\n", "“Limit”\0 means…")}
    one, two = (f"sha256:{digest}" for digest in texts)
    given = {
        "fixture_id": "two-sources",
        "sources": [
            {"source_version": f"sha256:{digest}", "source_text": text} for digest, text in sorted(texts.items())
        ],
        "coordinate_system": "utf8-byte-half-open",
        "spans": {"limit": [one, 0, 14], "definition": [two, 0, 11]},
        "question": "Which limit?",
        "sufficient_support_sets": [["limit", "definition"]],
        "expected_answer": "7 days.",
        "if_qualifier_missing": "Give the number without its meaning.",
    }
    study = make_study()
    imported = import_fixture(OPERATOR, study, json.dumps(given).encode(), observed=DAY)
    content = content_from_payload(parse_canonical(bytes(imported.result.content)))
    assert content.contract.dependency is DependencyType.DEFINITION
    assert content.contract.missing_behaviour is MissingBehaviour.NARROWER
    published = published_again(study, tmp_path / "out")["two-sources"]
    again = json.loads(published)
    # The published order of spans and members is the stable one, whatever the order they came in.
    assert {**again, "sufficient_support_sets": [sorted(again["sufficient_support_sets"][0])]} == {
        **given,
        "sufficient_support_sets": [["definition", "limit"]],
    }
    second = make_study()
    import_fixture(OPERATOR, second, published, observed=DAY)
    assert published_again(second, tmp_path / "second")["two-sources"] == published


def test_fixture_imported_again_changes_nothing():
    study = make_study()
    import_fixture(OPERATOR, study, FIXTURE, observed=DAY)
    assert not import_fixture(OPERATOR, study, FIXTURE, observed=DAY).created
    assert AdjudicatedResult.objects.count() == 1


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ("sha256:ad08|sha256:bd08", "source_version"),
        ("for 30 days|for 31 days", "source_version"),
        ("[38, 89]|[38, 90]", "spans, qualifier"),
        ("[38, 89]|[38, 38]", "spans, qualifier"),
        ("[38, 89]|[38.0, 89]", "spans, qualifier"),
        ("[38, 89]|[38]", "spans, qualifier"),
        ('[["rule", "qualifier"]]|[["rule", "qualifer"]]', "set 1"),
        ('[["rule", "qualifier"]]|[[]]', "set 1"),
        ('[["rule", "qualifier"]]|[["rule", "rule"]]', "set 1"),
        ('[["rule", "qualifier"]]|[]', "sufficient_support_sets"),
        ('"At most 7 days."|""', "expected_answer"),
        ("utf8-byte-half-open|code-points", "coordinate_system"),
        ('"question": |"query": ', "question"),
        ('"rule": [0, 37]|"rule": [0, 37], "rule": [0, 5]', "fixture"),
        ('"fixture_id"|fixture_id', "line 2, column 3"),
        ('"rule": [0, 37]|"rule": [NaN, 37]', "fixture"),
    ],
)
def test_fixture_that_does_not_hold_together_is_refused_and_nothing_is_written(change, place):
    before, after = change.split("|")
    assert before.encode() in FIXTURE
    with pytest.raises(BadInput) as refused:
        import_fixture(OPERATOR, make_study(), FIXTURE.replace(before.encode(), after.encode()), observed=DAY)
    assert any(place in problem.where for problem in refused.value.problems)
    assert not SourceVersion.objects.exists()


def test_span_inside_a_character_is_refused():
    value = json.loads(FIXTURE)
    value["source_text"] = "💩" + value["source_text"][1:]
    value["spans"]["rule"] = [1, 37]
    with pytest.raises(BadInput) as refused:
        import_fixture(OPERATOR, make_study(), json.dumps(value).encode(), observed=DAY)
    assert [problem.where for problem in refused.value.problems] == [
        "fixture, source_version",
        "fixture, spans, rule, span [1, 37)",
    ]


def test_wrong_role_and_retrieval_only_study_are_refused():
    study = make_study()
    with pytest.raises(NotAllowed):
        import_fixture(make_member(study, Role.ANNOTATOR), study, FIXTURE, observed=DAY)
    with pytest.raises(BadInput, match="retrieval-only"):
        import_fixture(OPERATOR, make_study(kind=StudyKind.RETRIEVAL_ONLY), FIXTURE, observed=DAY)


def test_command_imports_and_refuses_with_exit_code_two_leaving_no_study(tmp_path):
    with pytest.raises(CommandError) as refused:
        call_command("import_fixture", str(tmp_path / "gone.json"), "--study", "s", "--create-study", "S")
    assert refused.value.returncode == 2
    assert not Study.objects.exists()
    call_command("import_fixture", str(PATH), "--study", "s", "--create-study", "S", "--observed", "2026-10-21")
    assert Question.objects.get().as_of == DAY
