"""Checks what an artefact bundle holds beside the ledger's lines. Files only: no database, no rows.

Every file must be the one that the recorded lines name by digest, and every visible context the one that the recorded
intervals make of the sources.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from annotate.domain.fixture import FIXTURE_FORMAT, SET_FORMAT
from evaluation.domain.artefacts import (
    CANONICAL,
    CONTEXTS,
    DECISION,
    PLAN,
    SET,
    SHOWN,
    SOURCES,
    SPANS,
    Corpus,
    Shown,
    corpus_order,
    shown_in,
)
from evaluation.domain.decision import decide, decision_from_payload
from evaluation.domain.plan import Plan
from evaluation.domain.plan_schema import PlanRefused
from evaluation.domain.plan_toml import plan_from_payload
from evaluation.records import RELEASE_SIGNED, SWEEP_STARTED
from evaluation.services.frozen_rows import document_of
from evaluation.services.result_keys import BOUNDARY, BUDGET, QUERY, RETRIEVAL, SOURCE, SUPPORT
from ledger.domain.bundle import RECORDS_FILE, RESULTS_FILE
from ledger.domain.canonical import CanonicalError, parse_canonical
from ledger.domain.findings import Finding

_ALWAYS = (PLAN, DECISION, SHOWN, CONTEXTS)


def verify_artefacts(folder: Path) -> Iterator[Finding]:
    """Compare a sweep's attachments with the recorded lines; a bundle without a plan has none of ours."""
    if not (folder / PLAN).is_file():
        return
    for name in _ALWAYS:
        if not (folder / name).is_file():
            yield Finding("bundle.artefact", None, name, "a bundle of a sweep holds it, and it is not there.")
            return
    try:
        yield from _verify(folder)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        # Sound lines of a form this version does not know; a damaged line was told before.
        yield Finding("bundle.artefact", None, str(folder.name), f"its parts do not fit together: {error}.")


def _verify(folder: Path) -> Iterator[Finding]:
    started = next((one for one in _records(folder, SWEEP_STARTED)), None)
    if started is None:
        yield Finding("bundle.artefact", None, RECORDS_FILE, "no record says which plan the sweep ran.")
        return
    yield from _named(folder / PLAN, started["plan"], "the plan that the sweep was started with")
    try:
        plan = plan_from_payload(parse_canonical((folder / PLAN).read_bytes()))
    except (CanonicalError, PlanRefused) as error:
        yield Finding("bundle.artefact", None, PLAN, f"this version does not read it: {error}.")
        return
    yield from _decision(folder, plan, started)
    if (folder / SET).is_file():
        yield from _whole(folder, plan, started)
    else:
        yield from _text_free(folder)


def _decision(folder: Path, plan: Plan, started: dict[str, Any]) -> Iterator[Finding]:
    signed = next((one for one in _records(folder, RELEASE_SIGNED)), None)
    if signed is not None:
        yield from _named(folder / DECISION, signed["decision"], "the decision that was signed")
    told = parse_canonical((folder / DECISION).read_bytes())
    for name in ("plan", "fixture_set"):
        if told[name] != started[name]:
            yield Finding("bundle.artefact", None, DECISION, f"it is about another {name.replace('_', ' ')}.")
    made = decision_from_payload(told["decision"])
    again = decide(plan, made.readings, made.vetoes, made.post_hoc)
    if (again.disposition, again.reasons) != (made.disposition, made.reasons):
        yield Finding("bundle.artefact", None, DECISION, "the plan's rule makes another disposition of its readings.")


def _whole(folder: Path, plan: Plan, started: dict[str, Any]) -> Iterator[Finding]:
    yield from _named(folder / SET, started["fixture_set"], "the fixture set that the sweep was started with")
    manifest = parse_canonical((folder / SET).read_bytes())
    if manifest["format"] != SET_FORMAT:
        raise ValueError(f"{SET} is no {SET_FORMAT}")
    fixtures = {}
    for one in manifest["fixtures"]:
        path = folder / CANONICAL / f"{one['fixture_id']}.json"
        yield from _named(path, one["digest"], "the fixture that the set names")
        if path.is_file():
            fixtures[one["fixture_id"]] = parse_canonical(path.read_bytes())
    documents = []
    for one in manifest["sources"]:
        path = folder / SOURCES / one["digest"]
        yield from _named(path, one["digest"], "the source version that the set names")
        if path.is_file():
            documents.append(document_of(one, path.read_bytes()))
    told = {one["version"] for _, one in _results(folder, {SOURCE})}
    for missing in sorted(told - {one.digest for one in documents}):
        yield Finding("bundle.artefact", None, f"{SOURCES}/{missing}", "a source record names it and it is not there.")
    yield from _questions(folder, fixtures)
    if len(documents) == len(manifest["sources"]):
        yield from _contexts(folder, plan, corpus_order(documents))


def _questions(folder: Path, fixtures: dict[str, Any]) -> Iterator[Finding]:
    """Compare each question asked, and its support, with its fixture; a twin is its question under another name."""
    for kind, told in _results(folder, {QUERY, SUPPORT}):
        name = told["question"]
        fixture = fixtures.get(name)
        if fixture is None:
            continue
        if fixture["format"] != FIXTURE_FORMAT:
            raise ValueError(f"{name} is no {FIXTURE_FORMAT}")
        if kind == QUERY and (told["text"], told["expected_answer"]) != (fixture["text"], fixture["expected_answer"]):
            yield Finding("bundle.artefact", None, f"{CANONICAL}/{name}.json", "the question asked was another one.")
        places = [[(one["version"], one["start"], one["end"]) for one in members] for members in told.get("sets", [])]
        frozen = [[(one["version"], one["start"], one["end"]) for one in own] for own in fixture["support_sets"]]
        if kind == SUPPORT and places != frozen:
            yield Finding("bundle.artefact", None, f"{CANONICAL}/{name}.json", "its support sets are not the recorded.")


def _contexts(folder: Path, plan: Plan, corpus: Corpus) -> Iterator[Finding]:
    """Rebuild every visible context from recorded intervals and sources, and compare it with the one in the bundle."""
    texts = {}
    for number, line in enumerate(_lines(folder / CONTEXTS), 1):
        if hashlib.sha256(line["context"].encode()).hexdigest() != line["digest"]:
            where = f"{CONTEXTS} line {number}"
            yield Finding("bundle.artefact", None, where, "the context does not have its digest.")
        texts[line["digest"]] = [tuple(unit) for unit in line["units"]]
    told = {_place(line): line["contexts"] for line in _lines(folder / SHOWN)}
    made = set()
    for place, view, found in _rebuilt(folder, plan, corpus):
        where = f"{SHOWN} {list(place)} {view}"
        names = told.get((*place, view))
        made.add((*place, view))
        if names is None or len(names) != len(found):
            yield Finding("bundle.artefact", None, where, "it does not say what each question was shown.")
            continue
        for name, one in zip(names, found, strict=True):
            if hashlib.sha256(one.context).hexdigest() != name or texts.get(name) != list(one.units):
                yield Finding("bundle.artefact", None, where, "a context is not what the recorded intervals make.")
    for left in sorted(told.keys() - made):
        yield Finding("bundle.artefact", None, f"{SHOWN} {list(left)}", "no budget record is about this cell.")


def _rebuilt(folder: Path, plan: Plan, corpus: Corpus) -> Iterator[tuple[tuple[str, int, int, int], str, list[Shown]]]:
    # Lines stand in the order of their keys: a build's boundary record comes after all of its cells.
    waiting: dict[tuple[str, int, int, int], dict[str, Any]] = {}
    for kind, value, key in _keyed_results(folder, {BOUNDARY, RETRIEVAL, BUDGET}):
        parts = key.split("/")
        arm, phase = parts[1], int(parts[2])
        if kind != BOUNDARY:
            waiting.setdefault((arm, phase, int(parts[3]), int(parts[4])), {})[kind] = value
            continue
        mine = [place for place in waiting if place[:2] == (arm, phase)]
        for place in mine:
            cell = waiting.pop(place)
            for view, found in shown_in(plan, corpus, value, cell[RETRIEVAL], cell[BUDGET]):
                yield place, view, found


def _text_free(folder: Path) -> Iterator[Finding]:
    """Check that keyed lines speak of the recorded intervals; the digests themselves need the key and the sources."""
    sets: dict[str, set[tuple[str, int, int]]] = {}
    for _, told in _results(folder, {SUPPORT}):
        places = {(one["version"], one["start"], one["end"]) for members in told["sets"] for one in members}
        sets[told["question"]] = places
    spans: dict[str, set[tuple[str, int, int]]] = {}
    for line in _lines(folder / SPANS):
        spans.setdefault(line["question"], set()).add((line["version"], line["start"], line["end"]))
    for name in sorted(sets):
        if sets[name] != spans.get(name, set()):
            yield Finding("bundle.artefact", None, SPANS, f"the spans of {name} are not those recorded.")
    known = {line["keyed_digest"] for line in _lines(folder / CONTEXTS)}
    for line in _lines(folder / SHOWN):
        if set(line["contexts"]) - known:
            yield Finding("bundle.artefact", None, SHOWN, "it names a context that is not there.")


def _named(path: Path, digest: str, what: str) -> Iterator[Finding]:
    where = "/".join(path.parts[-2:]) if path.parent.name in {CANONICAL, SOURCES} else path.name
    if not path.is_file():
        yield Finding("bundle.artefact", None, where, f"{what} is not there.")
    elif hashlib.sha256(path.read_bytes()).hexdigest() != digest:
        yield Finding("bundle.artefact", None, where, f"it is not {what}: its digest is another.")


def _place(line: dict[str, Any]) -> tuple[str, int, int, int, str]:
    return line["arm"], line["phase"], line["block"], line["repeat"], line["view"]


def _records(folder: Path, kind: str) -> Iterator[dict[str, Any]]:
    return (line["payload"] for line in _lines(folder / RECORDS_FILE) if line["kind"] == kind)


def _results(folder: Path, kinds: set[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((kind, value) for kind, value, _ in _keyed_results(folder, kinds))


def _keyed_results(folder: Path, kinds: set[str]) -> Iterator[tuple[str, dict[str, Any], str]]:
    for line in _lines(folder / RESULTS_FILE):
        if line["kind"] in kinds:
            yield line["kind"], line["payload"], line["key"]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        for data in file:
            yield parse_canonical(data.rstrip(b"\n"))
