"""Querysets over the ledger. Who may see what is the caller's to say: every selector takes the scopes and labels."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import QuerySet

from ledger.models import Record, Result, Seal


def records(
    *,
    scopes: Collection[str],
    labels: Collection[str],
    kinds: Collection[str] | None = None,
    carrying: Collection[str] = (),
) -> QuerySet[Record]:
    """Return the records of the allowed `scopes` whose every label is among the reader's `labels`, in chain order.

    `kinds` narrows to some kinds, `carrying` to records that carry all of these labels. Empty `scopes` see nothing.
    """
    found = Record.objects.filter(scope__in=_words("scopes", scopes), labels__within=_words("labels", labels))
    if kinds is not None:
        found = found.filter(kind__in=_words("kinds", kinds))
    if carrying:
        found = found.filter(labels__hold=_words("carrying", carrying))
    return found.order_by("seq")


def results(*, scopes: Collection[str], kinds: Collection[str] | None = None) -> QuerySet[Result]:
    """Return the results of the allowed `scopes`, of some `kinds` where given, by scope and key."""
    found = Result.objects.filter(scope__in=_words("scopes", scopes))
    if kinds is not None:
        found = found.filter(kind__in=_words("kinds", kinds))
    return found.order_by("scope", "key")


def seals(*, scopes: Collection[str]) -> QuerySet[Seal]:
    """Return the seals of the allowed `scopes` in chain order."""
    return Seal.objects.filter(scope__in=_words("scopes", scopes)).order_by("record_seq")


def _words(name: str, values: Collection[str]) -> list[str]:
    if isinstance(values, str):
        raise TypeError(f"{name}={values!r}: give a collection of strings, not one string.")
    return sorted(set(values))
