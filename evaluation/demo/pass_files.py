"""One annotator's pass over the whole study as a JSON file: quotes and which occurrence of each, never offsets.

A list with one object per question, in any order:

    {"question": key, "answerable": true, "answer": "…", "scope": "", "qualification": "", "dependency": "exception",
     "missing_behaviour": "abstain", "missing_text": "…", "notes": "",
     "spans": [{"name": "rule", "label": "rule", "document": "…", "version": "…", "quote": "…", "occurrence": 1}],
     "sets": [["rule", "exception"]], "forbidden": []}

Offsets are found in the stored bytes (`annotate.domain.spans.locate_quote`); `occurrence` may be left out for a quote
that stands there once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotate.domain.content import PassContent
from annotate.domain.content_codec import content_from_payload
from annotate.domain.errors import BadInput
from annotate.domain.import_formats.fields import SLUG, Fields, parse_json, raise_all
from annotate.domain.pass_check import problems as pass_problems
from annotate.domain.vocabulary import DependencyType, MissingBehaviour, SpanLabel
from evaluation.demo.texts import Texts

_LISTS = ("sets", "forbidden")


def read_pass(data: bytes, where: str, texts: Texts) -> dict[str, PassContent]:
    """Return what the annotator says, by question key; raises BadInputs with every problem of the file.

    Every entry is complete (`annotate.domain.pass_check`): the file holds finished passes, not drafts.
    """
    found: dict[str, PassContent] = {}
    problems: list[BadInput] = []
    for place, table in entries(data, where, problems):
        fields = Fields(table, place)
        key = fields.identifier("question", required=True, pattern=SLUG)
        fields.where = f"{where} ({key})" if key else place
        content = read_content(fields, table, texts)
        if content is not None:
            fields.problems.extend(problem.inside(fields.where) for problem in pass_problems(content))
            if key in found:
                fields.problem("question", "there is an entry for it already", "Keep one of the two.")
            found[key] = content
        problems += fields.problems
    raise_all(where, problems)
    return found


def entries(data: bytes, where: str, problems: list[BadInput]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return (place, object) for each entry of a JSON list; what is no object goes to `problems`.

    Raises BadInput for bytes that are no JSON list.
    """
    value = parse_json(data, where)
    if not isinstance(value, list):
        raise BadInput(where, "it is no JSON list", "Write a list with one object per question.")
    found = []
    for number, item in enumerate(value, 1):
        place = f"{where}, entry {number}"
        if isinstance(item, Mapping):
            found.append((place, item))
        else:
            problems.append(BadInput(place, f"{item!r} is no object", "Write one object per question."))
    return found


def read_content(fields: Fields, table: Mapping[str, Any], texts: Texts) -> PassContent | None:
    """Take a pass's content from `fields` (over `table`) and close them; None after noting what is wrong there."""
    contract = {
        "answerable": _answerable(fields),
        "answer": fields.text("answer"),
        "scope": fields.text("scope"),
        "qualification": fields.text("qualification"),
        "dependency": fields.word("dependency", DependencyType, DependencyType.NONE).value,
        "missing_behaviour": fields.word("missing_behaviour", MissingBehaviour, MissingBehaviour.ABSTAIN).value,
        "missing_text": fields.text("missing_text"),
        "notes": fields.text("notes"),
    }
    spans = [
        span
        for number, given in enumerate(fields.tables("spans"), 1)
        if (span := _span(fields, given, number, texts)) is not None
    ]
    lists = {name: table[name] if fields.has(name) else [] for name in _LISTS}
    fields.close()
    if fields.problems:
        return None
    try:
        return content_from_payload({"contract": contract, "spans": spans, **lists}, fields.where)
    except BadInput as problem:
        fields.problems.append(problem)
        return None


def _answerable(fields: Fields) -> bool:
    if not fields.has("answerable"):
        fields.problem("answerable", "it is missing", "Write true or false.")
    return fields.flag("answerable")


def _span(fields: Fields, table: Mapping[str, Any], number: int, texts: Texts) -> dict[str, Any] | None:
    inner = Fields(table, f"{fields.where}, span {number}")
    name = inner.text("name", required=True)
    inner.where = f"{fields.where}, span “{name}”" if name else inner.where
    label = inner.word("label", SpanLabel, SpanLabel.EVIDENCE)
    document, version = inner.text("document", required=True), inner.text("version", required=True)
    quote, occurrence = inner.text("quote", required=True, nul=True), inner.whole("occurrence")
    inner.close()
    span = None
    if not inner.problems:
        try:
            sha256, place = texts.locate(document, version, quote, occurrence)
            span = {"version": sha256, "start": place.start, "end": place.end, "name": name, "label": label.value}
        except BadInput as problem:
            inner.problems.append(problem.inside(inner.where))
    fields.problems += inner.problems
    return span
