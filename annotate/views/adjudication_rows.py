"""The differences of an item as rows a page can show, and an edited value read from its form."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol

from django.http import QueryDict
from django.utils.html import format_html, format_html_join

from annotate.domain.content import PassContent
from annotate.domain.disagreements import Difference
from annotate.domain.import_formats.fields import parse_json
from annotate.domain.necessity import without
from annotate.domain.vocabulary import Choice, DependencyType, DisagreementType, MissingBehaviour, ReasonCode, SpanLabel
from annotate.selectors.adjudication import DecisionView, DifferenceView, ItemView, SpanKey
from annotate.views.workspace_form import whole_number


class HasQuotes(Protocol):
    """Whatever holds the text of spans by their bytes: an item's view, or what an annotator is told of it."""

    @property
    def quotes(self) -> dict[SpanKey, str | None]:
        """The text of each span, None where the reader may not read it."""


_SPANS = (DisagreementType.SPAN_BOUNDARY, DisagreementType.SPAN_MISSING, DisagreementType.FORBIDDEN_EVIDENCE)
_SETS = (DisagreementType.SET_MEMBERSHIP, DisagreementType.SET_MISSING)
_WORDS: dict[DisagreementType, list[str]] = {
    DisagreementType.DEPENDENCY_TYPE: [word.value for word in DependencyType],
    DisagreementType.SPAN_LABEL: [word.value for word in SpanLabel],
}

#: The reason that is chosen before anybody chooses: what most differences of the type are decided by.
_USUAL = {DisagreementType.SPAN_BOUNDARY: ReasonCode.BOUNDARY_PRECISION}


def rows(
    view: ItemView, titles: dict[str, str], refused: QueryDict | None = None, kept: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Return one dict per difference: what it is, both sides in words, the decision in force, and its edit form.

    `refused` is a form that was not accepted: its row has what was typed, so that nobody writes it twice. Of a row that
    stands on the page as it is to stand (`kept`, by id) only that is said.
    """
    every = [
        _row(view, one, titles) if str(one.disagreement_id) not in kept else _kept(one) for one in view.differences
    ]
    made = [row for row in every if not row["kept"]]
    for row in made:
        if refused is not None and refused.get("disagreement") == row["id"]:
            row.update(_typed(row["edit"], refused))
    # The same few choices in every row: made once, since a template would take half the page's time for them.
    codes = {code: _code_options(code) for code in {row["code"] for row in made}}
    for row in made:
        row["codes"] = codes[row["code"]]
    return every


def unchanged(view: ItemView, known: int, besides: str) -> set[str]:
    """Return the ids of differences that nobody decided about after the decision `known`, but for the one `besides`."""
    seen = {str(one.disagreement_id): one.decision.ordinal if one.decision else 0 for one in view.differences}
    return {key for key, ordinal in seen.items() if ordinal <= known} - {besides}


def _code_options(chosen: str) -> str:
    forms = {True: '<option value="{}" selected>{}</option>', False: '<option value="{}">{}</option>'}
    options = ((format_html(forms[code == chosen], code.value, code.value.replace("-", " ")),) for code in ReasonCode)
    return format_html_join("", "{}", options)


def _typed(edit: dict[str, Any], form: QueryDict) -> dict[str, Any]:
    names = [name for name in ("start", "end", "value", "behaviour") if name in form]
    return {
        "reason": form.get("reason", ""),
        "code": form.get("reason_code", ""),
        "edit": {**edit, **{name: form[name] for name in names}, "open": form.get("action") == Choice.EDITED},
    }


def _kept(shown: DifferenceView) -> dict[str, Any]:
    return {"id": str(shown.disagreement_id), "kept": True}


def _row(view: ItemView, shown: DifferenceView, titles: dict[str, str]) -> dict[str, Any]:
    kind = shown.difference.kind
    return {
        "reason": shown.decision.reason if shown.decision else "",
        # Text and no number: what stands in addresses and forms is not to be written as a number for reading.
        "id": str(shown.disagreement_id),
        "kept": False,
        "position": shown.position,
        "seen": shown.decision.ordinal if shown.decision else 0,
        "kind": kind.value.replace("-", " "),
        "subject": shown.difference.subject,
        "a": words(kind, shown.difference.value_a, view, titles),
        "b": words(kind, shown.difference.value_b, view, titles),
        "rejectable": kind not in (DisagreementType.ANSWERABILITY, DisagreementType.ANSWER),
        "decision": _decision(kind, shown.decision, view, titles),
        "earlier": [_decision(kind, decision, view, titles) for decision in shown.earlier],
        "boundary": boundary(view, shown.difference),
        "edit": _edit_form(kind, shown),
        "code": (shown.decision.reason_code if shown.decision else _USUAL.get(kind, ReasonCode.BETTER_SUPPORTED)).value,
        "place": _place(shown.difference),
    }


def _place(difference: Difference) -> dict[str, Any] | None:
    """Return the bytes a difference of spans is about, the whole of both sides; None for any other difference."""
    if difference.kind not in _SPANS:
        return None
    sides = [side for side in (difference.value_a, difference.value_b) if side]
    version = sides[0]["version"]
    here = [side for side in sides if side["version"] == version]
    return {
        "version": version,
        "start": min(side["start"] for side in here),
        "end": max(side["end"] for side in here),
    }


def _decision(
    kind: DisagreementType, made: DecisionView | None, view: ItemView, titles: dict[str, str]
) -> dict[str, Any] | None:
    if made is None:
        return None
    value = words(kind, made.value, view, titles) if made.value is not None else ""
    return {"choice": made.choice.value, "value": value, "reason": made.reason, "code": made.reason_code.value}


def words(kind: DisagreementType, value: Any, view: HasQuotes, titles: dict[str, str]) -> str:
    """Return a side's value as a person reads it; “nothing” where the side has none."""
    if value is None or value in ("", []):
        return "nothing"
    if kind is DisagreementType.ANSWERABILITY:
        answerable = value if isinstance(value, bool) else value["contract"]["answerable"]
        return "the sources answer this" if answerable else "the sources do not answer this"
    if kind is DisagreementType.MISSING_BEHAVIOUR:
        return f"{value['behaviour']}: {value['text']}" if value["text"] else str(value["behaviour"])
    if kind in _SETS:
        return ", ".join(value)
    if kind in _SPANS:
        quote = view.quotes.get((value["version"], value["start"], value["end"]))
        text = f"“{quote}”" if quote is not None else "text you may not read"
        use = " must not be used;" if value.get("forbidden") else ""
        # Isolated, or a title written from right to left turns the byte range around.
        title = f"\u2068{titles.get(value['version'], 'source')}\u2069"
        return f"{title} {value['start']}–{value['end']} ({value['label']});{use} {text}"
    return str(value)


def _edit_form(kind: DisagreementType, shown: DifferenceView) -> dict[str, Any]:
    if kind in _SPANS:
        given = shown.difference.value_a or shown.difference.value_b
        return {"type": "span", "start": given["start"], "end": given["end"]}
    if kind in _SETS:
        return {"type": "set", "value": " ".join(shown.difference.value_a or shown.difference.value_b)}
    if kind in _WORDS:
        return {"type": "word", "words": _WORDS[kind]}
    if kind is DisagreementType.MISSING_BEHAVIOUR:
        return {"type": "behaviour", "words": [word.value for word in MissingBehaviour]}
    if kind is DisagreementType.ANSWERABILITY:
        return {"type": "whole"}
    return {"type": "text"}


def edited_value(kind: DisagreementType, post: QueryDict) -> Any:
    """Return the value of an edit in the form `edits.check_edit` takes; raises BadInput for what cannot be read."""
    if kind in _SPANS:
        numbers = {}
        for name in ("start", "end"):
            numbers[name] = whole_number(post.get(name, "").strip(), name)
        return numbers
    if kind in _SETS:
        return post.get("value", "").replace(",", " ").split()
    if kind is DisagreementType.MISSING_BEHAVIOUR:
        return {"behaviour": post.get("behaviour", ""), "text": post.get("value", "").replace("\r\n", "\n").strip()}
    if kind is DisagreementType.ANSWERABILITY:
        return parse_json(post.get("value", "").encode(), "value")
    return post.get("value", "").replace("\r\n", "\n").strip()


def agreed(view: ItemView, titles: dict[str, str]) -> list[tuple[str, str]]:
    """Return what both passes say alike, as (what, value) pairs to be confirmed together."""
    differing = {row.difference.kind for row in view.differences}
    if DisagreementType.ANSWERABILITY in differing:
        return []
    contract = view.a.contract
    found = [
        ("Answerable", "yes" if contract.answerable else "no"),
        *_agreed_text(DisagreementType.ANSWER, "Answer", contract.answer, differing),
        *_agreed_text(DisagreementType.SCOPE, "Scope", contract.scope, differing),
        *_agreed_text(DisagreementType.QUALIFICATION, "Required qualification", contract.qualification, differing),
        *_agreed_text(DisagreementType.DEPENDENCY_TYPE, "Dependency", contract.dependency.value, differing),
    ]
    disputed = {row.difference.subject for row in view.differences if row.difference.kind in _SPANS}
    for joint in view.alignment.spans:
        if joint.shared and joint.name not in disputed:
            value = {**_payload(joint.either), "forbidden": joint.forbidden_a}
            found.append((f"Span {joint.name}", words(DisagreementType.SPAN_BOUNDARY, value, view, titles)))
    open_sets = {row.difference.subject for row in view.differences if row.difference.kind in _SETS}
    for name, joint_set in zip(view.alignment.set_names, view.alignment.sets, strict=True):
        if name not in open_sets and joint_set.a is not None and joint_set.b is not None:
            found.append((name[:1].upper() + name[1:], ", ".join(joint_set.a)))
    return found


def _payload(span: Any) -> dict[str, Any]:
    return {"version": span.version, "start": span.start, "end": span.end, "label": span.label.value}


def _agreed_text(
    kind: DisagreementType, name: str, value: str, differing: set[DisagreementType]
) -> list[tuple[str, str]]:
    return [] if kind in differing or not value else [(name, value)]


def set_rows(view: ItemView) -> list[dict[str, str]]:
    """Return the support sets as aligned across the passes, each with what became of it in words."""
    found = []
    for name, joint in zip(view.alignment.set_names, view.alignment.sets, strict=True):
        if joint.a is None or joint.b is None:
            how = "only B" if joint.a is None else "only A"
        elif frozenset(joint.a) == frozenset(joint.b):
            how = "same set"
        else:
            how = "same set, other members"
        found.append(
            {"name": name, "how": how, "a": ", ".join(joint.a or ()) or "–", "b": ", ".join(joint.b or ()) or "–"}
        )
    return found


def boundary(view: ItemView, difference: Difference) -> list[dict[str, Any]]:
    """Return the bytes only one side marked where both marked a span: side, start, end, and the text if readable."""
    if difference.kind is not DisagreementType.SPAN_BOUNDARY:
        return []
    a, b = difference.value_a, difference.value_b
    if a["version"] != b["version"]:
        return []
    pieces = []
    for side, one, other in (("A", a, b), ("B", b, a)):
        for start, end in (
            (one["start"], min(other["start"], one["end"])),
            (max(other["end"], one["start"]), one["end"]),
        ):
            if start < end:
                quote = view.quotes.get((one["version"], one["start"], one["end"]))
                text = None if quote is None else _part(quote, start - one["start"], end - one["start"])
                pieces.append({"side": side, "start": start, "end": end, "text": text})
    return pieces


def _part(quote: str, start: int, end: int) -> str:
    """Return bytes of a quote as text; both ends are those of marked spans, hence code-point boundaries."""
    return quote.encode()[start:end].decode()


def span_rows(content: PassContent, view: ItemView, given: dict[str, tuple[str, str]]) -> list[dict[str, Any]]:
    """Return the spans of the settled sets, each to be called necessary or topical; `given` is what was said before.

    Nothing is said for a span of which nobody has spoken: each is a decision that somebody makes.

    `without` says what each set that holds the span would still have without it.
    """
    members = {name for names in content.sets for name in names}
    found = []
    for span in content.spans:
        if span.name not in members:
            continue
        necessity, reason = given.get(span.name, ("", ""))
        quote = view.quotes.get(span.bytes_key)
        found.append(
            {
                "name": span.name,
                "label": span.label.value,
                "quote": quote if quote is not None else "text you may not read",
                "necessity": necessity,
                "reason": reason,
                "without": [{"set": name, "left": ", ".join(left)} for name, left in without(content, span.name)],
            }
        )
    return found
