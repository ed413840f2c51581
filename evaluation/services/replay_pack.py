"""Replay regression fixtures: a question through the arms it was run with, or those of another plan; no database."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from annotate.domain import archive
from annotate.domain.errors import BadInput
from annotate.domain.fixture import FIXTURE_FORMAT, SET_FORMAT
from evaluation.domain.cell import run_block
from evaluation.domain.chunks import ChunkingRefused
from evaluation.domain.frozen import Document, FrozenQuestion
from evaluation.domain.index_build import CorpusError, build_index, prepare_corpus
from evaluation.domain.packing import Packer
from evaluation.domain.pipeline import PreparedCorpus
from evaluation.domain.plan import Plan
from evaluation.domain.plan_toml import plan_from_payload
from evaluation.domain.regression import (
    FORMAT,
    REPLAY,
    ArmFlags,
    Change,
    Flags,
    Replayed,
    changes,
    flags_of,
    must_keep,
    read_flags,
)
from evaluation.plugins.tokenizers import TokenizerUnavailable, load_tokenizer
from evaluation.services.arm_phases import CONTROL, arm_phases
from evaluation.services.frozen_rows import document_of, question_of
from evaluation.services.pipeline_of import analyser_of, arm_settings, pipeline_settings, policies_of
from evaluation.services.plugins import installed_plugins
from ledger.domain.canonical import CanonicalError, digest, parse_canonical

SUFFIX = ".tar.gz"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_SHAPE = {"format", "question", "plan", "tokenizer", "expected", "made_from", "partition"}


@dataclass(frozen=True)
class RegressionFixture:
    """A fixture as it was read: every digest compared. `expected` are the flags of the plan's own arms."""

    question: FrozenQuestion
    documents: tuple[Document, ...]
    plan: Plan
    tokenizer: str
    expected: ArmFlags


def fixture_files(path: Path) -> list[Path]:
    """Return the fixtures at `path`: the file itself, or every archive in the folder, by name.

    Raises BadInput for a path that holds none.
    """
    found = sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path] if path.is_file() else []
    if not found:
        raise BadInput(str(path), "it holds no regression fixture", f"Name a {SUFFIX} of export_pack, or their folder.")
    return found


def read_fixture(data: bytes, where: str) -> RegressionFixture:
    """Read a fixture from its archive. Raises BadInput for a damaged one, PlanRefused for a plan this version does not
    read."""
    files = archive.unpack(data, where)
    told = _canonical(files, REPLAY, where)
    if told.get("format") != FORMAT or set(told) != _SHAPE:
        raise BadInput(f"{where}, {REPLAY}", f"it is none of format {FORMAT}", "Export it again with export_pack.")
    manifest = _canonical(files, archive.SET, where)
    try:
        if manifest["format"] != SET_FORMAT or len(manifest["fixtures"]) != 1:
            raise ValueError("the set is not one fixture")
        named = manifest["fixtures"][0]
        name = f"{archive.CANONICAL}/{named['fixture_id']}.json"
        fixture = _canonical(files, name, where)
        if fixture["format"] != FIXTURE_FORMAT or digest(files[name]) != named["digest"]:
            raise ValueError(f"{name} is not the fixture the set names")
        question = question_of(fixture)
        if question.question_id != told["question"]:
            raise ValueError(f"{REPLAY} is about another question")
        sources = [(one, files[f"{archive.SOURCES}/{one['digest']}"]) for one in manifest["sources"]]
        documents = tuple(document_of(one, content) for one, content in sources)
        expected = read_flags(told["expected"])
        tokenizer = str(told["tokenizer"]["digest"])
    except (KeyError, TypeError, ValueError) as error:
        missing = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise BadInput(where, missing, "Export it again with export_pack.") from error
    plan = plan_from_payload(told["plan"], installed_plugins().known_names())
    return RegressionFixture(question, documents, plan, tokenizer, expected)


def replay_pack(path: Path, plan: Plan | None = None) -> Iterator[Replayed]:
    """Replay every fixture at `path` and yield what became of it, in the order of the files' names.

    Without `plan` the fixture's own arms are held to their own flags. With one, its arms take their place, and each
    must keep complete support in its primary view wherever the fixture's baseline had it. Raises BadInput and
    PlanRefused as `read_fixture`, PluginError for a plug-in that is not here.
    """
    for file in fixture_files(path):
        fixture = read_fixture(_bytes(file), str(file.name))
        yield replay(fixture, str(file.name)) if plan is None else _replay_under(fixture, plan, str(file.name))


def replay(fixture: RegressionFixture, where: str = "fixture") -> Replayed:
    """Replay one fixture with its own arms."""
    found, tokenizer = stage_flags(fixture.plan, fixture.documents, fixture.question, where)
    lost, recovered, count = changes(fixture.expected, found)
    return Replayed(fixture.question.question_id, count, lost, recovered, _notes(fixture, tokenizer))


def stage_flags(
    plan: Plan, documents: tuple[Document, ...], question: FrozenQuestion, where: str
) -> tuple[dict[str, dict[str, dict[str, Flags]]], str]:
    """Run one question through every arm and shared phase of `plan`; return the flags and the tokenizer's digest.

    No generator is asked: an answer comes after the last stage. Raises BadInput for a tokenizer that is not here,
    sources that are no corpus and chunks that are not the sources' text.
    """
    # Support is settled before anything is generated, and CI should need no model.
    plan = replace(plan, generation=replace(plan.generation, generator="none", repeats=1))
    prepared = _corpus(plan, documents, where)
    packer = Packer(prepared, pipeline_settings(plan).budget)
    flags: dict[str, dict[str, dict[str, Flags]]] = {}
    for arm in plan.arms:
        settings, steps, made = arm_settings(arm), policies_of(plan, arm), pipeline_settings(plan, arm)
        shared = arm_phases(plan, settings, prepared, [question]).shared
        by_phase: dict[int, dict[str, Flags]] = {}
        for phase in sorted(set(shared.values())):
            try:
                build = build_index(prepared, settings, None if phase == CONTROL else phase)
            except ChunkingRefused as refusal:
                raise BadInput(f"{where}, arm {arm.name}", str(refusal).rstrip("."), "Mend the splitter.") from refusal
            index = steps.retriever.index(prepared, build)
            block = run_block(prepared, build, [question], made, steps, packer, index)
            by_phase[phase] = {view: flags_of(found[0]) for view, found in block.outcomes.items()}
        flags[arm.name] = {label: by_phase[phase] for label, phase in shared.items()}
    return flags, prepared.tokenizer.digest


def _replay_under(fixture: RegressionFixture, plan: Plan, where: str) -> Replayed:
    found, tokenizer = stage_flags(plan, fixture.documents, fixture.question, where)
    own, view = fixture.expected[fixture.plan.baseline.name], _primary(plan)
    lost, recovered, count = [], [], 0
    for arm, phases in found.items():
        for label, must in must_keep(own, _primary(fixture.plan), list(phases)).items():
            complete = phases[label][view][-1]
            count += 1
            if must and not complete:
                lost.append(Change(arm, label, view, "packed", complete=False))
            elif complete and not must:
                recovered.append(Change(arm, label, view, "packed", complete=True))
    return Replayed(fixture.question.question_id, count, tuple(lost), tuple(recovered), _notes(fixture, tokenizer))


def _primary(plan: Plan) -> str:
    return f"budget:{plan.budget.primary_evidence_tokens}"


def _notes(fixture: RegressionFixture, tokenizer: str) -> tuple[str, ...]:
    if fixture.tokenizer == tokenizer:
        return ()
    return (f"the tokenizer is another one ({tokenizer[:12]}…, recorded {fixture.tokenizer[:12]}…): cuts may differ.",)


def _corpus(plan: Plan, documents: tuple[Document, ...], where: str) -> PreparedCorpus:
    try:
        return prepare_corpus(documents, load_tokenizer(plan.budget.tokenizer), analyser_of(plan))
    except TokenizerUnavailable as error:
        raise BadInput(f"{where}, plan, budget.tokenizer", "it cannot be loaded", str(error)) from error
    except CorpusError as error:
        raise BadInput(where, f"its sources are no corpus: {str(error).rstrip('.')}", "Export it again.") from error


def _canonical(files: Mapping[str, bytes], name: str, where: str) -> dict[str, Any]:
    if name not in files:
        raise BadInput(where, f"it holds no {name}", "Export it with export_pack.")
    try:
        value = parse_canonical(files[name])
    except CanonicalError as error:
        raise BadInput(f"{where}, {name}", f"it is not canonical: {error}", "Export it again.") from error
    if not isinstance(value, dict):
        raise BadInput(f"{where}, {name}", "it is no table", "Export it again.")
    return value


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise BadInput(str(file), error.strerror or "it cannot be read", "Name another file.") from error


def file_name(question_id: str) -> str:
    """Return the name of a question's fixture file."""
    return f"{_UNSAFE.sub('-', question_id)}{SUFFIX}"
