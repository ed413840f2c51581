"""Questions on their way in: whole files or nothing, and never edited once somebody submitted a pass."""

import pytest

from annotate.domain.errors import BadInput
from annotate.domain.import_formats.questions_toml import QuestionEntry
from annotate.domain.vocabulary import Partition, Role, Sample, Segment
from annotate.models import AdjudicatedResult, Pass, Question, Submission
from annotate.permissions import OPERATOR, NotAllowed
from annotate.services.import_questions import import_questions, write_questions
from ledger.models import Record
from ledger.services.verify import verify
from tests.annotate.tampering import tampering
from tests.factories import DAY, make_assignment, make_member, make_source, make_study

pytestmark = pytest.mark.django_db

FILE = """
[[question]]
key = "late-fee"
text = "ما هي الغرامة؟ 💶"
segment = "rule-and-exception"
reader_labels = ["hr", "finance"]
as_of = 2026-10-15
locale = "ar"
slice_tags = ["risk:high", "boundary:rule-then-exception"]
group = "late"
sample = "enriched"
mandatory = true
partition = "development"

[[question]]
key = "nobody-knows"
text = "Who painted the door?"
segment = "unanswerable-control"
as_of = 2026-10-15
nearest_document = "policy"
"""


def study_with_policy():
    study = make_study()
    make_source(study, "policy")
    return study


def submit(question, person):
    work = Pass.objects.create(assignment=make_assignment(question, person))
    Submission.objects.create(
        work=work, ordinal=1, revision=1, content=b"{}", digest="0" * 64, idempotency_key="k", submitted_by=person
    )


def test_file_becomes_questions_field_by_field():
    study = study_with_policy()
    outcomes = import_questions(OPERATOR, study, FILE.encode())
    assert [item.outcome for item in outcomes] == ["written", "written"]
    fee = Question.objects.get(key="late-fee")
    assert fee.text == "ما هي الغرامة؟ 💶"
    assert (fee.segment, fee.sample, fee.partition) == (
        Segment.RULE_AND_EXCEPTION,
        Sample.ENRICHED,
        Partition.DEVELOPMENT,
    )
    assert (fee.reader_labels, fee.slice_tags) == (["finance", "hr"], ["boundary:rule-then-exception", "risk:high"])
    assert (fee.locale, fee.group, fee.mandatory, fee.as_of.isoformat()) == ("ar", "late", True, "2026-10-15")
    other = Question.objects.get(key="nobody-knows")
    assert (other.cluster_document, other.partition, other.sample) == ("policy", "held-out", "representative")


def test_same_file_again_changes_nothing():
    study = study_with_policy()
    import_questions(OPERATOR, study, FILE.encode())
    records = Record.objects.count()
    assert {item.outcome for item in import_questions(OPERATOR, study, FILE.encode())} == {"unchanged"}
    assert Record.objects.count() == records


def test_question_is_rewritten_while_nobody_has_submitted_and_refused_afterwards():
    study = study_with_policy()
    import_questions(OPERATOR, study, FILE.encode())
    changed = FILE.replace("Who painted the door?", "Who painted the gate?")
    assert [item.outcome for item in import_questions(OPERATOR, study, changed.encode())] == ["unchanged", "rewritten"]
    question = Question.objects.get(key="nobody-knows")
    assert question.text == "Who painted the gate?"
    assert verify().ok
    submit(question, make_member(study))
    with pytest.raises(BadInput, match="was submitted"):
        import_questions(OPERATOR, study, FILE.encode())
    assert Question.objects.get(key="nobody-knows").text == "Who painted the gate?"
    assert import_questions(OPERATOR, study, changed.encode())


def test_settled_question_is_not_rewritten():
    study = study_with_policy()
    import_questions(OPERATOR, study, FILE.encode())
    AdjudicatedResult.objects.create(
        question=Question.objects.get(key="late-fee"), ordinal=1, segment="unclassified", content=b"", digest="0" * 64
    )
    with pytest.raises(BadInput, match="settled"):
        import_questions(OPERATOR, study, FILE.replace("mandatory = true", "mandatory = false").encode())


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ('key = "late-fee"|key = "late fee"', "key"),
        ('key = "late-fee"|key = "nobody-knows"', "nobody-knows"),
        ('segment = "rule-and-exception"|segment = "rule-and-exeption"', "segment"),
        ('text = "Who painted the door?"|text = "  "', "text"),
        ('text = "Who painted the door?"|text = "Who\\u0000?"', "text"),
        ('text = "Who painted the door?"|', "text"),
        ("as_of = 2026-10-15\nnearest|nearest", "as_of"),
        ('sample = "enriched"|sample = "all"', "sample"),
        ("mandatory = true|mandatory = 1", "mandatory"),
        ('reader_labels = ["hr", "finance"]|reader_labels = "hr"', "reader_labels"),
        ('nearest_document = "policy"|nearest_document = "gone"', "nobody-knows"),
        ('nearest_document = "policy"|nearest_document = "policy"\ngroup = "late"', "nobody-knows"),
        ('nearest_document = "policy"|nearestdocument = "policy"', "nearestdocument"),
        ("[[question]]|[[questions]]", "questions"),
    ],
)
def test_file_with_a_mistake_is_refused_at_its_place_and_nothing_is_written(change, place):
    before, after = change.split("|")
    assert before in FILE
    study = study_with_policy()
    with pytest.raises(BadInput) as refused:
        import_questions(OPERATOR, study, FILE.replace(before, after).encode())
    assert any(place in problem.where for problem in refused.value.problems)
    assert not Question.objects.exists()


@pytest.mark.parametrize(
    "change",
    [
        {"key": "a b"},
        {"text": "nul\0"},
        {"locale": "x"},
        {"group": "a b"},
        {"reader_labels": frozenset({"two words"})},
    ],
)
def test_entry_from_a_form_that_no_store_could_hold_is_refused(change):
    entry = QuestionEntry(**{"key": "a", "text": "?", "as_of": DAY, **change})
    with pytest.raises(BadInput):
        write_questions(OPERATOR, make_study(), [entry])
    assert not Question.objects.exists()


def test_misspelt_word_is_told_the_one_that_was_meant():
    with pytest.raises(BadInput, match="Did you mean rule-and-exception"):
        import_questions(OPERATOR, study_with_policy(), FILE.replace("rule-and-exc", "rule-and-exx").encode())


def test_group_on_both_sides_of_the_partition_is_refused_across_two_files():
    study = study_with_policy()
    import_questions(OPERATOR, study, FILE.encode())
    second = '[[question]]\nkey = "again"\ntext = "?"\nas_of = 2026-10-15\ngroup = "late"\npartition = "held-out"\n'
    with pytest.raises(BadInput, match="late-fee in development"):
        import_questions(OPERATOR, study, second.encode())
    assert import_questions(OPERATOR, study, second.replace("held-out", "development").encode())


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.ADJUDICATOR, Role.OBSERVER])
def test_only_a_lead_writes_questions(role):
    study = study_with_policy()
    with pytest.raises(NotAllowed):
        import_questions(make_member(study, role), study, FILE.encode())
    lead = make_member(study, Role.LEAD)
    assert import_questions(lead, study, FILE.encode())[0].question.written_by == lead


@pytest.mark.parametrize("change", [{"text": "other"}, {"segment": "unclassified"}, {"key": "other"}])
def test_tampered_question_is_found_by_the_ledger(change):
    study = study_with_policy()
    import_questions(OPERATOR, study, FILE.encode())
    assert verify().ok
    with tampering():
        Question.objects.filter(key="late-fee").update(**change)
    assert {item.kind for item in verify().findings} <= {"row.differs", "row.missing", "row.unrecorded"}
    assert not verify().ok
