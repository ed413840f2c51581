"""Looks for restricted bytes in everything a sweep left behind, whatever the engine's own counts say.

Each question with restricted support is also asked by an uncleared twin; its candidates, prompts, answers and citations
must hold no byte its reader may not see, and neither may those of any other question whose reader lacks a label.
Records keep the first ranks of a list; the whole lists are computed again where the retriever is deterministic. What
belongs to no question (logs, reports of attempts, kept reports and caches) is read by people and processes of any
clearance, so no restricted text at all may stand there.
"""

from __future__ import annotations

import re
import zlib
from base64 import b64decode
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.apps import apps
from django.db.models import BinaryField, Field, Model

from evaluation.domain.authorise import TWIN_SUFFIX, Access, access
from evaluation.domain.frozen import FrozenQuestion, Interval
from evaluation.domain.recorded import RecordedChunks
from evaluation.domain.rendering import prompt_head
from evaluation.domain.restricted_text import RestrictedText, restricted_text
from evaluation.models import Plan, Release, Sweep
from evaluation.services.cell_exposure import Exposure, exposures
from evaluation.services.frozen_world import World, load_world
from evaluation.services.pipeline_of import pipeline_settings, policies_of
from evaluation.services.population import block_of
from evaluation.services.problems import NotSealed
from evaluation.services.recorded_ranks import whole_ranks
from evaluation.services.result_keys import BOUNDARY, MANIFEST, QUERY, SOURCE, SUPPORT
from evaluation.services.run_cell import index_of
from ledger.selectors.records import results

#: Kinds that say what was frozen, not what was shown.
_OF_THE_STUDY = frozenset({QUERY, SOURCE, SUPPORT})
_OF_A_BUILD = frozenset({MANIFEST, BOUNDARY})
#: Rows that hold what people wrote.
_BY_PEOPLE = (Plan, Release)
_BASE64 = re.compile(rb"[A-Za-z0-9+/]{24,}={0,2}\Z")


@dataclass(frozen=True)
class Leak:
    """Restricted bytes where they must not be. `question` is "" for a place that belongs to none."""

    question: str
    place: str
    restricted: tuple[Interval, ...]


@dataclass(frozen=True)
class LeakSearch:
    """What was looked at and found. `searched` counts things looked at, by place.

    `twins` and `guarded` (twins included) are the questions whose reader may not read all of the corpus. `indistinct`
    are restricted stretches whose bytes cannot be told from readable text: as text they cannot be searched for, as
    places in sources they are. `recorded_only` are the arms whose candidates could be searched as far as they were
    recorded and no further: their retriever may answer differently, or their index comes out differently here.
    """

    twins: tuple[str, ...]
    guarded: tuple[str, ...]
    searched: Mapping[str, int]
    indistinct: tuple[Interval, ...]
    leaks: tuple[Leak, ...]
    recorded_only: tuple[str, ...] = ()


def search_leaks(sweep: Sweep, logs: Iterable[str | bytes] = ()) -> LeakSearch:
    """Search a sealed sweep's results and rows, and the `logs` of the processes that ran it.

    Raises NotSealed before the last cell is done, and UnreadablePrompt where a prompt cannot be rebuilt.
    """
    if sweep.state != Sweep.State.SEALED:
        raise NotSealed(f"Sweep {sweep.pk} is {sweep.state}: it is searched when its last cell is done and sealed.")
    return _Search(sweep, load_world(sweep.plan)).run(logs)


class _Search:
    """One search; keeps what each kind of reader may not see."""

    def __init__(self, sweep: Sweep, world: World) -> None:
        self.sweep, self.world = sweep, world
        self.documents = world.prepared.documents
        settings = pipeline_settings(world.plan)
        self.public: list[str | bytes] = [
            # Whole heads: where a question meets the lines around it, it reads like a heading of the same words.
            *(prompt_head(settings, one) for one in world.asked),
            *(one.question_id for one in world.asked),
            *(one.document_id for one in self.documents),
        ]
        self._hidden: dict[frozenset[str], RestrictedText] = {}
        self._rights: dict[tuple[frozenset[str], date], Access] = {}
        self.searched: Counter[str] = Counter()
        self.leaks: list[Leak] = []
        self._guarded = tuple(one for one in world.asked if self.rights(one).denied)
        self._recorded_only: set[str] = set()

    def run(self, logs: Iterable[str | bytes]) -> LeakSearch:
        guarded = self._guarded
        self._cells()
        for place, text in (*_rows(self.sweep), *((f"log, entry {n}", _raw(one)) for n, one in enumerate(logs, 1))):
            self.searched[place.partition(",")[0]] += 1
            self._report("", place, self.hidden(frozenset()).found_in(text))
        return LeakSearch(
            tuple(one.question_id for one in guarded if one.question_id.endswith(TWIN_SUFFIX)),
            tuple(one.question_id for one in guarded),
            dict(sorted(self.searched.items())),
            self.hidden(frozenset()).indistinct,
            tuple(self.leaks),
            tuple(sorted(self._recorded_only)),
        )

    def hidden(self, labels: frozenset[str]) -> RestrictedText:
        """What a reader holding `labels` may not read."""
        if labels not in self._hidden:
            self._hidden[labels] = restricted_text(self.documents, labels, self.public)
        return self._hidden[labels]

    def rights(self, question: FrozenQuestion) -> Access:
        """What the question's reader may use on its date."""
        key = (question.reader_labels, question.as_of)
        if key not in self._rights:
            self._rights[key] = access(self.documents, *key)
        return self._rights[key]

    def _cells(self) -> None:
        cells: dict[tuple[str, str, str, str], dict[str, Any]] = defaultdict(dict)
        chunks: dict[tuple[str, str], RecordedChunks] = {}
        for row in results(scopes=[self.sweep.scope]):
            if row.kind in _OF_THE_STUDY:
                continue
            _, arm, phase, *rest = row.key.split("/")
            if row.kind in _OF_A_BUILD:
                if row.kind == BOUNDARY:
                    chunks[arm, phase] = RecordedChunks(row.value)
                    self._whole_lists(arm, int(phase), str(row.value["build"]))
                continue
            block, repeat, *name = rest
            cells[arm, phase, block, repeat]["/".join(name)] = row.value
        for (arm, phase, block, repeat), records in sorted(cells.items()):
            questions = block_of(self.world.asked, int(block), self.sweep.block_size)
            where = f"arm {arm}, phase {int(phase)}, repeat {int(repeat)}"
            guarded = [index for index, one in enumerate(questions) if self.rights(one).denied]
            for shown in exposures(self.world, questions, guarded, chunks.get((arm, phase)), records):
                self._look(questions, shown, where)

    def _whole_lists(self, arm: str, phase: int, build: str) -> None:
        """Look at every candidate of every guarded question, not only at the ranks a record keeps."""
        retriever = policies_of(self.world.plan, self.world.plan.arm(arm)).retriever
        indexed = index_of(self.world, arm, phase) if self._guarded and retriever.deterministic else None
        if indexed is None or indexed.build.digest != build:
            self._recorded_only.add(arm)
            return
        for index, ranks in enumerate(whole_ranks(self.world, arm, indexed, self._guarded)):
            shown = Exposure(index, "whole list", ranks.places)
            self._look(self._guarded, shown, f"arm {arm}, phase {phase}, computed again")

    def _look(self, questions: tuple[FrozenQuestion, ...], shown: Exposure, where: str) -> None:
        owner = questions[shown.index] if shown.index >= 0 else None
        name = owner.question_id if owner else ""
        place = f"{shown.where} ({where})"
        self.searched[shown.where.partition(" of ")[0].partition("/")[0].partition(",")[0]] += 1
        if owner is not None and (denied := self.rights(owner).denied):
            bad = [
                Interval(self.documents[document].digest, max(start, low), min(end, high))
                for document, start, end in shown.places
                for low, high in denied.get(document, ())
                if start < high and low < end
            ]
            self._report(name, place, sorted(set(bad)))
        hidden = self.hidden(owner.reader_labels if owner else frozenset())
        for text in shown.texts:
            for form in _forms(text):
                self._report(name, place, hidden.found_in(form))

    def _report(self, question: str, place: str, found: Iterable[Interval]) -> None:
        if restricted := tuple(found):
            leak = Leak(question, place, restricted)
            if leak not in self.leaks:
                self.leaks.append(leak)


def _rows(sweep: Sweep) -> Iterator[tuple[str, bytes]]:
    """Every text and blob of the rows about a sweep, and of tables that belong to no sweep: caches."""
    for model in apps.get_app_config("evaluation").get_models():
        if issubclass(model, _BY_PEOPLE):
            continue
        fields = [one for one in model._meta.get_fields() if isinstance(one, Field) and not one.is_relation]
        for row in _of(model, sweep):
            for one in fields:
                value = getattr(row, one.attname)
                if isinstance(value, str) or isinstance(one, BinaryField):
                    for form in _forms(_raw(value)):
                        yield f"{model._meta.verbose_name}, row {row.pk}, {one.attname}", form


def _of(model: type[Model], sweep: Sweep) -> Iterator[Model]:
    names = {one.name for one in model._meta.get_fields()}
    rows = model._default_manager.all()
    if model is Sweep:
        rows = rows.filter(pk=sweep.pk)
    elif "sweep" in names:
        rows = rows.filter(sweep=sweep)
    elif "cell" in names:
        rows = rows.filter(cell__sweep=sweep)
    yield from rows.order_by("pk").iterator(chunk_size=500)


def _raw(value: str | bytes | memoryview) -> bytes:
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else bytes(value)


def _forms(text: bytes) -> Iterator[bytes]:
    """The bytes, and what they hold where they are base64 or deflated."""
    yield text
    if _BASE64.match(text) and len(text) % 4 == 0:
        text = b64decode(text)
        yield text
    if text[:1] == b"\x78":
        try:
            yield zlib.decompress(text)
        except zlib.error:
            # A text may begin with an x.
            return
