"""Agreement of a study, on first submissions only."""

from __future__ import annotations

from annotate.domain.agreement import Measure, Pair, all_measures
from annotate.domain.content import PassContent
from annotate.models import SourceVersion, Study
from annotate.permissions import By, actor_for, require
from annotate.selectors.passes import first_submissions, submitted_content


def submitted_pairs(study: Study) -> list[Pair]:
    """Return the two first submissions of every question that has both, slot 1 before slot 2."""
    found: dict[int, list[PassContent]] = {}
    for row in first_submissions(study).select_related("work__assignment"):
        found.setdefault(row.work.assignment.question_id, []).append(submitted_content(row))
    return [(both[0], both[1]) for both in found.values() if len(both) == 2]


def agreement_of(by: By, study: Study) -> tuple[Measure, ...]:
    """Return every agreement figure of the study; raises NotAllowed for an annotator, who stays blind to the other."""
    require(actor_for(by, study), "agreement.view")
    lengths = dict(SourceVersion.objects.filter(source__study=study).values_list("sha256", "byte_length"))
    return all_measures(submitted_pairs(study), lengths)
