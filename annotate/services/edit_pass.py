"""Make a batch of single edits one revision of a pass, touching only the rows concerned.

A pass of 2,000 spans in a 1 MB source takes an edit as quickly as an empty one: only what the edit names is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from annotate.domain import pass_edits as edits
from annotate.domain.content import PassContent
from annotate.domain.errors import BadInput
from annotate.models import Assignment
from annotate.selectors.passes import pass_content
from annotate.services import pass_writing as writing
from annotate.services.edit_rows import Concerned, claim, concerned
from annotate.services.own_task import OwnTask

#: What is sent back of a quote, in characters; the rest is in the source.
SHOWN_QUOTE = 400
#: More time than this between two saves is somebody who left the page open.
MAX_SECONDS = 3_600


@dataclass(frozen=True)
class Saved:
    """A pass's new revision and when it was made.

    `quotes` are the texts of the spans added or changed, cut to `SHOWN_QUOTE` characters.
    `repeated` says that this very write had been made before and nothing was written now.
    """

    revision: int
    saved_at: datetime
    quotes: dict[str, str]
    repeated: bool = False


def edit_pass(
    task: OwnTask, expected_revision: int, batch: Sequence[edits.Edit], *, key: str = "", seconds: int = 0
) -> Saved:
    """Apply `batch` to the pass as it stands at `expected_revision`, all of it or nothing.

    `key` names this write: the same key again, when the first answer was lost on its way, is no second write.
    `seconds` is the time worked since the last save. Raises as `save_pass` does.
    """
    now, worked = timezone.now(), min(max(seconds, 0), MAX_SECONDS)
    with transaction.atomic():
        work_pk = claim(task, expected_revision, key, worked, now)
        if work_pk is not None:
            return Saved(expected_revision + 1, now, _write(task, work_pk, expected_revision + 1, batch))
        # The first write makes the pass.
        work = writing.pass_of(Assignment.objects.select_related("question__study").get(pk=task.pk))
        work_pk = claim(task, expected_revision, key, worked, now)
        if work_pk is not None:
            return Saved(expected_revision + 1, now, _write(task, work_pk, expected_revision + 1, batch))
        writing.refuse_closed(work)
    work.refresh_from_db()
    if key and work.save_key == key and work.revision == expected_revision + 1:
        return Saved(work.revision, work.updated_at, {}, repeated=True)
    mine = edits.applied(pass_content(work, min(expected_revision, work.revision)), batch)
    raise writing.refuse_stale(task.person, work, expected_revision, mine)


def _write(task: OwnTask, work_pk: int, revision: int, batch: Sequence[edits.Edit]) -> dict[str, str]:
    """Apply `batch` to the rows of a pass that has just moved to `revision`; returns the quotes to show."""
    found = concerned(task, work_pk, batch)
    after = edits.applied(found.content, batch)
    _refuse_too_many(found, after)
    spans = {edit.span.name: at for at, edit in enumerate(batch) if isinstance(edit, edits.AddSpan | edits.ChangeSpan)}
    versions = {name: found.versions[at] for name, at in spans.items()}
    writing.write_changes(work_pk, revision, found.content, after, versions)
    kept = {span.name for span in after.spans}
    return {name: found.texts[at][:SHOWN_QUOTE] for name, at in spans.items() if name in kept}


def _refuse_too_many(found: Concerned, after: PassContent) -> None:
    more = len(after.spans) - len(found.content.spans)
    if more > 0 and found.total + more > writing.MAX_SPANS:
        raise BadInput("pass", f"it would have {found.total + more} spans", "Take some back first.")
    if len(found.content.sets) < len(after.sets) > writing.MAX_SETS:
        raise BadInput("pass", f"it would have {len(after.sets)} sets", f"At most {writing.MAX_SETS} are kept.")
