"""Say which spans a support set has, touching only that set's row."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from annotate.domain.content import PassContent
from annotate.domain.errors import BadInput
from annotate.models import Assignment, Pass, Person, SupportSetRevision
from annotate.selectors.passes import pass_content
from annotate.services import pass_writing as writing


def set_members(
    person: Person, assignment: Assignment, expected_revision: int, position: int, members: Sequence[str]
) -> Pass:
    """Make `members` (span names) the set at `position`, counted from 0; the next free position makes a new set.

    Returns the pass at its new revision; raises as `save_pass` does.
    """
    writing.require_own(person, assignment, "pass.edit")
    wanted = list(members)
    with transaction.atomic():
        work = writing.pass_of(assignment)
        moved = writing.claim(work, expected_revision)
        if moved:
            known = set(work.marks.filter(retired_revision=None, name__in=wanted).values_list("name", flat=True))
            writing.check_members(f"set {position + 1}", wanted, known)
            rows = list(work.support_sets.filter(retired_revision=None))
            row = next((row for row in rows if row.position == position), None)
            if row is not None:
                writing.replace_members(work, row, wanted)
            elif position == len(rows) < writing.MAX_SETS:
                SupportSetRevision.objects.create(
                    work=work, position=position, members=wanted, created_revision=work.revision
                )
            else:
                raise BadInput(
                    f"set {position + 1}", f"the pass has {len(rows)} sets", "Change one of them or add the next."
                )
    if not moved:
        raise writing.refuse_stale(
            person, work, expected_revision, _with_set(pass_content(work, expected_revision), position, wanted)
        )
    return work


def _with_set(content: PassContent, position: int, members: list[str]) -> PassContent:
    known = {span.name for span in content.spans}
    sets = [*content.sets, *[()] * (position + 1 - len(content.sets))]
    sets[position] = tuple(name for name in members if name in known)
    return PassContent(content.contract, content.spans, tuple(sets), content.forbidden)
