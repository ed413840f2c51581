"""Agreement of a study on first submissions only: as a whole, by segment, by pair of annotators, over time.

Whoever marks a question learns nothing of the other pass from a figure: until it is settled, the question is in none
that they see (docs/decisions/0008).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from annotate.domain.agreement_report import Item, Line, Part, parts, report
from annotate.models import AdjudicatedResult, Assignment, Question, SourceVersion, Study, Submission
from annotate.permissions import By, actor_for, require
from annotate.selectors.discussion import settled_questions
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
    """Return every question both of whose annotators have submitted, but for `own_unsettled` ones, by key.

    The segment is the adjudicated one where the question is settled, else the suggested one. Raises NotAllowed for an
    annotator, who stays blind to the other. A handful of queries, whatever the number of questions.
    """
    require(actor_for(by, study), "agreement.view")
    hidden = own_unsettled(by, study)
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
        if question not in hidden
    ]
    return sorted(items, key=lambda item: item.key)


def agreement_of(by: By, study: Study, choice: Slice = Slice()) -> tuple[Line, ...]:
    """Return every agreement figure of the chosen questions. Raises NotAllowed as `agreement_items` does."""
    items = [item for item in agreement_items(by, study) if choice.takes(item)]
    return report(items, version_lengths(study))


def agreement_parts(by: By, study: Study, choice: Slice = Slice()) -> list[Part]:
    """Return the items behind each number of the chosen questions. Raises NotAllowed as `agreement_items` does."""
    return parts([item for item in agreement_items(by, study) if choice.takes(item)])


def own_unsettled(by: By, study: Study) -> frozenset[int]:
    """Return the questions that `by` marks or once held a task of, and that are not settled now.

    One that was opened again, or whose pass was returned, is not settled. Whether the other pass is in makes no
    difference, so that their number does not tell it. Two queries.
    """
    person = actor_for(by, study).person_id
    if person is None:
        return frozenset()
    own = frozenset(
        Assignment.objects.filter(question__study=study, annotator_id=person).values_list("question_id", flat=True)
    )
    return own - settled_questions(own)


def left_out_note(by: By, study: Study) -> str:
    """Return in words how many questions no agreement figure holds for `by`; empty where none is left out."""
    count = len(own_unsettled(by, study))
    if not count:
        return ""
    own = "1 question that you mark is" if count == 1 else f"{count} questions that you mark are"
    return f"{own} not settled and so left out for you: a figure could tell of the other pass"


def choices_of(items: Sequence[Item]) -> Choices:
    """Return what there is to choose from."""
    counts = (Counter(name(item) for item in items) for name in (lambda item: item.segment, pair_name, month_of))
    return Choices(*(tuple(sorted(count.items())) for count in counts))


def version_lengths(study: Study) -> dict[str, int]:
    """Return each source version's length in bytes, by digest."""
    return dict(SourceVersion.objects.filter(source__study=study).values_list("sha256", "byte_length"))
