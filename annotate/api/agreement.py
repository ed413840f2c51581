"""Agreement on first submissions: every figure with n, coverage, interval and exclusions, and the items behind it.

Whoever marks a question finds it in no figure, choice, count or row before it is settled (docs/decisions/0008).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from annotate.api.endpoint import StudyEndpoint
from annotate.api.listing import PAGE, Reader, name, one_of, page_of, parameters
from annotate.domain.agreement_intervals import ALPHA_REPLICATES, CONFIDENCE, REPLICATES, SEED
from annotate.domain.agreement_report import Item, Line, Part, parts, report
from annotate.domain.vocabulary import Role
from annotate.selectors.agreement import (
    Slice,
    agreement_items,
    choices_of,
    left_out_note,
    own_unsettled,
    version_lengths,
)


class AgreementEndpoint(StudyEndpoint):
    """What the figures and the items behind them share: one choice of questions."""

    actions = {"GET": "agreement.view"}

    def chosen(self, request: Request, more: Mapping[str, Reader]) -> tuple[dict[str, Any], list[Item], list[Item]]:
        """Return the parameters, every question that says anything to the person, and those they chose."""
        items = agreement_items(self.person, self.study)
        choices = self.choices(items)
        readers = {field: one_of(value for value, _ in found) for field, found in choices.items()}
        given = parameters(request, {**readers, **more})
        choice = Slice(**{field: given[field] for field in readers if field in given})
        return given, items, [item for item in items if choice.takes(item)]

    def choices(self, items: Sequence[Item]) -> dict[str, tuple[tuple[str, int], ...]]:
        """Return what there is to choose from; by pair for a lead alone, since others are not to know who marked."""
        found = choices_of(items)
        by_all = {"segment": found.segments, "month": found.months}
        return {**by_all, "pair": found.pairs} if Role.LEAD in self.actor.roles else by_all


class Agreement(AgreementEndpoint):
    """The figures of a study, or of one segment, pair or month of it."""

    def get(self, request: Request, slug: str) -> Response:
        """Return every figure of the chosen questions; `?segment=`, `?month=` and, for a lead, `?pair=` choose."""
        given, items, chosen = self.chosen(request, {})
        return Response(
            {
                "study": self.study.slug,
                "chosen": given,
                "questions": len(chosen),
                "of": len(items),
                "left_out": len(own_unsettled(self.person, self.study)),
                "left_out_why": left_out_note(self.person, self.study),
                "choices": {
                    field: [{"name": value, "questions": number} for value, number in found]
                    for field, found in self.choices(items).items()
                },
                "signature": {
                    "resampled": "questions",
                    "method": "percentile",
                    "confidence": float(CONFIDENCE),
                    "sides": 2,
                    "replicates": REPLICATES,
                    "replicates_alpha_u": ALPHA_REPLICATES,
                    "seed": SEED,
                },
                "figures": [_figure(line) for line in report(chosen, version_lengths(self.study))],
            }
        )


class AgreementItems(AgreementEndpoint):
    """What each question adds to each figure."""

    def get(self, request: Request, slug: str) -> Response:
        """List the chosen questions by key; `?after=` is a key."""
        given, items, chosen = self.chosen(request, {**PAGE, "after": name})
        keys = {item.key for item in chosen}
        return page_of(request, given, items, lambda item: item.key, _rows, lambda item: item.key in keys)


def _figure(line: Line) -> dict[str, Any]:
    measure, interval = line.measure, line.interval
    return {
        "name": measure.name,
        "status": "undefined" if measure.value is None else "value",
        "value": None if measure.value is None else float(measure.value),
        "n": measure.n,
        "unit": measure.unit,
        "note": measure.note,
        "low": interval.low,
        "high": interval.high,
        "why_no_interval": interval.note,
        "undefined_replicates": interval.undefined,
        "covered": line.covered,
        "of": line.of,
        "excluded": [{"question": key, "why": why} for key, why in line.excluded],
    }


def _rows(items: Sequence[Item]) -> list[dict[str, Any]]:
    found: dict[str, list[Part]] = {item.key: [] for item in items}
    for part in parts(items):
        found[part.question].append(part)
    return [{"question": key, "parts": [_part(part) for part in made]} for key, made in found.items()]


def _part(part: Part) -> dict[str, Any]:
    above, below = part.numbers
    return {
        "figure": part.figure,
        "numerator": float(above),
        "is": part.labels[0],
        "denominator": float(below),
        "of": part.labels[1],
        "excluded": part.excluded,
    }
