"""The published JSON fixture: its source, named spans in UTF-8 bytes, alternative support sets, one expected answer.

With several sources `sources` lists them and a span is `[digest, start, end]`. An empty answer without a set is a
question the sources do not answer.

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
    """A checked fixture: its sources by SHA-256, in the file's order, the question and its settled content."""

    fixture_id: str
    sources: dict[str, bytes]
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
    sources = _sources(fields)
    unit = fields.text("coordinate_system", required=True)
    question = fields.text("question", required=True)
    answer = fields.text("expected_answer")
    missing_text = fields.text("if_qualifier_missing")
    raw_spans = value.get("spans") if fields.has("spans") else None
    raw_sets = value.get("sufficient_support_sets") if fields.has("sufficient_support_sets") else None
    fields.close()
    if unit and unit != COORDINATES:
        fields.problem("coordinate_system", f"“{unit}” is not read here", f"Give offsets as {COORDINATES}.")
    spans = _spans(raw_spans, sources, several="sources" in value, fields=fields)
    # By the names given, not the spans accepted: a span that is refused is one problem, not two.
    sets = _sets(raw_sets, set(raw_spans) if isinstance(raw_spans, dict) else set(), fields)
    if answer.strip() and raw_sets == []:
        fields.problem("sufficient_support_sets", "an answer needs at least one support set", 'Write [["rule"]].')
    if sets and not answer.strip():
        fields.problem("expected_answer", "there is support but no answer", "Write the answer.")
    raise_all(where, fields.problems)
    dependency = _dependency(spans, sets)
    contract = AnswerContract(
        answerable=bool(sets),
        answer=answer,
        dependency=dependency,
        missing_behaviour=_behaviour(missing_text),
        missing_text=missing_text,
    )
    suggested = SUGGESTED_SEGMENT.get(dependency, Segment.UNCLASSIFIED)
    return SeedFixture(
        fixture_id=fixture_id,
        sources=sources,
        question=question,
        content=PassContent(contract, spans, sets),
        segment=suggested if sets else Segment.UNANSWERABLE_CONTROL,
    )


def _sources(fields: Fields) -> dict[str, bytes]:
    if not fields.has("sources"):
        return dict([_source(fields)])
    found = {}
    for number, table in enumerate(fields.tables("sources"), 1):
        one = Fields(table, f"{fields.where}, source {number}")
        digest, content = _source(one)
        one.close()
        if digest in found:
            one.problem("", "the same text stands here twice", "Keep one of them.")
        found[digest] = content
        fields.problems += one.problems
    return found


def _source(fields: Fields) -> tuple[str, bytes]:
    version = fields.text("source_version", required=True)
    text = fields.text("source_text", required=True, longest=16 * 1024 * 1024, nul=True)
    try:
        content = text.encode()
    except UnicodeEncodeError as error:
        fields.problem("source_text", f"character {error.start} is a lone surrogate", "Write whole characters.")
        content = b""
    digest = hashlib.sha256(content).hexdigest()
    if version and version != _PREFIX + digest:
        fields.problem("source_version", f"it is {version}, the text's is {_PREFIX}{digest}", "Mend the one or other.")
    return digest, content


def _spans(raw: Any, sources: dict[str, bytes], *, several: bool, fields: Fields) -> tuple[MarkedSpan, ...]:
    if not isinstance(raw, dict):
        fields.problem("spans", "it is no object of named spans", 'Write {"rule": [0, 37]}.')
        return ()
    form = '["sha256:…", start, end]' if several else "[start, end]"
    spans = []
    for name, place in raw.items():
        where = f"spans, {name}"
        if not SPAN_NAME.fullmatch(name):
            fields.problem(where, "it is no span name", "Use letters, digits, - and _.")
            continue
        if not isinstance(place, list) or len(place) != (3 if several else 2):
            fields.problem(where, f"{place!r} is no span", f"Write {form}, offsets in bytes.")
            continue
        digest = str(place[0]).removeprefix(_PREFIX) if several else next(iter(sources))
        if digest not in sources:
            fields.problem(where, f"{place[0]!r} is none of the sources", "Name a source_version of this file.")
            continue
        try:
            start, end = check_span(sources[digest], *place[-2:])
        except BadInput as problem:
            fields.problems.append(problem.inside(f"{fields.where}, {where}"))
            continue
        label = SpanLabel(name) if name in set(SpanLabel) else SpanLabel.EVIDENCE
        spans.append(MarkedSpan(digest, start, end, name, label))
    return tuple(spans)


def _sets(raw: Any, names: set[str], fields: Fields) -> tuple[tuple[str, ...], ...]:
    if not isinstance(raw, list):
        fields.problem("sufficient_support_sets", "it is no list of support sets", 'Write [["rule"]].')
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
