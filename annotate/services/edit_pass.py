"""Make a batch of single edits one revision of a pass, touching only the rows concerned.

A pass of 2,000 spans in a 1 MB source takes an edit as quickly as an empty one: only what the edit names is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Coalesce

from annotate.domain import pass_edits as edits
from annotate.domain.content import AnswerContract
from annotate.domain.errors import BadInput
from annotate.models import Assignment, Mark, Pass, Person, Study, SupportSetRevision
from annotate.permissions import Actor
from annotate.selectors.passes import contract_of, pass_content
from annotate.services import pass_writing as writing
from annotate.services.save_pass import replace_contract, replace_sets

#: What is sent back of a quote, in characters; the rest is in the source.
SHOWN_QUOTE = 400
#: More time than this between two saves is somebody who left the page open.
MAX_SECONDS = 3_600


@dataclass(frozen=True)
class Saved:
    """A pass at its new revision. `quotes` are the texts of the spans added or changed, cut to `SHOWN_QUOTE`.

    `repeated` says that this very write had been made before and nothing was written now.
    """

    work: Pass
    quotes: dict[str, str]
    repeated: bool = False


def edit_pass(
    person: Person,
    assignment: Assignment,
    expected_revision: int,
    batch: Sequence[edits.Edit],
    *,
    key: str = "",
    seconds: int = 0,
) -> Saved:
    """Apply `batch` to the pass as it stands at `expected_revision`, all of it or nothing.

    `key` names this write: the same key again, when the first answer was lost on its way, is no second write.
    `seconds` is the time worked since the last save. Raises as `save_pass` does.
    """
    actor = writing.require_own(person, assignment, "pass.edit")
    quotes: dict[str, str] = {}
    with transaction.atomic():
        # Loaded with the assignment where that was asked for; what it says of its revision is not relied on.
        work = getattr(assignment, "work", None) or writing.pass_of(assignment)
        moved = writing.claim(work, expected_revision, key, min(max(seconds, 0), MAX_SECONDS))
        if moved:
            rows = _Rows(actor, assignment.question.study, work, quotes)
            for edit in batch:
                rows.apply(edit)
    if moved:
        return Saved(work, quotes)
    work.refresh_from_db()
    if key and work.save_key == key and work.revision == expected_revision + 1:
        return Saved(work, {}, repeated=True)
    mine = edits.applied(pass_content(work, min(expected_revision, work.revision)), batch)
    raise writing.refuse_stale(person, work, expected_revision, mine)


@dataclass
class _Rows:
    """The rows of one pass at its new revision, and what edits do to them."""

    actor: Actor
    study: Study
    work: Pass
    quotes: dict[str, str] = field(default_factory=dict)

    def apply(self, edit: edits.Edit) -> None:
        match edit:
            case edits.AddSpan():
                self._add(edit)
            case edits.ChangeSpan():
                self._change(edit)
            case edits.RemoveSpan(name):
                self._retire(name)
                self._in_every_set(name, None)
            case edits.SetMembers(position, members):
                self._members(position, list(members))
            case edits.AllSets(sets):
                self._all_sets(sets)
            case edits.ContractFields():
                row = self.work.contracts.filter(retired_revision=None).first()
                before = contract_of(row) if row else AnswerContract()
                after = edits.with_fields(before, edit.fields)
                if after != before:
                    replace_contract(self.work, after)

    def _add(self, edit: edits.AddSpan) -> None:
        span = edit.span
        version, text = writing.checked_span(self.actor, self.study, span, edit.quote)
        found = self._marks().aggregate(total=Count("pk"), taken=Coalesce(Count("pk", filter=Q(name=span.name)), 0))
        if found["taken"]:
            raise edits.taken(span.name)
        if found["total"] >= writing.MAX_SPANS:
            raise BadInput("pass", f"it has {writing.MAX_SPANS} spans already", "Take some back first.")
        writing.mark_row(self.work, span, version, edit.forbidden).save(force_insert=True)
        self.quotes[span.name] = text[:SHOWN_QUOTE]
        if edit.sets:
            sets = self._sets()
            for position in edit.sets:
                row = next((row for row in sets if row.position == position), None)
                members = list(row.members) if row else []
                self._members(position, [*members, span.name])

    def _change(self, edit: edits.ChangeSpan) -> None:
        span = edit.span
        version, text = writing.checked_span(self.actor, self.study, span, edit.quote)
        self._retire(edit.name)
        if span.name != edit.name and self._marks().filter(name=span.name).exists():
            raise edits.taken(span.name)
        writing.mark_row(self.work, span, version, edit.forbidden).save(force_insert=True)
        self.quotes.pop(edit.name, None)
        self.quotes[span.name] = text[:SHOWN_QUOTE]
        if span.name != edit.name:
            self._in_every_set(edit.name, span.name)

    def _retire(self, name: str) -> None:
        # A row born in this very revision then lives from r to r, which is part of no content.
        if not self._marks().filter(name=name).update(retired_revision=self.work.revision):
            raise edits.no_span(name)
        self.quotes.pop(name, None)

    def _in_every_set(self, name: str, becomes: str | None) -> None:
        for row in self._sets():
            if name in row.members:
                changed = [becomes if member == name else member for member in row.members]
                writing.replace_members(self.work, row, [member for member in changed if member is not None])

    def _members(self, position: int, members: list[str]) -> None:
        rows = self._sets()
        edits.check_members(f"set {position + 1}", members, self._known(members))
        row = next((row for row in rows if row.position == position), None)
        if row is not None:
            writing.replace_members(self.work, row, members)
        elif position == len(rows) < writing.MAX_SETS:
            SupportSetRevision.objects.create(
                work=self.work, position=position, members=members, created_revision=self.work.revision
            )
        else:
            raise edits.no_position(position, len(rows))

    def _all_sets(self, sets: Sequence[Sequence[str]]) -> None:
        if len(sets) > writing.MAX_SETS:
            raise BadInput("pass", f"it would have {len(sets)} sets", f"At most {writing.MAX_SETS} are kept.")
        known = self._known([name for members in sets for name in members])
        for index, members in enumerate(sets):
            edits.check_members(f"set {index + 1}", list(members), known)
        replace_sets(self.work, [row.members for row in self._sets()], sets)

    def _known(self, names: Sequence[str]) -> set[str]:
        return set(self._marks().filter(name__in=names).values_list("name", flat=True))

    def _marks(self) -> QuerySet[Mark]:
        return Mark.objects.filter(work=self.work, retired_revision=None)

    def _sets(self) -> list[SupportSetRevision]:
        return list(self.work.support_sets.filter(retired_revision=None).order_by("position"))
