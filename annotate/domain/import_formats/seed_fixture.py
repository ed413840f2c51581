"""The published JSON fixture: one source, named spans in UTF-8 bytes, alternative support sets, one expected answer.

The published form says nothing of labels, segment or dependency type. The importer reads a label from a span's name
where the name is a label's word, and suggests the dependency from those labels; both are written into the row and can
be seen there.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from annotate.domain.content import AnswerContract, MarkedSpan, PassContent
from annotate.domain.content_codec import SPAN_NAME
from annotate.domain.errors import BadInput
from annotate.domain.import_formats.fields import SLUG, Fields, parse_json, raise_all
from annotate.domain.spans import check_span
from annotate.domain.vocabulary import SUGGESTED_SEGMENT, DependencyType, MissingBehaviour, Segment, SpanLabel

COORDINATES = "utf8-byte-half-open"
_PREFIX = "sha256:"
_DEPENDENCY = {
    SpanLabel.EXCEPTION: DependencyType.EXCEPTION,
    SpanLabel.QUALIFIER: DependencyType.EXCEPTION,
    SpanLabel.DEFINITION: DependencyType.DEFINITION,
    SpanLabel.REFERENT: DependencyType.REFERENT,
    SpanLabel.SCOPE: DependencyType.NUMERICAL_SCOPE,
    SpanLabel.REFERENCE: DependencyType.CROSS_REFERENCE,
}


@dataclass(frozen=True)
class SeedFixture:
    """A checked fixture: the source's bytes and digest, the question and its settled content."""

    fixture_id: str
    source: bytes
    digest: str
    question: str
    content: PassContent
    segment: Segment


def parse_seed_fixture(data: bytes, where: str = "fixture") -> SeedFixture:
    """Return the fixture; raises BadInput(s) naming every member that does not hold together."""
    value = parse_json(data, where)
    if not isinstance(value, dict):
        raise BadInput(where, "it is no JSON object", "Write one object per fixture.")
    fields = Fields(value, where)
    fixture_id = fields.identifier("fixture_id", required=True, pattern=SLUG)
    version = fields.text("source_version", required=True)
    text = fields.text("source_text", required=True, longest=16 * 1024 * 1024)
    unit = fields.text("coordinate_system", required=True)
    question = fields.text("question", required=True)
    answer = fields.text("expected_answer", required=True)
    missing_text = fields.text("if_qualifier_missing")
    raw_spans = value.get("spans") if fields.has("spans") else None
    raw_sets = value.get("sufficient_support_sets") if fields.has("sufficient_support_sets") else None
    fields.close()
    content = _encoded(text, fields)
    digest = hashlib.sha256(content).hexdigest()
    if version and version != _PREFIX + digest:
        fields.problem("source_version", f"it is {version}, the text's is {_PREFIX}{digest}", "Mend the one or other.")
    if unit and unit != COORDINATES:
        fields.problem("coordinate_system", f"“{unit}” is not read here", f"Give offsets as {COORDINATES}.")
    spans = _spans(raw_spans, content, digest, fields)
    sets = _sets(raw_sets, {span.name for span in spans}, fields)
    raise_all(where, fields.problems)
    dependency = _dependency(spans, sets)
    contract = AnswerContract(
        answerable=True,
        answer=answer,
        dependency=dependency,
        missing_behaviour=_behaviour(missing_text),
        missing_text=missing_text,
    )
    return SeedFixture(
        fixture_id=fixture_id,
        source=content,
        digest=digest,
        question=question,
        content=PassContent(contract, spans, sets),
        segment=SUGGESTED_SEGMENT.get(dependency, Segment.UNCLASSIFIED),
    )


def _encoded(text: str, fields: Fields) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        fields.problem("source_text", f"character {error.start} is a lone surrogate", "Write whole characters.")
        return b""


def _spans(raw: Any, content: bytes, digest: str, fields: Fields) -> tuple[MarkedSpan, ...]:
    if not isinstance(raw, dict) or not raw:
        fields.problem("spans", "it is no object with at least one span", 'Write {"rule": [0, 37]}.')
        return ()
    spans = []
    for name, place in raw.items():
        where = f"spans, {name}"
        if not SPAN_NAME.fullmatch(name):
            fields.problem(where, "it is no span name", "Use letters, digits, - and _.")
        elif not isinstance(place, list) or len(place) != 2:
            fields.problem(where, f"{place!r} is no span", "Write [start, end] in bytes.")
        else:
            try:
                start, end = check_span(content, *place)
            except BadInput as problem:
                fields.problems.append(problem.inside(f"{fields.where}, {where}"))
                continue
            label = SpanLabel(name) if name in set(SpanLabel) else SpanLabel.EVIDENCE
            spans.append(MarkedSpan(digest, start, end, name, label))
    return tuple(spans)


def _sets(raw: Any, names: set[str], fields: Fields) -> tuple[tuple[str, ...], ...]:
    if not isinstance(raw, list) or not raw:
        fields.problem("sufficient_support_sets", "an answer needs at least one support set", 'Write [["rule"]].')
        return ()
    sets = []
    for number, members in enumerate(raw, 1):
        where = f"sufficient_support_sets, set {number}"
        if not isinstance(members, list) or not members or not all(isinstance(name, str) for name in members):
            fields.problem(where, "it is empty or no list of span names", "Name at least one span.")
            continue
        unknown = sorted(set(members) - names)
        if unknown:
            fields.problem(where, f"there is no span {', '.join(unknown)}", f"Known are {', '.join(sorted(names))}.")
        elif len(set(members)) < len(members):
            fields.problem(where, "it names a span twice", "Name each once.")
        else:
            sets.append(tuple(members))
    return tuple(sets)


def _dependency(spans: tuple[MarkedSpan, ...], sets: tuple[tuple[str, ...], ...]) -> DependencyType:
    for span in spans:
        if span.label in _DEPENDENCY:
            return _DEPENDENCY[span.label]
    return DependencyType.JOINT if any(len(members) > 1 for members in sets) else DependencyType.NONE


def _behaviour(missing_text: str) -> MissingBehaviour:
    abstains = not missing_text or missing_text.strip().lower().startswith("abstain")
    return MissingBehaviour.ABSTAIN if abstains else MissingBehaviour.NARROWER
