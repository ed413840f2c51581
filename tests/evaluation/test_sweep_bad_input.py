"""Inputs no comparison likes: sources without a token, questions of words nobody wrote. Labelled, never silent."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.db import transaction
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from annotate.domain.errors import BadInput
from annotate.domain.import_formats.questions_toml import QuestionEntry
from annotate.domain.import_formats.sources_toml import SourceEntry
from annotate.domain.vocabulary import Partition, Sample, Segment
from annotate.models import FixtureSet
from annotate.permissions import OPERATOR
from annotate.services.freeze_fixtures import freeze_fixtures
from annotate.services.import_questions import write_questions
from annotate.services.import_sources import import_versions
from annotate.services.settled_import import settle_imported
from evaluation.domain.outcomes import Stage
from evaluation.models import Attempt, Sweep
from evaluation.services.outcome_table import table_of_results
from evaluation.services.results import sweep_results
from evaluation.services.work import drain
from ledger.models import Result
from tests.evaluation.sweeps import DAY, THINGS, _answer, _text, plan_toml, small_study, started

pytestmark = pytest.mark.django_db
WINDOW = 'segmenter = "token-window"\ncapacity = 40\noverlap = 0\nfactor = "overlap"\n'


def source(name: str) -> SourceEntry:
    return SourceEntry(
        file=f"{name}.md",
        document_id=name,
        title=name,
        version_label="1",
        observation_date=DAY,
        media_type="text/markdown",
    )


def with_blank_source() -> FixtureSet:
    study = small_study().study
    import_versions(OPERATOR, study, [(source("blank"), b" \r\n\t\n ")])
    return freeze_fixtures(OPERATOR, study, "v2")


def dropping_blanks(tmp_path: Path) -> str:
    """Return the path of a tokenizer that has no token for white space."""
    words = {word for thing in THINGS for word in _text(thing).lower().split()}
    vocabulary = {word: number for number, word in enumerate(["[UNK]", *sorted(words)])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.save(str(tmp_path / "tokenizer.json"))
    return str(tmp_path / "tokenizer.json")


@pytest.mark.parametrize(
    "candidate",
    [
        WINDOW,
        'segmenter = "sentences"\ncapacity = 40\noverlap = 12\nfactor = "segmenter"\n',
        'segmenter = "characters"\ncapacity = 90\noverlap = 0\nunit = "characters"\nfactor = "combined"\n',
    ],
)
def test_source_without_a_token_is_in_every_build_with_all_its_bytes(tmp_path: Path, candidate: str) -> None:
    toml = plan_toml({WINDOW: candidate, "cutline-bpe-4k": dropping_blanks(tmp_path)}, grid=2)
    sweep = started(with_blank_source(), toml=toml)
    drain("w")
    sweep.refresh_from_db()
    assert set(Attempt.objects.values_list("outcome", "problem")) == {("done", "")}
    assert (sweep.state, sweep.problem) == (Sweep.State.SEALED, "")
    boundaries = Result.objects.filter(scope=sweep.scope, kind="boundary")
    assert boundaries.count() == 4
    for one in boundaries:
        (blank,) = (entry for entry in one.value["documents"] if entry["document"] == "blank")
        assert blank["tokens"] == 0
        assert blank["bytes"] == 6


def test_empty_source_is_refused_at_import_with_what_to_do() -> None:
    study = small_study().study
    with pytest.raises(BadInput) as refused:
        import_versions(OPERATOR, study, [(source("empty"), b"")])
    assert "empty" in str(refused.value)
    assert refused.value.mend


def test_question_of_unknown_words_is_a_miss_that_says_where_it_was_lost() -> None:
    study = small_study().study
    entry = QuestionEntry(
        key="unknown-words",
        text="Zzqx vvkw qqrt?",
        segment=Segment.RULE_AND_EXCEPTION,
        as_of=DAY,
        sample=Sample.ENRICHED,
        partition=Partition.DEVELOPMENT,
    )
    with transaction.atomic():
        (written,) = write_questions(OPERATOR, study, [entry])
        settle_imported(OPERATOR, written.question, _answer(_text("kettles").encode()), Segment.RULE_AND_EXCEPTION)
    sweep = started(freeze_fixtures(OPERATOR, study, "v2"))
    drain("w")
    sweep.refresh_from_db()
    assert sweep.state == Sweep.State.SEALED
    cells = table_of_results(sweep).cells
    found = [at["unknown-words"] for place, at in cells.items() if not place[0].startswith("~")]
    assert found
    for one in found:
        assert (one.failed, one.lost_after, one.rank_of_completion) == ("", Stage.CHUNKED, 0)
        assert one.complete[Stage.CHUNKED]
        assert not one.complete[Stage.CANDIDATES]
        assert one.evidence_tokens == 0
        assert not one.answered
    rows = sweep_results(sweep).rows(
        "figures", metric="complete-support", stage="packed", segment="overall", sample="enriched"
    )
    assert {row["denominator"] for row in rows} == {5}, "the four answerable development questions, and this one"
