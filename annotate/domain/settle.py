"""From two passes and a decision about each difference to one settled content. Pure: rows are the service's business.

How decisions meet each other:

- The chosen side is taken as it stands; where it has nothing (a span it did not mark, a set it did not make), choosing
  it means that nothing stands there. Rejecting leaves nothing of either side: a span leaves every set, a set goes, a
  text becomes empty, a label becomes `evidence`, a dependency `none`, the behaviour `abstain` without a text.
  Answerability and the answer cannot be rejected, since a question without them cannot be settled.
- A span only one side marked, once kept, stands in the sets it was marked in; where the membership of such a set was
  itself a difference, the chosen membership is taken literally.
- A span that was dropped leaves every set. A set left without spans goes. Sets that became equal are one. Spans whose
  boundaries became equal are one, under the first one's name.
- Notes belong to the annotators and are not carried over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from annotate.domain.alignment import Alignment, JointSpan, align
from annotate.domain.content import AnswerContract, MarkedSpan, PassContent
from annotate.domain.content_codec import content_from_payload, normalised
from annotate.domain.disagreements import TEXT_FIELDS, Difference, differences, wording_of
from annotate.domain.edits import read_span_edit
from annotate.domain.errors import BadInput, BadInputs
from annotate.domain.vocabulary import Choice, DependencyType, DisagreementType, MissingBehaviour, SpanLabel


@dataclass(frozen=True)
class Verdict:
    """One decision: a side, a rejection, or an edited value (as `edits.check_edit` returned it)."""

    choice: Choice
    value: Any = None


@dataclass(frozen=True)
class _Ruling:
    """What stands after a verdict: `value` (None: nothing), and whether it is the adjudicator's own."""

    value: Any
    edited: bool = False


def settle(a: PassContent, b: PassContent, verdicts: Mapping[int, Verdict]) -> PassContent:
    """Return the settled content; `verdicts` are keyed by the position of the difference in `differences(a, b)`.

    Raises BadInputs naming every difference without a verdict. The result is not checked for completeness: a decision
    may leave too little, and `pass_check.check_complete` says so.
    """
    found = differences(a, b)
    open_ones = [position for position in range(len(found)) if position not in verdicts]
    if open_ones:
        raise BadInputs("decisions", [undecided(position, found[position]) for position in open_ones])
    rulings = {(d.kind, d.subject): _rule(d, verdicts[position]) for position, d in enumerate(found)}
    whole = rulings.get((DisagreementType.ANSWERABILITY, ""))
    if whole is not None:
        return _whole_side(a, b, whole)
    alignment = align(a, b)
    spans, forbidden, names = _spans(alignment, rulings)
    sets = _sets(alignment, found, rulings, names)
    return normalised(PassContent(_contract(a.contract, b.contract, rulings), spans, sets, forbidden))


def undecided(position: int, difference: Difference) -> BadInput:
    """Return the refusal for a difference nobody has decided."""
    subject = f" “{difference.subject}”" if difference.subject else ""
    return BadInput(
        f"difference {position + 1} ({difference.kind.value}{subject})",
        "it has no decision",
        "Choose a side, reject both or write a value of your own, with a reason.",
    )


def _rule(difference: Difference, verdict: Verdict) -> _Ruling:
    if verdict.choice is Choice.EDITED:
        return _Ruling(verdict.value, edited=True)
    if verdict.choice is Choice.REJECT:
        return _Ruling(None)
    return _Ruling(difference.value_a if verdict.choice is Choice.A else difference.value_b)


def _whole_side(a: PassContent, b: PassContent, ruling: _Ruling) -> PassContent:
    if ruling.edited:
        chosen = content_from_payload(ruling.value, "edited content")
    elif ruling.value is None:
        raise BadInput(
            "answerability", "both sides were rejected", "Choose a side, or write the whole content as an edit."
        )
    else:
        chosen = a if a.contract.answerable is ruling.value else b
    return normalised(replace(chosen, contract=replace(chosen.contract, notes="")))


_Rulings = Mapping[tuple[DisagreementType, str], _Ruling]


def _contract(a: AnswerContract, b: AnswerContract, rulings: _Rulings) -> AnswerContract:
    texts: dict[str, str] = {}
    for field, kind in TEXT_FIELDS.items():
        ruling = rulings.get((kind, ""))
        texts[field] = wording_of(getattr(a, field), getattr(b, field)) if ruling is None else ruling.value or ""
    dependency = rulings.get((DisagreementType.DEPENDENCY_TYPE, ""))
    behaviour = rulings.get((DisagreementType.MISSING_BEHAVIOUR, ""))
    if behaviour is None:
        how, then = a.missing_behaviour, wording_of(a.missing_text, b.missing_text)
    elif behaviour.value is None:
        how, then = MissingBehaviour.ABSTAIN, ""
    else:
        how, then = MissingBehaviour(behaviour.value["behaviour"]), behaviour.value["text"]
    return AnswerContract(
        answerable=a.answerable,
        dependency=a.dependency if dependency is None else DependencyType(dependency.value or DependencyType.NONE),
        missing_behaviour=how,
        missing_text=then,
        **texts,
    )


def _spans(alignment: Alignment, rulings: _Rulings) -> tuple[tuple[MarkedSpan, ...], tuple[str, ...], dict[str, str]]:
    """Return the spans kept, the forbidden ones' names, and for each kept joint name the name it now has."""
    kept: dict[tuple[str, int, int], MarkedSpan] = {}
    forbidden: list[str] = []
    names: dict[str, str] = {}
    for joint in alignment.spans:
        decided = _one_span(joint, rulings)
        if decided is None:
            continue
        span, out = decided
        first = kept.setdefault(span.bytes_key, span)
        names[joint.name] = first.name
        if out and first.name not in forbidden:
            forbidden.append(first.name)
    return tuple(kept.values()), tuple(forbidden), names


def _one_span(joint: JointSpan, rulings: _Rulings) -> tuple[MarkedSpan, bool] | None:
    """Return the span as decided and whether it is forbidden; None where a decision dropped it."""
    span, forbidden = replace(joint.either, name=joint.name), joint.forbidden_a or joint.forbidden_b
    for kind in (DisagreementType.SPAN_MISSING, DisagreementType.SPAN_BOUNDARY, DisagreementType.FORBIDDEN_EVIDENCE):
        ruling = rulings.get((kind, joint.name))
        if ruling is None:
            continue
        if ruling.value is None:
            return None
        edit = read_span_edit(ruling.value, span)
        span = replace(span, version=edit.version, start=edit.start, end=edit.end)
        if kind is DisagreementType.SPAN_MISSING or ruling.edited:
            span = replace(span, label=edit.label)
        forbidden = edit.forbidden if kind is DisagreementType.FORBIDDEN_EVIDENCE else forbidden
    label = rulings.get((DisagreementType.SPAN_LABEL, joint.name))
    if label is not None:
        span = replace(span, label=SpanLabel(label.value or SpanLabel.EVIDENCE))
    return span, forbidden


def _sets(
    alignment: Alignment, found: Sequence[Difference], rulings: _Rulings, names: Mapping[str, str]
) -> tuple[tuple[str, ...], ...]:
    subjects = {
        d.subject: d for d in found if d.kind in (DisagreementType.SET_MEMBERSHIP, DisagreementType.SET_MISSING)
    }
    sets: list[tuple[str, ...]] = []
    for joint, subject in zip(alignment.sets, alignment.set_names, strict=True):
        if subject in subjects:
            members = rulings[(subjects[subject].kind, subject)].value or ()
        else:
            members = tuple(dict.fromkeys((*(joint.a or ()), *(joint.b or ()))))
        left = tuple(dict.fromkeys(names[name] for name in members if name in names))
        if left and frozenset(left) not in {frozenset(other) for other in sets}:
            sets.append(left)
    return tuple(sets)
