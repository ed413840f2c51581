"""What every write to a pass goes through: whose it is, which revision it was made from, and what the bytes say.

Not a verb of its own; `save_pass` and `edit_pass` are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db import connection, transaction
from django.db.models import BinaryField, F
from django.db.models.functions import Substr
from django.utils import timezone

from annotate.domain.access import LabelledRange, hidden_ranges, touches_hidden
from annotate.domain.conflicts import AlreadySubmitted, NotNow, StaleRevision
from annotate.domain.content import MarkedSpan, PassContent
from annotate.domain.content_codec import SPAN_NAME, content_payload, contract_payload
from annotate.domain.errors import BadInput, SpanError
from annotate.domain.pass_edits import check_members
from annotate.domain.spans import ByteSpan, as_quote, check_quote, check_span
from annotate.domain.vocabulary import SpanLabel
from annotate.models import (
    Assignment,
    ContractRevision,
    Mark,
    Pass,
    Person,
    RefusedSave,
    SourceVersion,
    Study,
    SupportSetRevision,
)
from annotate.permissions import Actor
from annotate.selectors.passes import pass_content
from annotate.services.authorise import authorise
from annotate.services.own_task import NotYours
from ledger.domain.canonical import canonical_bytes, digest

_BEYOND = 2**31 - 2
# Written out, not composed: a save makes one mark, and composing costs more than making it.
_INSERT_MARKS = """
INSERT INTO annotate_mark (created_revision, work_id, name, label, version_id, start, "end", forbidden) VALUES """
MAX_SPANS = 5_000
MAX_SETS = 200


@dataclass(frozen=True)
class ReadVersion:
    """A source version as one reader may cite it: its row's key, its length, and the byte ranges hidden from them."""

    pk: int
    sha256: str
    byte_length: int
    hidden: tuple[ByteSpan, ...]


def require_own(person: Person, assignment: Assignment, action: str) -> Actor:
    """Return the actor; raises NotAllowed unless `person` is an annotator of the study and holds the assignment."""
    actor = authorise(person, assignment.question.study, action)
    if assignment.annotator_id != person.pk:
        raise NotYours(action, actor)
    return actor


def pass_of(assignment: Assignment) -> Pass:
    """Return the assignment's pass; its first write makes it at revision 0, under the study's newest guideline."""
    found = Pass.objects.filter(assignment=assignment).first()
    if found is not None:
        return found
    newest = assignment.question.study.guidelines.order_by("-number").first()
    # By its id: the assignment in hand must not remember a pass that a refused first edit takes back again.
    return Pass.objects.get_or_create(assignment_id=assignment.pk, defaults={"guideline": newest})[0]


def claim(work: Pass, expected_revision: int, key: str = "", seconds: int = 0) -> bool:
    """Move the pass from `expected_revision` to the next, inside a transaction; False where it stands elsewhere.

    The comparison and the write are one statement, so of two writers from one revision exactly one succeeds. Raises
    AlreadySubmitted for a sealed pass and NotNow for a paused or withdrawn one; its state is read after the row is
    locked. `key` names the write, `seconds` are added to the time on task.
    """
    now = timezone.now()
    moved = Pass.objects.filter(pk=work.pk, revision=expected_revision).update(
        revision=expected_revision + 1,
        updated_at=now,
        save_key=key,
        **({"active_seconds": F("active_seconds") + seconds} if seconds else {}),
    )
    refuse_closed(work)
    if moved:
        work.revision, work.updated_at, work.save_key = expected_revision + 1, now, key
    return bool(moved)


def refuse_closed(work: Pass) -> None:
    """Raise AlreadySubmitted or NotNow where the assignment, read now, takes no work."""
    refuse_state(*Assignment.objects.values_list("state", "paused").get(pk=work.assignment_id))


def refuse_state(state: str, paused: bool) -> None:
    """Raise AlreadySubmitted or NotNow where an assignment that stands thus takes no work."""
    if state == Assignment.State.SUBMITTED:
        raise AlreadySubmitted()
    if state == Assignment.State.WITHDRAWN:
        raise NotNow("it has been given to somebody else", "Go on with your next task.")
    if paused:
        raise NotNow("the study's lead has paused it", "Wait until it goes on; nothing you wrote is lost.")


def write_changes(
    work_pk: int, revision: int, before: PassContent, after: PassContent, versions: Mapping[str, ReadVersion]
) -> None:
    """Retire the rows of `before` that `after` does not keep and make its new ones, at `revision`.

    Only what differs is written; both may be cut to the spans concerned. `versions` are those of the new and changed
    spans, by span name.
    """
    had, have = marks_of(before), marks_of(after)
    gone = [name for name, mark in had.items() if have.get(name) != mark]
    if gone:
        Mark.objects.filter(work_id=work_pk, retired_revision=None, name__in=gone).update(retired_revision=revision)
    forbidden = frozenset(after.forbidden)
    new = [
        (revision, work_pk, span.name, span.label.value, versions[span.name].pk, span.start, span.end, out)
        for span in after.spans
        if had.get(span.name) != have[span.name]
        for out in [span.name in forbidden]
    ]
    _insert_marks(new)
    if before.sets != after.sets:
        _replace_sets(work_pk, revision, before.sets, after.sets)
    if before.contract != after.contract:
        ContractRevision.objects.filter(work_id=work_pk, retired_revision=None).update(retired_revision=revision)
        ContractRevision.objects.create(work_id=work_pk, created_revision=revision, **contract_payload(after.contract))


def marks_of(content: PassContent) -> dict[str, tuple[tuple[str, int, int], SpanLabel, bool]]:
    """Return what a mark's row says, by span name."""
    forbidden = frozenset(content.forbidden)
    return {span.name: (span.bytes_key, span.label, span.name in forbidden) for span in content.spans}


def _insert_marks(rows: Sequence[tuple[int, int, str, str, int, int, int, bool]]) -> None:
    # In parts that SQLite has parameters for.
    for first in range(0, len(rows), 1_000):
        part = rows[first : first + 1_000]
        values = ", ".join(["(%s, %s, %s, %s, %s, %s, %s, %s)"] * len(part))
        with connection.cursor() as cursor:
            cursor.execute(_INSERT_MARKS + values, [value for row in part for value in row])


def _replace_sets(work_pk: int, revision: int, before: Sequence[Sequence[str]], after: Sequence[Sequence[str]]) -> None:
    positions = [
        index
        for index in range(max(len(before), len(after)))
        if list(before[index : index + 1]) != list(after[index : index + 1])
    ]
    rows = SupportSetRevision.objects.filter(work_id=work_pk, retired_revision=None, position__in=positions)
    rows.update(retired_revision=revision)
    SupportSetRevision.objects.bulk_create(
        SupportSetRevision(work_id=work_pk, position=index, members=list(after[index]), created_revision=revision)
        for index in positions
        if index < len(after)
    )


def refuse_stale(person: Person, work: Pass, expected_revision: int, mine: PassContent) -> StaleRevision:
    """Keep `mine` as a row and return the conflict to raise. Call it outside the transaction that was refused."""
    data = canonical_bytes(content_payload(mine))
    with transaction.atomic():
        current = Pass.objects.get(pk=work.pk)
        kept, _ = RefusedSave.objects.get_or_create(
            work=current,
            expected_revision=expected_revision,
            digest=digest(data),
            defaults={"current_revision": current.revision, "content": data, "saved_by": person},
        )
        theirs = pass_content(current)
    return StaleRevision(current.revision, theirs, mine, expected_revision=expected_revision, refused_id=kept.pk)


def readable_version(actor: Actor, study: Study, sha256: str) -> ReadVersion:
    """Return a version of the study that the actor may read; BadInput for any other, whether it exists or not."""
    rows = SourceVersion.objects.filter(source__study=study, sha256=sha256).order_by("pk")
    row = rows.values_list("pk", "byte_length", "access_labels", "access_ranges").first()
    return version_for(actor, sha256, row)


def version_for(
    actor: Actor, sha256: str, row: tuple[int, int, list[str], list[tuple[int, int, list[str]]]] | None
) -> ReadVersion:
    """Return the version whose (key, length, labels, labelled ranges) are `row`, as the actor may read it.

    Raises BadInput where there is none or all of it is hidden from them, in the same words.
    """
    if row is not None:
        pk, size, labels, ranges = row
        restricted = [LabelledRange(first, last, frozenset(held)) for first, last, held in ranges]
        hidden = hidden_ranges(labels, restricted, actor.clearance, size)
        if hidden != (ByteSpan(0, size),):
            return ReadVersion(pk, sha256, size, hidden)
    raise BadInput(
        f"version {sha256[:12]}…",
        "no source version of this study that you may read has this digest",
        "Reload the source and mark it again.",
    )


def check_bytes(version: ReadVersion, span: MarkedSpan, quote: str | bytes | None = None) -> None:
    """Re-slice the stored bytes: raises SpanError unless the span fits them and, where one was sent, equals the quote.

    Reads only the bytes concerned, so that one mark in a 1 MB source costs no more than in a small one.
    """
    wanted = Substr("content", *window_of(span), output_field=BinaryField())
    sliced(version, span, bytes(SourceVersion.objects.filter(pk=version.pk).values_list(wanted, flat=True)[0]), quote)


def window_of(span: MarkedSpan) -> tuple[int, int]:
    """Return which bytes `sliced` wants to see: the position of the first, counted from 1, and how many."""
    # One byte more than the span shows whether its end lies between characters. No source is longer than `_BEYOND`.
    start = min(span.start, _BEYOND)
    return start + 1, max(0, min(span.end, _BEYOND) - start + 1)


def sliced(version: ReadVersion, span: MarkedSpan, window: bytes, quote: str | bytes | None) -> str:
    """Return the text that a span marks, out of the stored bytes of `window_of(span)`.

    Raises SpanError where it touches bytes kept from the reader, does not lie between characters of the text, or
    differs from the quote.
    """
    refuse_hidden(version, span)
    text = _fitting(version, span, window)
    if text is None or (quote is not None and as_quote(quote) != text):
        _refuse(version, span, quote)
    return (text or b"").decode()


def refuse_hidden(version: ReadVersion, span: MarkedSpan) -> None:
    """Raise SpanError where the span touches bytes kept from the reader."""
    if touches_hidden(ByteSpan(span.start, span.end), version.hidden):
        raise SpanError(f"span “{span.name}”", "it touches a section you may not read", "Mark only what you can read.")


def _fitting(version: ReadVersion, span: MarkedSpan, window: bytes) -> bytes | None:
    """Return the span's bytes out of `window` (they and one more); None unless they lie between characters."""
    if not 0 <= span.start < span.end <= version.byte_length:
        return None
    text, after = window[: span.end - span.start], window[span.end - span.start :]
    return text if text[0] & 0xC0 != 0x80 and (not after or after[0] & 0xC0 != 0x80) else None


def _refuse(version: ReadVersion, span: MarkedSpan, quote: str | bytes | None) -> None:
    # The whole text is read only to say exactly what is wrong and where.
    content = bytes(SourceVersion.objects.values_list("content", flat=True).get(pk=version.pk))
    try:
        check_span(content, span.start, span.end)
        if quote is not None:
            check_quote(content, span.start, span.end, quote)
    except SpanError as error:
        raise error.inside(f"span “{span.name}”") from error


def check_spans(
    actor: Actor, study: Study, spans: Iterable[MarkedSpan], quotes: Mapping[str, str] | None = None
) -> dict[str, ReadVersion]:
    """Check spans of any number of versions against the bytes; returns the versions by digest."""
    versions: dict[str, ReadVersion] = {}
    for span in spans:
        if span.version not in versions:
            versions[span.version] = readable_version(actor, study, span.version)
        check_bytes(versions[span.version], span, (quotes or {}).get(span.name))
    return versions


def check_draft(content: PassContent) -> None:
    """Raise BadInput where a draft cannot be stored: a name that is none or used twice, or an entry that names nothing.

    A draft may be incomplete (an empty set, no answer yet); `pass_check` asks for the rest at submission.
    """
    if len(content.spans) > MAX_SPANS or len(content.sets) > MAX_SETS:
        raise BadInput(
            "pass",
            f"it has {len(content.spans)} spans and {len(content.sets)} sets",
            f"At most {MAX_SPANS} spans and {MAX_SETS} sets are kept.",
        )
    known: set[str] = set()
    for span in content.spans:
        check_name(span.name)
        if span.name in known:
            raise BadInput(f"span “{span.name}”", "the name is taken", "Give each span a name of its own.")
        known.add(span.name)
    for place, names in (
        *((f"set {index + 1}", members) for index, members in enumerate(content.sets)),
        ("forbidden evidence", content.forbidden),
    ):
        check_members(place, names, known)


def check_name(name: str) -> None:
    """Raise BadInput unless `name` can name a span."""
    if not SPAN_NAME.fullmatch(name):
        raise BadInput(
            f"span “{name}”", "this is no span name", "Use 1 to 60 letters, digits, hyphens and underscores (ASCII)."
        )
