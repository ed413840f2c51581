"""Contents as hypothesis draws them: complete passes over two short versions, with every part that can differ."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from annotate.domain.content import AnswerContract, MarkedSpan, PassContent
from annotate.domain.vocabulary import DependencyType, MissingBehaviour, SpanLabel

VERSIONS = ("a" * 64, "b" * 64)
_texts = st.sampled_from(["seven days", "thirty days", "a week", "never"])


@st.composite
def spans(draw: st.DrawFn) -> tuple[MarkedSpan, ...]:
    places = draw(
        st.lists(st.tuples(st.sampled_from(VERSIONS), st.integers(0, 30), st.integers(1, 12)), max_size=6, unique=True)
    )
    return tuple(
        MarkedSpan(version, start, start + length, f"s{number}", draw(st.sampled_from(SpanLabel)))
        for number, (version, start, length) in enumerate(places)
    )


@st.composite
def complete(draw: st.DrawFn, *, answerable: bool | None = True) -> PassContent:
    """Draw a pass that could be submitted; `answerable=None` draws that too."""
    marked = draw(spans().filter(len) if answerable else spans())
    names = [span.name for span in marked]
    answers = draw(st.booleans()) if answerable is None else answerable
    answers = answers and bool(names)
    sets: tuple[tuple[str, ...], ...] = ()
    if answers:
        members = st.lists(st.sampled_from(names), min_size=1, unique=True).map(tuple)
        sets = tuple(draw(st.lists(members, min_size=1, max_size=3, unique_by=frozenset)))
    free = [name for name in names if all(name not in members for members in sets)]
    forbidden = tuple(draw(st.lists(st.sampled_from(free), unique=True))) if free else ()
    contract = AnswerContract(
        answerable=answers,
        answer=draw(_texts),
        scope=draw(_texts),
        qualification=draw(_texts),
        dependency=draw(st.sampled_from(DependencyType)),
        missing_behaviour=draw(st.sampled_from(MissingBehaviour)),
        missing_text=draw(_texts),
        notes=draw(st.sampled_from(["", "unsure"])),
    )
    return PassContent(contract, marked, sets, forbidden)


def by_bytes(content: PassContent) -> tuple[object, ...]:
    """Return what a content says apart from names and notes: the contract, the spans, the sets, what is forbidden."""
    key = {span.name: (span.bytes_key, span.label) for span in content.spans}
    contract = content.contract
    return (
        tuple(getattr(contract, name) for name in ("answerable", "answer", "scope", "qualification")),
        (contract.dependency, contract.missing_behaviour, contract.missing_text),
        sorted(key.values()),
        {frozenset(key[name] for name in members) for members in content.sets},
        {key[name] for name in content.forbidden},
    )


V = "a" * 64
BASE = PassContent(
    AnswerContract(
        answerable=True,
        answer="At most 7 days.",
        scope="Temporary requests",
        qualification="Only while marked temporary",
        dependency=DependencyType.EXCEPTION,
        missing_text="Abstain on the limit.",
        notes="clear",
    ),
    (
        MarkedSpan(V, 0, 37, "rule", SpanLabel.RULE),
        MarkedSpan(V, 38, 89, "qualifier", SpanLabel.QUALIFIER),
        MarkedSpan(V, 100, 120, "other", SpanLabel.EVIDENCE),
        MarkedSpan(V, 130, 140, "old", SpanLabel.RULE),
        MarkedSpan(V, 150, 160, "loose", SpanLabel.RULE),
    ),
    (("rule", "qualifier"), ("other",)),
    ("old",),
)


def contract(**changes: object) -> PassContent:
    """Return BASE with other contract fields."""
    return replace(BASE, contract=replace(BASE.contract, **changes))


def span(which: str, **changes: object) -> PassContent:
    """Return BASE with one span changed."""
    return replace(BASE, spans=tuple(replace(s, **changes) if s.name == which else s for s in BASE.spans))


NEW = MarkedSpan(V, 200, 210, "new", SpanLabel.RULE)
