"""The adjudicator's decisions over the whole study as a JSON file.

A list with one object per question:

    {"question": key, "segment": "rule-and-exception",
     "confirm_reason_code": "better-supported", "confirm_reason": "…",
     "decisions": [{"kind": "span-boundary", "subject": "rule", "take": "1", "value": …,
                    "reason_code": "boundary-precision", "reason": "…"}],
     "spans": {"rule": ["necessary", "why"], "example": ["topical", ""]}}

`"alternatives_reason": "why"` says why a set stands beside one it holds whole. `"leave_out": "why"` settles a question
and keeps it out of the frozen set, for one that the store's rules cannot hold.

Sides are named by annotator, "1" and "2", since who is shown as A is drawn when an item is opened; `orientation` finds
the side. A subject is a joint span name, a reference `document@version:start-end` to either side's bytes, or
`set 1.2`: annotator 1's second set.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from annotate.domain.errors import BadInput
from annotate.domain.import_formats.fields import SLUG, Fields, raise_all
from annotate.domain.vocabulary import DisagreementType, Necessity, ReasonCode, Segment
from evaluation.demo.pass_files import entries


class Take(StrEnum):
    """What stands: what annotator 1 or 2 said, nothing of either, or a value of the adjudicator's own."""

    ONE = "1"
    TWO = "2"
    REJECT = "reject"
    EDITED = "edited"


@dataclass(frozen=True)
class FileDecision:
    """A decision as it stands in the file; `value` only with Take.EDITED."""

    kind: DisagreementType
    subject: str
    take: Take
    value: Any
    reason_code: ReasonCode
    reason: str


@dataclass(frozen=True)
class QuestionDecisions:
    """Everything decided about one question; `spans` by name or reference, `leave_out` why it is not frozen (or "").

    `alternatives_reason` is why a set stands beside one it holds whole ("" where none does).
    """

    question: str
    segment: Segment
    decisions: tuple[FileDecision, ...]
    confirm_reason_code: ReasonCode
    confirm_reason: str
    spans: Mapping[str, tuple[Necessity, str]]
    leave_out: str
    alternatives_reason: str = ""


def read_decisions(data: bytes, where: str) -> dict[str, QuestionDecisions]:
    """Return the decisions by question key; raises BadInputs with every problem of the file's form.

    Whether they fit the differences there are is `orientation`'s and the services' business.
    """
    found: dict[str, QuestionDecisions] = {}
    problems: list[BadInput] = []
    for place, table in entries(data, where, problems):
        fields = Fields(table, place)
        one = _question(fields, table, where)
        if one.question in found:
            fields.problem("question", "there is an entry for it already", "Keep one of the two.")
        found[one.question] = one
        problems += fields.problems
    raise_all(where, problems)
    return found


def _question(fields: Fields, table: Mapping[str, Any], where: str) -> QuestionDecisions:
    key = fields.identifier("question", required=True, pattern=SLUG)
    if key:
        fields.where = f"{where} ({key})"
    segment = fields.word("segment", Segment, Segment.UNCLASSIFIED)
    if segment is Segment.UNCLASSIFIED:
        fields.problem("segment", "it is missing", "Write one of the six.")
    code = fields.word("confirm_reason_code", ReasonCode, ReasonCode.BETTER_SUPPORTED)
    reason = fields.text("confirm_reason")
    decisions = tuple(_decision(fields, given, n) for n, given in enumerate(fields.tables("decisions"), 1))
    spans = _spans(fields, table.get("spans", {}) if fields.has("spans") else {})
    leave_out = fields.text("leave_out", required=fields.has("leave_out"))
    why_both = fields.text("alternatives_reason", required=fields.has("alternatives_reason"))
    fields.close()
    return QuestionDecisions(key, segment, decisions, code, reason, spans, leave_out, why_both)


def _decision(fields: Fields, table: Mapping[str, Any], number: int) -> FileDecision:
    inner = Fields(table, f"{fields.where}, decision {number}")
    for name in ("kind", "take", "reason_code"):
        if not inner.has(name):
            inner.problem(name, "it is missing", "Every decision needs it.")
    made = FileDecision(
        kind=inner.word("kind", DisagreementType, DisagreementType.ANSWER),
        subject=inner.text("subject"),
        take=inner.word("take", Take, Take.ONE),
        value=table["value"] if inner.has("value") else None,
        reason_code=inner.word("reason_code", ReasonCode, ReasonCode.OTHER),
        reason=inner.text("reason"),
    )
    if (made.value is not None) is not (made.take is Take.EDITED):
        inner.problem("value", f"it does not go with take “{made.take}”", "A value goes with “edited”, and only there.")
    inner.close()
    fields.problems += inner.problems
    return made


def _spans(fields: Fields, value: object) -> dict[str, tuple[Necessity, str]]:
    if not isinstance(value, Mapping):
        fields.problem("spans", "it is no object", 'Write {"name": ["necessary", "why"], …}.')
        return {}
    found: dict[str, tuple[Necessity, str]] = {}
    for name, said in value.items():
        if not isinstance(said, list) or len(said) != 2 or not all(isinstance(part, str) for part in said):
            fields.problem(f"span “{name}”", f"{said!r} is no judgement", 'Write ["necessary", "why"].')
        elif said[0] not in list(Necessity):
            fields.problem(f"span “{name}”", f"“{said[0]}” is no word for it", "Write necessary or topical.")
        else:
            found[name] = (Necessity(said[0]), said[1])
    return found
