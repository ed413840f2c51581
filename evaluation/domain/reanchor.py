"""Foreign chunks back on the source's bytes: in order, by text, without trusting an offset that nobody checked.

The rule
--------
Chunks are placed in the order given. Starts and ends never decrease and no interval is given twice. Among all ways to
place them, the one is taken that, in this order,

1. leaves the fewest non-blank bytes of the source in no chunk (what lies between two chunks or after the last one, plus
   the bytes of chunks that could not be placed at all);
2. follows the most claimed offsets, where chunks bring offsets that agree with the bytes;
3. gives no two chunks the same start;
4. takes the earliest occurrence at the first chunk where two ways differ.

So of several equal passages the one is meant that continues the order and lets the rest of the text be covered, which
is not always the first; where two ways are equal in 1 to 3 the chunk is listed as ambiguous. A chunk that is nowhere
(rewritten, collapsed, out of order, …) is described in `problems` and left out; it never stops the others.

A token splitter that cuts a character writes U+FFFD at the edge of a chunk. Such an edge moves back to the start of the
character it cut, as our own cuts do (design, section 6), and the chunk is listed in `snapped`; a chunk of nothing but
such pieces is empty.

Cost: one `bytes.find` from a moving start per chunk on sound input. At most `WAYS` placements are kept open at a time
and `OCCURRENCES` looked at per chunk, which bounds repetitive text; where a source repeats itself so much that more
than `LOOKED_AT` places were looked at in all, the rest goes on with `FEW` of both. The placement without gap that
reaches furthest and the claimed one are always among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from evaluation.domain.blanks import BlankCount
from evaluation.domain.reanchor_diagnosis import Diagnosis, Fault, Problem
from evaluation.domain.reanchor_text import Needle, OffsetUnit, SourceView, needle_of
from evaluation.domain.tokens import IntArray

#: Placements kept open at a time.
WAYS = 16
#: Occurrences of one chunk looked at inside the window that leaves no gap, and behind it.
OCCURRENCES, OCCURRENCES_BEHIND = 32, 4
#: Places looked at in one source before its chunks go on with few open placements and few occurrences each.
LOOKED_AT, FEW = 200_000, 4
#: Problems that are examined for their likely cause; the rest are listed without one, so that a dump of another corpus
#: does not take hours.
EXAMINED = 200


class Newlines(StrEnum):
    """NORMALISED: whoever made the chunks read CRLF and lone CR as LF, and counted offsets in that text."""

    EXACT = "exact"
    NORMALISED = "normalised"


@dataclass(frozen=True)
class Piece:
    """One foreign chunk: its text and the offsets it claims, in the declared unit; None where it claims none."""

    text: str
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True)
class Reanchored:
    """Where the pieces lie. `start`, `end`: byte offsets per piece, −1 for one that was not placed.

    `problems` has one entry per piece that was not placed, blank ones included; `ambiguous` and `snapped` list pieces
    by index. `claims` counts placed pieces that claim a start, `wrong_claims` those whose claim is another interval.
    `blank_gaps` and `uncovered` are byte intervals in no chunk, white space alone and other; shape (gaps, 2).
    """

    start: IntArray
    end: IntArray
    problems: tuple[Problem, ...]
    ambiguous: tuple[int, ...]
    snapped: tuple[int, ...]
    claims: int
    wrong_claims: int
    blank_gaps: IntArray
    uncovered: IntArray

    @property
    def faults(self) -> tuple[Problem, ...]:
        """Problems that mean lost or changed text: all but empty chunks."""
        return tuple(one for one in self.problems if one.fault is not Fault.EMPTY)


type _Cost = tuple[int, int, int]


@dataclass(slots=True)
class Way:
    """The last placed interval of an open placement, its cost so far, and which ways of the step before lead here."""

    start: int
    end: int
    cost: _Cost
    parents: list[int]
    placed: bool


def reanchor(
    content: bytes,
    pieces: Sequence[Piece],
    *,
    unit: OffsetUnit = OffsetUnit.CODE_POINTS,
    newlines: Newlines = Newlines.EXACT,
) -> Reanchored:
    """Place `pieces` on the UTF-8 bytes `content` by the rule above; offsets they claim are in `unit`.

    Raises `UnicodeDecodeError` for content that is not UTF-8. Everything wrong with the pieces is in the answer.
    """
    view = SourceView(content, normalise=newlines is Newlines.NORMALISED)
    needles = [needle_of(piece.text, view) for piece in pieces]
    claims = view.claimed([piece.start for piece in pieces], unit)
    blanks = BlankCount(view.text)
    steps = [[Way(-1, 0, (0, 0, 0), [], placed=False)]]
    search = Search(view, blanks)
    for needle, claim in zip(needles, claims.tolist(), strict=True):
        steps.append(search.advance(steps[-1], needle, claim))
    path, ambiguous = _best(steps, blanks)
    placed = np.array([way.placed for way in path], dtype=bool)
    start = np.array([view.to_source(way.start) if way.placed else -1 for way in path], dtype=np.int64)
    end = np.array([view.to_source(way.end) if way.placed else -1 for way in path], dtype=np.int64)
    source_blanks = blanks if view.text is content else BlankCount(content)
    blank_gaps, uncovered = _gaps(start[placed], end[placed], len(content), source_blanks)
    claimed_ends = view.claimed([piece.end for piece in pieces], unit).tolist()
    claiming = [i for i, piece in enumerate(pieces) if piece.start is not None and path[i].placed]
    wrong = [
        i
        for i in claiming
        if claims[i] != path[i].start or (pieces[i].end is not None and claimed_ends[i] != path[i].end)
    ]
    return Reanchored(
        start,
        end,
        _problems(view, needles, path),
        ambiguous,
        tuple(i for i, needle in enumerate(needles) if path[i].placed and needle.snaps),
        len(claiming),
        len(wrong),
        blank_gaps,
        uncovered,
    )


class Search:
    """Placements of the chunks of one source, step by step; counts the places it looked at."""

    def __init__(self, view: SourceView, blanks: BlankCount) -> None:
        """Start with nothing looked at."""
        self._view, self._blanks = view, blanks
        self.looked_at = 0

    @property
    def _ways(self) -> int:
        return WAYS if self.looked_at < LOOKED_AT else FEW

    @property
    def _occurrences(self) -> int:
        return OCCURRENCES if self.looked_at < LOOKED_AT else FEW

    def advance(self, ways: list[Way], needle: Needle, claim: int) -> list[Way]:
        """The open placements after one more chunk."""
        if not needle.raw:
            return [Way(way.start, way.end, way.cost, [i], placed=False) for i, way in enumerate(ways)]
        view, blanks = self._view, self._blanks
        claimed = claim if claim >= 0 and view.holds(needle, claim) else -1
        found: dict[tuple[int, int, bool], Way] = {}

        def offer(index: int, start: int, end: int, cost: _Cost, *, placed: bool) -> None:
            key = (start, end, placed)
            known = found.get(key)
            if known is None or cost < known.cost:
                found[key] = Way(start, end, cost, [index], placed)
            elif cost == known.cost:
                known.parents.append(index)

        behind: dict[int, list[int]] = {}
        for index, way in enumerate(ways):
            furthest = blanks.end_of_blanks(way.end)
            places = self._within(needle, way, furthest, claimed)
            if not places:
                if furthest not in behind:
                    behind[furthest] = self._behind(needle, furthest, claimed)
                places = behind[furthest]
                lost, *rest = way.cost
                offer(index, way.start, way.end, (lost + len(needle.raw) + 1, rest[0], rest[1]), placed=False)
            for start in places:
                end = start + needle.length(view, start)
                lost, unclaimed, same = way.cost
                lost += blanks.filled(way.end, start)
                unclaimed += claimed >= 0 and start != claimed
                same += start == way.start
                offer(index, start, end, (lost, unclaimed, same), placed=True)
            self.looked_at += len(places)
        return _kept(list(found.values()), self._ways)

    def _within(self, needle: Needle, way: Way, furthest: int, claimed: int) -> list[int]:
        """Places after `way` that leave no non-blank gap: starts and ends not before its own, and not both equal."""
        view, most, low = self._view, self._occurrences, max(way.start, 0)

        def allowed(start: int) -> bool:
            end = start + needle.length(view, start)
            return low <= start <= furthest and end >= way.end and (start, end) != (way.start, way.end)

        # A place may begin before the bytes that are searched for, by the character an edge moved back over.
        first = max(low, way.end - len(needle.raw) - view.longest_character)
        places = view.occurrences(needle, first, furthest, most)
        if len(places) >= most:
            places += view.last_occurrence(needle, first, furthest)
        if claimed >= 0:
            places.append(claimed)
        return [start for start in dict.fromkeys(places) if allowed(start)]

    def _behind(self, needle: Needle, furthest: int, claimed: int) -> list[int]:
        """The first places after a non-blank gap, and the claimed one."""
        view = self._view
        places = view.occurrences(needle, furthest + 1, len(view.text), OCCURRENCES_BEHIND)
        return list(dict.fromkeys([*places, claimed])) if claimed > furthest else places


def _kept(ways: list[Way], most: int) -> list[Way]:
    """At most `most` placements: the cheapest; of equally cheap ones the furthest, the nearest and those between, since
    only one between may end with the source where text repeats itself."""
    if len(ways) <= most:
        return ways
    ways.sort(key=lambda way: (way.cost, -way.end, way.start))
    best = [way for way in ways if way.cost == ways[0].cost]
    if len(best) <= most:
        return ways[:most]
    return [best[round(at * (len(best) - 1) / (most - 1))] for at in range(most)]


def _best(steps: list[list[Way]], blanks: BlankCount) -> tuple[list[Way], tuple[int, ...]]:
    """The cheapest placement, earliest where several are, and the chunks at which they differ."""
    last = steps[-1]
    totals = [(way.cost[0] + blanks.filled(way.end, blanks.size), *way.cost[1:]) for way in last]
    cheapest = min(totals)
    optimal = {i for i, total in enumerate(totals) if total == cheapest}
    layers = [optimal]
    for step in reversed(steps[1:]):
        optimal = {parent for i in optimal for parent in step[i].parents}
        layers.append(optimal)
    layers.reverse()
    path: list[Way] = []
    ambiguous: list[int] = []
    before = 0
    for number, (step, layer) in enumerate(zip(steps[1:], layers[1:], strict=True)):
        if len({(step[i].start, step[i].end, step[i].placed) for i in layer}) > 1:
            ambiguous.append(number)
        before = min((i for i in layer if before in step[i].parents), key=lambda i: (step[i].start, step[i].end))
        path.append(step[before])
    return path, tuple(ambiguous)


def _gaps(start: IntArray, end: IntArray, size: int, blanks: BlankCount) -> tuple[IntArray, IntArray]:
    """Bytes before, between and after the intervals, as (blank, other)."""
    reach = np.maximum.accumulate(np.concatenate(([0], end)))
    begins = np.append(start, size)
    holes = np.flatnonzero(begins > reach)
    pairs = np.stack((reach[holes], begins[holes]), axis=1).astype(np.int64)
    blank = np.array([blanks.filled(first, last) == 0 for first, last in pairs.tolist()], dtype=bool)
    return pairs[blank], pairs[~blank]


def _problems(view: SourceView, needles: Sequence[Needle], path: Sequence[Way]) -> tuple[Problem, ...]:
    """One description per chunk that was not placed."""
    missing = [i for i, way in enumerate(path) if not way.placed]
    given = {(way.start, way.end) for way in path if way.placed}
    diagnosis = Diagnosis(view)
    found: list[Problem] = []
    faults = 0
    for index in missing:
        needle = needles[index]
        faults += bool(needle.raw)
        if not needle.raw:
            found.append(diagnosis.empty(index, needle))
        elif faults > EXAMINED:
            found.append(diagnosis.unexamined(index, needle))
        else:
            way = path[index]
            found.append(diagnosis.examine(index, needle, way.start, way.end, given))
    return tuple(found)
