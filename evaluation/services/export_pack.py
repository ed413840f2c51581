"""Export a question of a sealed sweep as a minimal regression fixture that `sweep --pack` replays in CI."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from annotate import archive_files
from annotate.domain import archive
from annotate.domain.errors import BadInput
from annotate.domain.fixture import fixture_spans, set_manifest
from annotate.domain.published_layout import published_bytes
from annotate.domain.vocabulary import Partition, StudyKind
from annotate.models import SourceVersion
from annotate.permissions import By, Operator, actor_for
from annotate.selectors.sources import hidden_from
from annotate.services.authorise import authorise
from annotate.services.export_fixtures import checked_bytes
from evaluation.domain.frozen import Document, FrozenQuestion
from evaluation.domain.outcomes import STAGES, QuestionOutcome
from evaluation.domain.plan import Plan
from evaluation.domain.plan_toml import plan_payload
from evaluation.domain.recorded import RecordedChunks, recorded_hits
from evaluation.domain.regression import FORMAT, REPLAY, Flags, flags_of, written
from evaluation.domain.regression_answers import AnswerSeen, answer_of, written_answers
from evaluation.models import Sweep
from evaluation.plugins.registry import Kind
from evaluation.services.frozen_world import World, load_world
from evaluation.services.observe_question import Observed, observe_question, unreplayable
from evaluation.services.outcome_table import OutcomeTable, table_of_results
from evaluation.services.planned_cells import phases_of
from evaluation.services.plugins import installed_plugins
from evaluation.services.problems import NotSealed
from evaluation.services.replay_pack import file_name
from evaluation.services.result_keys import BOUNDARY, RETRIEVAL, build_key, cell_key
from ledger.domain.canonical import canonical_bytes, digest, parse_canonical
from ledger.selectors.records import results

_FILES = Path(archive_files.__file__).parent


@dataclass(frozen=True)
class ExportedFixture:
    """The archive of one question, with how many of the corpus' documents it needs."""

    question: str
    name: str
    data: bytes
    documents: int
    of_documents: int
    held_out: bool


def regression_fixture(
    by: By, sweep: Sweep, question_id: str, candidate: str = "", table: OutcomeTable | None = None
) -> ExportedFixture:
    """Return the regression fixture of a question: the plan's baseline and `candidate` (the plan's own unless given),
    the flags the sweep recorded, its answers where they can be replayed, and the smallest corpus tried that gives the
    same.

    Tried are the documents of the question's support, then those with a recorded hit as well, then all. `table` holds
    the sealed outcomes where the caller has them. Permission `dataset.export`. Raises NotSealed, LookupError for a
    question the sweep did not ask or an arm it did not run, NotAllowed, and BadInput for sources whose bytes the person
    may not all read.
    """
    authorise(by, sweep.plan.study, "dataset.export")
    if sweep.state != Sweep.State.SEALED:
        raise NotSealed(f"Sweep {sweep.pk} is {sweep.state}: a fixture is made of sealed results.")
    world = load_world(sweep.plan)
    question = next((one for one in world.questions if one.question_id == question_id), None)
    if question is None:
        raise LookupError(f"the sweep asked no question {question_id!r}")
    candidate = candidate or world.plan.decision.candidate
    if candidate not in {arm.name for arm in world.plan.candidates}:
        raise LookupError(f"the plan has no candidate {candidate!r}")
    plan = _two_arms(world.plan, candidate)
    table = table or table_of_results(sweep)
    expected = Observed(
        _recorded(table, plan, question), _answers(table, plan, question), world.prepared.tokenizer.digest
    )
    documents = _smallest(world, sweep, plan, question, expected)
    _may_read(by, sweep, documents)
    files = _files(sweep, plan, question, documents, expected)
    return ExportedFixture(
        question_id,
        file_name(question_id),
        archive.pack(files),
        len(documents),
        len(world.prepared.documents),
        question.partition is Partition.HELD_OUT,
    )


def lost_questions(table: OutcomeTable, candidate: str) -> list[str]:
    """Return the answerable questions whose support the candidate lost, in the primary view at some shared phase where
    the baseline had it, by id."""
    view = f"budget:{table.plan.budget.primary_evidence_tokens}"
    plan = _two_arms(table.plan, candidate)
    lost = []
    for question in table.questions:
        flags = _recorded(table, plan, question)
        ours, theirs = flags[plan.baseline.name], flags[candidate]
        if question.answerable and any(ours[one][view][-1] and not theirs[one][view][-1] for one in ours):
            lost.append(question.question_id)
    return lost


def export_pack(by: By, sweep: Sweep, folder: Path, questions: Sequence[str], candidate: str = "") -> list[Path]:
    """Write the fixtures of `questions` into `folder`, one file each; a file that is there is never overwritten.

    Raises as `regression_fixture`, and BadInput for a file that is there already or a folder that cannot be written.
    """
    table = table_of_results(sweep)
    made = [regression_fixture(by, sweep, name, candidate, table) for name in questions]
    taken = next((one.name for one in made if (folder / one.name).exists()), "")
    if taken:
        raise BadInput(str(folder / taken), "it is there already", "Name another folder; nothing is overwritten.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for one in made:
            with tempfile.NamedTemporaryFile(dir=folder, prefix=".fixture-", delete=False) as part:
                part.write(one.data)
            os.chmod(part.name, 0o644)
            os.replace(part.name, folder / one.name)
    except OSError as error:
        raise BadInput(str(folder), error.strerror or "it cannot be written", "Name another folder.") from error
    return [folder / one.name for one in made]


def _two_arms(plan: Plan, candidate: str) -> Plan:
    return replace(
        plan,
        arms=(plan.baseline, plan.arm(candidate)),
        decision=replace(plan.decision, candidate=candidate),
    )


def _recorded(table: OutcomeTable, plan: Plan, question: FrozenQuestion) -> dict[str, dict[str, dict[str, Flags]]]:
    flags: dict[str, dict[str, dict[str, Flags]]] = {}
    for arm in plan.arms:
        flags[arm.name] = {}
        for label, phase in table.phases[arm.name].shared.items():
            found = {view: table.cells.get((arm.name, phase, view, 0), {}) for view in table.views}
            missing = (False,) * len(STAGES)
            flags[arm.name][label] = {
                view: flags_of(rows[question.question_id]) if question.question_id in rows else missing
                for view, rows in found.items()
            }
    return flags


def _answers(table: OutcomeTable, plan: Plan, question: FrozenQuestion) -> dict[str, dict[str, dict[str, AnswerSeen]]]:
    """Return the recorded answers; none where a replay could not be held to them."""
    if not plan.generation.answers or unreplayable(plan):
        return {}
    none = QuestionOutcome(question.question_id)
    return {
        arm.name: {
            label: {
                view: answer_of(table.cells.get((arm.name, phase, view, 0), {}).get(question.question_id, none))
                for view in table.views
            }
            for label, phase in table.phases[arm.name].shared.items()
        }
        for arm in plan.arms
    }


def _smallest(
    world: World, sweep: Sweep, plan: Plan, question: FrozenQuestion, expected: Observed
) -> tuple[Document, ...]:
    every = world.prepared.documents
    wanted = {span.interval.version for one in question.support_sets for span in one}
    wanted |= {one.version for one in question.forbidden}
    for versions in (wanted, wanted | _retrieved(world, sweep, plan, question)):
        chosen = tuple(one for one in every if one.digest in versions)
        # Ranks depend on the whole corpus, so a smaller one counts only where everything comes out the same.
        smaller = chosen and len(chosen) < len(every)
        if smaller and observe_question(plan, chosen, question, "fixture") == expected:
            return chosen
    return every


def _retrieved(world: World, sweep: Sweep, plan: Plan, question: FrozenQuestion) -> set[str]:
    """Return the versions that have a recorded hit in any shared phase of either arm."""
    place = next(i for i, one in enumerate(world.asked) if one.question_id == question.question_id)
    block, at = divmod(place, sweep.block_size)
    phases = phases_of(world)
    pairs = [(arm.name, phase) for arm in plan.arms for phase in sorted(set(phases[arm.name].shared.values()))]
    keys = {
        pair: (
            build_key(sweep.plan.digest, *pair, BOUNDARY),
            cell_key(sweep.plan.digest, *pair, block, 0, RETRIEVAL),
        )
        for pair in pairs
    }
    rows = results(scopes=[sweep.scope]).filter(key__in=[key for both in keys.values() for key in both])
    found = {row.key: row.value for row in rows}
    versions: set[str] = set()
    for boundary, retrieval in keys.values():
        if boundary in found and retrieval in found:
            hits = recorded_hits(RecordedChunks(found[boundary]), found[retrieval], at)
            versions |= {world.prepared.documents[hit.document].digest for hit in hits}
    return versions


def _may_read(by: By, sweep: Sweep, documents: Sequence[Document]) -> None:
    if isinstance(by, Operator):
        return
    clearance = actor_for(by, sweep.plan.study).clearance
    wanted = [one.digest for one in documents]
    for version in SourceVersion.objects.filter(source__study=sweep.plan.study, sha256__in=wanted):
        if hidden_from(version, clearance):
            raise BadInput(
                "fixture",
                "your labels do not cover every byte of the sources it needs",
                "Ask somebody who may read them to export it.",
            )


def _files(
    sweep: Sweep,
    plan: Plan,
    question: FrozenQuestion,
    documents: Sequence[Document],
    expected: Observed,
) -> dict[str, bytes]:
    fixture_set = sweep.plan.fixture_set
    whole = parse_canonical(checked_bytes("set", fixture_set))
    row = fixture_set.fixtures.get(fixture_id=question.question_id)
    canonical = checked_bytes(f"fixture {question.question_id}", row)
    fixture, texts = parse_canonical(canonical), {one.digest: one.content for one in documents}
    sources = [one for one in whole["sources"] if one["digest"] in texts]
    manifest = canonical_bytes(
        set_manifest(whole["study"], StudyKind(whole["kind"]), {question.question_id: row.digest}, sources)
    )
    replayed = {
        "format": FORMAT,
        "question": question.question_id,
        "partition": str(question.partition),
        "plan": plan_payload(plan),
        "tokenizer": {"name": plan.budget.tokenizer, "digest": expected.tokenizer},
        "generator": {"name": plan.generation.generator, "version": _generator_version(plan)},
        "expected": written(expected.flags),
        "answers": written_answers(expected.answers),
        "made_from": {"plan": sweep.plan.digest, "fixture_set": fixture_set.digest, "root": sweep.root},
    }
    files = {
        archive.SET: manifest,
        REPLAY: canonical_bytes(replayed),
        archive.VERIFY: (_FILES / "verify.py").read_bytes(),
        archive.README: _readme(question, len(documents), digest(manifest)),
        f"{archive.CANONICAL}/{question.question_id}.json": canonical,
        **{f"{archive.SOURCES}/{name}": content for name, content in texts.items()},
    }
    spans = fixture_spans(fixture)
    # Spans outside every set may stand in a version that no stage needs; the canonical form holds them all the same.
    if spans and all(span["version"] in texts for span in spans):
        files[f"{archive.PUBLISHED}/{question.question_id}.json"] = published_bytes(fixture, texts)
    return files


def _generator_version(plan: Plan) -> str:
    """Return the version of the generator, "" for one that has gone since the sweep."""
    plugins, name = installed_plugins(), plan.generation.generator
    return plugins.get(Kind.GENERATOR, name).version if name in plugins.names(Kind.GENERATOR) else ""


def _readme(question: FrozenQuestion, documents: int, set_digest: str) -> bytes:
    held_out = (
        "- It is a **held-out** question: tuning against this fixture spends it.\n"
        if question.partition is Partition.HELD_OUT
        else ""
    )
    return f"""# Regression fixture {question.question_id}

One frozen question, the {documents} source version(s) it needs, two arms, and after which stage its support was
complete.

{held_out}- `replay.json`: the plan's settings and, per arm, shared phase and view, one 0 or 1 for each stage; where
  the generator needs no model, the class of the answer with what its citations came to.
- `canonical/`, `published/`, `sources/`, `set.json`: as in a fixture archive; the set's digest is `{set_digest}`.

Check the bytes with `sha256sum -c SHA256SUMS` and `python3 verify.py`. Replay it, or a folder of them:

    manage.py sweep --pack FOLDER
    manage.py sweep PLAN.toml --pack FOLDER
""".encode()
