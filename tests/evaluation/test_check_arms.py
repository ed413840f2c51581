"""Settings of an arm that nothing would read: refused before anything is locked, never silently without effect."""

from __future__ import annotations

import pytest

from annotate.domain.errors import BadInput
from annotate.permissions import OPERATOR
from evaluation.domain.sweep_limits import Prices
from evaluation.models import Plan
from evaluation.services.estimate_plan import estimate_text
from tests.evaluation.sweeps import locked, plan_toml, small_study

pytestmark = pytest.mark.django_db

PLAIN = 'segmenter = "token-window"\ncapacity = 40\noverlap = 0\nfactor = "overlap"\n'
OWN = PLAIN.replace("overlap = 0", "overlap = 12").replace('"overlap"\n', '"retrieval"\n')
TABLE = '[arms.retrieval]\nretriever = "bm25"\ncandidates = {depth}\nstop_words = [{words}]\n'


def plan(words: str, depth: int, shared: str = "") -> str:
    """Return the small plan with other stop words in the candidate's own retrieval than in the plan's."""
    text = plan_toml({PLAIN: OWN + TABLE.format(words=words, depth=depth), '"splitter"': '"indexing-policy"'})
    return text.replace("candidates = 10\n", f"candidates = 10\nstop_words = [{shared}]\n", 1)


def test_stop_words_of_an_arm_alone_are_refused_since_the_corpus_is_analysed_once() -> None:
    study = small_study()
    for words, shared in (('"the", "lent"', ""), ("", '"the"'), ('"the"', '"the", "lent"')):
        toml = plan(words, 9, shared)
        with pytest.raises(BadInput, match="stop words of the plan's own retrieval") as refused:
            locked(study, toml)
        assert refused.value.where == "plan, arms[1].retrieval.stop_words"
        with pytest.raises(BadInput, match="stop words of the plan's own retrieval"):
            estimate_text(OPERATOR, study, toml, Prices())
    assert not Plan.objects.exclude(locked_at=None).exists()


def test_the_same_stop_words_in_an_arms_own_retrieval_are_no_difference() -> None:
    assert locked(small_study(), plan('"lent", "the"', 9, '"the", "lent"')).locked_at
