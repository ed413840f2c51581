"""How far two annotators agree, each figure with what it counts and with its undefined cases said in words.

Computed on first submissions only, before anything was returned or discussed. A figure without anything to compare is
undefined, never 1.0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from annotate.domain.alignment import align
from annotate.domain.content import MarkedSpan, PassContent
from annotate.domain.unitizing import Continuum, QuestionUnits, Unit, alpha_u
from annotate.domain.vocabulary import SpanLabel

Pair = tuple[PassContent, PassContent]

ALPHA_U = "Krippendorff's α_U, spans"


@dataclass(frozen=True)
class Measure:
    """One agreement figure; `unit` is what n counts. A `value` of None is undefined, and `note` then says why."""

    name: str
    value: Fraction | None
    n: int
    unit: str
    note: str = ""

    def __str__(self) -> str:
        if self.value is None:
            return f"undefined, n = {self.n}" + (f" ({self.note})" if self.note else "")
        return f"{float(self.value):.3f}, n = {self.n}"


def _undefined(name: str, unit: str, n: int = 0, note: str = "") -> Measure:
    return Measure(name, None, n, unit, note)


def all_measures(pairs: Sequence[Pair], lengths: Mapping[str, int]) -> tuple[Measure, ...]:
    """Return every figure over `pairs`, one pair of first submissions per question.

    `lengths` gives each source version's length in bytes by digest, for α_U.
    """
    fields = {
        "answerable": [(str(a.contract.answerable), str(b.contract.answerable)) for a, b in pairs],
        "dependency type": [(a.contract.dependency.value, b.contract.dependency.value) for a, b in pairs],
        "missing-condition behaviour": [
            (a.contract.missing_behaviour.value, b.contract.missing_behaviour.value) for a, b in pairs
        ],
    }
    return (
        exact_span_f1(pairs),
        partial_span_f1(pairs),
        byte_overlap_f1(pairs),
        spans_alpha_u(pairs, lengths),
        support_set_masi(pairs),
        *(cohen_kappa(f"Cohen's κ, {name}", values) for name, values in fields.items()),
    )


def exact_span_f1(pairs: Sequence[Pair]) -> Measure:
    """Return 2·|A ∩ B| / (|A| + |B|) over spans identical in bytes, pooled over questions; n counts distinct spans."""
    both = total = 0
    for a, b in pairs:
        one, two = {span.bytes_key for span in a.spans}, {span.bytes_key for span in b.spans}
        both += len(one & two)
        total += len(one) + len(two)
    return _f1("exact span F1", Fraction(2 * both), total, total - both, "spans")


def partial_span_f1(pairs: Sequence[Pair]) -> Measure:
    """Return the F1 in which a merely overlapping pair of spans counts half (MUC “partial”), pooled over questions."""
    score, total, distinct = Fraction(0), 0, 0
    for a, b in pairs:
        joint = align(spans_only(a), spans_only(b)).spans
        total += len(a.spans) + len(b.spans)
        distinct += len(joint)
        for span in joint:
            if span.a and span.b:
                score += Fraction(2 if span.a.bytes_key == span.b.bytes_key else 1)
    return _f1("partial span F1", score, total, distinct, "spans")


def byte_overlap_f1(pairs: Sequence[Pair]) -> Measure:
    """Return 2·|A ∩ B| / (|A| + |B|) over marked bytes (each once), pooled over questions; n counts distinct bytes."""
    both = total = 0
    for a, b in pairs:
        one, two = _merged(a.spans), _merged(b.spans)
        for version in one.keys() | two.keys():
            left, right = one.get(version, []), two.get(version, [])
            both += _common(left, right)
            total += sum(end - start for start, end in (*left, *right))
    return _f1("byte-overlap F1", Fraction(2 * both), total, total - both, "bytes")


def _f1(name: str, doubled: Fraction, total: int, n: int, unit: str) -> Measure:
    return Measure(name, doubled / total, n, unit) if total else _undefined(name, unit, note="nothing was marked")


def cohen_kappa(name: str, values: Sequence[tuple[Hashable, Hashable]]) -> Measure:
    """Return κ = (p_o − p_e) / (1 − p_e) (Cohen 1960) of two annotators' words; n counts questions.

    Undefined without a question, and where both used one and the same word throughout (p_e = 1).
    """
    n = len(values)
    if not n:
        return _undefined(name, "questions")
    observed = Fraction(sum(a == b for a, b in values), n)
    left, right = Counter(a for a, _ in values), Counter(b for _, b in values)
    expected = Fraction(sum(left[word] * right[word] for word in left), n * n)
    if expected == 1:
        return _undefined(name, "questions", n, "both used one word throughout")
    return Measure(name, (observed - expected) / (1 - expected), n, "questions")


def masi_distance(a: Collection[Hashable], b: Collection[Hashable]) -> Fraction:
    """Return Passonneau's (2006) MASI distance 1 − J·M of two sets; two empty sets have distance 0.

    J is Jaccard's index; M is 1 for equal sets, 2/3 where one holds the other, 1/3 where they merely overlap, else 0.
    """
    one, two = frozenset(a), frozenset(b)
    if one == two:
        return Fraction(0)
    common = one & two
    if not common:
        return Fraction(1)
    monotonicity = Fraction(2, 3) if common in (one, two) else Fraction(1, 3)
    return 1 - Fraction(len(common), len(one | two)) * monotonicity


def support_set_masi(pairs: Sequence[Pair]) -> Measure:
    """Return the mean MASI similarity (Passonneau: J·M) of support sets, after aligning spans; n counts aligned sets.

    Within a question sets are paired so that the summed distance is least; a set without a counterpart counts 0.
    """
    # Imported here: SciPy takes longer to load than everything else a page or a command needs.
    from scipy.optimize import linear_sum_assignment

    name = "MASI (Passonneau), support sets"
    total, n = Fraction(0), 0
    for a, b in pairs:
        joint = align(a, b).sets
        left = [members.a for members in joint if members.a is not None]
        right = [members.b for members in joint if members.b is not None]
        n += max(len(left), len(right))
        if left and right:
            similar = [[1 - masi_distance(one, two) for two in right] for one in left]
            rows, columns = linear_sum_assignment(np.array(similar, dtype=float), maximize=True)
            total += sum((similar[i][j] for i, j in zip(rows, columns, strict=True)), Fraction(0))
    return Measure(name, total / n, n, "sets") if n else _undefined(name, "sets", note="nobody made a set")


def spans_alpha_u(pairs: Sequence[Pair], lengths: Mapping[str, int]) -> Measure:
    """Return Krippendorff's α_U of the marked spans over all labels; n counts units of both annotators.

    The continuum is every version that at least one of the two marked for a question, one after the other, in bytes,
    for all questions. Spans of one label that touch or overlap are one unit, since units of a category cannot overlap.
    """
    offset = 0
    units: dict[str, tuple[list[Unit], list[Unit]]] = {}
    for one in question_units(pairs, lengths):
        for label, sides in one.units.items():
            for side, marked in enumerate(sides):
                units.setdefault(label, ([], []))[side].extend((offset + begin, length) for begin, length in marked)
        offset += one.length
    n = sum(len(side) for both in units.values() for side in both)
    if not n:
        return _undefined(ALPHA_U, "units", note="nothing was marked")
    value = alpha_u([Continuum(0, offset, both) for _, both in sorted(units.items())])
    if value is None:
        return _undefined(ALPHA_U, "units", n, "no disagreement could be expected by chance")
    return Measure(ALPHA_U, value, n, "units")


def question_units(pairs: Sequence[Pair], lengths: Mapping[str, int]) -> list[QuestionUnits]:
    """Return each question's stretch of the continuum: the versions marked for it, with both annotators' units."""
    found = []
    for pair in pairs:
        offset = 0
        units: dict[str, tuple[list[Unit], list[Unit]]] = {}
        for version in sorted({span.version for content in pair for span in content.spans}):
            for side, content in enumerate(pair):
                for label in SpanLabel:
                    marked = [span for span in content.spans if span.version == version and span.label is label]
                    for start, end in _merged(marked).get(version, []):
                        units.setdefault(label.value, ([], []))[side].append((offset + start, end - start))
            offset += lengths[version]
        found.append(QuestionUnits(offset, {label: (tuple(a), tuple(b)) for label, (a, b) in units.items()}))
    return found


def nominal_alpha(name: str, values: Sequence[tuple[Hashable, Hashable]]) -> Measure:
    """Return Krippendorff's nominal α of two annotators' words; n counts questions.

    α = 1 − (n − 1)·Σ_{c≠k} o_ck / Σ_{c≠k} n_c·n_k over the coincidence table of 2 × questions words (Krippendorff
    2011).
    Undefined without a question, and where one word only was used.
    """
    n = len(values)
    if not n:
        return _undefined(name, "questions")
    words = Counter(word for both in values for word in both)
    expected = (2 * n) ** 2 - sum(count**2 for count in words.values())
    if not expected:
        return _undefined(name, "questions", n, "both used one word throughout")
    differing = 2 * sum(a != b for a, b in values)
    return Measure(name, 1 - Fraction((2 * n - 1) * differing, expected), n, "questions")


def spans_only(content: PassContent) -> PassContent:
    """Return the marks of a pass without its sets, so that aligning looks at spans alone."""
    return PassContent(spans=content.spans)


def _merged(spans: Sequence[MarkedSpan]) -> dict[str, list[tuple[int, int]]]:
    """Return each version's marked bytes as disjoint intervals in order; touching ones are joined."""
    found: dict[str, list[tuple[int, int]]] = {}
    for span in sorted(spans):
        intervals = found.setdefault(span.version, [])
        if intervals and span.start <= intervals[-1][1]:
            intervals[-1] = (intervals[-1][0], max(intervals[-1][1], span.end))
        else:
            intervals.append((span.start, span.end))
    return found


def _common(a: Sequence[tuple[int, int]], b: Sequence[tuple[int, int]]) -> int:
    """Return the number of bytes in both of two lists of disjoint intervals in order."""
    total = i = j = 0
    while i < len(a) and j < len(b):
        total += max(0, min(a[i][1], b[j][1]) - max(a[i][0], b[j][0]))
        if a[i][1] <= b[j][1]:
            i += 1
        else:
            j += 1
    return total
