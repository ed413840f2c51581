"""The drill-down: one question at one phase, both arms, down to the cuts drawn on the source."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from annotate.views.respond import respond
from evaluation.domain.coverage import overlaps
from evaluation.domain.diagnosis import diagnose
from evaluation.domain.frozen import FrozenQuestion
from evaluation.domain.outcomes import AnswerClass, Stage, View
from evaluation.domain.plan_words import Factor
from evaluation.domain.run_measures import SCORE_UNIT
from evaluation.selectors.question_trace import ArmTrace, QuestionTrace, question_trace
from evaluation.services.write_plan import plan_value
from evaluation.views.access import page, sweep_for, sweep_frame
from evaluation.views.question_walk import phase_asked, walk_of
from evaluation.views.report_asked import view_in_words
from evaluation.views.source_drawing import Reader, drawn_documents
from evaluation.views.wording import ANSWERS, CITATIONS, FATES, words
from evaluation.views.wording import STAGES as STAGE_WORDS


@dataclass(frozen=True)
class HitRow:
    """A ranked hit with what became of it; `support` are the letters of sets it touches."""

    rank: int
    name: str
    start: int
    end: int
    score: str
    fate: str
    tone: str
    support: str


@require_safe
@page
def sweep_question(request: HttpRequest, pk: int, question_id: str) -> HttpResponse:
    """Show a question at `?phase=` (or the phase number `?at=` of a slider) in `?view=` and `?repeat=`, the evidence of
    `?arm=` drawn; `?whole=` draws a document whole. Filters of the list of questions say which one is next."""
    sweep, actor = sweep_for(request, pk, "results.view")
    plan = plan_value(sweep.plan)
    asked = request.GET
    candidate = asked.get("candidate", plan.decision.candidate)
    arms = (plan.baseline.name, candidate)
    if candidate not in {arm.name for arm in plan.candidates}:
        raise Http404(f"the plan has no candidate {candidate}")
    try:
        repeat = _number(asked.get("repeat", "0"))
        trace = question_trace(sweep, question_id, arms, phase_asked(plan, asked), asked.get("view", ""), repeat)
    except LookupError as missing:
        raise Http404(str(missing)) from missing
    shown = next((arm for arm in trace.arms if arm.name == asked.get("arm", candidate)), trace.arms[-1])
    reader = Reader(trace.documents, actor.clearance)
    whole = {int(one) for one in asked.getlist("whole") if one.isdecimal() and len(one) < 6}
    walk = walk_of(request, sweep, actor, trace, shown.name, candidate)
    link = walk.link
    readable = _support_readable(trace, reader)
    context: dict[str, Any] = {
        **sweep_frame(actor, sweep, ("Results", reverse("results", args=[sweep.pk])), (trace.question.question_id, "")),
        "question": trace.question,
        "segment": words(trace.question.segment),
        "sample": words(trace.question.sample),
        "readable": readable,
        "trace": trace,
        "shown": shown,
        "walk": walk,
        "htmx": bool(getattr(request, "htmx", None)),
        "phases": walk.phases,
        "position": trace.labels.index(trace.label) + 1 if trace.labels else 0,
        "views": [
            {"text": view_in_words(plan, one), "url": link(view=one), "current": one == trace.view}
            for one in trace.views
        ],
        "repeats": [
            {"text": str(one + 1), "url": link(repeat=str(one)), "current": one == trace.repeat}
            for one in range(trace.repeats)
        ],
        "evidence_of": [
            {"text": f"{words(arm.role)}: {arm.name}", "url": link(arm=arm.name), "current": arm.name == shown.name}
            for arm in trace.arms
        ],
        "documents": [(one, link(whole=str(one.index))) for one in drawn_documents(trace, shown, reader, whole)],
        "arms": [_arm(arm, trace, reader) for arm in trace.arms],
        "stages": _stages(trace),
        "oracle": ANSWERS[trace.oracle.answer_class] if trace.oracle and not trace.oracle.failed else "",
        "verdict_words": {str(one): ANSWERS[one] for one in AnswerClass},
    }
    return respond(request, "evaluation/question.html", context, partial="walk")


def _number(text: str) -> int:
    """Return a small number of an address; raises LookupError for anything else."""
    if not (text.isdecimal() and len(text) < 6):
        raise LookupError(f"{text!r} is no number")
    return int(text)


def _support_readable(trace: QuestionTrace, reader: Reader) -> bool:
    """Whether every span of the adjudicated sets is this person's to read; the answer contract quotes them."""
    by_digest = {one.digest: index for index, one in enumerate(trace.documents)}
    return all(
        reader.shows(by_digest[span.interval.version], span.interval.start, span.interval.end)
        for one in trace.question.support_sets
        for span in one
    )


def _stages(trace: QuestionTrace) -> list[tuple[str, list[str]]]:
    """Return per step of the pipelines, for each arm, whether support was complete after it; where the arms run their
    stages in another order, a step is named by the stage of each."""
    return [
        (
            " / ".join(dict.fromkeys(STAGE_WORDS[stage] for stage in step)),
            [_stage(arm, stage, trace.question) for arm, stage in zip(trace.arms, step, strict=True)],
        )
        for step in zip(*(arm.order for arm in trace.arms), strict=True)
    ]


def _stage(arm: ArmTrace, stage: Stage, question: FrozenQuestion) -> str:
    if not question.support_sets:
        return "nothing"
    if arm.complete is None or arm.single is None:
        return "not-measured"
    if not arm.complete[stage]:
        return "incomplete"
    return "one-unit" if arm.single[stage] else "complete"


def _arm(arm: ArmTrace, trace: QuestionTrace, reader: Reader) -> dict[str, Any]:
    found: dict[str, Any] = {"arm": arm, "title": f"{words(arm.role)}: {arm.name}"}
    if arm.missing:
        return found
    # An answer and a prompt repeat their evidence: one restricted unit makes both unreadable for this person.
    readable = all(reader.shows(unit.document, unit.start, unit.end) for unit in arm.packed)
    answer = arm.answer
    found |= {
        "fate": _fate(arm, trace),
        "diagnoses": _diagnoses(arm, trace),
        "measures": _measures(arm, trace),
        "chunks": _chunks_of_support(arm, trace),
        "hits": _hits(arm, trace, reader),
        "refused_beyond": max(len(arm.refused or {}) - sum(hit.rank in (arm.refused or {}) for hit in arm.hits), 0),
        "readable": readable,
        "verdict": ANSWERS[AnswerClass(answer.verdict)] if answer else "",
        "abstained": bool(answer and answer.verdict == AnswerClass.ABSTAINED),
        "answer_digest": hashlib.sha256(answer.text.encode()).hexdigest() if answer else "",
        "citations": [
            {
                "number": one.number,
                "name": "nothing shown" if one.document < 0 else reader.name(one.document) or "restricted document",
                "start": one.start,
                "end": one.end,
                "resolved": one.document >= 0,
                "verdict": CITATIONS[one.verdict],
                "quote": None if one.document < 0 else reader.text(one.document, one.start, one.end),
            }
            for one in (answer.citations if answer else ())
        ],
        "prompt": _prompt(arm, trace, reader),
    }
    return found


def _prompt(arm: ArmTrace, trace: QuestionTrace, reader: Reader) -> list[dict[str, Any]]:
    """Return the prompt in parts, evidence and what stands between; restricted evidence is None.

    A plan's labels may name documents; one whose name is not this person's is named as the rest of the page does.
    """
    following = [document for _, document, _, _ in arm.parts[1:]] + [-1]
    parts = []
    for (text, document, start, end), after in zip(arm.parts, following, strict=True):
        shown = text.decode("utf-8") if document < 0 else reader.text(document, start, end)
        if shown is not None and document < 0 <= after and reader.name(after) is None:
            one = trace.documents[after]
            shown = shown.replace(one.document_id, f"restricted document {one.digest[:12]}")
        parts.append({"text": shown, "start": start, "end": end, "evidence": document >= 0})
    return parts


def _fate(arm: ArmTrace, trace: QuestionTrace) -> dict[str, str]:
    if not trace.question.answerable:
        return {"words": "No support to lose: the sources do not answer this", "tone": ""}
    if arm.complete and arm.complete[Stage.PACKED]:
        return {"words": FATES["complete"], "tone": "accept"}
    return {"words": FATES[arm.lost_after or "never-complete"], "tone": "reject"}


def _diagnoses(arm: ArmTrace, trace: QuestionTrace) -> list[dict[str, str]]:
    """Return why the question is lost here, as far as the records say, and the experiment each reason asks for."""
    if arm.outcome is None:
        return []
    kind, _, value = trace.view.partition(":")
    k = int(value) if kind == View.TOP_K else 0
    found = diagnose(trace.question, arm.outcome, oracle=trace.oracle, tie_at_k=arm.tie_at_k, k=k)
    return [
        {
            "name": words(one.trouble),
            "because": one.because,
            "experiment": one.experiment.words,
            "factor": "" if one.experiment.factor is Factor.NONE else words(one.experiment.factor).lower(),
        }
        for one in found
    ]


def _measures(arm: ArmTrace, trace: QuestionTrace) -> list[tuple[str, str]]:
    """Return the counts of the sealed outcome that a reader of this question asks about."""
    one = arm.outcome
    if one is None:
        return []
    rows = [("Source tokens", f"{one.unique_tokens:,} unique, {one.repeated_tokens:,} repeated")]
    if one.needed_bytes:
        rows += [
            ("Best set in the prompt", f"{one.covered_bytes:,} of {one.needed_bytes:,} bytes"),
            (
                "Its spans",
                f"{one.covered_spans} of {one.needed_spans} whole, {one.spans_at_threshold} to the plan's threshold",
            ),
        ]
    if one.shown_bytes:
        rows.append(("Evidence precision", f"{one.relevant_bytes:,} of {one.shown_bytes:,} bytes in the prompt"))
    if one.compared_pairs:
        rows.append(("Duplicate pairs", f"{one.duplicate_pairs} of {one.compared_pairs}"))
    if not trace.question.answerable:
        rows.append(("Best score", f"{one.top_score / SCORE_UNIT:.6f}, without evidence to find"))
    return rows


def _chunks_of_support(arm: ArmTrace, trace: QuestionTrace) -> list[tuple[str, str]]:
    """Return, per span of the sets, the chunks of the build that hold some of it: offsets only."""
    by_digest = {one.digest: index for index, one in enumerate(trace.documents)}
    rows = []
    for letter, one in zip("ABCDEFGH", trace.question.support_sets, strict=False):
        for span in one:
            where = span.interval
            index = by_digest[where.version]
            chunks = arm.chunks[index] if arm.chunks else ()
            held = [(at, end) for at, end in chunks if at < where.end and where.start < end]
            said = ", ".join(
                f"{at}–{end}{' (whole)' if at <= where.start and where.end <= end else ''}" for at, end in held
            )
            rows.append((f"{letter} {span.label} {where.start}–{where.end}", said or "no chunk"))
    return rows


def _hits(arm: ArmTrace, trace: QuestionTrace, reader: Reader) -> list[HitRow]:
    by_digest = {one.digest: index for index, one in enumerate(trace.documents)}
    packed = {unit.rank: unit.number for unit in arm.packed}
    refused = arm.refused or {}
    rows = []
    for hit in arm.hits:
        touched = [
            chr(ord("A") + number)
            for number, one in enumerate(trace.question.support_sets)
            if any(
                by_digest[span.interval.version] == hit.document
                and overlaps([(span.interval.start, span.interval.end)], hit.start, hit.end)
                for span in one
            )
        ]
        if hit.rank in packed:
            fate, tone = f"packed as [{packed[hit.rank]}]", "accept"
        elif hit.rank in refused:
            fate, tone = f"refused: {refused[hit.rank]}", "reject"
        else:
            fate, tone = "merged with an equal interval", ""
        rows.append(
            HitRow(
                hit.rank,
                reader.name(hit.document) or f"restricted document {trace.documents[hit.document].digest[:12]}",
                hit.start,
                hit.end,
                f"{hit.score / 1_000_000:.6f}",
                fate,
                tone,
                " ".join(touched),
            )
        )
    return rows
