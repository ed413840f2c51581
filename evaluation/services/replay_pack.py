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
from evaluation.domain.frozen import Document, FrozenQuestion
from evaluation.domain.outcomes import AnswerClass
from evaluation.domain.plan import Plan
from evaluation.domain.plan_toml import plan_from_payload
from evaluation.domain.regression import (
    FORMAT,
    REPLAY,
    WITHOUT_ANSWERS,
    ArmFlags,
    Change,
    Replayed,
    by_label,
    changes,
    must_keep,
    read_flags,
)
from evaluation.domain.regression_answers import (
    AnswerChange,
    AnswerSeen,
    AnswersReplayed,
    ArmAnswers,
    compare_answers,
    read_answers,
    right_class,
)
from evaluation.plugins.registry import Kind
from evaluation.services.frozen_rows import document_of, question_of
from evaluation.services.observe_question import Observed, observe_question, unreplayable
from evaluation.services.plugins import installed_plugins
from ledger.domain.canonical import CanonicalError, digest, parse_canonical

SUFFIX = ".tar.gz"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_SHAPE = {"format", "question", "plan", "tokenizer", "expected", "made_from", "partition"}
_SHAPES = {WITHOUT_ANSWERS: _SHAPE, FORMAT: _SHAPE | {"generator", "answers"}}


@dataclass(frozen=True)
class RegressionFixture:
    """A fixture as it was read: every digest compared. `expected` are the flags of the plan's own arms.

    `answers` are theirs as well, empty where the fixture holds none; `generator` is the version that gave them.
    """

    question: FrozenQuestion
    documents: tuple[Document, ...]
    plan: Plan
    tokenizer: str
    expected: ArmFlags
    answers: ArmAnswers
    generator: str
    form: str = FORMAT


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
    form = str(told.get("format"))
    if set(told) != _SHAPES.get(form):
        formats = " or ".join(_SHAPES)
        raise BadInput(f"{where}, {REPLAY}", f"it is none of format {formats}", "Export it again with export_pack.")
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
        answers = read_answers(told["answers"], expected) if form == FORMAT else {}
        generator = str(told["generator"]["version"]) if form == FORMAT else ""
    except (KeyError, TypeError, ValueError) as error:
        missing = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise BadInput(where, missing, "Export it again with export_pack.") from error
    # Support can be replayed without the generator; that its answers were not is said of every such fixture.
    known = replace(installed_plugins().known_names(), generators=None)
    plan = plan_from_payload(told["plan"], known)
    return RegressionFixture(question, documents, plan, tokenizer, expected, answers, generator, form)


def replay_pack(path: Path, plan: Plan | None = None) -> Iterator[Replayed]:
    """Replay every fixture at `path` and yield what became of it, in the order of the files' names.

    Without `plan` the fixture's own arms are held to their own flags and answers. With one, its arms take their place,
    and in its primary view each must keep complete support wherever the fixture's baseline had it, and answer rightly
    wherever that did. Raises BadInput and PlanRefused as `read_fixture`, PluginError for a plug-in that is not here.
    """
    for file in fixture_files(path):
        fixture = read_fixture(_bytes(file), str(file.name))
        yield replay(fixture, str(file.name)) if plan is None else _replay_under(fixture, plan, str(file.name))


def replay(fixture: RegressionFixture, where: str = "fixture") -> Replayed:
    """Replay one fixture with its own arms."""
    found = observe_question(fixture.plan, fixture.documents, fixture.question, where)
    lost, recovered, count = changes(fixture.expected, found.flags)
    answers = _without_answers(fixture, fixture.plan)
    if answers is None and fixture.answers:
        answers = compare_answers(fixture.answers, found.answers, _right(fixture))
    notes = _notes(fixture, fixture.plan, found)
    return Replayed(fixture.question.question_id, count, lost, recovered, notes, answers)


def _replay_under(fixture: RegressionFixture, plan: Plan, where: str) -> Replayed:
    found = observe_question(plan, fixture.documents, fixture.question, where)
    own, view = fixture.expected[fixture.plan.baseline.name], _primary(plan)
    lost, recovered, count = [], [], 0
    for arm, phases in found.flags.items():
        for label, must in must_keep(own, _primary(fixture.plan), list(phases)).items():
            complete = phases[label][view][-1]
            count += 1
            if must and not complete:
                lost.append(Change(arm, label, view, "packed", complete=False))
            elif complete and not must:
                recovered.append(Change(arm, label, view, "packed", complete=True))
    answers = _without_answers(fixture, plan)
    if answers is None and fixture.answers:
        answers = _answers_under(fixture, plan, found)
    notes = _notes(fixture, plan, found)
    return Replayed(fixture.question.question_id, count, tuple(lost), tuple(recovered), notes, answers)


def _answers_under(fixture: RegressionFixture, plan: Plan, found: Observed) -> AnswersReplayed:
    """Hold every arm of another plan to the baseline's answers: right where they were, whatever they say elsewhere."""
    right, view, theirs = _right(fixture), _primary(plan), _primary(fixture.plan)
    recorded = fixture.answers[fixture.plan.baseline.name]
    own = {label: views[theirs] for label, views in recorded.items() if theirs in views}
    known = {label: one.answer_class is right for label, one in own.items()}
    regressed: list[AnswerChange] = []
    recovered: list[AnswerChange] = []
    count = 0
    for arm, phases in found.answers.items():
        for label, must in by_label(known, list(phases)).items():
            now = phases[label][view]
            was = own.get(label, AnswerSeen(right if must else AnswerClass.NONE))
            count += 1
            if must is not (now.answer_class is right):
                (regressed if must else recovered).append(AnswerChange(arm, label, view, was, now))
    return AnswersReplayed(count, tuple(regressed), tuple(recovered))


def _without_answers(fixture: RegressionFixture, plan: Plan) -> AnswersReplayed | None:
    """Return why a fixture's answers cannot be compared under `plan`; None where they can, or where there are none."""
    if not fixture.plan.generation.answers and not plan.generation.answers:
        return None
    if not fixture.plan.generation.answers:
        why = "the fixture's own plan has no generator"
    elif not plan.generation.answers:
        why = "this plan has no generator"
    elif fixture.form == WITHOUT_ANSWERS:
        why = f"a fixture of form {WITHOUT_ANSWERS} holds none; export it again to have them compared"
    else:
        held = "" if fixture.answers else "the fixture holds none, for they could not be replayed where it was made"
        why = unreplayable(plan) or held
    return AnswersReplayed(unreplayable=why) if why else None


def _right(fixture: RegressionFixture) -> AnswerClass:
    return right_class(answerable=fixture.question.answerable)


def _primary(plan: Plan) -> str:
    return f"budget:{plan.budget.primary_evidence_tokens}"


def _notes(fixture: RegressionFixture, plan: Plan, found: Observed) -> tuple[str, ...]:
    notes = []
    here, recorded = found.tokenizer[:12], fixture.tokenizer[:12]
    if found.tokenizer != fixture.tokenizer:
        notes.append(f"the tokenizer is another one ({here}…, recorded {recorded}…): cuts may differ.")
    if fixture.answers and found.answers:
        name = plan.generation.generator
        version = installed_plugins().get(Kind.GENERATOR, name).version
        if (name, version) != (fixture.plan.generation.generator, fixture.generator):
            was = f"{fixture.plan.generation.generator} {fixture.generator}"
            notes.append(f"the generator is {name} {version}, recorded {was}: answers may differ.")
    return tuple(notes)


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
