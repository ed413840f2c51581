"""Packing evidence into a prompt: rank order under a token ceiling, or the first k units.

A unit is rendered as its label, its bytes and the separator. Every rendered unit is really tokenised and their sum
decides admission; then the whole context is tokenised again in one piece, and units are taken back from the end while
it exceeds the ceiling (a tokenizer may merge across units). So a context never exceeds its ceiling, whichever way it
is counted.

Overflow: *skip* goes on with lower ranks, *stop* ends at the first unit that does not fit, *truncate* shortens that
unit to the longest prefix that fits (at a token boundary of the source, hence on a code point) and ends there. What
is refused is logged with its rank and reason. A unit whose source tokens alone exceed the room by more than `SLACK`
is refused without rendering it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from evaluation.domain.coverage import length
from evaluation.domain.frozen import Document
from evaluation.domain.pipeline import PackedEvidence, PreparedCorpus, Unit
from evaluation.domain.plan import Budget
from evaluation.domain.plan_words import Overflow

#: Tokens by which a unit encoded alone may come out shorter than its part of the whole source (its two ends are cut).
SLACK = 32

#: Sizes remembered at most; beyond it the memory is cleared, which costs time and changes nothing.
REMEMBERED = 200_000

_PLACEHOLDER = re.compile(r"\{(rank|title|citation)\}")

#: Version of the rendering; a change of it changes every prompt.
RENDERING = "rendering-1"

OVER_CEILING = "over ceiling"
AFTER_STOP = "after stop"
AFTER_TRUNCATION = "after truncation"
RECOUNT = "over ceiling when counted whole"
BEYOND_K = "beyond k"


def deduplicate(units: Sequence[Unit]) -> tuple[Unit, ...]:
    """Merge units with identical intervals of one version; the best rank stays and every lineage is kept, best first.

    Equal text in another version or place is another interval and is never merged.
    """
    merged: dict[tuple[int, int, int], Unit] = {}
    for unit in units:
        key = (unit.document, unit.start, unit.end)
        seen = merged.get(key)
        if seen is None:
            merged[key] = unit
        else:
            extra = tuple(hit for hit in unit.lineage if hit not in seen.lineage)
            merged[key] = replace(seen, lineage=seen.lineage + extra)
    return tuple(merged.values())


@dataclass
class Packer:
    """Packs units of one corpus under one budget rule; remembers the sizes of rendered units it has counted."""

    prepared: PreparedCorpus
    budget: Budget
    _sizes: dict[tuple[int, int, int, int], int] = field(default_factory=dict, repr=False)
    _heads: dict[bytes, int] = field(default_factory=dict, repr=False)

    def label(self, document: Document, number: int) -> bytes:
        """The label in front of a unit; `{title}` is the document id, `{citation}` the number in brackets."""
        values = {"rank": str(number), "title": document.document_id, "citation": f"[{number}]"}
        # One pass, so that a document named "{rank}" stays what it is.
        return _PLACEHOLDER.sub(lambda found: values[found[1]], self.budget.label_format).encode("utf-8")

    def render(self, units: Sequence[Unit]) -> tuple[bytes, tuple[tuple[int, int], ...]]:
        """The context of `units`, numbered from 1, and the byte range each unit's text takes in it."""
        parts: list[bytes] = []
        spans: list[tuple[int, int]] = []
        at = 0
        separator = self.budget.separator.encode("utf-8")
        for number, unit in enumerate(units, 1):
            document = self.prepared.documents[unit.document]
            label = self.label(document, number)
            parts += [label, document.content[unit.start : unit.end], separator]
            begin = at + len(label)
            spans.append((begin, begin + unit.end - unit.start))
            at = spans[-1][1] + len(separator)
        return b"".join(parts), tuple(spans)

    def size(self, unit: Unit, number: int) -> int:
        """Tokens of one rendered unit with its label and separator."""
        key = (number, unit.document, unit.start, unit.end)
        known = self._sizes.get(key)
        if known is None:
            document = self.prepared.documents[unit.document]
            text = self.label(document, number) + document.content[unit.start : unit.end]
            if len(self._sizes) >= REMEMBERED:
                self._sizes.clear()
            known = self._sizes[key] = self.prepared.tokenizer.count(text + self.budget.separator.encode("utf-8"))
        return known

    def head(self, text: bytes) -> int:
        """Tokens of what stands before the evidence; the same for every phase and arm, so counted once."""
        if text not in self._heads:
            self._heads[text] = self.prepared.tokenizer.count(text)
        return self._heads[text]

    def prepare(self, lists: Sequence[Sequence[Unit]]) -> None:
        """Count the first unit of every list in one batch; most packings start with them."""
        wanted = {(1, u.document, u.start, u.end): u for units in lists for u in units[:1]}
        missing = [(key, unit) for key, unit in wanted.items() if key not in self._sizes]
        separator = self.budget.separator.encode("utf-8")
        texts = []
        for _, unit in missing:
            document = self.prepared.documents[unit.document]
            texts.append(self.label(document, 1) + document.content[unit.start : unit.end] + separator)
        for (key, _), size in zip(missing, self.prepared.tokenizer.count_many(texts), strict=True):
            self._sizes[key] = size

    def choose(self, units: Sequence[Unit], ceiling: int) -> tuple[list[Unit], list[tuple[int, str]]]:
        """Units admitted under `ceiling` before the final recount, and (rank, reason) of those refused."""
        chosen: list[Unit] = []
        refused: list[tuple[int, str]] = []
        room = ceiling
        ended = ""
        for unit in units:
            if ended:
                refused.append((unit.rank, ended))
                continue
            tokens = unit.token_end - unit.token_start
            fits = tokens <= room + SLACK and self.size(unit, len(chosen) + 1) <= room
            if fits:
                room -= self.size(unit, len(chosen) + 1)
                chosen.append(unit)
                continue
            if self.budget.overflow is Overflow.TRUNCATE:
                shorter = self._truncate(unit, len(chosen) + 1, room)
                if shorter is not None:
                    chosen.append(shorter)
                    ended = AFTER_TRUNCATION
                    continue
            refused.append((unit.rank, OVER_CEILING))
            if self.budget.overflow is not Overflow.SKIP:
                ended = AFTER_STOP
        return chosen, refused

    def _truncate(self, unit: Unit, number: int, room: int) -> Unit | None:
        """The longest proper prefix of `unit`, in source tokens, that fits `room`; None when no token does."""
        text = self.prepared.tokenized[unit.document]
        keep = min(unit.token_end - unit.token_start - 1, room)
        while keep > 0:
            token_end = unit.token_start + keep
            end = int(text.starts_at([token_end])[0])
            if end <= unit.start:
                return None
            shorter = replace(unit, end=end, token_end=token_end)
            over = self.size(shorter, number) - room
            if over <= 0:
                return shorter
            keep -= over
        return None

    def finish(self, lists: Sequence[tuple[list[Unit], list[tuple[int, str]]]], ceiling: int) -> list[PackedEvidence]:
        """Render what was chosen for each question, count it whole, and take back from the end what does not fit."""
        rendered = [self.render(chosen) for chosen, _ in lists]
        tokens = self.prepared.tokenizer.count_many([context for context, _ in rendered])
        packed: list[PackedEvidence] = []
        for (chosen, refused), (context, spans), count in zip(lists, rendered, tokens, strict=True):
            units, out = list(chosen), list(refused)
            whole, places, size = context, spans, count
            while size > ceiling and units:
                out.append((units.pop().rank, RECOUNT))
                whole, places = self.render(units)
                size = self.prepared.tokenizer.count(whole)
            packed.append(self._evidence(tuple(units), whole, size, places, tuple(sorted(out))))
        return packed

    def under_ceiling(self, lists: Sequence[Sequence[Unit]], ceiling: int) -> list[PackedEvidence]:
        """Budget view: pack each question's units under `ceiling` tokens."""
        self.prepare(lists)
        return self.finish([self.choose(units, ceiling) for units in lists], ceiling)

    def first_units(self, lists: Sequence[Sequence[Unit]], k: int) -> list[PackedEvidence]:
        """Top-k view: the first k units of each question, whatever they cost."""
        chosen = [(list(units[:k]), [(unit.rank, BEYOND_K) for unit in units[k:]]) for units in lists]
        rendered = [self.render(units) for units, _ in chosen]
        tokens = self.prepared.tokenizer.count_many([context for context, _ in rendered])
        return [
            self._evidence(tuple(units), context, count, spans, tuple(refused))
            for (units, refused), (context, spans), count in zip(chosen, rendered, tokens, strict=True)
        ]

    def _evidence(
        self,
        units: tuple[Unit, ...],
        context: bytes,
        tokens: int,
        spans: tuple[tuple[int, int], ...],
        refused: tuple[tuple[int, str], ...],
    ) -> PackedEvidence:
        total, unique = source_tokens(units)
        pairs, compared = duplicate_pairs(units, Fraction(self.budget.duplicate_threshold))
        return PackedEvidence(units, context, tokens, spans, refused, unique, total - unique, pairs, compared)


def source_tokens(units: Sequence[Unit]) -> tuple[int, int]:
    """Source tokens of all units, and of their union; the difference is what is shown more than once."""
    by_document: dict[int, list[tuple[int, int]]] = {}
    for unit in units:
        by_document.setdefault(unit.document, []).append((unit.token_start, unit.token_end))
    total = sum(unit.token_end - unit.token_start for unit in units)
    return total, sum(length(ranges) for ranges in by_document.values())


def duplicate_pairs(units: Sequence[Unit], threshold: Fraction) -> tuple[int, int]:
    """Pairs of one document whose shared bytes are at least `threshold` of the smaller one, and pairs compared."""
    duplicates = compared = 0
    for i, one in enumerate(units):
        for other in units[i + 1 :]:
            if one.document != other.document:
                continue
            compared += 1
            shared = min(one.end, other.end) - max(one.start, other.start)
            smaller = min(one.end - one.start, other.end - other.start)
            duplicates += shared > 0 and shared * threshold.denominator >= threshold.numerator * smaller
    return duplicates, compared
