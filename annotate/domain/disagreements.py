"""The typed differences between two submitted passes, as values; a difference in notes or in span names is none.

How each field is compared:

- Answer, scope, required qualification and the text for a missing condition: after `comparable`, so that blanks, case
  and final punctuation alone are no disagreement (`wording_of` says which wording then stands).
- Spans: as `alignment` pairs them. Equal bytes agree; overlapping is a boundary difference; unmatched is missing.
- Sets: by the spans both sides marked. A span only one side marked is one difference (span missing), not a second one
  in every set it stands in; deciding about the span decides about its membership. A set with no counterpart is missing.
- Where one side says the sources answer the question and the other says they do not, that is the only difference:
  everything else hangs on it, and the chosen side is taken whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from annotate.domain.alignment import Alignment, JointSpan, align
from annotate.domain.content import AnswerContract, PassContent
from annotate.domain.content_codec import span_payload
from annotate.domain.vocabulary import DisagreementType

#: Contract fields that are compared as texts, with the type their difference has.
TEXT_FIELDS = {
    "answer": DisagreementType.ANSWER,
    "scope": DisagreementType.SCOPE,
    "qualification": DisagreementType.QUALIFICATION,
}


# Marks that end a sentence in the scripts seen so far; a percent or section sign carries meaning and stays.
_SENTENCE_END = ".!?…,;:。！？．、，；：؟،؛۔।॥ "


@dataclass(frozen=True)
class Difference:
    """One difference. Values are canonical-ready; None where a side has nothing.

    By kind: answerability bool; answer, scope, qualification, dependency type and span label str; missing-condition
    behaviour {behaviour, text}; span boundary and span missing a span payload; forbidden evidence a span payload with
    `forbidden`; set membership and set missing a list of joint span names. `subject` is the joint name of the span, the
    name of the set (“set A”), or empty.
    """

    kind: DisagreementType
    subject: str
    value_a: Any
    value_b: Any


def comparable(text: str) -> str:
    """Return `text` with blanks collapsed, case folded and final sentence punctuation removed, for comparison only."""
    return " ".join(text.casefold().split()).rstrip(_SENTENCE_END)


def wording_of(a: str, b: str) -> str:
    """Return the wording that stands for two texts that count as equal: the first by code points, whoever wrote it."""
    return min(a, b)


def differences(a: PassContent, b: PassContent) -> tuple[Difference, ...]:
    """Return every difference in a stable order: contract, spans in the order of the text, sets."""
    if a.contract.answerable is not b.contract.answerable:
        return (Difference(DisagreementType.ANSWERABILITY, "", a.contract.answerable, b.contract.answerable),)
    alignment = align(a, b)
    return (*_contract(a.contract, b.contract), *_spans(alignment), *_sets(alignment))


def behaviour_value(contract: AnswerContract) -> dict[str, str]:
    """Return the missing-condition behaviour as a difference shows it."""
    return {"behaviour": contract.missing_behaviour.value, "text": contract.missing_text}


def _contract(a: AnswerContract, b: AnswerContract) -> Iterator[Difference]:
    for field, kind in TEXT_FIELDS.items():
        one, two = getattr(a, field), getattr(b, field)
        if comparable(one) != comparable(two):
            yield Difference(kind, "", one, two)
    if a.dependency is not b.dependency:
        yield Difference(DisagreementType.DEPENDENCY_TYPE, "", a.dependency.value, b.dependency.value)
    if a.missing_behaviour is not b.missing_behaviour or comparable(a.missing_text) != comparable(b.missing_text):
        yield Difference(DisagreementType.MISSING_BEHAVIOUR, "", behaviour_value(a), behaviour_value(b))


def _spans(alignment: Alignment) -> Iterator[Difference]:
    for joint in alignment.spans:
        if joint.a is None or joint.b is None:
            yield _one_sided(joint)
            continue
        if joint.a.bytes_key != joint.b.bytes_key:
            yield Difference(DisagreementType.SPAN_BOUNDARY, joint.name, _as_joint(joint, "a"), _as_joint(joint, "b"))
        if joint.a.label is not joint.b.label:
            yield Difference(DisagreementType.SPAN_LABEL, joint.name, joint.a.label.value, joint.b.label.value)
        if joint.forbidden_a != joint.forbidden_b:
            yield Difference(
                DisagreementType.FORBIDDEN_EVIDENCE,
                joint.name,
                {**_as_joint(joint, "a"), "forbidden": joint.forbidden_a},
                {**_as_joint(joint, "b"), "forbidden": joint.forbidden_b},
            )


def _one_sided(joint: JointSpan) -> Difference:
    side = "a" if joint.a else "b"
    value = _as_joint(joint, side)
    kind = DisagreementType.SPAN_MISSING
    if joint.forbidden_a or joint.forbidden_b:
        kind, value = DisagreementType.FORBIDDEN_EVIDENCE, {**value, "forbidden": True}
    return Difference(kind, joint.name, value if side == "a" else None, value if side == "b" else None)


def _as_joint(joint: JointSpan, side: str) -> dict[str, Any]:
    span = joint.a if side == "a" else joint.b
    if span is None:
        raise ValueError(f"side {side} did not mark {joint.name!r}")
    return {**span_payload(span), "name": joint.name}


def _sets(alignment: Alignment) -> Iterator[Difference]:
    for joint, subject in zip(alignment.sets, alignment.set_names, strict=True):
        a = None if joint.a is None else list(joint.a)
        b = None if joint.b is None else list(joint.b)
        if joint.a is None or joint.b is None:
            yield Difference(DisagreementType.SET_MISSING, subject, a, b)
        elif alignment.shared_part(joint.a) != alignment.shared_part(joint.b):
            yield Difference(DisagreementType.SET_MEMBERSHIP, subject, a, b)
