"""Keep a person's own keys for the workspace."""

from __future__ import annotations

from annotate.domain.keys import check_keys
from annotate.models import Person


def choose_keys(person: Person, chosen: object) -> dict[str, str]:
    """Store action → key for the person and return it; raises BadInput as `check_keys` does. It is nobody else's."""
    person.keys = kept = check_keys(chosen)
    person.save(update_fields=["keys"])
    return kept
