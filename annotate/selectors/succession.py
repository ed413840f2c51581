"""Which versions a reader sees superseded, by which, and where marks on them could go."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from annotate.domain.access import touches_hidden
from annotate.domain.content import MarkedSpan, PassContent
from annotate.domain.errors import BadInput, SpanError
from annotate.domain.spans import ByteSpan, locate_quote
from annotate.domain.staleness import VersionDates, replacements, stale_reason, successors
from annotate.models import SourceVersion
from annotate.permissions import Actor
from annotate.selectors.sources import hidden_from


@dataclass(frozen=True)
class Standing:
    """How a version stands for a question.

    `stale` says why marks on it are stale, and is empty where they are not. `by` is the version in force on the
    question's date that supersedes it, None where the reader sees none; `later` is the next to do so after that date.
    `begins` is the first day of whichever there is.
    """

    stale: str
    by: SourceVersion | None
    later: SourceVersion | None
    begins: date | None

    @property
    def note(self) -> str:
        """Why marks are stale, in a few words; a label says enough within a document."""
        return f"superseded by {self.by.version_label}" if self.by else "not in force" if self.stale else ""


@dataclass(frozen=True)
class Move:
    """A mark on stale text: where its exact text stands, once, in the version that supersedes it; or why not."""

    span: MarkedSpan
    old: SourceVersion
    new: SourceVersion
    place: ByteSpan | None
    problem: str


def version_dates(version: SourceVersion) -> VersionDates:
    """Return when a version holds; needs `source` loaded."""
    return VersionDates(
        version.pk,
        f"{version.source.title} {version.version_label}",
        version.observation_date,
        version.effective_from,
        version.effective_to,
        version.supersedes_id,
    )


def standings(versions: Sequence[SourceVersion], wanted: Iterable[SourceVersion], as_of: date) -> dict[int, Standing]:
    """Return how each of `wanted` stands on `as_of`, by key; `versions` are all that the reader may read.

    What supersedes a version and is kept from the reader is not told of.
    """
    families = _families([version_dates(version) for version in versions])
    by_key = {version.pk: version for version in versions}
    found = {}
    for version in wanted:
        dates = families[version.pk]
        begun = replacements(version.pk, dates, as_of)[-1:]
        coming = () if begun else tuple(one for one in successors(version.pk, dates) if one.begins() > as_of)[:1]
        by, later = (by_key[one[0].key] if one else None for one in (begun, coming))
        begins = next((one.begins() for one in (*begun, *coming)), None)
        found[version.pk] = Standing(stale_reason(version.pk, dates, as_of), by, later, begins)
    return found


def _families(versions: Sequence[VersionDates]) -> dict[int, list[VersionDates]]:
    """Return every version's relatives by its key: those that supersede each other, so that few are gone through."""
    older = {dates.key: dates.supersedes for dates in versions}
    families: dict[int, list[VersionDates]] = {}
    for dates in versions:
        seen, key = {dates.key}, dates.key
        # The first of a line stands for all of it; a circle, which no import makes, is no reason to go on for ever.
        while (before := older.get(key)) is not None and before not in seen:
            seen.add(before)
            key = before
        families.setdefault(key, []).append(dates)
    return {dates.key: family for family in families.values() for dates in family}


def moves_of(content: PassContent, versions: Sequence[SourceVersion], actor: Actor, as_of: date) -> list[Move]:
    """Return every mark on stale text that a version in force supersedes, with where it could go.

    Never by likeness: the text has to stand in the old version once, and in the new one once, byte for byte, where the
    reader may read it; and no other mark may stand there.
    """
    marked = {span.version for span in content.spans}
    old = [version for version in versions if version.sha256 in marked]
    stands = standings(versions, old, as_of)
    # Where several documents have the bytes, one of them in force is enough.
    fresh = {version.sha256 for version in old if not stands[version.pk].stale}
    stale = {version.sha256: version for version in old if version.sha256 not in fresh and stands[version.pk].by}
    taken = {span.bytes_key for span in content.spans}
    # Read once, however many spans stand in them: reading a text copies it.
    texts: dict[int, bytes] = {}
    found = []
    for span in content.spans:
        version = stale.get(span.version)
        new = stands[version.pk].by if version else None
        if version is None or new is None:
            continue
        for one in (version, new):
            if one.pk not in texts:
                texts[one.pk] = bytes(one.content)
        place, problem = _place(span, version, new, actor, texts)
        if place and (new.sha256, place.start, place.end) in taken:
            place, problem = None, "another mark stands there already"
        found.append(Move(span, version, new, place, problem))
    return found


def _place(
    span: MarkedSpan, old: SourceVersion, new: SourceVersion, actor: Actor, texts: Mapping[int, bytes]
) -> tuple[ByteSpan | None, str]:
    hidden = hidden_from(old, actor.clearance)
    if touches_hidden(ByteSpan(span.start, span.end), hidden):
        return None, "you may no longer read its text"
    quote = texts[old.pk][span.start : span.end]
    try:
        locate_quote(texts[old.pk], quote, None, hidden)
    except SpanError as error:
        return None, f"in {old.version_label}, {error.what}"
    try:
        return locate_quote(texts[new.pk], quote, None, hidden_from(new, actor.clearance)), ""
    except SpanError as error:
        return None, f"in {new.version_label}, {error.what}"


def moved(content: PassContent, moves: Sequence[Move], names: Collection[str]) -> PassContent:
    """Return `content` with the spans of `names` where `moves` say; raises BadInput for one that cannot go."""
    places = {}
    by_name = {move.span.name: move for move in moves}
    for name in names:
        move = by_name.get(name)
        if move is None:
            raise BadInput(f"span “{name}”", "it is on no superseded text", "Reload the page.")
        if move.place is None:
            raise BadInput(f"span “{name}”", f"it cannot be moved: {move.problem}", "Mark the new version by hand.")
        places[name] = replace(move.span, version=move.new.sha256, start=move.place.start, end=move.place.end)
    return replace(content, spans=tuple(places.get(span.name, span) for span in content.spans))
