"""How much hangs on a disagreement, so that a queue can begin with what would change a verdict."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from annotate.domain.vocabulary import DisagreementType


class Severity(IntEnum):
    """CRITICAL changes whether or by what a question is answered, MAJOR which evidence counts, MINOR how it is named.

    AGREED is an item without any difference.
    """

    AGREED = 0
    MINOR = 1
    MAJOR = 2
    CRITICAL = 3

    @property
    def word(self) -> str:
        """The name as it stands in addresses and on screen."""
        return self.name.lower()


SEVERITY: dict[DisagreementType, Severity] = {
    DisagreementType.ANSWERABILITY: Severity.CRITICAL,
    DisagreementType.ANSWER: Severity.CRITICAL,
    DisagreementType.QUALIFICATION: Severity.CRITICAL,
    DisagreementType.FORBIDDEN_EVIDENCE: Severity.CRITICAL,
    DisagreementType.SCOPE: Severity.MAJOR,
    DisagreementType.SPAN_MISSING: Severity.MAJOR,
    DisagreementType.SET_MISSING: Severity.MAJOR,
    DisagreementType.SET_MEMBERSHIP: Severity.MAJOR,
    DisagreementType.MISSING_BEHAVIOUR: Severity.MAJOR,
    DisagreementType.SPAN_BOUNDARY: Severity.MINOR,
    DisagreementType.SPAN_LABEL: Severity.MINOR,
    DisagreementType.DEPENDENCY_TYPE: Severity.MINOR,
}


def severity_of(kinds: Iterable[DisagreementType]) -> Severity:
    """Return the gravest severity among an item's differences."""
    return max((SEVERITY[kind] for kind in kinds), default=Severity.AGREED)
