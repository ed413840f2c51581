"""What an adjudicator adds to a settled content: the segment, and for every span of a set why it must be there."""

from __future__ import annotations

from collections.abc import Mapping

from annotate.domain.content import PassContent
from annotate.domain.errors import BadInput, BadInputs
from annotate.domain.pass_check import set_name
from annotate.domain.vocabulary import Necessity, Segment
from annotate.domain.written import written


def check_segment(content: PassContent, segment: Segment) -> Segment:
    """Return the segment; raises BadInput unless it is one of the six and fits whether the question is answerable."""
    words = [word for word in Segment if word is not Segment.UNCLASSIFIED]
    if segment not in words:
        raise BadInput("segment", f"“{segment}” is none of the six", f"Use one of {', '.join(words)}.")
    segment = Segment(segment)
    if (content.contract.answerable is False) is not (segment is Segment.UNANSWERABLE_CONTROL):
        answerable = "not answerable" if content.contract.answerable is False else "answerable"
        raise BadInput(
            "segment",
            f"“{segment}” does not fit a question that is {answerable}",
            f"Unanswerable questions are {Segment.UNANSWERABLE_CONTROL}, and only they.",
        )
    return segment


def set_spans(content: PassContent) -> frozenset[str]:
    """Return the names of the spans that stand in at least one support set."""
    return frozenset(name for members in content.sets for name in members)


def supersets(content: PassContent) -> list[tuple[str, str]]:
    """Return (larger, smaller) for each support set that holds all spans of another, by the names the sets have."""
    sets = [(set_name(index), frozenset(members)) for index, members in enumerate(content.sets)]
    return [(large, small) for large, more in sets for small, fewer in sets if fewer < more]


def without(content: PassContent, name: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return, for each set that holds the span `name`, its name and the spans it would still have without it.

    Shown to the adjudicator beside “necessary or topical?”; it decides nothing.
    """
    return [
        (set_name(index), tuple(other for other in members if other != name))
        for index, members in enumerate(content.sets)
        if name in members
    ]


def check_alternatives(content: PassContent, reason: str) -> str:
    """Return the reason, stripped; raises BadInput for a set that holds another whole where no reason says why.

    Sets are alternatives: where the smaller one suffices, the larger one adds nothing, and whoever keeps both says why.
    """
    reason = written(reason, "alternatives").strip()
    found = supersets(content)
    if found and not reason:
        shown = "; ".join(f"{large} holds all of {small}" for large, small in found)
        raise BadInput("alternatives", shown, "Drop the larger set, or say why both stand.")
    return reason if found else ""


def check_necessity(
    content: PassContent, necessity: Mapping[str, tuple[Necessity, str]]
) -> dict[str, tuple[Necessity, str]]:
    """Return the words and reasons; raises BadInputs unless every span of a set, and no other, has one.

    Either word needs a reason, and every set at least one necessary span: one whose spans are all merely topical
    supports nothing.
    """
    wanted = set_spans(content)
    problems = [
        BadInput(f"span “{name}”", "nobody said whether it is necessary", "Say necessary or topical, and why.")
        for name in sorted(wanted - necessity.keys())
    ]
    problems += [
        BadInput(f"span “{name}”", "it stands in no support set", "Leave it out.")
        for name in sorted(necessity.keys() - wanted)
    ]
    checked: dict[str, tuple[Necessity, str]] = {}
    for name in sorted(wanted & necessity.keys()):
        word, reason = necessity[name]
        try:
            reason = written(reason, f"span “{name}”").strip()
        except BadInput as problem:
            problems.append(problem)
            continue
        if word not in list(Necessity):
            problems.append(BadInput(f"span “{name}”", f"“{word}” is no word for it", "Say necessary or topical."))
        elif not reason:
            mend = (
                "Write why the set needs it." if word == Necessity.NECESSARY else "Write why the set does without it."
            )
            problems.append(BadInput(f"span “{name}”", f"it is called {Necessity(word)} without a reason", mend))
        else:
            checked[name] = (Necessity(word), reason)
    if not problems:
        problems = [
            BadInput(set_name(index), "all its spans are merely topical", "Call at least one span necessary.")
            for index, members in enumerate(content.sets)
            if all(checked[name][0] is Necessity.TOPICAL for name in members)
        ]
    if problems:
        raise BadInputs("spans", problems)
    return checked
