"""Whether a pass, or a settled result, says everything it must. Offsets against the bytes are checked at every save."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from annotate.domain.content import MarkedSpan, PassContent
from annotate.domain.errors import BadInput, BadInputs
from annotate.domain.vocabulary import DependencyType


def check_complete(content: PassContent, where: str = "pass") -> None:
    """Raise BadInputs with every problem of `content`; a complete one passes silently."""
    found = tuple(problems(content))
    if found:
        raise BadInputs(where, found)


def problems(content: PassContent, *, contract_needed: bool = True) -> Iterator[BadInput]:
    """Yield what keeps `content` from being submitted, each with its place and its mend.

    A retrieval-only study has no answer contracts: `contract_needed=False` leaves out what only a contract could say.
    """
    yield from _references(content)
    yield from _doubles(content)
    answerable = content.contract.answerable
    if answerable is None:
        yield BadInput(
            "answerable", "it is not decided", "Say whether the sources answer the question for its reader and date."
        )
    elif answerable:
        if contract_needed:
            yield from _contract(content)
        yield from _sets(content)
    elif content.sets:
        yield BadInput(
            "support sets",
            f"there are {len(content.sets)}, but the question is called not answerable",
            "Remove the sets, or say that the sources answer the question.",
        )


def set_name(index: int) -> str:
    """Return how a set is called on screen and in messages: set A for index 0, set B for 1, …, set AA for 26."""
    letters = ""
    number = index + 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return f"set {letters}"


def _references(content: PassContent) -> Iterator[BadInput]:
    known = {span.name for span in content.spans}
    for index, members in enumerate(content.sets):
        for name in members:
            if name not in known:
                yield BadInput(
                    set_name(index), f"there is no span called “{name}”", "Mark it first, or take it out of the set."
                )
            elif name in content.forbidden:
                yield BadInput(
                    set_name(index),
                    f"“{name}” is called forbidden evidence and supports the answer at the same time",
                    "Take it out of the set, or no longer call it forbidden.",
                )
    for name in content.forbidden:
        if name not in known:
            yield BadInput("forbidden evidence", f"there is no span called “{name}”", "Mark it first, or take it out.")


def _doubles(content: PassContent) -> Iterator[BadInput]:
    def by_bytes(span: MarkedSpan) -> tuple[tuple[str, int, int], str]:
        return span.bytes_key, span.name

    for one, two in pairwise(sorted(content.spans, key=by_bytes)):
        if one.bytes_key == two.bytes_key:
            yield BadInput(
                f"span “{two.name}”",
                f"it marks the same bytes [{two.start}, {two.end}) as “{one.name}”",
                "Keep one of the two; a span may stand in several sets.",
            )


def _contract(content: PassContent) -> Iterator[BadInput]:
    contract = content.contract
    if not contract.answer.strip():
        yield BadInput("answer", "it is empty", "Write the permissible answer, as short as it can be said.")
    if contract.dependency is not DependencyType.NONE and not (
        contract.qualification.strip() or contract.missing_text.strip()
    ):
        yield BadInput(
            "required qualification",
            f"the answer depends on a condition ({contract.dependency.value}), but nothing says which",
            "Write the qualification the answer must carry, or what to answer when it is missing.",
        )


def _sets(content: PassContent) -> Iterator[BadInput]:
    if not content.sets:
        yield BadInput(
            "support sets",
            "an answerable question has none",
            "Group the spans that together support the answer into a set.",
        )
    seen: dict[frozenset[str], int] = {}
    for index, members in enumerate(content.sets):
        if not members:
            yield BadInput(set_name(index), "it is empty", "Put at least one span into it, or remove it.")
        elif frozenset(members) in seen:
            yield BadInput(
                set_name(index),
                f"it has the same spans as {set_name(seen[frozenset(members)])}",
                "Remove one of the two; alternatives differ in at least one span.",
            )
        seen.setdefault(frozenset(members), index)
