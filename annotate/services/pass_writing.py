"""What every write to a pass goes through: whose it is, which revision it was made from, and what the bytes say.

Not a verb of its own; `save_pass` and `edit_pass` are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db import transaction
from django.db.models import BinaryField, F
from django.db.models.functions import Substr
from django.utils import timezone

from annotate.domain.access import LabelledRange, hidden_ranges, touches_hidden
from annotate.domain.conflicts import AlreadySubmitted, NotNow, StaleRevision
from annotate.domain.content import MarkedSpan, PassContent
from annotate.domain.content_codec import SPAN_NAME, content_payload
from annotate.domain.errors import BadInput, SpanError
from annotate.domain.pass_edits import check_members
from annotate.domain.spans import ByteSpan, as_quote, check_quote, check_span
from annotate.models import Assignment, Mark, Pass, Person, RefusedSave, SourceVersion, Study, SupportSetRevision
from annotate.permissions import Actor, NotAllowed
from annotate.selectors.passes import pass_content
from annotate.services.authorise import authorise
from ledger.domain.canonical import canonical_bytes, digest

_BEYOND = 2**31 - 2
MAX_SPANS = 5_000
MAX_SETS = 200


class NotYours(NotAllowed):
    """A pass belongs to one annotator, and nobody else writes it, whatever their role."""

    def __init__(self, action: str, actor: Actor) -> None:
        super().__init__(action, actor)
        self.args = (f"“{action}”: this question is assigned to somebody else. Open your own next task.",)


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
    state, paused = Assignment.objects.values_list("state", "paused").get(pk=work.assignment_id)
    if state == Assignment.State.SUBMITTED:
        raise AlreadySubmitted()
    if state == Assignment.State.WITHDRAWN:
        raise NotNow("it has been given to somebody else", "Go on with your next task.")
    if paused:
        raise NotNow("the study's lead has paused it", "Wait until it goes on; nothing you wrote is lost.")


def mark_row(work: Pass, span: MarkedSpan, version: ReadVersion, forbidden: bool) -> Mark:
    """Return the unsaved row of a span, born at the pass's current revision."""
    return Mark(
        work=work,
        name=span.name,
        label=span.label,
        version_id=version.pk,
        start=span.start,
        end=span.end,
        forbidden=forbidden,
        created_revision=work.revision,
    )


def replace_members(work: Pass, row: SupportSetRevision, members: list[str]) -> None:
    """Retire a set row and make its successor at the pass's current revision."""
    work.support_sets.filter(pk=row.pk).update(retired_revision=work.revision)
    SupportSetRevision.objects.create(work=work, position=row.position, members=members, created_revision=work.revision)


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
    return _read(actor, study, sha256, 0, 0)[0]


def checked_span(actor: Actor, study: Study, span: MarkedSpan, quote: str | None) -> tuple[ReadVersion, str]:
    """Return the version a span is of and the text it marks, re-sliced from the stored bytes, in one query.

    Raises BadInput or SpanError as `readable_version` and `check_bytes` do.
    """
    # One byte more than the span shows whether its end lies between characters. No source is longer than `_BEYOND`.
    start = min(span.start, _BEYOND)
    version, window = _read(actor, study, span.version, start, max(0, min(span.end, _BEYOND) - start + 1))
    refuse_hidden(version, span)
    text = _fitting(version, span, window)
    if text is None or (quote is not None and as_quote(quote) != text):
        _refuse(version, span, quote)
    return version, (text or b"").decode()


def _read(actor: Actor, study: Study, sha256: str, start: int, length: int) -> tuple[ReadVersion, bytes]:
    row = (
        SourceVersion.objects.filter(source__study=study, sha256=sha256)
        .annotate(window=Substr("content", start + 1, length, output_field=BinaryField()))
        .values_list("pk", "byte_length", "access_labels", "access_ranges", "window")
        .order_by("pk")
        .first()
    )
    if row is not None:
        pk, size, labels, ranges, window = row
        restricted = [LabelledRange(first, last, frozenset(held)) for first, last, held in ranges]
        hidden = hidden_ranges(labels, restricted, actor.clearance, size)
        if hidden != (ByteSpan(0, size),):
            return ReadVersion(pk, sha256, size, hidden), bytes(window)
    raise BadInput(
        f"version {sha256[:12]}…",
        "no source version of this study that you may read has this digest",
        "Reload the source and mark it again.",
    )


def check_bytes(version: ReadVersion, span: MarkedSpan, quote: str | bytes | None = None) -> None:
    """Re-slice the stored bytes: raises SpanError unless the span fits them and, where one was sent, equals the quote.

    Reads only the bytes concerned, so that one mark in a 1 MB source costs no more than in a small one.
    """
    refuse_hidden(version, span)
    start = min(span.start, _BEYOND)
    wanted = Substr("content", start + 1, max(0, min(span.end, _BEYOND) - start + 1), output_field=BinaryField())
    window = bytes(SourceVersion.objects.filter(pk=version.pk).values_list(wanted, flat=True)[0])
    text = _fitting(version, span, window)
    if text is None or (quote is not None and as_quote(quote) != text):
        _refuse(version, span, quote)


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
