"""A public data set on its way in: each reference checked against the bytes, each doubt reported with its row."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotate.domain.content_codec import content_from_payload
from annotate.domain.coordinates import CodePointOffset, CoordinateMap
from annotate.domain.errors import BadInput, BadInputs
from annotate.domain.import_formats.chunking_evaluation import read_dataset
from annotate.domain.vocabulary import Role, StudyKind
from annotate.models import AdjudicatedResult, Question, SourceVersion, Study
from annotate.permissions import OPERATOR, NotAllowed
from annotate.services.export_dataset import export_dataset
from annotate.services.import_dataset import import_dataset
from ledger.domain.canonical import parse_canonical
from ledger.models import Record
from ledger.services.verify import verify
from tests.annotate.tampering import tampering
from tests.factories import make_member, make_source_version, make_study

FORMAT = "chunking-evaluation"
TEXT = "💩 Fees apply.\r\nNo fee. No fee.\rEnde."


def reference(quote, start, end):
    return {"content": quote, "start_index": start, "end_index": end}


def row(question, references, corpus="fees"):
    cells = [question, references if isinstance(references, str) else json.dumps(references), corpus]
    return ",".join('"' + cell.replace('"', '""') + '"' for cell in cells)


GOOD = [
    row("Do fees apply?", [reference("Fees apply.", 2, 13)]),
    row("Is there a fee,\nreally?", [reference("No fee.", 15, 22), reference("Ende.", 31, 36)]),
]


def write(folder, rows, header="question,references,corpus_id"):
    (folder / "corpora").mkdir(exist_ok=True)
    (folder / "corpora" / "fees.md").write_bytes(TEXT.encode())
    (folder / "questions_df.csv").write_bytes("\n".join([header, *rows, ""]).encode())
    return folder


def external():
    return make_study(kind=StudyKind.RETRIEVAL_ONLY)


@pytest.mark.django_db
def test_data_set_becomes_sources_questions_and_one_joint_set_each(tmp_path):
    study = external()
    report = import_dataset(OPERATOR, study, write(tmp_path, GOOD), FORMAT)
    assert report.counts() | {"format": FORMAT} == {
        "format": FORMAT,
        "unit": "code point",
        "documents": 1,
        "questions": 2,
        "references": 3,
        "mismatches_as_code_points": 0,
        "wrong_if_read_as_bytes": 3,
        "quotes_occurring_more_than_once": 1,
        "references_given_twice": 0,
    }
    assert report.repeated[0].startswith("row 2, reference 1 (fees, bytes 18–25): the quote occurs 2 times")
    version = SourceVersion.objects.get()
    assert bytes(version.content) == TEXT.encode()
    second = Question.objects.get(text="Is there a fee,\nreally?")
    assert (second.segment, second.cluster_document, second.slice_tags) == ("unclassified", "fees", ["ambiguous"])
    result = second.results.get()
    content = content_from_payload(parse_canonical(bytes(result.content)))
    assert (result.item, result.segment, content.contract.answerable) == (None, "unclassified", True)
    assert [TEXT.encode()[span.start : span.end] for span in content.spans] == [b"No fee.", b"Ende."]
    assert {span.version for span in content.spans} == {version.sha256}
    assert content.sets == (("reference-1", "reference-2"),)
    assert verify().ok


@pytest.mark.django_db
def test_data_set_imported_again_changes_nothing(tmp_path):
    study = external()
    import_dataset(OPERATOR, study, write(tmp_path, GOOD), FORMAT)
    records = Record.objects.count()
    assert import_dataset(OPERATOR, study, tmp_path, FORMAT).written == 0
    assert Record.objects.count() == records


@pytest.mark.django_db
def test_dry_run_checks_and_writes_nothing(tmp_path):
    study = external()
    report = import_dataset(OPERATOR, study, write(tmp_path, GOOD), FORMAT, dry_run=True)
    assert (report.questions, report.written) == (2, 0)
    assert not SourceVersion.objects.exists()


@pytest.mark.parametrize(
    ("bad", "place", "why"),
    [
        (row("?", [reference("Fees apply.", 5, 16)]), "row 3, reference 1", "the quote occurs at code point 2"),
        (row("?", [reference("Fees  apply.", 2, 13)]), "row 3, reference 1", "occurs nowhere"),
        (row("?", [reference("Ende.", 31, 36), reference("x", 36, 37)]), "row 3, reference 2", "beyond"),
        (row("?", [reference("", 3, 3)]), "row 3, reference 1", "hold no text"),
        (row("?", [reference("F", True, 3)]), "row 3, reference 1", "bool"),
        (row("?", [reference("F", 2.0, 3)]), "row 3, reference 1", "float"),
        (row("?", [{"content": "F", "start_index": 2}]), "row 3, reference 1", "no reference"),
        (row("?", []), "row 3", "at least one"),
        (row("?", "[{'content': 1}]"), "row 3, references", "no JSON"),
        (row("?", '[{"content": "F", "content": "G"}]'), "row 3, references", "twice"),
        (row(" ", [reference("Fees", 2, 6)]), "row 3", "empty"),
        (row("?", [reference("Fees", 2, 6)], corpus="gone"), "row 3", "no corpus"),
    ],
)
def test_row_that_does_not_fit_the_bytes_is_reported_and_no_other_row_is_lost(bad, place, why):
    data = "\n".join(["question,references,corpus_id", *GOOD, bad, GOOD[0].replace("Do", "Will")]).encode()
    dataset = read_dataset(data, {"fees": TEXT.encode()})
    assert [(place in problem.where, why in problem.what) for problem in dataset.mismatches] == [(True, True)]
    assert {1, 2, 4} <= {item.number for item in dataset.rows}


@pytest.mark.django_db
def test_mismatch_refuses_the_import_whole(tmp_path):
    write(tmp_path, [*GOOD, row("?", [reference("Fees apply.", 5, 16)])])
    with pytest.raises(BadInputs, match="row 3"):
        import_dataset(OPERATOR, external(), tmp_path, FORMAT)
    assert not SourceVersion.objects.exists()
    assert len(import_dataset(OPERATOR, external(), tmp_path, FORMAT, dry_run=True).mismatches) == 1


def test_reference_given_twice_is_kept_once_and_said(tmp_path):
    twice = [reference("Fees apply.", 2, 13)] * 2
    dataset = read_dataset(("question,references,corpus_id\n" + row("?", twice)).encode(), {"fees": TEXT.encode()})
    assert [(item.start, item.end) for item in dataset.rows[0].references] == [(5, 16)] * 2


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("header", "rows", "why"),
    [
        ("question,references", [], "corpus_id is missing"),
        ("question,references,corpus_id", ["only one cell"], "do not fit the header"),
        ("question,references,corpus_id", ["a,b,c,d"], "do not fit the header"),
        ("question,references,corpus_id", ['"open'], "no CSV"),
    ],
)
def test_file_that_is_no_such_csv_is_refused(tmp_path, header, rows, why):
    with pytest.raises(BadInput, match=why):
        import_dataset(OPERATOR, external(), write(tmp_path, rows, header), FORMAT)


@pytest.mark.django_db
def test_wrong_folder_wrong_kind_of_study_and_wrong_role_are_refused(tmp_path):
    with pytest.raises(BadInput, match="holds no questions_df"):
        import_dataset(OPERATOR, external(), tmp_path, FORMAT)
    write(tmp_path, GOOD)
    with pytest.raises(BadInput, match="full study"):
        import_dataset(OPERATOR, make_study(), tmp_path, FORMAT)
    with pytest.raises(BadInput, match="not known"):
        import_dataset(OPERATOR, external(), tmp_path, "squad")
    study = external()
    with pytest.raises(NotAllowed):
        import_dataset(make_member(study, Role.ADJUDICATOR), study, tmp_path, FORMAT)


@pytest.mark.django_db
def test_tampered_result_is_found_by_the_ledger(tmp_path):
    import_dataset(OPERATOR, external(), write(tmp_path, GOOD), FORMAT)
    with tampering():
        AdjudicatedResult.objects.filter(question__text="Do fees apply?").update(content=b"{}")
    assert "row.differs" in {item.kind for item in verify().findings}


@pytest.mark.django_db
def test_command_reports_each_doubt_with_its_row_and_a_dry_run_leaves_no_study(tmp_path):
    write(tmp_path, GOOD)
    out = StringIO()
    arguments = ["--format", FORMAT, "--study", "ext", "--create-study", "External"]
    call_command("import_dataset", str(tmp_path), *arguments, "--dry-run", stdout=out)
    assert "ambiguous  row 2, reference 1" in out.getvalue()
    assert "nothing was written" in out.getvalue()
    assert not Study.objects.exists()
    call_command("import_dataset", str(tmp_path), *arguments, stdout=out)
    assert Study.objects.get().kind == StudyKind.RETRIEVAL_ONLY
    write(tmp_path, [row("?", [reference("Fees apply.", 5, 16)])])
    for extra in ([], ["--dry-run"]):
        with pytest.raises(CommandError) as refused:
            call_command("import_dataset", str(tmp_path), *arguments, *extra, stdout=out)
        assert refused.value.returncode == 2


@pytest.mark.django_db
def test_export_holds_every_question_with_its_settled_marks_and_says_what_it_leaves_out(tmp_path):
    study = external()
    import_dataset(OPERATOR, study, write(tmp_path, GOOD), FORMAT)
    out, err = StringIO(), StringIO()
    call_command("export_dataset", "--study", study.slug, stdout=out, stderr=err)
    exported = json.loads(out.getvalue())
    assert "passes" in err.getvalue()
    assert exported["sources"][0]["text"] == TEXT
    places = CoordinateMap(exported["sources"][0]["text"].encode())
    spans = exported["questions"][0]["settled"]["content"]["spans"]
    assert (spans[0]["start"], spans[0]["end"]) == (
        places.to_bytes(CodePointOffset(2)).value,
        places.to_bytes(CodePointOffset(13)).value,
    )
    call_command(
        "export_dataset", "--study", study.slug, "--without-text", "--output", str(tmp_path / "x.json"), stderr=err
    )
    bare = json.loads((tmp_path / "x.json").read_bytes())
    assert "text" not in bare["sources"][0]
    assert "source text" in bare["left_out"]


@pytest.mark.django_db
def test_export_keeps_what_the_lead_may_not_read_out_and_counts_it():
    study = make_study()
    make_source_version(study, "secret one", access_labels=["hr"])
    make_source_version(study, "open, secret two", access_ranges=[(6, 16, ["hr"])])
    make_source_version(study, "open three")
    exported = export_dataset(make_member(study, Role.LEAD), study)
    assert "secret" not in json.dumps(exported)
    assert exported["left_out"][-2:] == [
        "1 source versions you may not read",
        "the text of 1 source versions with ranges you may not read",
    ]
    assert [source.get("text") for source in exported["sources"]].count("open three") == 1
    for by in (make_member(study, Role.LEAD, clearance=["hr"]), OPERATOR):
        assert "secret one" in json.dumps(export_dataset(by, study))
        assert "secret two" in json.dumps(export_dataset(by, study))
    for role in (Role.ANNOTATOR, Role.ADJUDICATOR, Role.OBSERVER):
        with pytest.raises(NotAllowed):
            export_dataset(make_member(study, role, clearance=["hr"]), study)
