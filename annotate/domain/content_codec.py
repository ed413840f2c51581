"""A PassContent as a canonical-ready dict and back; strict, so that nothing half-understood is ever stored.

The dict holds strings, integers, booleans, None, lists and dicts only. Its order is that of the content, not of the
typing: spans by (version, start, end, name), members of a set in the order of their spans, sets by their members. Two
passes that say the same therefore give the same bytes, whichever set was made first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from annotate.domain.content import AnswerContract, MarkedSpan, PassContent
from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import DependencyType, MissingBehaviour, SpanLabel

_HEX_SHA256 = re.compile(r"[0-9a-f]{64}")
#: A span's name is a slug, so that it can stand in an address, a form field and a file.
SPAN_NAME = re.compile(r"[-a-zA-Z0-9_]{1,60}")

_TEXT_FIELDS = ("answer", "scope", "qualification", "missing_text", "notes")
_CONTRACT_FIELDS = frozenset((*_TEXT_FIELDS, "answerable", "dependency", "missing_behaviour"))
_SPAN_FIELDS = frozenset(("version", "start", "end", "name", "label"))
_CONTENT_FIELDS = frozenset(("contract", "spans", "sets", "forbidden"))

_Key = tuple[int, str, int, int, str]


def normalised(content: PassContent) -> PassContent:
    """Return `content` in its stable order (see the module); applying it twice changes nothing."""
    spans = tuple(sorted(content.spans, key=lambda span: (span.version, span.start, span.end, span.name)))
    place = {span.name: (0, span.version, span.start, span.end, span.name) for span in spans}

    def key(name: str) -> _Key:
        # A name without a span (a draft may hold one for a moment) sorts last, by itself.
        return place.get(name, (1, "", 0, 0, name))

    sets = tuple(sorted((tuple(sorted(members, key=key)) for members in content.sets), key=lambda m: [*map(key, m)]))
    return PassContent(content.contract, spans, sets, tuple(sorted(set(content.forbidden), key=key)))


def span_payload(span: MarkedSpan) -> dict[str, Any]:
    """Return one span as a dict of its five fields; offsets in UTF-8 bytes."""
    return {
        "version": span.version,
        "start": span.start,
        "end": span.end,
        "name": span.name,
        "label": span.label.value,
    }


def contract_payload(contract: AnswerContract) -> dict[str, Any]:
    """Return the answer contract as a dict; `answerable` is None while undecided."""
    return {
        "answerable": contract.answerable,
        "dependency": contract.dependency.value,
        "missing_behaviour": contract.missing_behaviour.value,
        **{name: getattr(contract, name) for name in _TEXT_FIELDS},
    }


def content_payload(content: PassContent) -> dict[str, Any]:
    """Return the whole content as a dict in its stable order, ready for the ledger's canonical bytes."""
    ordered = normalised(content)
    return {
        "contract": contract_payload(ordered.contract),
        "spans": [span_payload(span) for span in ordered.spans],
        "sets": [list(members) for members in ordered.sets],
        "forbidden": list(ordered.forbidden),
    }


def _object(value: object, fields: frozenset[str], where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BadInput(where, f"is {_kind(value)}, not an object", f"Send an object with {', '.join(sorted(fields))}.")
    missing, unknown = sorted(fields - value.keys()), sorted(map(str, value.keys() - fields))
    if missing:
        raise BadInput(where, f"lacks {', '.join(missing)}", "Send every field; an empty text is allowed.")
    if unknown:
        raise BadInput(where, f"has the unknown field {', '.join(unknown)}", f"Known are {', '.join(sorted(fields))}.")
    return value


def _kind(value: object) -> str:
    return "null" if value is None else f"a value of type {type(value).__name__}"


def _list(value: object, where: str) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise BadInput(where, f"is {_kind(value)}, not a list", "Send a list; it may be empty.")
    return list(value)


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise BadInput(where, f"is {_kind(value)}, not a text", "Send a text; it may be empty.")
    if "\x00" in value:
        # PostgreSQL stores no NUL in a text column; refusing it on SQLite too keeps one behaviour.
        raise BadInput(where, f"has a NUL at character {value.index(chr(0))}", "Take it out; it cannot be seen anyway.")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadInput(
            where,
            f"has half of a surrogate pair at character {error.start}, which is no text",
            "Send well-formed Unicode.",
        ) from error
    return value


def _offset(value: object, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadInput(where, f"is {value!r}, not a byte offset", "Send a whole number from 0, in UTF-8 bytes.")
    return value


def _word[W: StrEnum](value: object, words: type[W], where: str) -> W:
    if isinstance(value, str) and value in {word.value for word in words}:
        return words(value)
    raise BadInput(where, f"is {value!r}", f"Use one of {', '.join(word.value for word in words)}.")


def _name(value: object, where: str) -> str:
    if not isinstance(value, str) or not SPAN_NAME.fullmatch(value):
        raise BadInput(
            where, f"is {value!r}, not a span's name", "Use 1 to 60 letters, digits, hyphens and underscores (ASCII)."
        )
    return value


def span_from_payload(value: object, where: str = "span") -> MarkedSpan:
    """Read one span; raises BadInput naming the field inside `where` and how to mend it."""
    given = _object(value, _SPAN_FIELDS, where)
    version = given["version"]
    if not isinstance(version, str) or not _HEX_SHA256.fullmatch(version):
        raise BadInput(
            f"{where}.version",
            f"is {version!r}, not a digest",
            "Send the version's SHA-256 as 64 lower-case hex digits.",
        )
    start, end = _offset(given["start"], f"{where}.start"), _offset(given["end"], f"{where}.end")
    if end <= start:
        raise BadInput(where, f"[{start}, {end}) holds no byte", "A span is half-open: its end lies after its start.")
    return MarkedSpan(
        version, start, end, _name(given["name"], f"{where}.name"), _word(given["label"], SpanLabel, f"{where}.label")
    )


def contract_from_payload(value: object, where: str = "contract") -> AnswerContract:
    """Read an answer contract; raises BadInput naming the field inside `where` and how to mend it."""
    given = _object(value, _CONTRACT_FIELDS, where)
    answerable = given["answerable"]
    if answerable is not None and not isinstance(answerable, bool):
        raise BadInput(f"{where}.answerable", f"is {answerable!r}", "Send true, false, or null while undecided.")
    return AnswerContract(
        answerable=answerable,
        dependency=_word(given["dependency"], DependencyType, f"{where}.dependency"),
        missing_behaviour=_word(given["missing_behaviour"], MissingBehaviour, f"{where}.missing_behaviour"),
        **{name: _text(given[name], f"{where}.{name}") for name in _TEXT_FIELDS},
    )


def content_from_payload(value: object, where: str = "content") -> PassContent:
    """Read a whole content, in its stable order.

    Raises BadInput for an unknown or missing field, a wrong type, a name used by two spans, a name twice in a set, and
    a set or forbidden entry that names no span. Whether a pass is complete is `pass_check`'s business.
    """
    given = _object(value, _CONTENT_FIELDS, where)
    spans = tuple(
        span_from_payload(item, f"{where}.spans[{i}]") for i, item in enumerate(_list(given["spans"], f"{where}.spans"))
    )
    known: set[str] = set()
    for i, span in enumerate(spans):
        if span.name in known:
            raise BadInput(f"{where}.spans[{i}].name", f"“{span.name}” is taken", "Give each span a name of its own.")
        known.add(span.name)
    sets = tuple(
        _names(members, known, f"{where}.sets[{i}]") for i, members in enumerate(_list(given["sets"], f"{where}.sets"))
    )
    forbidden = _names(given["forbidden"], known, f"{where}.forbidden")
    contract = contract_from_payload(given["contract"], f"{where}.contract")
    return normalised(PassContent(contract, spans, sets, forbidden))


def _names(value: object, known: set[str], where: str) -> tuple[str, ...]:
    names = tuple(_name(item, f"{where}[{i}]") for i, item in enumerate(_list(value, where)))
    for i, name in enumerate(names):
        if name not in known:
            raise BadInput(f"{where}[{i}]", f"“{name}” names no span", "Mark the span first, or take the name out.")
        if name in names[:i]:
            raise BadInput(f"{where}[{i}]", f"“{name}” stands here twice", "Name each span once.")
    return names
