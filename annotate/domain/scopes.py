"""The ledger scopes this app writes under."""

from __future__ import annotations


def study_scope(slug: str) -> str:
    """Return the ledger scope of everything people do in the study `slug`."""
    return f"study:{slug}"
