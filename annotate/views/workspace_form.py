"""The workspace's one form, read into a PassContent and an action.

Every button of the workspace sends the whole form, so no edit is lost by pressing another button. Field names: contract
fields by their own names; `label:<span>` and `rename:<span>`; `forbidden` (span names); `set:<i>` (member names of set
i) for i below `set_count`; `new_*` for the span about to be marked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from django.http import QueryDict

from annotate.domain.content import AnswerContract, MarkedSpan, PassContent
from annotate.domain.errors import BadInput, shown
from annotate.domain.pass_check import set_name
from annotate.domain.vocabulary import DependencyType, MissingBehaviour, SpanLabel
from annotate.services.pass_writing import MAX_SETS

_ANSWERABLE = {"": None, "yes": True, "no": False}
_WHOLE = re.compile(r"-?[0-9]{1,12}")
#: What every database holds in an integer column.
MAX_REVISION = 999_999_999


@dataclass(frozen=True)
class NewSpan:
    """The span a person is about to mark: by bytes, or by quote and occurrence. Offsets are None where left blank."""

    version: str
    label: SpanLabel
    name: str
    quote: str
    occurrence: int | None
    start: int | None
    end: int | None
    target_set: int | None


def _word[W: (DependencyType, MissingBehaviour, SpanLabel)](kind: type[W], value: str, where: str) -> W:
    try:
        return kind(value)
    except ValueError as error:
        allowed = ", ".join(word.value for word in kind)
        raise BadInput(where, f"{value!r} is not one of the words for it", f"Use one of: {allowed}.") from error


def whole_number(raw: str, where: str, *, least: int = 0, most: int = 10**12) -> int:
    """Return the number that ASCII digits (with a minus before them) write; raises BadInput for any other text."""
    if not _WHOLE.fullmatch(raw):
        raise BadInput(where, f"{shown(raw)} is not a whole number", "Write digits only, for example 38.")
    value = int(raw)
    if value < least:
        raise BadInput(where, f"{value} is below {least}", f"The smallest value here is {least}.")
    if value > most:
        raise BadInput(where, f"{value} is above {most}", f"The largest value here is {most}.")
    return value


def _integer(post: QueryDict, name: str, *, least: int = 0, most: int = 10**12) -> int | None:
    raw = post.get(name, "").strip()
    return whole_number(raw, name, least=least, most=most) if raw else None


def revision(post: QueryDict) -> int:
    """Return the revision the form was made from; raises BadInput when it is missing."""
    value = _integer(post, "revision", most=MAX_REVISION)
    if value is None:
        raise BadInput(
            "revision", "the form does not say which revision it edits", "Reload the page and send it again."
        )
    return value


def contract(post: QueryDict) -> AnswerContract:
    """Return the answer contract as written; raises BadInput for a word outside the lists."""
    raw = post.get("answerable", "")
    if raw not in _ANSWERABLE:
        raise BadInput("answerable", f"{raw!r} is neither yes nor no", "Choose one of the two, or leave it open.")
    return AnswerContract(
        answerable=_ANSWERABLE[raw],
        answer=_text(post, "answer"),
        scope=_text(post, "scope"),
        qualification=_text(post, "qualification"),
        dependency=_word(DependencyType, post.get("dependency", "none"), "dependency"),
        missing_behaviour=_word(MissingBehaviour, post.get("missing_behaviour", "abstain"), "missing_behaviour"),
        missing_text=_text(post, "missing_text"),
        notes=_text(post, "notes"),
    )


def _text(post: QueryDict, name: str) -> str:
    # A browser sends line ends as CRLF whatever was typed; the contract keeps LF. NUL cannot be stored by PostgreSQL.
    value = post.get(name, "").replace("\r\n", "\n").strip()
    if "\x00" in value:
        raise BadInput(name, f"a NUL character stands at position {value.index(chr(0))}", "Remove it.")
    return value


def content(post: QueryDict, current: PassContent) -> PassContent:
    """Return `current` with what the form changes: contract, labels, names, membership, forbidden evidence.

    Spans the form does not name stay as they are (another tab may have made them; the revision check decides).
    """
    renamed: dict[str, str] = {}
    spans: list[MarkedSpan] = []
    # A long list of spans is shown in pages: what stands on another page keeps its sets.
    on_page = set(post.getlist("row")) if "row" in post else {span.name for span in current.spans}
    for span in current.spans:
        label = _word(SpanLabel, post.get(f"label:{span.name}", span.label.value), f"label of {span.name}")
        name = post.get(f"rename:{span.name}", span.name).strip() or span.name
        renamed[span.name] = name
        spans.append(replace(span, name=name, label=label))
    known = set(renamed)
    count = _integer(post, "set_count", most=MAX_SETS) or 0
    sets: list[tuple[str, ...]] = []
    for index in range(count):
        members = post.getlist(f"set:{index}")
        for name in members:
            if name not in known:
                raise BadInput(set_name(index), f"there is no span called {name!r}", "Mark it first, or untick it.")
        before = current.sets[index] if index < len(current.sets) else ()
        kept = {name for name in before if name not in on_page}
        sets.append(tuple(renamed[s.name] for s in current.spans if s.name in members or s.name in kept))
    elsewhere = [name for name in current.forbidden if name not in on_page]
    forbidden = tuple(renamed[name] for name in [*elsewhere, *post.getlist("forbidden")] if name in known)
    return PassContent(contract(post), tuple(spans), tuple(sets), forbidden)


def new_span(post: QueryDict, version: str) -> NewSpan:
    """Return the span about to be marked in `version`; raises BadInput when neither bytes nor a quote are given."""
    start, end = _integer(post, "new_start", least=-(10**11)), _integer(post, "new_end", least=-(10**11))
    quote = post.get("new_quote", "").replace("\r\n", "\n")
    if (start is None) != (end is None):
        raise BadInput("new span", "only one of start and end is given", "Write both, or neither and an exact quote.")
    if start is None and not quote:
        raise BadInput("new span", "nothing is selected", "Select text, or write an exact quote, or start and end.")
    return NewSpan(
        version=version,
        label=_word(SpanLabel, post.get("new_label", "rule"), "label"),
        name=post.get("new_name", "").strip(),
        quote=quote,
        occurrence=_integer(post, "new_occurrence", least=1),
        start=start,
        end=end,
        target_set=_integer(post, "new_set", most=MAX_SETS - 1),
    )


def with_span(before: PassContent, new: NewSpan, start: int, end: int) -> PassContent:
    """Return `before` plus the span `[start, end)`; the same bytes marked again only join the set that was chosen."""
    span = next((s for s in before.spans if s.bytes_key == (new.version, start, end)), None)
    spans = before.spans
    if span is None:
        span = MarkedSpan(new.version, start, end, new.name or _free_name(before, new.label), new.label)
        if span.name in _names(before):
            raise BadInput("name", f"there is already a span called {span.name!r}", "Choose another name.")
        spans = (*before.spans, span)
    sets = list(before.sets)
    if new.target_set is not None:
        while len(sets) <= new.target_set:
            sets.append(())
        members = sets[new.target_set]
        if span.name not in members:
            sets[new.target_set] = (*members, span.name)
    return replace(before, spans=spans, sets=tuple(sets))


def without_span(before: PassContent, name: str) -> PassContent:
    """Return `before` without the span `name`, which leaves every set it was in."""
    return PassContent(
        before.contract,
        tuple(span for span in before.spans if span.name != name),
        tuple(tuple(member for member in members if member != name) for members in before.sets),
        tuple(member for member in before.forbidden if member != name),
    )


def _names(before: PassContent) -> set[str]:
    return {span.name for span in before.spans}


def _free_name(before: PassContent, label: SpanLabel) -> str:
    taken = _names(before)
    if label.value not in taken:
        return label.value
    number = 2
    while f"{label.value}-{number}" in taken:
        number += 1
    return f"{label.value}-{number}"
