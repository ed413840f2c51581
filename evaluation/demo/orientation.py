"""From what the decisions file says of annotators 1 and 2 to what the services want of sides A and B.

Which submission is shown as A was drawn when the item was opened, and the names of sets follow that draw. Everything
here is therefore found by bytes: a joint span by the bytes either annotator marked, a set by the bytes of its members
as one annotator made it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from annotate.domain.alignment import Alignment, JointSet, JointSpan, align
from annotate.domain.content import PassContent
from annotate.domain.content_codec import content_payload
from annotate.domain.disagreements import Difference
from annotate.domain.edits import base_span
from annotate.domain.errors import BadInput, BadInputs
from annotate.domain.import_formats.fields import Fields
from annotate.domain.vocabulary import Choice, DisagreementType, Necessity, ReasonCode
from evaluation.demo.decision_files import FileDecision, Take
from evaluation.demo.pass_files import read_content
from evaluation.demo.texts import Texts

SPAN_KINDS = frozenset(
    {
        DisagreementType.SPAN_BOUNDARY,
        DisagreementType.SPAN_LABEL,
        DisagreementType.SPAN_MISSING,
        DisagreementType.FORBIDDEN_EVIDENCE,
    }
)
SET_KINDS = frozenset({DisagreementType.SET_MEMBERSHIP, DisagreementType.SET_MISSING})
_BytesKey = tuple[str, int, int]


@dataclass(frozen=True)
class Sided:
    """A decision as `annotate.services.decide` takes it; `position` is its difference's in the item."""

    position: int
    choice: Choice
    value: Any
    reason_code: ReasonCode
    reason: str


@dataclass(frozen=True)
class Orientation:
    """One item: the two contents as side A and B see them, and which of them is annotator 1's."""

    a: PassContent
    b: PassContent
    one_is_a: bool
    texts: Texts

    @property
    def alignment(self) -> Alignment:
        """Return the item's alignment, in sides A and B."""
        return align(self.a, self.b)

    @property
    def annotators(self) -> tuple[PassContent, PassContent]:
        """Return the contents of annotators 1 and 2."""
        return (self.a, self.b) if self.one_is_a else (self.b, self.a)

    def side(self, number: Take) -> str:
        """Return `a` or `b` for annotator 1 or 2."""
        return "a" if (number is Take.ONE) is self.one_is_a else "b"

    def span_references(self, joint: JointSpan) -> tuple[str, ...]:
        """Return every way to refer to a joint span apart from its name: annotator 1's bytes first."""
        sides = (joint.a, joint.b) if self.one_is_a else (joint.b, joint.a)
        return tuple(dict.fromkeys(self.texts.reference(span) for span in sides if span is not None))

    def set_references(self, joint: JointSet, alignment: Alignment) -> tuple[str, ...]:
        """Return `set 1.n` and `set 2.m` where they exist, counted from 1 in the order of the pass as it was sealed."""
        by_name = {span.name: span for span in alignment.spans}
        found = []
        for number, content in zip((Take.ONE, Take.TWO), self.annotators, strict=True):
            side = self.side(number)
            members = getattr(joint, side)
            if members is None:
                continue
            wanted = {getattr(by_name[name], side).bytes_key for name in members}
            place = {span.name: span.bytes_key for span in content.spans}
            index = [{place[name] for name in own} for own in content.sets].index(wanted)
            found.append(f"set {number}.{index + 1}")
        return tuple(found)

    def subjects(self, difference: Difference) -> tuple[str, ...]:
        """Return every subject a decision about `difference` may have."""
        if difference.kind in SPAN_KINDS:
            joint = next(span for span in self.alignment.spans if span.name == difference.subject)
            return (joint.name, *self.span_references(joint))
        if difference.kind in SET_KINDS:
            alignment = self.alignment
            found = dict(zip(alignment.set_names, alignment.sets, strict=True))
            return self.set_references(found[difference.subject], alignment)
        return (difference.subject,)

    def decisions(self, found: Sequence[Difference], made: Iterable[FileDecision]) -> list[Sided]:
        """Return one decision for each of the item's differences (in their order).

        Raises BadInputs for a decision about no difference of the item, two about one, a difference without one, and a
        value that cannot be read.
        """
        subjects = [self.subjects(difference) for difference in found]
        problems: list[BadInput] = []
        taken: dict[int, Sided] = {}
        for decision in made:
            where = f"{decision.kind} {decision.subject}".strip()
            fitting = [
                position
                for position, difference in enumerate(found)
                if difference.kind is decision.kind and decision.subject in subjects[position]
            ]
            if not fitting:
                problems.append(BadInput(where, "there is no such difference", "Look at the differences there are."))
                continue
            position = fitting[0]
            if position in taken:
                problems.append(BadInput(where, "it is decided twice", "Keep one of the two."))
                continue
            try:
                taken[position] = self._sided(position, found[position], decision)
            except BadInput as problem:
                problems.append(problem.inside(where))
        for position, difference in enumerate(found):
            if position not in taken:
                named = " or ".join(subject for subject in subjects[position] if subject)
                problems.append(
                    BadInput(f"{difference.kind} {named}".strip(), "it has no decision", "Decide it, with a reason.")
                )
        if problems:
            raise BadInputs("decisions", problems)
        return [taken[position] for position in sorted(taken)]

    def necessity(
        self, content: PassContent, said: Mapping[str, tuple[Necessity, str]]
    ) -> dict[str, tuple[Necessity, str]]:
        """Return what was said of spans by their names in the settled `content`; a reference is resolved to its name.

        A name or reference that fits nothing is handed on as it is, for `check_necessity` to refuse.
        """
        names = {self.texts.reference(span): span.name for span in content.spans}
        for joint in () if self._one_side_stands else self.alignment.spans:
            if any(span.name == joint.name for span in content.spans):
                for reference in self.span_references(joint):
                    names.setdefault(reference, joint.name)
        found: dict[str, tuple[Necessity, str]] = {}
        for given, judgement in said.items():
            name = names.get(given, given)
            if name in found:
                raise BadInput(f"span “{given}”", f"“{name}” is judged twice", "Keep one of the two.")
            found[name] = judgement
        return found

    @property
    def _one_side_stands(self) -> bool:
        return self.a.contract.answerable is not self.b.contract.answerable

    def _sided(self, position: int, difference: Difference, decision: FileDecision) -> Sided:
        value = None
        if decision.take is Take.EDITED:
            choice, value = Choice.EDITED, self._value(difference, decision.value)
        elif decision.take is Take.REJECT:
            choice = Choice.REJECT
        else:
            choice = Choice(self.side(decision.take))
        return Sided(position, choice, value, decision.reason_code, decision.reason)

    def _value(self, difference: Difference, value: Any) -> Any:
        """Return an edited value in the service's form: quotes become bytes, references joint names."""
        if difference.kind is DisagreementType.ANSWERABILITY:
            return self._whole(value)
        if difference.kind in SET_KINDS:
            return self._members(value)
        if difference.kind in SPAN_KINDS and difference.kind is not DisagreementType.SPAN_LABEL:
            return self._span(difference, value)
        return value

    def _whole(self, value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise BadInput("value", "it is no whole pass", "Write it like an entry of a pass, without the question.")
        fields = Fields(value, "value")
        content = read_content(fields, value, self.texts)
        if content is None:
            raise BadInputs("value", fields.problems)
        return content_payload(replace(content, contract=replace(content.contract, notes="")))

    def _members(self, value: Any) -> list[str]:
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise BadInput("value", "it is no list of spans", "Write the names or references of the set's spans.")
        names = {}
        for joint in self.alignment.spans:
            names[joint.name] = joint.name
            names |= dict.fromkeys(self.span_references(joint), joint.name)
        if unknown := [name for name in value if name not in names]:
            raise BadInput(
                "value", f"there is no span “{unknown[0]}” in either pass", f"Known are {', '.join(sorted(names))}."
            )
        return [names[name] for name in value]

    def _span(self, difference: Difference, value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise BadInput("value", "it is no span", 'Write {"quote": "…"}, and occurrence, label or forbidden.')
        fields = Fields(value, "value")
        base = base_span(difference)
        document, version = self.texts.place(base.version)
        document, version = fields.text("document", default=document), fields.text("version", default=version)
        quote, occurrence = fields.text("quote", required=True, nul=True), fields.whole("occurrence")
        edited: dict[str, Any] = {}
        if fields.has("label"):
            edited["label"] = value["label"]
        if difference.kind is DisagreementType.FORBIDDEN_EVIDENCE:
            if not fields.has("forbidden"):
                fields.problem("forbidden", "it is missing", "Say whether the span is forbidden evidence.")
            edited["forbidden"] = fields.flag("forbidden")
        fields.close()
        if fields.problems:
            raise BadInputs("value", fields.problems)
        sha256, place = self.texts.locate(document, version, quote, occurrence)
        return {"version": sha256, "start": place.start, "end": place.end, **edited}
