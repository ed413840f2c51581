"""The public corpora themselves: what is known about them, and what they become."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from annotate.domain.vocabulary import StudyKind
from annotate.models import AdjudicatedResult, Question, SourceVersion
from annotate.permissions import OPERATOR
from annotate.services.import_dataset import import_dataset
from ledger.domain.canonical import parse_canonical
from ledger.services.verify import verify
from tests.factories import make_study

pytestmark = [pytest.mark.shared_data, pytest.mark.django_db]


@pytest.fixture
def shared() -> Path:
    folder = Path(os.environ.get("CUTLINE_SHARED") or Path(__file__).parents[2].parent / "shared")
    if not (folder / "data" / "chunking-evaluation").is_dir():
        pytest.fail(
            f"{folder} holds no data/chunking-evaluation: name the folder in CUTLINE_SHARED, or leave these tests out "
            "with -m 'not shared_data'."
        )
    return folder


def test_corpora_hold_what_is_known_of_them_and_every_reference_is_kept(shared):
    facts = json.loads((shared / "cases" / "chunking.json").read_text())["data_facts"]
    study = make_study(kind=StudyKind.RETRIEVAL_ONLY)
    report = import_dataset(OPERATOR, study, shared / "data" / "chunking-evaluation", "chunking-evaluation")
    counts = report.counts()
    for name in (
        "documents",
        "questions",
        "references",
        "mismatches_as_code_points",
        "wrong_if_read_as_bytes",
        "quotes_occurring_more_than_once",
    ):
        assert counts[name] == facts[name], name
    # Every repeated quote was labelled at its first occurrence, and each is reported with its row.
    assert all("labelled is no. 1" in line for line in report.repeated)
    assert len(report.repeated) == facts["quotes_occurring_more_than_once"]

    texts = {version.sha256: bytes(version.content) for version in SourceVersion.objects.all()}
    files = (shared / "data" / "chunking-evaluation" / "corpora").glob("*.md")
    assert sorted(texts.values()) == sorted(file.read_bytes() for file in files)
    spans = Counter()
    for result in AdjudicatedResult.objects.all():
        content = parse_canonical(bytes(result.content))
        assert len(content["sets"]) == 1
        assert content["sets"][0] == [span["name"] for span in content["spans"]]
        for span in content["spans"]:
            texts[span["version"]][span["start"] : span["end"]].decode()
            spans[result.question_id] += 1
    assert (len(spans), spans.total()) == (facts["questions"], facts["references"])
    assert Question.objects.filter(segment="unclassified").count() == facts["questions"]
    assert verify().ok
