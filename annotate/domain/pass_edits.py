"""Single edits of a pass, as values: what a workspace sends instead of the whole content after every change.

A batch of edits makes one revision. `applied` says what the content becomes; the service does the same on rows, and a
test holds the two together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from annotate.domain.content import AnswerContract, MarkedSpan, PassContent
from annotate.domain.content_codec import contract_from_payload, contract_payload, span_from_payload
from annotate.domain.errors import BadInput, shown

MAX_EDITS = 500
MAX_TEXT = 100_000


@dataclass(frozen=True)
class AddSpan:
    """A new span. `sets` are positions it joins (the next free one makes a set); `quote` is compared with the bytes."""

    span: MarkedSpan
    forbidden: bool = False
    sets: tuple[int, ...] = ()
    quote: str | None = None


@dataclass(frozen=True)
class ChangeSpan:
    """The span called `name` becomes `span` (bytes, label, name); its sets follow a new name."""

    name: str
    span: MarkedSpan
    forbidden: bool = False
    quote: str | None = None


@dataclass(frozen=True)
class RemoveSpan:
    """The span leaves the pass and every set it stands in."""

    name: str


@dataclass(frozen=True)
class SetMembers:
    """The members of the set at `position`, counted from 0; the next free position makes a set."""

    position: int
    members: tuple[str, ...]


@dataclass(frozen=True)
class AllSets:
    """Every support set, in order."""

    sets: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class ContractFields:
    """Some fields of the answer contract, as `contract_payload` writes them."""

    fields: Mapping[str, Any]


Edit = AddSpan | ChangeSpan | RemoveSpan | SetMembers | AllSets | ContractFields


def applied(content: PassContent, edits: Sequence[Edit]) -> PassContent:
    """Return `content` after `edits`; raises BadInput for a name taken or unknown, or a set beyond the next one.

    Of the spans only those that the edits name are looked at, so `content` may be cut to them.
    """
    for edit in edits:
        content = _APPLY[type(edit)](content, edit)
    return content


def with_fields(contract: AnswerContract, fields: Mapping[str, Any]) -> AnswerContract:
    """Return `contract` with `fields` changed; raises BadInput for a value that is none of its words or no text."""
    return contract_from_payload({**contract_payload(contract), **fields})


def no_span(name: str) -> BadInput:
    """Return the refusal of a name that no span has."""
    return BadInput(f"span “{name}”", "there is no span of this name", "Reload the page.")


def taken(name: str) -> BadInput:
    """Return the refusal of a name that a span has already."""
    return BadInput(f"span “{name}”", "the name is taken", "Give each span a name of its own.")


def no_position(position: int, count: int) -> BadInput:
    """Return the refusal of a set position beyond the next free one."""
    return BadInput(f"set {position + 1}", f"the pass has {count} sets", "Change one of them or add the next.")


def _add(content: PassContent, edit: AddSpan) -> PassContent:
    name = edit.span.name
    if any(span.name == name for span in content.spans):
        raise taken(name)
    sets = [list(members) for members in content.sets]
    for position in edit.sets:
        if position > len(sets):
            raise no_position(position, len(sets))
        if position == len(sets):
            sets.append([])
        sets[position].append(name)
    forbidden = (*content.forbidden, name) if edit.forbidden else content.forbidden
    return PassContent(content.contract, (*content.spans, edit.span), tuple(map(tuple, sets)), forbidden)


def _change(content: PassContent, edit: ChangeSpan) -> PassContent:
    names = {span.name for span in content.spans}
    if edit.name not in names:
        raise no_span(edit.name)
    if edit.span.name != edit.name and edit.span.name in names:
        raise taken(edit.span.name)

    def renamed(members: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(edit.span.name if member == edit.name else member for member in members)

    others = tuple(name for name in content.forbidden if name != edit.name)
    return PassContent(
        content.contract,
        tuple(edit.span if span.name == edit.name else span for span in content.spans),
        tuple(map(renamed, content.sets)),
        (*others, edit.span.name) if edit.forbidden else others,
    )


def _remove(content: PassContent, edit: RemoveSpan) -> PassContent:
    if all(span.name != edit.name for span in content.spans):
        raise no_span(edit.name)
    return PassContent(
        content.contract,
        tuple(span for span in content.spans if span.name != edit.name),
        tuple(tuple(member for member in members if member != edit.name) for members in content.sets),
        tuple(member for member in content.forbidden if member != edit.name),
    )


def _members(content: PassContent, edit: SetMembers) -> PassContent:
    if edit.position > len(content.sets):
        raise no_position(edit.position, len(content.sets))
    sets = [*content.sets, ()] if edit.position == len(content.sets) else list(content.sets)
    sets[edit.position] = edit.members
    # The other sets stay as they were checked; `content` may hold no more spans than the edits name.
    check_members(f"set {edit.position + 1}", edit.members, {span.name for span in content.spans})
    return replace(content, sets=tuple(sets))


def _all_sets(content: PassContent, edit: AllSets) -> PassContent:
    known = {span.name for span in content.spans}
    for index, members in enumerate(edit.sets):
        check_members(f"set {index + 1}", members, known)
    return replace(content, sets=edit.sets)


def _fields(content: PassContent, edit: ContractFields) -> PassContent:
    return replace(content, contract=with_fields(content.contract, edit.fields))


_APPLY: Mapping[type, Callable[[PassContent, Any], PassContent]] = {
    AddSpan: _add,
    ChangeSpan: _change,
    RemoveSpan: _remove,
    SetMembers: _members,
    AllSets: _all_sets,
    ContractFields: _fields,
}


def check_members(place: str, names: Sequence[str], known: frozenset[str] | set[str]) -> None:
    """Raise BadInput for a name that no span has, or that stands in `names` twice."""
    seen: set[str] = set()
    for name in names:
        if name not in known:
            raise BadInput(place, f"there is no span called “{name}”", "Mark it first, or take it out.")
        if name in seen:
            raise BadInput(place, f"“{name}” stands in it twice", "Name each span once.")
        seen.add(name)


def read_edits(value: object) -> tuple[Edit, ...]:
    """Read a JSON list of edits, each an object with `op`; raises BadInput naming the edit and the member."""
    if not isinstance(value, list) or not value:
        raise BadInput("edits", "it is no list with an edit in it", "Send at least one edit.")
    if len(value) > MAX_EDITS:
        raise BadInput("edits", f"there are {len(value)}", f"Send at most {MAX_EDITS} at once.")
    return tuple(_read(item, f"edits[{number}]") for number, item in enumerate(value))


def _read(value: object, where: str) -> Edit:
    if not isinstance(value, dict) or value.get("op") not in _READERS:
        raise BadInput(where, "it is no edit", f"Send an object whose op is one of {', '.join(_READERS)}.")
    reader, required, optional = _READERS[value["op"]]
    given = {name: item for name, item in value.items() if name != "op"}
    if missing := sorted(required - given.keys()):
        raise BadInput(f"{where}.{missing[0]}", "it is missing", f"Send {', '.join(sorted(required))}.")
    if unknown := sorted(given.keys() - required - optional):
        raise BadInput(f"{where}.{shown(unknown[0])}", "there is no such member", "Leave it out.")
    return reader(given, where)


def _read_add(given: dict[str, Any], where: str) -> AddSpan:
    positions = given.get("sets", [])
    if not isinstance(positions, list):
        raise BadInput(f"{where}.sets", "it is no list", "Send set positions counted from 0.")
    return AddSpan(
        span_from_payload(given["span"], f"{where}.span"),
        _flag(given, where),
        tuple(dict.fromkeys(_position(item, f"{where}.sets") for item in positions)),
        _quote(given, where),
    )


def _read_change(given: dict[str, Any], where: str) -> ChangeSpan:
    span = span_from_payload(given["span"], f"{where}.span")
    return ChangeSpan(_name(given["name"], where), span, _flag(given, where), _quote(given, where))


def _read_contract(given: dict[str, Any], where: str) -> ContractFields:
    fields = given["fields"]
    if not isinstance(fields, dict) or not fields:
        raise BadInput(f"{where}.fields", "it is no object with a field in it", "Send the fields that changed.")
    if unknown := sorted(fields.keys() - contract_payload(AnswerContract()).keys()):
        raise BadInput(f"{where}.fields.{shown(unknown[0])}", "there is no such field", "Leave it out.")
    for name, text in fields.items():
        if isinstance(text, str) and len(text) > MAX_TEXT:
            raise BadInput(f"{where}.fields.{name}", f"has {len(text)} characters", f"At most {MAX_TEXT} are kept.")
    contract_from_payload({**contract_payload(AnswerContract()), **fields}, f"{where}.fields")
    return ContractFields(fields)


def _read_sets(given: dict[str, Any], where: str) -> AllSets:
    if not isinstance(given["sets"], list):
        raise BadInput(f"{where}.sets", "it is no list", "Send a list of lists of span names; it may be empty.")
    return AllSets(tuple(_names(item, f"{where}.sets[{at}]") for at, item in enumerate(given["sets"])))


def _names(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise BadInput(where, "it is no list", "Send a list of span names; it may be empty.")
    return tuple(_name(item, where) for item in value)


def _name(value: object, where: str) -> str:
    if not isinstance(value, str) or "\x00" in value:
        raise BadInput(where, f"{shown(value)} is no span's name", "Send the name of a span of the pass.")
    return value


def _position(value: object, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadInput(where, f"{shown(value)} is no position", "Send a whole number from 0.")
    return value


def _flag(given: dict[str, Any], where: str) -> bool:
    value = given.get("forbidden", False)
    if not isinstance(value, bool):
        raise BadInput(f"{where}.forbidden", f"is {shown(value)}", "Send true or false.")
    return value


def _quote(given: dict[str, Any], where: str) -> str | None:
    value = given.get("quote")
    if value is not None and not isinstance(value, str):
        raise BadInput(f"{where}.quote", "it is no text", "Send the exact text, or leave it out.")
    return value


_Reader = Callable[[dict[str, Any], str], Edit]
_READERS: Mapping[str, tuple[_Reader, frozenset[str], frozenset[str]]] = {
    "add-span": (_read_add, frozenset({"span"}), frozenset({"forbidden", "sets", "quote"})),
    "change-span": (_read_change, frozenset({"name", "span"}), frozenset({"forbidden", "quote"})),
    "remove-span": (lambda given, where: RemoveSpan(_name(given["name"], where)), frozenset({"name"}), frozenset()),
    "set": (
        lambda given, where: SetMembers(_position(given["position"], where), _names(given["members"], where)),
        frozenset({"position", "members"}),
        frozenset(),
    ),
    "sets": (_read_sets, frozenset({"sets"}), frozenset()),
    "contract": (_read_contract, frozenset({"fields"}), frozenset()),
}
