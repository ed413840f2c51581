"""What one annotator says about one question: marks, support sets and the answer contract, as a value.

The same value is what a form edits, what a submission seals, what disagreements compare, and what an adjudicator's
result is. It knows nothing of rows; offsets are UTF-8 bytes of the version named by its SHA-256.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from annotate.domain.vocabulary import DependencyType, MissingBehaviour, SpanLabel


@dataclass(frozen=True, order=True)
class MarkedSpan:
    """A named half-open byte span `[start, end)` of the source version `version` (hex SHA-256 of its bytes)."""

    version: str
    start: int
    end: int
    name: str = field(compare=False)
    label: SpanLabel = field(compare=False, default=SpanLabel.EVIDENCE)

    @property
    def bytes_key(self) -> tuple[str, int, int]:
        """Identity by bytes, apart from name and label."""
        return (self.version, self.start, self.end)


@dataclass(frozen=True)
class AnswerContract:
    """The permissible answer, its scope, the qualification it must carry, and what to do when that is missing.

    `answerable` is None while undecided; False means the sources do not answer the question for its reader and date.
    """

    answerable: bool | None = None
    answer: str = ""
    scope: str = ""
    qualification: str = ""
    dependency: DependencyType = DependencyType.NONE
    missing_behaviour: MissingBehaviour = MissingBehaviour.ABSTAIN
    missing_text: str = ""
    notes: str = ""


@dataclass(frozen=True)
class PassContent:
    """A whole pass. `sets` are alternatives, each a tuple of span names; `forbidden` names evidence not to be used."""

    contract: AnswerContract = AnswerContract()
    spans: tuple[MarkedSpan, ...] = ()
    sets: tuple[tuple[str, ...], ...] = ()
    forbidden: tuple[str, ...] = ()

    def span(self, name: str) -> MarkedSpan:
        """Return the span called `name`; raises KeyError when there is none."""
        for span in self.spans:
            if span.name == name:
                return span
        raise KeyError(name)
