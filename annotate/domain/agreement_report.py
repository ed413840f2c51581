"""Every agreement figure of a set of questions, with its interval, coverage, exclusions and the items behind it.

A figure is computed exactly from all items (`agreement`), its interval from per-question parts whose sums give the
same value (a test holds the two together). α_U is not such a sum: its expected disagreement depends on the whole
continuum, so its interval computes each replicate from the units drawn.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from annotate.domain import agreement as figures
from annotate.domain import agreement_intervals as intervals
from annotate.domain.agreement import Measure, Pair
from annotate.domain.agreement_intervals import Combine, Floats, Interval
from annotate.domain.alignment import align
from annotate.domain.content import PassContent
from annotate.domain.unitizing import QuestionUnits, alpha_u_replicates


@dataclass(frozen=True)
class Item:
    """One question with the first submissions of its two annotators, slot 1 before slot 2.

    `completed` is when the second of them came.
    """

    key: str
    segment: str
    annotators: tuple[str, str]
    completed: datetime.datetime
    pair: Pair


@dataclass(frozen=True)
class Line:
    """One figure of a report. `of` is how many questions there are; `excluded` names those that say nothing to it."""

    measure: Measure
    interval: Interval
    of: int
    excluded: tuple[tuple[str, str], ...]

    @property
    def covered(self) -> int:
        """Questions the figure rests on."""
        return self.of - len(self.excluded)


@dataclass(frozen=True)
class Part:
    """What one question adds to one figure: numbers whose sums give it, or why it adds nothing."""

    question: str
    figure: str
    numbers: tuple[Fraction, ...]
    labels: tuple[str, ...]
    excluded: str = ""


type Counted = tuple[tuple[Fraction, ...], str]

NOTHING_MARKED = "neither marked anything"
NO_SET = "neither made a set"
NO_PAIR = "no span of one overlaps one of the other"


def _exact(pair: Pair) -> tuple[int, int, int]:
    one, two = ({span.bytes_key for span in content.spans} for content in pair)
    return len(one & two), len(one), len(two)


def _f1(pair: Pair) -> Counted:
    both, one, two = _exact(pair)
    return (Fraction(2 * both), Fraction(one + two)), "" if one + two else NOTHING_MARKED


def _precision(pair: Pair) -> Counted:
    both, _, two = _exact(pair)
    return (Fraction(both), Fraction(two)), "" if two else "the second annotator marked nothing"


def _recall(pair: Pair) -> Counted:
    both, one, _ = _exact(pair)
    return (Fraction(both), Fraction(one)), "" if one else "the first annotator marked nothing"


def _bytes(pair: Pair) -> tuple[int, int]:
    measure = figures.byte_overlap_f1([pair])
    if measure.value is None:
        return 0, 0
    # n counts distinct bytes: with F1 = 2c/(n + c), the common bytes are c = F1·n/(2 − F1).
    common = measure.value * measure.n / (2 - measure.value)
    return int(common), measure.n


def _byte_f1(pair: Pair) -> Counted:
    common, distinct = _bytes(pair)
    return (Fraction(2 * common), Fraction(distinct + common)), "" if distinct else NOTHING_MARKED


def _byte_jaccard(pair: Pair) -> Counted:
    common, distinct = _bytes(pair)
    return (Fraction(common), Fraction(distinct)), "" if distinct else NOTHING_MARKED


def _partial(pair: Pair) -> Counted:
    spans = align(figures.spans_only(pair[0]), figures.spans_only(pair[1])).spans
    score = sum((2 if s.a.bytes_key == s.b.bytes_key else 1) for s in spans if s.a and s.b)
    total = len(pair[0].spans) + len(pair[1].spans)
    return (Fraction(score), Fraction(total)), "" if total else NOTHING_MARKED


def _delta(side: str) -> Callable[[Pair], Counted]:
    def counted(pair: Pair) -> Counted:
        spans = align(figures.spans_only(pair[0]), figures.spans_only(pair[1])).spans
        deltas = [abs(getattr(s.a, side) - getattr(s.b, side)) for s in spans if s.a and s.b]
        return (Fraction(sum(deltas)), Fraction(len(deltas))), "" if deltas else NO_PAIR

    return counted


def _masi(pair: Pair) -> Counted:
    measure = figures.support_set_masi([pair])
    value = Fraction(0) if measure.value is None else measure.value * measure.n
    return (value, Fraction(measure.n)), "" if measure.n else NO_SET


def _sets(pair: Pair) -> Counted:
    one, two = (_set_bytes(content) for content in pair)
    return (Fraction(2 * len(one & two)), Fraction(len(one) + len(two))), "" if one or two else NO_SET


def _set_bytes(content: PassContent) -> frozenset[frozenset[tuple[str, int, int]]]:
    return frozenset(frozenset(content.span(name).bytes_key for name in members) for members in content.sets)


#: name → (what n counts, which part is n, per-question parts, labels of the parts).
RATIOS: Mapping[str, tuple[str, Callable[[Pair], Counted], tuple[str, str]]] = {
    "exact span precision": ("spans", _precision, ("in both", "of the second annotator")),
    "exact span recall": ("spans", _recall, ("in both", "of the first annotator")),
    "exact span F1": ("spans", _f1, ("twice in both", "of both")),
    "partial span F1": ("spans", _partial, ("score", "of both")),
    "byte-overlap F1": ("bytes", _byte_f1, ("twice in both", "of both")),
    "byte Jaccard": ("bytes", _byte_jaccard, ("in both", "in either")),
    "mean start difference": ("pairs of spans", _delta("start"), ("bytes", "pairs of spans")),
    "mean end difference": ("pairs of spans", _delta("end"), ("bytes", "pairs of spans")),
    "exact F1, support sets": ("sets", _sets, ("twice in both", "of both")),
    "MASI (Passonneau), support sets": ("sets", _masi, ("similarity", "sets")),
}

#: Figures in bytes, which are no shares.
DIFFERENCES = frozenset({"mean start difference", "mean end difference"})

FIELDS: Mapping[str, Callable[[PassContent], str]] = {
    "answerable": lambda content: str(content.contract.answerable),
    "dependency type": lambda content: content.contract.dependency.value,
    "missing-condition behaviour": lambda content: content.contract.missing_behaviour.value,
}


def report(items: Sequence[Item], lengths: Mapping[str, int], names: Collection[str] = ()) -> tuple[Line, ...]:
    """Return every figure over `items`, or those called `names` only, which saves the intervals of the others.

    `lengths` gives each version's length in bytes by digest, for α_U.
    """
    wanted = frozenset(names)
    pairs = [item.pair for item in items]
    known = {measure.name: measure for measure in figures.all_measures(pairs, lengths)}
    lines = []
    for name, (unit, counted, _) in RATIOS.items():
        if wanted and name not in wanted:
            continue
        rows = [(item.key, *counted(item.pair)) for item in items]
        excluded = tuple((key, why) for key, _, why in rows if why)
        kept = [numbers for _, numbers, why in rows if not why]
        measure = known.get(name) or _ratio(name, unit, kept)
        lines.append(Line(measure, _interval(kept, intervals.ratio), len(items), excluded))
    if not wanted or figures.ALPHA_U in wanted:
        lines.append(_alpha_line(items, known[figures.ALPHA_U], lengths))
    for field, read in FIELDS.items():
        values = [(read(a), read(b)) for a, b in pairs]
        words = sorted({word for both in values for word in both})
        table = [_cell(words, both) for both in values]
        nominal = figures.nominal_alpha(_nominal(field), values)
        for measure, combine in (
            (known[_kappa(field)], intervals.kappa_of_table),
            (nominal, intervals.nominal_alpha_of_table),
        ):
            if not wanted or measure.name in wanted:
                lines.append(Line(measure, _interval(table, combine), len(items), ()))
    return tuple(lines)


def _alpha_line(items: Sequence[Item], measure: Measure, lengths: Mapping[str, int]) -> Line:
    pairs = [item.pair for item in items]
    nothing = tuple((item.key, NOTHING_MARKED) for item in items if not any(c.spans for c in item.pair))
    drawn = figures.question_units([pair for pair in pairs if any(content.spans for content in pair)], lengths)
    return Line(measure, _alpha_interval(drawn), len(items), nothing)


def parts(items: Sequence[Item]) -> list[Part]:
    """Return what every question adds to every figure: the items behind each number, for a diagnosis.

    A ratio's figure is the sums of its parts, numerator over denominator. To α_U a question brings the spans of both
    annotators, to κ and nominal α whether their two words are equal, and which they are.
    """
    found = [
        Part(item.key, name, numbers, labels, why)
        for item in items
        for name, (_, counted, labels) in RATIOS.items()
        for numbers, why in [counted(item.pair)]
    ]
    for item in items:
        counts = tuple(Fraction(len(content.spans)) for content in item.pair)
        sides = ("spans of the first", "spans of the second")
        found.append(Part(item.key, figures.ALPHA_U, counts, sides, "" if any(counts) else NOTHING_MARKED))
        for field, read in FIELDS.items():
            one, two = read(item.pair[0]), read(item.pair[1])
            equal = (Fraction(int(one == two)), Fraction(1))
            found += [Part(item.key, name, equal, (one, two)) for name in (_kappa(field), _nominal(field))]
    return found


def _kappa(field: str) -> str:
    return f"Cohen's κ, {field}"


def _nominal(field: str) -> str:
    return f"α nominal, {field}"


def _ratio(name: str, unit: str, kept: Sequence[tuple[Fraction, ...]]) -> Measure:
    above, below = (sum((numbers[i] for numbers in kept), Fraction(0)) for i in (0, 1))
    if not below:
        return Measure(name, None, 0, unit, "no question says anything to it")
    return Measure(name, above / below, int(below), unit)


def _interval(rows: Sequence[Sequence[Fraction | int]], combine: Combine) -> Interval:
    if not rows:
        return Interval(None, None, 0, note="no question says anything to it")
    return intervals.interval([[float(number) for number in row] for row in rows], combine)


def _cell(words: Sequence[str], both: tuple[str, str]) -> list[int]:
    row = [0] * len(words) ** 2
    row[words.index(both[0]) * len(words) + words.index(both[1])] = 1
    return row


def _alpha_interval(drawn: Sequence[QuestionUnits]) -> Interval:
    count = len(drawn)
    if count < intervals.FEWEST:
        return Interval(None, None, count, note=f"{count} questions, fewer than {intervals.FEWEST}")
    random = np.random.default_rng(intervals.SEED)
    values: Floats = alpha_u_replicates(drawn, random.integers(0, count, size=(intervals.ALPHA_REPLICATES, count)))
    return intervals.bounds(values, count)
