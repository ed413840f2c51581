"""The practice study leaves work for everybody who signs in to the demo, once."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotate.domain.vocabulary import DisagreementType
from annotate.models import AdjudicationItem, Disagreement
from annotate.selectors.passes import open_assignments_of
from evaluation.services.load_demo import open_demo
from evaluation.services.load_practice import load_practice
from ledger.models import Record
from ledger.services.verify import verify
from tests.evaluation.demo_folder import small_demo

pytestmark = pytest.mark.django_db


@pytest.fixture
def people(tmp_path: Path):
    return open_demo(folder=small_demo(tmp_path, ("drone-licence",)))[1]


def test_practice_leaves_tasks_to_both_annotators_and_differences_to_the_adjudicator(people):
    study = load_practice(people)
    waiting = [[task.question.key for task in open_assignments_of(person, study)] for person in people.annotators]
    assert [sorted(keys) for keys in waiting] == [["apprentice-large-enlarger", "own-toner", "two-of-us-opening"]] * 2
    found = {
        item.question.key: set(Disagreement.objects.filter(item=item).values_list("kind", flat=True))
        for item in AdjudicationItem.objects.filter(question__study=study)
    }
    assert found["colour-film"] == set(), "one can be confirmed at a key"
    assert DisagreementType.MISSING_BEHAVIOUR in found["guest-at-large-enlarger"]
    assert found["used-developer"]
    assert verify().findings == ()


def test_practice_loaded_again_is_left_as_people_left_it(people):
    study = load_practice(people)
    before = Record.objects.count()
    assert load_practice(people) == study
    assert Record.objects.count() == before
