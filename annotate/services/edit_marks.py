"""Mark one span or take one mark back, touching only the rows concerned, so that a pass of 2,000 spans stays quick."""

from __future__ import annotations

from django.db import transaction

from annotate.domain.content import MarkedSpan, PassContent
from annotate.domain.errors import BadInput
from annotate.models import Assignment, Pass, Person
from annotate.selectors.passes import pass_content
from annotate.services import pass_writing as writing


def add_mark(
    person: Person,
    assignment: Assignment,
    expected_revision: int,
    span: MarkedSpan,
    *,
    quote: str | bytes | None = None,
    forbidden: bool = False,
) -> Pass:
    """Add one span and return the pass at its new revision; raises as `save_pass` does."""
    actor = writing.require_own(person, assignment, "pass.edit")
    writing.check_name(span.name)
    version = writing.readable_version(actor, assignment.question.study, span.version)
    writing.check_bytes(version, span, quote)
    with transaction.atomic():
        work = writing.pass_of(assignment)
        moved = writing.claim(work, expected_revision)
        if moved:
            in_force = work.marks.filter(retired_revision=None)
            if in_force.filter(name=span.name).exists():
                raise BadInput(f"span “{span.name}”", "the name is taken", "Give each span a name of its own.")
            if in_force.count() >= writing.MAX_SPANS:
                raise BadInput("pass", f"it has {writing.MAX_SPANS} spans already", "Take some back first.")
            writing.mark_row(work, span, version, forbidden).save(force_insert=True)
    if not moved:
        base = pass_content(work, expected_revision)
        mine = PassContent(
            base.contract,
            (*(kept for kept in base.spans if kept.name != span.name), span),
            base.sets,
            tuple(dict.fromkeys((*base.forbidden, span.name))) if forbidden else base.forbidden,
        )
        raise writing.refuse_stale(person, work, expected_revision, mine)
    return work


def remove_mark(person: Person, assignment: Assignment, expected_revision: int, name: str) -> Pass:
    """Take a mark back; it leaves every set it stands in. Raises as `save_pass` does."""
    writing.require_own(person, assignment, "pass.edit")
    with transaction.atomic():
        work = writing.pass_of(assignment)
        moved = writing.claim(work, expected_revision)
        if moved:
            retired = work.marks.filter(retired_revision=None, name=name).update(retired_revision=work.revision)
            if not retired:
                raise BadInput(f"span “{name}”", "there is no span of this name", "Reload the page.")
            for row in work.support_sets.filter(retired_revision=None):
                if name in row.members:
                    writing.replace_members(work, row, [member for member in row.members if member != name])
    if not moved:
        raise writing.refuse_stale(
            person, work, expected_revision, without(pass_content(work, expected_revision), name)
        )
    return work


def without(content: PassContent, name: str) -> PassContent:
    """Return `content` without the span `name`, in sets and forbidden evidence too."""
    return PassContent(
        content.contract,
        tuple(span for span in content.spans if span.name != name),
        tuple(tuple(member for member in members if member != name) for members in content.sets),
        tuple(member for member in content.forbidden if member != name),
    )
