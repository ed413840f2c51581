"""Agreement of a study on first submissions only: as a whole, by segment, by pair of annotators, over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from annotate.domain.agreement_report import Item, Line, Part, parts, report
from annotate.models import AdjudicatedResult, Assignment, Question, SourceVersion, Study, Submission
from annotate.permissions import By, actor_for, require
from annotate.selectors.passes import first_submissions, submitted_content

EVERYTHING = ""


@dataclass(frozen=True)
class Slice:
    """A choice of questions: a segment, a pair of annotators as "anna+ben", a month as "2026-10"; empty means all."""

    segment: str = EVERYTHING
    pair: str = EVERYTHING
    month: str = EVERYTHING

    def takes(self, item: Item) -> bool:
        """Whether the item belongs to the choice."""
        return (
            self.segment in {EVERYTHING, item.segment}
            and self.pair in {EVERYTHING, pair_name(item)}
            and self.month in {EVERYTHING, month_of(item)}
        )


@dataclass(frozen=True)
class Choices:
    """What a study's items can be sliced by, each with its number of questions, in order of name."""

    segments: tuple[tuple[str, int], ...]
    pairs: tuple[tuple[str, int], ...]
    months: tuple[tuple[str, int], ...]


def pair_name(item: Item) -> str:
    """Return the two annotators in order of name, joined by a plus sign."""
    return "+".join(sorted(item.annotators))


def month_of(item: Item) -> str:
    """Return the month the second first submission came in, as "2026-10" (UTC)."""
    return f"{item.completed:%Y-%m}"


def agreement_items(by: By, study: Study) -> list[Item]:
    """Return every question both of whose annotators have submitted, by key.

    The segment is the adjudicated one where the question is settled, else the suggested one. Raises NotAllowed for an
    annotator, who stays blind to the other. A handful of queries, whatever the number of questions.
    """
    require(actor_for(by, study), "agreement.view")
    segments = dict(Question.objects.filter(study=study).values_list("pk", "segment"))
    settled = AdjudicatedResult.objects.filter(question__study=study).order_by("question_id", "ordinal")
    segments |= dict(settled.values_list("question_id", "segment"))
    found: dict[int, list[Submission]] = {}
    for row in first_submissions(study).select_related("work__assignment__question", "work__assignment__annotator"):
        found.setdefault(row.work.assignment.question_id, []).append(row)
    items = [
        Item(
            key=one.work.assignment.question.key,
            segment=segments[question],
            annotators=(one.work.assignment.annotator.username, two.work.assignment.annotator.username),
            completed=max(one.submitted_at, two.submitted_at),
            pair=(submitted_content(one), submitted_content(two)),
        )
        for question, (one, two) in ((key, rows) for key, rows in found.items() if len(rows) == 2)
    ]
    return sorted(items, key=lambda item: item.key)


def agreement_of(by: By, study: Study, choice: Slice = Slice()) -> tuple[Line, ...]:
    """Return every agreement figure of the chosen questions. Raises NotAllowed as `agreement_items` does."""
    items = [item for item in agreement_items(by, study) if choice.takes(item)]
    return report(items, version_lengths(study))


def agreement_parts(by: By, study: Study, choice: Slice = Slice()) -> list[Part]:
    """Return the items behind each number of the chosen questions. Raises NotAllowed as `agreement_items` does.

    Left out are questions that `by` marks and that are not settled: where the two passes part would tell the other one.
    """
    person = actor_for(by, study).person_id
    own = Assignment.objects.filter(question__study=study, annotator_id=person, question__results__isnull=True)
    hidden = set(own.values_list("question__key", flat=True)) if person is not None else set()
    return parts([item for item in agreement_items(by, study) if choice.takes(item) and item.key not in hidden])


def choices_of(items: Sequence[Item]) -> Choices:
    """Return what there is to choose from."""
    counts = (Counter(name(item) for item in items) for name in (lambda item: item.segment, pair_name, month_of))
    return Choices(*(tuple(sorted(count.items())) for count in counts))


def version_lengths(study: Study) -> dict[str, int]:
    """Return each source version's length in bytes, by digest."""
    return dict(SourceVersion.objects.filter(source__study=study).values_list("sha256", "byte_length"))
