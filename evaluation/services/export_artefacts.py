"""Take a sweep away whole: its ledger lines, and what they name by digest, so that another machine can check it all."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from annotate.domain.errors import BadInput
from annotate.models import SourceVersion
from annotate.permissions import By, Operator, actor_for
from annotate.selectors.sources import hidden_from
from annotate.services.authorise import authorise
from annotate.services.export_fixtures import checked_bytes
from evaluation.domain.artefacts import (
    CANONICAL,
    CONTEXTS,
    DECISION,
    PLAN,
    SET,
    SHOWN,
    SOURCES,
    SPANS,
    TOML,
    Corpus,
    Shown,
    shown_in,
)
from evaluation.models import Release, Sweep
from evaluation.services.decide_release import decide_release
from evaluation.services.frozen_world import World, load_world
from evaluation.services.problems import NotSealed
from evaluation.services.result_keys import BOUNDARY, BUDGET, RETRIEVAL, build_key, cell_key
from evaluation.services.sign_release import release_canonical
from ledger.domain.canonical import canonical_bytes, keyed_digest
from ledger.selectors.records import results
from ledger.services import export_bundle


def export_artefacts(by: By, sweep: Sweep, path: Path, *, text_key: bytes | None = None) -> dict[str, Any]:
    """Write the artefact bundle of a sealed sweep to the new folder `path`; return its manifest.

    Whole, it holds the sweep's ledger lines, the plan, the decision, the fixtures, the source texts and every visible
    context. With `text_key` (at least 16 random bytes) it is text-free: no fixture, source or context, and keyed
    digests of each support span and of each context instead. `verify_ledger --bundle` checks either without a database.

    Permission `ledger.export`. Raises NotSealed, NotAllowed, BadInput for sources the person may not read whole (a
    text-free bundle needs no such clearance), LedgerError as `export_bundle`.
    """
    authorise(by, sweep.plan.study, "ledger.export")
    if sweep.state != Sweep.State.SEALED:
        raise NotSealed(f"Sweep {sweep.pk} is {sweep.state}: a bundle is made of sealed results.")
    world = load_world(sweep.plan)
    if text_key is None:
        _may_read(by, sweep, world)

    def attach(folder: Path) -> None:
        _attach(folder, sweep, world, text_key)

    return export_bundle(path, scopes=[sweep.scope], text_key=text_key, attach=attach)


def decision_bytes(sweep: Sweep) -> bytes:
    """Return the canonical decision: as it was signed, or as the rule computes it now."""
    signed = Release.objects.filter(sweep=sweep).first()
    return bytes(signed.canonical) if signed else canonical_bytes(release_canonical(sweep, decide_release(sweep)))


def _attach(folder: Path, sweep: Sweep, world: World, text_key: bytes | None) -> None:
    (folder / PLAN).write_bytes(bytes(sweep.plan.canonical))
    (folder / TOML).write_text(sweep.plan.toml, encoding="utf-8")
    (folder / DECISION).write_bytes(decision_bytes(sweep))
    if text_key is None:
        (folder / SET).write_bytes(checked_bytes("set", sweep.plan.fixture_set))
        for name in (CANONICAL, SOURCES):
            (folder / name).mkdir()
        for row in sweep.plan.fixture_set.fixtures.iterator(200):
            data = checked_bytes(f"fixture {row.fixture_id}", row)
            (folder / CANONICAL / f"{row.fixture_id}.json").write_bytes(data)
        for document in world.prepared.documents:
            (folder / SOURCES / document.digest).write_bytes(document.content)
    else:
        _lines(folder / SPANS, _keyed_spans(world, text_key))
    _write_contexts(folder, sweep, world, text_key)


def _write_contexts(folder: Path, sweep: Sweep, world: World, text_key: bytes | None) -> None:
    seen: set[str] = set()
    with (folder / SHOWN).open("wb") as shown, (folder / CONTEXTS).open("wb") as contexts:
        for place, view, found in _cells(sweep, world):
            names = []
            for one in found:
                name = keyed_digest(text_key, one.context) if text_key else hashlib.sha256(one.context).hexdigest()
                names.append(name)
                if name not in seen:
                    seen.add(name)
                    contexts.write(canonical_bytes(_context(name, one, text_key)) + b"\n")
            shown.write(canonical_bytes({**place, "view": view, "contexts": names}) + b"\n")


def _context(name: str, one: Shown, text_key: bytes | None) -> dict[str, Any]:
    if text_key:
        return {"keyed_digest": name, "units": [list(unit) for unit in one.units]}
    text = one.context.decode("utf-8")
    return {"digest": name, "units": [list(unit) for unit in one.units], "context": text}


def _cells(sweep: Sweep, world: World) -> Iterator[tuple[dict[str, Any], str, list[Shown]]]:
    corpus, digest = Corpus(world.prepared.documents), sweep.plan.digest
    rows = results(scopes=[sweep.scope])
    for row in rows.filter(kind=BUDGET).order_by("key").iterator(20):
        arm, phase, block, repeat = _place(row.key, digest)
        keys = [build_key(digest, arm, phase, BOUNDARY), cell_key(digest, arm, phase, block, repeat, RETRIEVAL)]
        beside = {one.kind: one.value for one in rows.filter(key__in=keys)}
        place = {"arm": arm, "phase": phase, "block": block, "repeat": repeat}
        for view, found in shown_in(world.plan, corpus, beside[BOUNDARY], beside[RETRIEVAL], row.value):
            yield place, view, found


def _place(key: str, digest: str) -> tuple[str, int, int, int]:
    """Read a cell's place from its key (`result_keys.cell_key`)."""
    arm, phase, block, repeat, _ = key.removeprefix(f"{digest}/").split("/")
    return arm, int(phase), int(block), int(repeat)


def _keyed_spans(world: World, key: bytes) -> Iterator[dict[str, Any]]:
    content = {one.digest: one.content for one in world.prepared.documents}
    for question in world.asked:
        spans = {span.name: span for members in question.support_sets for span in members}
        for name, span in sorted(spans.items()):
            at = span.interval
            yield {
                "question": question.question_id,
                "span": name,
                "version": at.version,
                "start": at.start,
                "end": at.end,
                "keyed_digest": keyed_digest(key, content[at.version][at.start : at.end]),
            }


def _lines(path: Path, lines: Iterator[dict[str, Any]]) -> None:
    with path.open("wb") as file:
        for line in lines:
            file.write(canonical_bytes(line) + b"\n")


def _may_read(by: By, sweep: Sweep, world: World) -> None:
    if isinstance(by, Operator):
        return
    clearance = actor_for(by, sweep.plan.study).clearance
    wanted = [one.digest for one in world.prepared.documents]
    for version in SourceVersion.objects.filter(source__study=sweep.plan.study, sha256__in=wanted):
        if hidden_from(version, clearance):
            what = "your labels do not cover every byte of the sources"
            raise BadInput("bundle", what, "Export it text-free, or ask somebody who may read them.")
