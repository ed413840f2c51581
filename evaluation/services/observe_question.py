"""Run one question through every arm and shared phase of a plan, without a database: what fixtures record, replayed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from annotate.domain.errors import BadInput
from evaluation.domain.cell import run_block
from evaluation.domain.chunks import ChunkingRefused
from evaluation.domain.frozen import Document, FrozenQuestion
from evaluation.domain.index_build import CorpusError, build_index, prepare_corpus
from evaluation.domain.outcomes import QuestionOutcome
from evaluation.domain.packing import Packer
from evaluation.domain.pipeline import PreparedCorpus
from evaluation.domain.plan import Plan
from evaluation.domain.plan_pipeline import Arm
from evaluation.domain.regression import Flags, flags_of
from evaluation.domain.regression_answers import AnswerSeen, answer_of
from evaluation.plugins.registry import Kind, Registry
from evaluation.plugins.tokenizers import TokenizerUnavailable, load_tokenizer
from evaluation.services.arm_phases import CONTROL, arm_phases
from evaluation.services.pipeline_of import analyser_of, arm_settings, pipeline_settings, policies_of
from evaluation.services.plugins import installed_plugins


@dataclass(frozen=True)
class Observed:
    """What a question came to. `answers` is empty where no generator was asked; `tokenizer` is a digest."""

    flags: dict[str, dict[str, dict[str, Flags]]]
    answers: dict[str, dict[str, dict[str, AnswerSeen]]]
    tokenizer: str


def unreplayable(plan: Plan, plugins: Registry | None = None) -> str:
    """Return why the answers of a plan with a generator cannot be had again here; "" where they can.

    `plugins` are those of this installation unless given.
    """
    name, plugins = plan.generation.generator, plugins or installed_plugins()
    if name not in plugins.names(Kind.GENERATOR):
        return f"the generator {name} is not installed here"
    plugin = plugins.get(Kind.GENERATOR, name)
    if not plugin.deterministic:
        return f"the generator {name} may answer equal input otherwise"
    if not plugin.self_contained:
        return f"the generator {name} needs a model or a service, which a replay does not ask"
    return ""


def observe_question(plan: Plan, documents: tuple[Document, ...], question: FrozenQuestion, where: str) -> Observed:
    """Return the flags of every stage and, where the plan's answers can be replayed, the answers.

    Raises BadInput for a tokenizer that is not here, sources that are no corpus and chunks that are not the sources'
    text.
    """
    answers = plan.generation.answers and not unreplayable(plan)
    # Support is settled before anything is generated, and CI should need no model; repeats of equal runs say nothing.
    generator = plan.generation.generator if answers else "none"
    plan = replace(plan, generation=replace(plan.generation, generator=generator, repeats=1))
    prepared = _corpus(plan, documents, where)
    packer = Packer(prepared, pipeline_settings(plan).budget)
    found = {arm.name: _by_label(plan, arm, prepared, packer, question, where) for arm in plan.arms}
    flags = {
        arm: {label: {view: flags_of(one) for view, one in views.items()} for label, views in phases.items()}
        for arm, phases in found.items()
    }
    seen = {
        arm: {label: {view: answer_of(one) for view, one in views.items()} for label, views in phases.items()}
        for arm, phases in found.items()
        if answers
    }
    return Observed(flags, seen, prepared.tokenizer.digest)


def _by_label(
    plan: Plan, arm: Arm, prepared: PreparedCorpus, packer: Packer, question: FrozenQuestion, where: str
) -> dict[str, dict[str, QuestionOutcome]]:
    settings, steps, made = arm_settings(arm), policies_of(plan, arm), pipeline_settings(plan, arm)
    shared = arm_phases(plan, settings, prepared, [question]).shared
    by_phase: dict[int, dict[str, QuestionOutcome]] = {}
    for phase in sorted(set(shared.values())):
        try:
            build = build_index(prepared, settings, None if phase == CONTROL else phase)
        except ChunkingRefused as refusal:
            raise BadInput(f"{where}, arm {arm.name}", str(refusal).rstrip("."), "Mend the splitter.") from refusal
        index = steps.retriever.index(prepared, build)
        block = run_block(prepared, build, [question], made, steps, packer, index)
        by_phase[phase] = {view: found[0] for view, found in block.outcomes.items()}
    return {label: by_phase[phase] for label, phase in shared.items()}


def _corpus(plan: Plan, documents: tuple[Document, ...], where: str) -> PreparedCorpus:
    try:
        return prepare_corpus(documents, load_tokenizer(plan.budget.tokenizer), analyser_of(plan))
    except TokenizerUnavailable as error:
        raise BadInput(f"{where}, plan, budget.tokenizer", "it cannot be loaded", str(error)) from error
    except CorpusError as error:
        raise BadInput(where, f"its sources are no corpus: {str(error).rstrip('.')}", "Export it again.") from error
