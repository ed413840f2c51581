"""A source drawn for the question page: marks of support, cuts of both arms, and one arm's evidence.

Runs come from `annotate.domain.rendering` and carry their byte offsets; a cut is an empty element between two runs, so
that nothing on the page ever shifts an offset.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from annotate.domain.access import LabelledRange, hidden_ranges, may_read, touches_hidden
from annotate.domain.rendering import Highlight, Run, RunKind, runs
from annotate.domain.spans import ByteSpan
from evaluation.domain.frozen import Document, FrozenQuestion
from evaluation.selectors.question_trace import ArmTrace, QuestionTrace

#: Longer documents are shown in excerpts around what matters, unless the whole is asked for.
WHOLE_UP_TO = 12_000
AROUND = 500
_LETTERS = "abcd"


@dataclass(frozen=True)
class Cut:
    """A cut of one arm at byte `at`; `side` is baseline or candidate."""

    side: str
    letter: str
    at: int


@dataclass(frozen=True)
class Piece:
    """A run with the cuts that fall at its start. `tags` are small labels drawn where an interval begins."""

    run: Run
    css: str
    cuts: tuple[Cut, ...] = ()
    tags: tuple[str, ...] = ()
    title: str = ""


@dataclass(frozen=True)
class Excerpt:
    """Bytes `[start, end)` of a document in pieces; `skipped` bytes lie between the excerpt before and this one."""

    start: int
    end: int
    skipped: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class MarkedSpan:
    """A span of a sufficient set, for the list above the text; `quote` is None where this person may not read it."""

    letter: str
    css: str
    name: str
    label: str
    start: int
    end: int
    necessary: bool
    quote: str | None


@dataclass(frozen=True)
class DrawnDocument:
    """One document of the page. `name` is None when its labels are not this person's: then offsets only."""

    index: int
    name: str | None
    digest: str
    locale: str
    length: int
    excerpts: tuple[Excerpt, ...]
    left_out: int
    spans: tuple[MarkedSpan, ...]
    cuts: tuple[Cut, ...]
    restricted: int


@dataclass
class Reader:
    """What the person on the page may read of the documents; `clearance` are the labels they hold."""

    documents: Sequence[Document]
    clearance: Collection[str]
    _hidden: dict[int, tuple[ByteSpan, ...]] = field(default_factory=dict)

    def hidden(self, document: int) -> tuple[ByteSpan, ...]:
        """Return the byte ranges of a document that are not theirs."""
        if document not in self._hidden:
            one = self.documents[document]
            ranges = [LabelledRange(r.start, r.end, r.labels) for r in one.access_ranges]
            self._hidden[document] = hidden_ranges(one.access_labels, ranges, self.clearance, len(one.content))
        return self._hidden[document]

    def shows(self, document: int, start: int, end: int) -> bool:
        """Whether every byte of an interval is theirs to read."""
        return not touches_hidden(ByteSpan(start, end), self.hidden(document)) if start < end else True

    def name(self, document: int) -> str | None:
        """Return a document's id and version label, None where its existence is not theirs to know by name."""
        one = self.documents[document]
        return f"{one.document_id} {one.version_label}" if may_read(one.access_labels, self.clearance) else None

    def text(self, document: int, start: int, end: int) -> str | None:
        """Return an interval's text, None where any of it is restricted."""
        if not self.shows(document, start, end):
            return None
        return self.documents[document].content[start:end].decode("utf-8")


def drawn_documents(
    trace: QuestionTrace, shown: ArmTrace, reader: Reader, whole: Collection[int] = ()
) -> list[DrawnDocument]:
    """Return the documents that hold support or packed evidence of any arm; those with support first.

    `shown` is the arm whose evidence is drawn; the cuts are everybody's. `whole` are documents to be drawn to the end.
    """
    by_digest = {one.digest: index for index, one in enumerate(trace.documents)}
    support = [by_digest[span.interval.version] for one in trace.question.support_sets for span in one]
    packed = [unit.document for arm in trace.arms for unit in arm.packed]
    order = list(dict.fromkeys([*support, *packed]))
    return [_document(trace, shown, reader, index, by_digest, index in whole) for index in order]


def _document(
    trace: QuestionTrace, shown: ArmTrace, reader: Reader, index: int, by_digest: dict[str, int], whole: bool
) -> DrawnDocument:
    document = trace.documents[index]
    length = len(document.content)
    spans = _spans(trace.question, reader, index, by_digest)
    cuts = [
        Cut(arm.role, arm.role[0].upper(), at) for arm in trace.arms for at in (arm.cuts[index] if arm.cuts else ())
    ]
    marks = _highlights(trace.question, shown, index, by_digest, spans)
    packed = [(unit.start, unit.end) for arm in trace.arms for unit in arm.packed if unit.document == index]
    places = [(span.start, span.end) for span in spans] + packed
    windows = [(0, length)] if whole or length <= WHOLE_UP_TO else _windows(places, document.content)
    excerpts, before = [], 0
    for start, end in windows:
        pieces = _pieces(document.content, marks, cuts, reader.hidden(index), start, end, _titles(shown))
        excerpts.append(Excerpt(start, end, start - before, tuple(pieces)))
        before = end
    return DrawnDocument(
        index,
        reader.name(index),
        document.digest,
        document.locale,
        length,
        tuple(excerpts),
        length - before,
        tuple(spans),
        tuple(sorted(cuts, key=lambda cut: (cut.at, cut.side))),
        len(reader.hidden(index)),
    )


def _spans(question: FrozenQuestion, reader: Reader, index: int, by_digest: dict[str, int]) -> list[MarkedSpan]:
    found = []
    for number, one in enumerate(question.support_sets):
        letter = _LETTERS[number % len(_LETTERS)]
        for span in one:
            where = span.interval
            if by_digest[where.version] == index:
                quote = reader.text(index, where.start, where.end)
                place = (span.name, span.label, where.start, where.end, span.necessary)
                found.append(MarkedSpan(letter.upper(), f"set-{letter}", *place, quote))
    return found


def _highlights(
    question: FrozenQuestion,
    shown: ArmTrace,
    index: int,
    by_digest: dict[str, int],
    spans: Iterable[MarkedSpan],
) -> list[Highlight]:
    marks = [Highlight(span.start, span.end, f"mark:{span.css}") for span in spans]
    marks += [
        Highlight(bad.start, bad.end, "forbidden") for bad in question.forbidden if by_digest.get(bad.version) == index
    ]
    refused = shown.refused or {}
    ranks = {unit.rank for unit in shown.packed}
    for hit in shown.hits:
        if hit.document == index and hit.rank not in ranks:
            kind = "refused" if hit.rank in refused else "hit"
            marks.append(Highlight(hit.start, hit.end, f"{kind}:{hit.rank}"))
    marks += [
        Highlight(unit.start, unit.end, f"packed:{unit.number}") for unit in shown.packed if unit.document == index
    ]
    return marks


def _titles(shown: ArmTrace) -> dict[str, str]:
    """Return what each piece of evidence is, by its key."""
    titles = {f"packed:{one.number}": f"packed as [{one.number}], rank {one.rank}" for one in shown.packed}
    for hit in shown.hits:
        titles[f"hit:{hit.rank}"] = f"retrieved at rank {hit.rank}"
        reason = (shown.refused or {}).get(hit.rank, "")
        titles[f"refused:{hit.rank}"] = f"rank {hit.rank} refused: {reason}"
    return titles


def _windows(places: Sequence[tuple[int, int]], content: bytes) -> list[tuple[int, int]]:
    """Return merged windows around the places, on code points; the beginning when there is none."""
    merged: list[list[int]] = []
    for start, end in sorted(places) or [(0, 0)]:
        first, last = _snapped(content, max(0, start - AROUND)), _snapped(content, min(len(content), end + AROUND))
        if merged and first <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], last)
        else:
            merged.append([first, last])
    return [(first, last) for first, last in merged]


def _snapped(content: bytes, at: int) -> int:
    while 0 < at < len(content) and content[at] & 0xC0 == 0x80:
        at -= 1
    return at


def _pieces(
    content: bytes,
    marks: Sequence[Highlight],
    cuts: Sequence[Cut],
    hidden: Iterable[ByteSpan],
    start: int,
    end: int,
    titles: dict[str, str],
) -> Iterable[Piece]:
    # An empty highlight divides the runs at its place and covers none of them.
    edges = [Highlight(cut.at, cut.at, "cut") for cut in cuts]
    at: dict[int, list[Cut]] = {}
    for cut in cuts:
        at.setdefault(cut.at, []).append(cut)
    made = runs(content, [*marks, *edges], [(one.start, one.end) for one in hidden], start=start, end=end)
    seen: set[str] = set()
    for run in made:
        keys = [key for key in run.keys if key != "cut"]
        fresh = [key for key in keys if key not in seen and key in titles and not key.startswith("hit")]
        seen.update(keys)
        title = "; ".join(titles[key] for key in keys if key in titles)
        yield Piece(
            run, _css(run, keys), tuple(at.pop(run.start, ())), tuple(_tag(key, titles) for key in fresh), title
        )


def _tag(key: str, titles: dict[str, str]) -> str:
    """Return the small label at an interval's beginning: `[1]` packed, `✕3 over ceiling` refused at rank 3."""
    kind, number = key.split(":")
    return f"[{number}]" if kind == "packed" else f"✕{number} {titles[key].partition(': ')[2]}"


def _css(run: Run, keys: Sequence[str]) -> str:
    names = [key.split(":")[0] for key in keys]
    css = []
    marks = [key.split(":")[1] for key in keys if key.startswith("mark:")]
    if marks:
        css += ["mark", marks[0]]
    # One state of evidence at a time: what is in the prompt outweighs what was refused elsewhere.
    for state in ("packed", "refused", "hit"):
        if state in names:
            css.append(f"e-{state}")
            break
    if "forbidden" in names:
        css.append("forbidden")
    if run.kind is RunKind.HIDDEN:
        css.append("restricted")
    return " ".join(css)
