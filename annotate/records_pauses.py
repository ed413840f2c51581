"""What the ledger is told when tasks are paused and go on, and whether the rows still say so.

A pause holds one annotator back on chosen questions, and its reason is a word of the lead to that annotator while they
work: both can bear on a blind pass, so an auditor finds them where assignments and returns are found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from annotate.domain.scopes import study_scope
from annotate.models import Assignment, Study
from annotate.permissions import By
from ledger.domain.findings import Finding
from ledger.models import Record
from ledger.services import append

TASK_PAUSED = "task.paused"
TASK_RESUMED = "task.resumed"


def record_pause(study: Study, tasks: Sequence[Assignment], by: By, reason: str | None) -> Record:
    """Append which tasks were paused and why, or (`reason` None) that they go on: one record for all.

    Needs `question` and `annotator`. The record carries the labels of every question's reader, whom `reason` is about.
    """
    payload: dict[str, object] = {
        "study": study.slug,
        "tasks": [
            {"question": task.question.key, "slot": task.slot, "annotator": task.annotator.username} for task in tasks
        ],
        "by": by.username,
    }
    if reason is not None:
        payload["reason"] = reason
    labels = sorted({label for task in tasks for label in task.question.reader_labels})
    kind = TASK_RESUMED if reason is None else TASK_PAUSED
    return append(kind, payload, study_scope(study.slug), labels)


def pause_findings() -> Iterator[Finding]:
    """Find tasks whose row is paused, or not, against the last record of it, and paused ones with another reason."""
    told: dict[tuple[str, str, str], str | None] = {}
    for record in Record.objects.filter(kind__in=[TASK_PAUSED, TASK_RESUMED]).order_by("seq").iterator():
        value = record.value
        for task in value["tasks"]:
            told[value["study"], task["question"], task["annotator"]] = value.get("reason")
    held = Assignment.objects.exclude(state=Assignment.State.WITHDRAWN).select_related("question__study", "annotator")
    for row in held.iterator():
        key = (row.question.study.slug, row.question.key, row.annotator.username)
        reason, where = told.get(key), f"assignment {'/'.join(key)}"
        if row.paused is not (reason is not None):
            now, then = ("paused", "not") if row.paused else ("not paused", "paused")
            yield Finding("row.differs", None, where, f"it is {now}, and by what was recorded last it is {then}.")
        elif reason is not None and row.note != reason:
            yield Finding("row.differs", None, where, "it is paused for another reason than the one recorded.")
