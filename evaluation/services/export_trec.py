"""One arm at one phase of a sealed sweep as a TREC run with its judgements, for ir_measures, ranx and trec_eval."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from annotate.domain.errors import BadInput
from evaluation.domain.authorise import access
from evaluation.domain.chunk_id import chunk_id
from evaluation.domain.coverage import targets
from evaluation.domain.frozen import FrozenQuestion
from evaluation.domain.pipeline import IndexBuild
from evaluation.domain.rank_measures import Judgements, RankFigures, Run, rank_figures
from evaluation.domain.relevance import Relevance, chunk_grades
from evaluation.domain.trec_files import TrecNameError, qrels_text, run_text
from evaluation.models import Sweep
from evaluation.services.arm_phases import arm_phases
from evaluation.services.frozen_world import World, load_world
from evaluation.services.pipeline_of import arm_settings, policies_of
from evaluation.services.problems import Conflict, NotSealed
from evaluation.services.recorded_ranks import Ranks, recorded_ranks, whole_ranks
from evaluation.services.run_cell import Indexed, index_of

#: Depths at which Cutline's own figures stand beside the files, as far as the list reaches.
DEPTHS = (1, 3, 5, 10, 20, 50, 100)


@dataclass(frozen=True)
class TrecExport:
    """Ranked chunks and judgements of the answerable questions. `places` maps a chunk id of either to its interval.

    `failed` are the questions whose cell failed: they are judged and have no hits.
    """

    tag: str
    rule: Relevance
    run: Run
    judgements: Judgements
    places: Mapping[str, tuple[str, str, int, int]]
    scores: Mapping[str, Sequence[int]]
    failed: tuple[str, ...]
    depth: int
    unjudged: str
    about: Mapping[str, Any]

    def figures(self) -> list[RankFigures]:
        """Return Cutline's own figures at every depth of `DEPTHS` within the list, and at its whole length."""
        return [
            rank_figures(self.run, self.judgements, k)
            for k in sorted({k for k in DEPTHS if k < self.depth} | {self.depth})
        ]


def trec_export(sweep: Sweep, arm: str, phase: str, rule: Relevance = Relevance.WHOLE) -> TrecExport:
    """Return what `arm` ranked at a phase, given as a shared label ("3/8") or as its first cut ("96").

    Records keep the first ranks; the whole list is computed again and must begin with what was recorded. A retriever
    that may answer differently every time is exported as far as it was recorded. Every answerable question of the plan
    is judged, those that found nothing too.

    Raises NotSealed, BadInput for an arm or phase the plan does not have and for a plan without answerable questions,
    and Conflict when index or ranks come out differently here than they were recorded.
    """
    if sweep.state != Sweep.State.SEALED:
        raise NotSealed(f"Sweep {sweep.pk} is {sweep.state}: runs are exported when its results are sealed.")
    world = load_world(sweep.plan)
    cut = _first_cut(world, arm, phase)
    questions = tuple(one for one in world.questions if one.answerable)
    if not questions:
        raise BadInput("plan, population", "it has no answerable question", "A run is judged on answerable questions.")
    indexed = index_of(world, arm, cut)
    build = indexed.build
    recorded = recorded_ranks(sweep, world, arm, cut, build)
    steps = policies_of(world.plan, world.plan.arm(arm))
    ranks = {one.question_id: recorded.get(one.question_id, Ranks(failed="not recorded")) for one in questions}
    if steps.retriever.deterministic:
        ranks = _ranked_again(world, arm, indexed, questions, ranks)
    places: dict[str, tuple[str, str, int, int]] = {}
    name = _Names(world, build, places)
    run = {question: [name.of(*place) for place in found.places] for question, found in ranks.items()}
    judgements = {
        one.question_id: {name.of_chunk(chunk): grade for chunk, grade in _grades(world, build, one, rule).items()}
        for one in questions
    }
    return TrecExport(
        f"{world.plan.name}.{arm}.{cut}",
        rule,
        run,
        judgements,
        places,
        {question: found.scores for question, found in ranks.items()},
        tuple(question for question, found in ranks.items() if found.failed),
        max((len(ranked) for ranked in run.values()), default=0) or 1,
        name.of_chunk(0),
        {
            "format": "cutline-trec/1",
            "sweep_root": sweep.root,
            "plan": sweep.plan.digest,
            "fixture_set": world.fixture_set_digest,
            "build": build.digest,
            "arm": arm,
            "phase": cut,
            "stage": "candidates",
            "ranks": "computed again" if steps.retriever.deterministic else "as recorded",
            "relevance": str(rule),
            "coverage_threshold": str(world.plan.budget.coverage_threshold),
        },
    )


def write_trec(export: TrecExport, folder: Path) -> list[Path]:
    """Write the files into `folder`, which is made where it is not there, and return their paths.

    Raises BadInput for names with blanks and OSError where the folder cannot be written.
    """
    about = {
        **export.about,
        "questions": len(export.judgements),
        "without_hits": sorted(question for question, ranked in export.run.items() if not ranked),
        "without_relevant_chunk": sorted(question for question, grades in export.judgements.items() if not grades),
        "failed": list(export.failed),
        "depth": export.depth,
        "figures": [_rounded(one) for one in export.figures()],
    }
    chunks = "".join(
        f"{chunk}\t{document}\t{version}\t{start}\t{end}\n"
        for chunk, (document, version, start, end) in sorted(export.places.items())
    )
    hits = "".join(
        f"{question}\t{rank}\t{chunk}\t{score // 10**6}.{score % 10**6:06d}\n"
        for question, ranked in sorted(export.run.items())
        for rank, (chunk, score) in enumerate(zip(ranked, export.scores[question], strict=True), 1)
    )
    try:
        texts = {
            "run.txt": run_text(export.run, export.tag),
            "qrels.txt": qrels_text(export.judgements, export.unjudged),
            "hits.tsv": "question\trank\tchunk\tscore\n" + hits,
            "chunks.tsv": "chunk\tdocument\tversion\tstart\tend\n" + chunks,
            "about.json": json.dumps(about, ensure_ascii=False, indent=1, sort_keys=True) + "\n",
        }
    except TrecNameError as error:
        raise BadInput("TREC export", "a name has blanks", str(error)) from error
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")
    return [folder / name for name in texts]


@dataclass(frozen=True)
class _Names:
    """Ids of the chunks that occur, with where each lies."""

    world: World
    build: IndexBuild
    places: dict[str, tuple[str, str, int, int]]

    def of(self, document: int, start: int, end: int) -> str:
        prepared = self.world.prepared
        source = prepared.documents[document]
        found = chunk_id(prepared.digest, source, (start, end), str(self.build.manifest["transformation"]))
        self.places[found] = (source.document_id, source.digest, start, end)
        return found

    def of_chunk(self, chunk: int) -> str:
        chunks = self.build.chunks
        return self.of(int(chunks.document[chunk]), int(chunks.start[chunk]), int(chunks.end[chunk]))


def _first_cut(world: World, arm: str, phase: str) -> int:
    names = [one.name for one in world.plan.arms]
    if arm not in names:
        raise BadInput("arm", f"the plan has none called {arm!r}", f"Use one of {', '.join(names)}.")
    phases = arm_phases(world.plan, arm_settings(world.plan.arm(arm)), world.prepared, world.questions)
    if phase in phases.shared:
        return phases.shared[phase]
    for cut in phases.runs:
        if phase == str(cut):
            return cut
    raise BadInput(
        "phase", f"“{arm}” did not run at {phase[:40]!r}", f"Use one of {', '.join(phases.shared)}, or a first cut."
    )


def _ranked_again(
    world: World, arm: str, indexed: Indexed, questions: Sequence[FrozenQuestion], recorded: Mapping[str, Ranks]
) -> dict[str, Ranks]:
    """The whole lists; a question whose cell failed keeps its failure."""
    found: dict[str, Ranks] = {}
    for one, again in zip(questions, whole_ranks(world, arm, indexed, questions), strict=True):
        known = recorded[one.question_id]
        depth = len(known.places)
        if not known.failed and (again.places[:depth], again.scores[:depth]) != (known.places, known.scores):
            raise Conflict(
                f"question {one.question_id}: “{arm}” ranks other chunks here than the sweep recorded. Use the "
                "packages its manifest names."
            )
        found[one.question_id] = known if known.failed else again
    return found


def _grades(world: World, build: IndexBuild, one: FrozenQuestion, rule: Relevance) -> dict[int, int]:
    rights = access(world.prepared.documents, one.reader_labels, one.as_of)
    readable = [found for found in targets(one, world.prepared.by_version) if rights.readable_target(found)]
    return chunk_grades(build.chunks, readable, rule, Fraction(world.plan.budget.coverage_threshold))


def _rounded(figures: RankFigures) -> dict[str, Any]:
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in asdict(figures).items()}
