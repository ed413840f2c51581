"""Questions of a report as rows that can be filtered: what became of each, and what its evidence is like."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import Http404, QueryDict

from evaluation.domain.frozen import Document, FrozenQuestion
from evaluation.views.charts_of_support import fragile_first
from evaluation.views.result_cells import OVERALL, Place
from evaluation.views.result_fates import changed_of, fates_of, stages_of
from evaluation.views.result_tables import Report
from evaluation.views.source_drawing import Reader
from evaluation.views.wording import FATES, words

NO_EVIDENCE = "none"
#: Bytes of the smallest sufficient set.
LENGTHS = {"up-to-200": "up to 200 bytes", "201-to-800": "201 to 800 bytes", "over-800": "over 800 bytes"}
CHANGES = {
    "lost": "lost at some phase",
    "gained": "gained at some phase",
    "lost-everywhere": "lost: whole in every phase under the baseline alone",
    "gained-everywhere": "gained: whole in every phase under the candidate alone",
    "fragile": "changes with the phase",
    "same": "the same at every phase",
}


@dataclass(frozen=True)
class QuestionRow:
    """One question in one view. `fates` has one word per shared label ("" where it is not counted); `stages` are the
    fates of its runs under the candidate; `sources` are names this person may know, `hidden` counts the others."""

    key: str
    segment: str
    sample: str
    language: str
    sources: tuple[str, ...]
    hidden: int
    formats: tuple[str, ...]
    evidence_bytes: int
    fates: tuple[str, ...]
    labels: tuple[str, ...]
    changes: frozenset[str]
    stages: tuple[str, ...]

    @property
    def length(self) -> str:
        """The band of its evidence's length."""
        if not self.evidence_bytes:
            return NO_EVIDENCE
        return "up-to-200" if self.evidence_bytes <= 200 else "201-to-800" if self.evidence_bytes <= 800 else "over-800"

    @property
    def counted(self) -> int:
        """Phases at which it is counted."""
        return sum(bool(fate) for fate in self.fates)

    @property
    def whole(self) -> tuple[int, int]:
        """Phases at which its support is complete under the baseline and under the candidate."""
        return (
            sum(fate in {"both", "lost"} for fate in self.fates),
            sum(fate in {"both", "gained"} for fate in self.fates),
        )

    @property
    def open_at(self) -> str:
        """The phase one wants to see first: where it is lost, else gained, else the first."""
        for wanted in ("lost", "gained"):
            if wanted in self.fates:
                return self.labels[self.fates.index(wanted)]
        return self.labels[0] if self.labels else ""


#: Filter → what it reads of a row. Nothing else of an address is ever looked at.
READS: dict[str, Callable[[QuestionRow], Iterable[str]]] = {
    "segment": lambda row: (row.segment,),
    "sample": lambda row: (row.sample,),
    "source": lambda row: row.sources,
    "language": lambda row: (row.language,),
    "format": lambda row: row.formats,
    "length": lambda row: (row.length,),
    "change": lambda row: row.changes,
    "stage": lambda row: row.stages,
}
_WORDS: dict[str, Mapping[str, str]] = {
    "length": {**LENGTHS, NO_EVIDENCE: "no evidence"},
    "change": CHANGES,
    "stage": {str(name): text for name, text in FATES.items()},
}


@dataclass(frozen=True)
class Option:
    """A value a filter may have, with how many questions it would leave of all."""

    value: str
    text: str
    count: int
    chosen: bool


@dataclass(frozen=True)
class Filters:
    """Chosen values by filter, in the order of READS; every one of them must hold."""

    chosen: Mapping[str, str]

    def keep(self, rows: Sequence[QuestionRow]) -> list[QuestionRow]:
        """Return the rows that every chosen value fits."""
        return [row for row in rows if all(value in READS[name](row) for name, value in self.chosen.items())]

    @property
    def query(self) -> str:
        """The filters as a query, "" for none."""
        return urlencode(self.chosen)


def filters_of(query: QueryDict, rows: Sequence[QuestionRow]) -> Filters:
    """Read the filters of an address. Raises Http404 for a value that no row has and no list of words knows."""
    chosen = {}
    for name, read in READS.items():
        value = query.get(name, "")
        if not value:
            continue
        if value not in _WORDS.get(name, {}) and not any(value in read(row) for row in rows):
            raise Http404(f"no question has {name} {value}")
        chosen[name] = value
    return Filters(chosen)


def options_of(filters: Filters, rows: Sequence[QuestionRow]) -> list[tuple[str, str, list[Option]]]:
    """Return (filter, title, values) for a form; a filter with one value for all is left out unless it is chosen."""
    found = []
    for name, read in READS.items():
        counts: dict[str, int] = {}
        for row in rows:
            for value in read(row):
                counts[value] = counts.get(value, 0) + 1
        known = _WORDS.get(name)
        order = [value for value in known if value in counts] if known else sorted(counts)
        now = filters.chosen.get(name, "")
        options = [Option(one, known[one] if known else _said(name, one), counts[one], one == now) for one in order]
        if now and now not in counts:
            options.append(Option(now, known[now] if known else now, 0, chosen=True))
        if len(options) > 1 or now:
            found.append((name, name.capitalize(), options))
    return found


def question_rows(
    report: Report, place_of: Callable[[str], Place], questions: Sequence[FrozenQuestion], reader: Reader
) -> list[QuestionRow]:
    """Return the questions of the population, those lost at most phases first, then the most fragile.

    `place_of` gives the place of a sample; `reader` is who asks, over the corpus's documents.
    """
    fates: dict[str, list[str]] = {}
    whole: dict[str, set[str]] = {}
    stages: dict[str, dict[str, None]] = {}
    for sample in report.samples:
        place = place_of(sample)
        fates |= dict(fates_of(report, place, OVERALL))
        for word, names in changed_of(report, place).items():
            for name in names:
                whole.setdefault(name, set()).add(word)
        for fate, names in stages_of(report, place, report.candidate).items():
            for name in names:
                stages.setdefault(name, {})[fate] = None
    by_digest = {one.digest: index for index, one in enumerate(reader.documents)}
    rows = {
        one.question_id: _row(
            one,
            fates.get(one.question_id, [""] * len(report.labels)),
            tuple(report.labels),
            whole.get(one.question_id, ()),
            tuple(stages.get(one.question_id, ())),
            reader,
            by_digest,
        )
        for one in questions
    }
    order = fragile_first([(name, list(row.fates)) for name, row in rows.items()])
    return sorted((rows[name] for name, _ in order), key=lambda row: -row.fates.count("lost"))


def _row(
    question: FrozenQuestion,
    fates: Sequence[str],
    labels: tuple[str, ...],
    whole: Collection[str],
    stages: tuple[str, ...],
    reader: Reader,
    by_digest: Mapping[str, int],
) -> QuestionRow:
    versions = list(dict.fromkeys(span.interval.version for one in question.support_sets for span in one))
    documents: list[Document] = [reader.documents[by_digest[one]] for one in versions]
    names = [reader.name(by_digest[one]) for one in versions]
    known = {fate for fate in fates if fate}
    changes = set(whole) | known & {"lost", "gained"}
    if known:
        # Under either arm: the verdict differs between phases.
        arms = [{fate in kept for fate in known} for kept in (("both", "lost"), ("both", "gained"))]
        changes.add("fragile" if any(len(one) > 1 for one in arms) else "same")
    sizes = [sum(span.interval.end - span.interval.start for span in one) for one in question.support_sets]
    return QuestionRow(
        question.question_id,
        str(question.segment),
        str(question.sample),
        question.locale,
        tuple(dict.fromkeys(name for name in names if name is not None)),
        sum(name is None for name in names),
        tuple(dict.fromkeys(one.media_type for one in documents)),
        min(sizes, default=0),
        tuple(fates),
        labels,
        frozenset(changes),
        stages,
    )


def _said(name: str, value: str) -> str:
    return words(value) if name in {"segment", "sample"} else value
