"""The drill-down: one question at one phase, both arms, down to the cuts drawn on the source."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET

from annotate.views.respond import respond
from evaluation.domain.coverage import overlaps
from evaluation.domain.outcomes import STAGES, AnswerClass, Stage
from evaluation.models import Sweep
from evaluation.selectors.question_trace import ArmTrace, QuestionTrace, question_trace
from evaluation.services.results import sweep_results
from evaluation.services.write_plan import plan_value
from evaluation.views.access import page, sweep_for, sweep_frame
from evaluation.views.result_tables import OVERALL, Report
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


@require_GET
@page
def sweep_question(request: HttpRequest, pk: int, question_id: str) -> HttpResponse:
    """Show a question at `?phase=` in `?view=`, the evidence of `?arm=` drawn; `?whole=` draws a document whole."""
    sweep, actor = sweep_for(request, pk, "results.view")
    plan = plan_value(sweep.plan)
    candidate = request.GET.get("candidate", plan.decision.candidate)
    arms = (plan.baseline.name, candidate)
    if candidate not in {arm.name for arm in plan.candidates}:
        raise Http404(f"the plan has no candidate {candidate}")
    try:
        trace = question_trace(sweep, question_id, arms, request.GET.get("phase", ""), request.GET.get("view", ""))
    except LookupError as missing:
        raise Http404(str(missing)) from missing
    shown = next((arm for arm in trace.arms if arm.name == request.GET.get("arm", candidate)), trace.arms[-1])
    reader = Reader(trace.documents, actor.clearance)
    whole = {int(one) for one in request.GET.getlist("whole") if one.isdecimal() and len(one) < 6}
    link = _Link(sweep, trace, shown.name, candidate)
    readable = _support_readable(trace, reader)
    context: dict[str, Any] = {
        **sweep_frame(actor, sweep, ("Results", reverse("results", args=[sweep.pk])), (trace.question.question_id, "")),
        "question": trace.question,
        "segment": words(trace.question.segment),
        "sample": words(trace.question.sample),
        "readable": readable,
        "trace": trace,
        "shown": shown,
        "phases": _phases(sweep, trace, link, candidate),
        "previous": link.step(-1),
        "next": link.step(1),
        "position": trace.labels.index(trace.label) + 1 if trace.labels else 0,
        "views": [{"text": one, "url": link(view=one), "current": one == trace.view} for one in trace.views],
        "evidence_of": [
            {"text": f"{words(arm.role)}: {arm.name}", "url": link(arm=arm.name), "current": arm.name == shown.name}
            for arm in trace.arms
        ],
        "documents": [(one, link(whole=str(one.index))) for one in drawn_documents(trace, shown, reader, whole)],
        "arms": [_arm(arm, trace, reader) for arm in trace.arms],
        "stages": _stages(trace),
        "verdict_words": {str(one): ANSWERS[one] for one in AnswerClass},
    }
    return respond(request, "evaluation/question.html", context)


class _Link:
    """Links to this page with one thing changed."""

    def __init__(self, sweep: Sweep, trace: QuestionTrace, arm: str, candidate: str) -> None:
        self._url = reverse("sweep-question", args=[sweep.pk, trace.question.question_id])
        self._trace = trace
        self._now = {"phase": trace.label, "view": trace.view, "arm": arm, "candidate": candidate}

    def __call__(self, **changed: str) -> str:
        return f"{self._url}?{urlencode({**self._now, **changed})}"

    def step(self, by: int) -> str:
        """Return the link to the next or previous phase, "" beyond the ends."""
        labels = self._trace.labels
        at = labels.index(self._trace.label) + by if labels else -1
        return self(phase=labels[at]) if 0 <= at < len(labels) else ""


def _phases(sweep: Sweep, trace: QuestionTrace, link: _Link, candidate: str) -> list[dict[str, Any]]:
    """Return the phases with what became of the question there; without a sealed report only their links."""
    fates: dict[str, str] = {}
    if sweep.state == Sweep.State.SEALED:
        report = Report(sweep_results(sweep), candidate)
        place = report.place(trace.view, str(trace.question.sample))
        for name, found in report.fates(place, OVERALL):
            if name == trace.question.question_id:
                fates = dict(zip(report.labels, found, strict=True))
    return [
        {"label": label, "url": link(phase=label), "current": label == trace.label, "fate": fates.get(label, "")}
        for label in trace.labels
    ]


def _support_readable(trace: QuestionTrace, reader: Reader) -> bool:
    """Whether every span of the adjudicated sets is this person's to read; the answer contract quotes them."""
    by_digest = {one.digest: index for index, one in enumerate(trace.documents)}
    return all(
        reader.shows(by_digest[span.interval.version], span.interval.start, span.interval.end)
        for one in trace.question.support_sets
        for span in one
    )


def _stages(trace: QuestionTrace) -> list[tuple[str, list[str]]]:
    """Return per stage, for each arm, whether support was complete after it."""
    return [(STAGE_WORDS[stage], [_stage(arm, stage) for arm in trace.arms]) for stage in STAGES]


def _stage(arm: ArmTrace, stage: Stage) -> str:
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
