"""Values an adjudicator writes instead of either side's, read strictly, one form per kind of difference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from annotate.domain.content import MarkedSpan
from annotate.domain.content_codec import content_from_payload, content_payload, span_from_payload
from annotate.domain.disagreements import Difference
from annotate.domain.errors import BadInput, shown
from annotate.domain.pass_edits import MAX_TEXT
from annotate.domain.vocabulary import Choice, DependencyType, DisagreementType, MissingBehaviour, SpanLabel
from annotate.domain.written import written

_SPAN_KINDS = (DisagreementType.SPAN_BOUNDARY, DisagreementType.SPAN_MISSING, DisagreementType.FORBIDDEN_EVIDENCE)
_SET_KINDS = (DisagreementType.SET_MEMBERSHIP, DisagreementType.SET_MISSING)
_SPAN_FIELDS = frozenset(("version", "start", "end", "label", "forbidden", "name"))
#: Differences of which one side must stand, or an edit: a question without them cannot be settled.
_NOT_REJECTABLE = (DisagreementType.ANSWERABILITY, DisagreementType.ANSWER)


@dataclass(frozen=True)
class SpanEdit:
    """A span as decided: bytes `[start, end)` of `version`, its label, and whether it is forbidden evidence."""

    version: str
    start: int
    end: int
    label: SpanLabel
    forbidden: bool


def check_choice(kind: DisagreementType, choice: Choice, reason: str) -> None:
    """Raise BadInput where `kind` cannot be rejected, or where both sides are overridden and no reason is written."""
    if choice is Choice.REJECT and kind in _NOT_REJECTABLE:
        raise BadInput(
            "choice",
            f"both sides of {kind.value} are rejected, and a question without it cannot be settled",
            "Choose a side, or write your own.",
        )
    if choice in (Choice.REJECT, Choice.EDITED) and not reason.strip():
        raise BadInput(
            "reason", "both sides are overridden and it is empty", "Write in a sentence why neither side stands."
        )


def check_edit(difference: Difference, value: object, joint_names: Iterable[str]) -> Any:
    """Return an edited value in its stored form; raises BadInput when it does not fit the kind of `difference`.

    Forms: answerability a whole content payload; answer, scope, qualification a text; dependency type and span label a
    word; missing-condition behaviour {behaviour, text}; span boundary, span missing and forbidden evidence
    {start, end, version?, label?, forbidden?}; set membership and set missing a list of `joint_names`. Whether a span
    fits the bytes is checked by the service, which has them.
    """
    kind = difference.kind
    if kind in _SET_KINDS:
        return _members(value, frozenset(joint_names))
    if kind in _SPAN_KINDS:
        edit = read_span_edit(value, base_span(difference))
        stored = {"version": edit.version, "start": edit.start, "end": edit.end, "label": edit.label.value}
        return {**stored, "forbidden": edit.forbidden} if kind is DisagreementType.FORBIDDEN_EVIDENCE else stored
    return _READERS[kind](value)


def base_span(difference: Difference) -> MarkedSpan:
    """Return the span a span difference is about: side A's, or B's where A has none."""
    given = difference.value_a or difference.value_b
    return span_from_payload({name: given[name] for name in ("version", "start", "end", "name", "label")})


def read_span_edit(value: object, base: MarkedSpan) -> SpanEdit:
    """Read {start, end} with optional version, label and forbidden; what is left out is as in `base`."""
    if not isinstance(value, Mapping) or not {"start", "end"} <= value.keys() or value.keys() - _SPAN_FIELDS:
        raise BadInput(
            "value", "it is no span", "Send start and end in bytes, and if you like version, label and forbidden."
        )
    forbidden = value.get("forbidden", False)
    if not isinstance(forbidden, bool):
        raise BadInput("value.forbidden", f"is {forbidden!r}", "Send true or false.")
    span = span_from_payload(
        {
            "version": value.get("version", base.version),
            "start": value["start"],
            "end": value["end"],
            "name": base.name,
            "label": value.get("label", base.label.value),
        },
        "value",
    )
    return SpanEdit(span.version, span.start, span.end, span.label, forbidden)


def _text(value: object, required: bool) -> str:
    if not isinstance(value, str):
        raise BadInput("value", "it is no text", "Write the text that stands instead.")
    value = written(value, "value", MAX_TEXT)
    if required and not value.strip():
        raise BadInput("value", "the answer is empty", "Write the permissible answer.")
    return value


def _word(value: object, words: type[DependencyType] | type[SpanLabel] | type[MissingBehaviour]) -> str:
    allowed = [word.value for word in words]
    if not isinstance(value, str) or value not in allowed:
        raise BadInput("value", f"is {shown(value)}", f"Use one of {', '.join(allowed)}.")
    return str(value)


def _behaviour(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping) or value.keys() != {"behaviour", "text"}:
        raise BadInput("value", "it is no missing-condition behaviour", "Send behaviour and text.")
    return {"behaviour": _word(value["behaviour"], MissingBehaviour), "text": _text(value["text"], False)}


def _members(value: object, known: frozenset[str]) -> list[str]:
    if not isinstance(value, list | tuple) or not value:
        raise BadInput("value", "it is no set of spans", "Name at least one span; reject the set to have none.")
    for name in value:
        if not isinstance(name, str) or name not in known:
            raise BadInput("value", f"there is no span called {shown(name)}", f"Use {', '.join(sorted(known))}.")
    return list(dict.fromkeys(value))


def _whole(value: object) -> dict[str, Any]:
    return content_payload(content_from_payload(value, "edited content"))


_READERS: Mapping[DisagreementType, Callable[[object], Any]] = {
    DisagreementType.ANSWERABILITY: _whole,
    DisagreementType.ANSWER: lambda value: _text(value, True),
    DisagreementType.SCOPE: lambda value: _text(value, False),
    DisagreementType.QUALIFICATION: lambda value: _text(value, False),
    DisagreementType.DEPENDENCY_TYPE: lambda value: _word(value, DependencyType),
    DisagreementType.SPAN_LABEL: lambda value: _word(value, SpanLabel),
    DisagreementType.MISSING_BEHAVIOUR: _behaviour,
}
