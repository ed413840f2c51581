"""What a question came to: support after every stage, vetoes, answer, citations; one function for cells and oracles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

import numpy as np

from evaluation.domain.authorise import Access, access
from evaluation.domain.citations import Citation, resolve
from evaluation.domain.coverage import (
    Target,
    Visible,
    completion_rank,
    necessary,
    overlaps,
    severed,
    single_unit,
    targets,
    whole_in_one_chunk,
)
from evaluation.domain.frozen import FrozenQuestion, SupportSpan
from evaluation.domain.generation import EvidenceText, GeneratedAnswer
from evaluation.domain.outcomes import AnswerClass, QuestionOutcome, Stage
from evaluation.domain.packing import Packer
from evaluation.domain.pipeline import (
    IndexBuild,
    PackedEvidence,
    PipelineSettings,
    Policies,
    PreparedCorpus,
    Unit,
    intervals,
)
from evaluation.domain.stages import lost_after
from evaluation.domain.verdicts import citation_verdict, covers_a_set, judge

#: Stages whose output a consumer sees; what an expansion proposes is checked before anyone does.
CONSUMED = (Stage.CANDIDATES, Stage.RERANKED, Stage.AUTHORISED, Stage.DEDUPLICATED, Stage.PACKED)

type StageUnits = Mapping[Stage, Sequence[Unit]]


@dataclass(frozen=True)
class Asked:
    """A question with what its reader may use: readable sets (spans, and targets in the corpus), forbidden bytes."""

    question: FrozenQuestion
    access: Access
    sets: tuple[tuple[SupportSpan, ...], ...]
    targets: tuple[Target, ...]
    forbidden: Mapping[int, list[tuple[int, int]]]


@dataclass
class Readers:
    """Access of each (labels, date) of a block, worked out once."""

    prepared: PreparedCorpus
    _known: dict[tuple[frozenset[str], date], Access] = field(default_factory=dict)

    def access(self, question: FrozenQuestion) -> Access:
        """What the question's reader may use on its date."""
        key = (question.reader_labels, question.as_of)
        if key not in self._known:
            self._known[key] = access(self.prepared.documents, *key)
        return self._known[key]

    def asked(self, question: FrozenQuestion) -> Asked:
        """The question with its readable sets. Raises `SupportError` for a set outside the corpus or without need."""
        rights = self.access(question)
        all_targets = targets(question, self.prepared.by_version)
        kept = [i for i, target in enumerate(all_targets) if rights.readable_target(target)]
        forbidden: dict[int, list[tuple[int, int]]] = {}
        for bad in question.forbidden:
            document = self.prepared.by_version.get(bad.version)
            if document is not None:
                forbidden.setdefault(document, []).append((bad.start, bad.end))
        return Asked(
            question,
            rights,
            tuple(question.support_sets[i] for i in kept),
            tuple(all_targets[i] for i in kept),
            forbidden,
        )


@dataclass(frozen=True)
class Support:
    """Completeness of every stage, the candidate rank that completed it, and vetoes per stage (non-zero only)."""

    complete: dict[Stage, bool]
    single: dict[Stage, bool]
    rank: int
    severed: int
    leaks: dict[Stage, int]
    superseded: dict[Stage, int]
    forbidden: dict[Stage, int]


def visible(units: Sequence[Unit]) -> Visible:
    """Units as arrays."""
    count = len(units)
    return Visible(
        np.fromiter((u.document for u in units), dtype=np.int64, count=count),
        np.fromiter((u.start for u in units), dtype=np.int64, count=count),
        np.fromiter((u.end for u in units), dtype=np.int64, count=count),
    )


@dataclass
class Meter:
    """Measures lists of units of one question; a list that several stages share is measured once."""

    asked: Asked
    _seen: dict[int, tuple[Sequence[Unit], int, bool, int, int, int]] = field(default_factory=dict)

    def _measure(self, units: Sequence[Unit]) -> tuple[Sequence[Unit], int, bool, int, int, int]:
        known = self._seen.get(id(units))
        if known is not None and known[0] is units:
            return known
        asked = self.asked
        arrays = visible(units)
        rank = completion_rank(arrays, asked.targets)
        alone = bool(rank) and single_unit(arrays, asked.targets)
        rights = asked.access
        leaked = sum(not rights.readable(u.document, u.start, u.end) for u in units) if rights.denied else 0
        outdated = int(np.count_nonzero(~rights.current[arrays.document])) if units else 0
        bad = (
            sum(overlaps(asked.forbidden.get(u.document, ()), u.start, u.end) for u in units) if asked.forbidden else 0
        )
        self._seen[id(units)] = found = (units, rank, alone, leaked, outdated, bad)
        return found

    def support(self, build: IndexBuild | None, stages: StageUnits) -> Support:
        """Completeness and vetoes of every stage. Without a build (an oracle) the chunk stage is taken as whole."""
        asked = self.asked
        complete = {Stage.CHUNKED: bool(asked.targets)}
        single = {Stage.CHUNKED: whole_in_one_chunk(build.chunks, asked.targets) if build else bool(asked.targets)}
        vetoes: tuple[dict[Stage, int], dict[Stage, int], dict[Stage, int]] = ({}, {}, {})
        for stage, units in stages.items():
            _, rank, alone, *counts = self._measure(units)
            complete[stage] = rank > 0
            single[stage] = alone
            if stage in CONSUMED:
                for into, count in zip(vetoes, counts, strict=True):
                    if count:
                        into[stage] = count
        rank = self._measure(stages[Stage.CANDIDATES])[1]
        cut = severed(build.chunks, asked.targets) if build else 0
        return Support(complete, single, rank, cut, *vetoes)


@dataclass(frozen=True)
class Answered:
    """An answer with its verdict; `verdicts` has one entry per citation."""

    answer: GeneratedAnswer
    answer_class: AnswerClass
    condition: str
    citations: tuple[Citation, ...]
    verdicts: tuple[str, ...]
    attributed: bool


def prompt_head(settings: PipelineSettings, question: FrozenQuestion) -> bytes:
    """Instructions and question: the part of a prompt the allowance is for; the evidence follows it.

    A prompt's tokens are those of its head plus those of its evidence, each tokenised whole.
    """
    return f"{settings.instructions}\n\nQuestion: {question.text}\n\nEvidence:\n".encode()


def answer(
    prepared: PreparedCorpus, policies: Policies, asked: Asked, packed: PackedEvidence, text: bytes
) -> Answered | None:
    """Generate from packed evidence only, resolve its citations, judge it; None when the plan has no generator."""
    if policies.generator is None:
        return None
    evidence = tuple(
        EvidenceText(
            number,
            prepared.documents[unit.document].digest,
            unit.start,
            prepared.documents[unit.document].content[unit.start : unit.end],
        )
        for number, unit in enumerate(packed.units, 1)
    )
    given = policies.generator.answer(asked.question.text, evidence, text)
    if given.failed:
        return Answered(given, AnswerClass.NONE, "failed", (), (), attributed=False)
    cited = resolve(given.text, intervals(packed.units, prepared.documents))
    verdict = judge(given, asked.question, asked.sets)
    return Answered(
        given,
        verdict.answer_class,
        verdict.condition,
        cited,
        tuple(citation_verdict(c.interval, asked.sets) for c in cited),
        attributed=not given.abstained and covers_a_set([c.interval for c in cited if c.interval], asked.sets),
    )


def outcome(
    asked: Asked,
    support: Support,
    packed: PackedEvidence,
    answered: Answered | None,
    *,
    feasible: bool,
    prompt_tokens: int,
    denials: int,
) -> QuestionOutcome:
    """Everything of one question in one view, as the metrics read it."""
    given = answered.answer if answered else None
    return QuestionOutcome(
        question_id=asked.question.question_id,
        failed=given.failed if given else "",
        feasible=feasible,
        complete=support.complete,
        single_unit=support.single,
        lost_after=lost_after(support.complete),
        rank_of_completion=support.rank,
        evidence_tokens=packed.tokens,
        unique_tokens=packed.unique_tokens,
        repeated_tokens=packed.repeated_tokens,
        prompt_tokens=prompt_tokens,
        duplicate_pairs=packed.duplicate_pairs,
        compared_pairs=packed.compared_pairs,
        denials=denials,
        leaks=support.leaks,
        superseded=support.superseded,
        answer_class=answered.answer_class if answered else AnswerClass.NONE,
        answered=bool(given and not given.abstained and not given.failed),
        citations_emitted=len(answered.citations) if answered else 0,
        citations_resolved=sum(c.resolved for c in answered.citations) if answered else 0,
        citations_cover_support=bool(answered and answered.attributed),
        severed_spans=support.severed,
        forbidden=support.forbidden,
    )


def set_units(prepared: PreparedCorpus, support: Sequence[SupportSpan]) -> tuple[Unit, ...]:
    """The necessary spans of a set, each as a unit of its own, in corpus order."""
    units: list[Unit] = []
    ordered = sorted(
        (prepared.by_version[s.interval.version], s.interval.start, s.interval.end) for s in necessary(support)
    )
    for rank, (document, start, end) in enumerate(ordered, 1):
        text = prepared.tokenized[document]
        units.append(Unit(document, start, end, text.token_containing(start), text.first_token_from(end), rank, ()))
    return tuple(units)


def smallest_set(packer: Packer, asked: Asked) -> tuple[tuple[Unit, ...], int, int]:
    """Units, whole rendered tokens and index (among the readable sets) of the cheapest set; index −1 without any."""
    best: tuple[int, int, tuple[Unit, ...]] | None = None
    for index, support in enumerate(asked.sets):
        units = set_units(packer.prepared, support)
        size = packer.prepared.tokenizer.count(packer.render(units)[0])
        if best is None or size < best[0]:
            best = (size, index, units)
    return ((), 0, -1) if best is None else (best[2], best[0], best[1])
