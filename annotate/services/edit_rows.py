"""The rows that a batch of edits concerns: one statement takes the revision, one reads what the edits name.

Not a verb of its own; `edit_pass` is. The statements are written out because composing them anew for every save costs
several times the processor time the database needs to answer. How many there are depends neither on the size of the
pass nor on the number of edits (up to `_AT_ONCE` names).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from annotate.domain import pass_edits as edits
from annotate.domain.content import AnswerContract, MarkedSpan, PassContent
from annotate.domain.vocabulary import SpanLabel
from annotate.models import ContractRevision, SupportSetRevision
from annotate.selectors.passes import contract_of
from annotate.services import pass_writing as writing
from annotate.services.own_task import OwnTask

#: Names read in one statement; SQLite takes 32,766 parameters.
_AT_ONCE = 2_000

_CLAIM = """
UPDATE annotate_pass
SET revision = revision + 1, updated_at = %s, save_key = %s, active_seconds = active_seconds + %s
WHERE assignment_id = %s AND revision = %s
RETURNING id
"""

# A wanted name brings the mark in force that has it. A wanted digest brings the version (the first, where several
# sources of a study have the same bytes) and the bytes asked for. The inner SELECTs make PostgreSQL look each one up
# by its index even while it knows nothing yet of how many rows a new study has.
_READ = """
WITH wanted(place, name, sha256, offs, size) AS (VALUES {rows})
SELECT w.place, a.state, a.paused,
  (SELECT COUNT(*) FROM annotate_mark c WHERE c.work_id = %s AND c.retired_revision IS NULL),
  m.start, m."end", m.label, m.forbidden, mv.sha256,
  v.id, v.byte_length, v.access_labels, v.access_ranges, SUBSTR(v.content, w.offs, w.size)
FROM annotate_assignment a
CROSS JOIN wanted w
LEFT JOIN annotate_mark m ON m.id =
  (SELECT i.id FROM annotate_mark i WHERE i.work_id = %s AND i.name = w.name AND i.retired_revision IS NULL)
LEFT JOIN annotate_sourceversion mv ON mv.id = m.version_id
LEFT JOIN annotate_sourceversion v ON v.id =
  (SELECT MIN(x.id) FROM annotate_sourceversion x JOIN annotate_source s ON s.id = x.source_id
   WHERE x.sha256 = w.sha256 AND s.study_id = %s)
WHERE a.id = %s
"""


@dataclass(frozen=True)
class Concerned:
    """What stands in the rows that a batch names, read after the pass's row was locked.

    `content` is the pass's content cut to the spans the batch names, with its sets and contract where the batch
    concerns those. `total` counts all spans in force. `versions` and `texts` are by the place of the edit in the batch.
    """

    content: PassContent
    total: int
    versions: dict[int, writing.ReadVersion]
    texts: dict[int, str]


def claim(task: OwnTask, expected_revision: int, key: str, seconds: int, now: datetime) -> int | None:
    """Move the task's pass from `expected_revision` to the next; returns its key, None where it stands elsewhere.

    The comparison and the write are one statement, so of two writers from one revision exactly one succeeds. `key`
    names the write, `seconds` are added to the time on task.
    """
    with connection.cursor() as cursor:
        moment = connection.ops.adapt_datetimefield_value(now)
        cursor.execute(_CLAIM, [moment, key, seconds, task.pk, expected_revision])
        row = cursor.fetchone()
    return None if row is None else int(row[0])


def concerned(task: OwnTask, work_pk: int, batch: Sequence[edits.Edit]) -> Concerned:
    """Read and check what `batch` names in the pass `work_pk`, whose row the caller has locked.

    Raises AlreadySubmitted or NotNow where the task, read now, takes no work; BadInput or SpanError for a span of a
    version that the person may not read, that does not fit the stored bytes, or whose quote differs from them.
    """
    spans = {at: edit for at, edit in enumerate(batch) if isinstance(edit, edits.AddSpan | edits.ChangeSpan)}
    wanted = {at: (edit.span.name, edit.span.version, *writing.window_of(edit.span)) for at, edit in spans.items()}
    wanted |= {at: (name, "", 0, 0) for at, name in enumerate(dict.fromkeys(_named(batch)), len(batch))}
    # No edit may name anything; how the task stands is asked all the same.
    wanted = wanted or {0: ("", "", 0, 0)}
    rows = _rows(task, work_pk, wanted)
    _, state, paused, total, *_ = next(iter(rows.values()))
    writing.refuse_state(state, paused)
    versions: dict[int, writing.ReadVersion] = {}
    texts: dict[int, str] = {}
    for at, edit in spans.items():
        pk, size, labels, ranges, window = rows[at][-5:]
        read = None if pk is None else (pk, size, json.loads(labels), json.loads(ranges))
        versions[at] = writing.version_for(task.actor, edit.span.version, read)
        texts[at] = writing.sliced(versions[at], edit.span, bytes(window), edit.quote)
    named: dict[str, tuple[MarkedSpan, bool]] = {}
    for at, (_, _, _, _, start, end, label, forbidden, sha256, *_) in rows.items():
        if sha256 is not None:
            name = wanted[at][0]
            named[name] = (MarkedSpan(sha256, start, end, name, SpanLabel(label)), bool(forbidden))
    content = PassContent(
        _contract(work_pk) if any(isinstance(edit, edits.ContractFields) for edit in batch) else AnswerContract(),
        tuple(span for span, _ in named.values()),
        _sets(work_pk) if any(map(_concerns_sets, batch)) else (),
        tuple(name for name, (_, forbidden) in named.items() if forbidden),
    )
    return Concerned(content, total, versions, texts)


def _rows(task: OwnTask, work_pk: int, wanted: dict[int, tuple[str, str, int, int]]) -> dict[int, tuple[Any, ...]]:
    found: dict[int, tuple[Any, ...]] = {}
    places = list(wanted.items())
    for first in range(0, len(places), _AT_ONCE):
        part = places[first : first + _AT_ONCE]
        statement = _READ.format(rows=", ".join(["(%s, %s, %s, %s, %s)"] * len(part)))
        values = [value for at, row in part for value in (at, *row)]
        with connection.cursor() as cursor:
            cursor.execute(statement, [*values, work_pk, work_pk, task.study_pk, task.pk])
            found |= {row[0]: row for row in cursor.fetchall()}
    return found


def _named(batch: Sequence[edits.Edit]) -> Iterable[str]:
    """Yield the names that a batch speaks of without giving a span for them."""
    for edit in batch:
        match edit:
            case edits.ChangeSpan(name) | edits.RemoveSpan(name):
                yield name
            case edits.SetMembers(_, members):
                yield from members
            case edits.AllSets(sets):
                for members in sets:
                    yield from members


def _concerns_sets(edit: edits.Edit) -> bool:
    match edit:
        case edits.AddSpan():
            return bool(edit.sets)
        case edits.ChangeSpan():
            return edit.span.name != edit.name
        case edits.ContractFields():
            return False
    return True


def _sets(work_pk: int) -> tuple[tuple[str, ...], ...]:
    rows = SupportSetRevision.objects.filter(work_id=work_pk, retired_revision=None).order_by("position")
    return tuple(tuple(members) for members in rows.values_list("members", flat=True))


def _contract(work_pk: int) -> AnswerContract:
    row = ContractRevision.objects.filter(work_id=work_pk, retired_revision=None).first()
    return contract_of(row) if row else AnswerContract()
