"""The world of a locked plan as values: documents, questions, tokenised corpus. Read once per process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache

from annotate.domain.errors import BadInput
from annotate.models import FixtureSet
from evaluation.domain.analysis import Analyser
from evaluation.domain.authorise import needs_twin, twin
from evaluation.domain.frozen import FrozenQuestion
from evaluation.domain.index_build import CorpusError, prepare_corpus
from evaluation.domain.packing import Packer
from evaluation.domain.pipeline import PreparedCorpus
from evaluation.domain.plan import Plan as PlanValue
from evaluation.models import Plan
from evaluation.plugins.tokenizers import TokenizerUnavailable, load_tokenizer
from evaluation.services.frozen_rows import DamagedFixtures, Frozen, read_frozen
from evaluation.services.pipeline_of import analyser_of, pipeline_settings
from evaluation.services.population import population
from evaluation.services.write_plan import plan_value


@dataclass(frozen=True, eq=False)
class World:
    """What a cell needs beside its own row.

    `questions` is the population the figures are about; `asked` adds, for each question with restricted support, its
    twin whose reader lacks the labels. Both are in order of their ids, which is the order of blocks. `packer` keeps
    token counts between cells and changes no result.
    """

    plan: PlanValue
    plan_digest: str
    fixture_set_digest: str
    prepared: PreparedCorpus
    questions: tuple[FrozenQuestion, ...]
    asked: tuple[FrozenQuestion, ...]
    packer: Packer = field(repr=False)


def load_world(plan: Plan) -> World:
    """Return the world of `plan`, from this process's cache where the same plan and fixture set were loaded before.

    Raises BadInput for a tokenizer that cannot be loaded, sources that are no corpus, and rows that are not what was
    frozen (every digest is compared on the way in).
    """
    with _refusals(plan.fixture_set.name):
        return _world(plan.digest, plan.fixture_set.digest)


@contextmanager
def _refusals(fixture_set: str) -> Iterator[None]:
    """Turn what a world cannot be made of into BadInput that says where."""
    try:
        yield
    except TokenizerUnavailable as error:
        raise BadInput("plan, budget.tokenizer", "it cannot be loaded", str(error)) from error
    except CorpusError as error:
        raise BadInput(f"fixture set {fixture_set}", "its sources are no corpus", str(error)) from error
    except DamagedFixtures as error:
        raise BadInput(f"fixture set {fixture_set}", "it is not what was frozen", str(error)) from error


def draft_world(value: PlanValue, plan_digest: str, fixture_set: FixtureSet) -> World:
    """Return the world of a plan that has no row yet, for counting before anything is written; raises as `load_world`
    does."""
    with _refusals(fixture_set.name):
        return _assembled(value, plan_digest, fixture_set.digest)


def every_question(world: World) -> tuple[FrozenQuestion, ...]:
    """Return all questions of the world's fixture set, those outside the plan's population too."""
    return _frozen(world.fixture_set_digest).questions


# Keyed by digests alone: equal digests are equal worlds, whichever rows they are read from.
@lru_cache(maxsize=4)
def _world(plan_digest: str, fixture_set_digest: str) -> World:
    value = plan_value(Plan.objects.filter(digest=plan_digest).order_by("pk")[0])
    return _assembled(value, plan_digest, fixture_set_digest)


def _assembled(value: PlanValue, plan_digest: str, fixture_set_digest: str) -> World:
    frozen = _frozen(fixture_set_digest)
    prepared = _prepared(fixture_set_digest, value.budget.tokenizer, analyser_of(value))
    questions = population(value, frozen.questions)
    documents = {document.digest: document for document in prepared.documents}
    twins = [twin(one, documents) for one in questions if needs_twin(one, documents)]
    asked = tuple(sorted([*questions, *twins], key=lambda one: one.question_id))
    packer = Packer(prepared, pipeline_settings(value).budget)
    return World(value, plan_digest, fixture_set_digest, prepared, questions, asked, packer)


@lru_cache(maxsize=4)
def _frozen(fixture_set_digest: str) -> Frozen:
    return read_frozen(FixtureSet.objects.filter(digest=fixture_set_digest).order_by("pk")[0])


@lru_cache(maxsize=4)
def _prepared(fixture_set_digest: str, tokenizer: str, analyser: Analyser) -> PreparedCorpus:
    return prepare_corpus(_frozen(fixture_set_digest).documents, load_tokenizer(tokenizer), analyser)
