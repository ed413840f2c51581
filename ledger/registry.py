"""What the upper apps tell the ledger when they start: the kinds they write and how to check them.

The ledger imports nothing above it. An app's `AppConfig.ready` registers, for each kind, a verifier that compares a
record with the rows it claims to describe, and for each table under ledger coverage one that looks for rows changed or
gone. The registry is frozen once all apps are loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.apps import apps

from ledger.domain.findings import Finding
from ledger.domain.textfree import check_paths

if TYPE_CHECKING:
    from pathlib import Path

    from ledger.models import Record

__all__ = ["Finding", "Kind", "RegistryFrozen", "register", "register_bundle", "register_plain", "register_table"]

Verifier = Callable[["Record"], Iterable[Finding]]
TableVerifier = Callable[[], Iterable[Finding]]
BundleVerifier = Callable[["Path"], Iterable[Finding]]


class RegistryFrozen(RuntimeError):
    """Somebody registered after all apps were loaded."""


@dataclass(frozen=True)
class Kind:
    """A registered kind of record or result: its verifier (None: no rows to compare) and its text-bearing fields."""

    name: str
    verifier: Verifier | None
    text_fields: tuple[str, ...]


_kinds: dict[str, Kind] = {}
_tables: dict[str, TableVerifier] = {}
_bundles: dict[str, BundleVerifier] = {}
_open_for_tests = 0


def register(kind: str, verifier: Verifier, *, text_fields: tuple[str, ...] = ()) -> None:
    """Register a kind of record with its verifier, called with each sound record of the kind; it yields findings.

    `text_fields` are the payload's members that bear source or human text **or an unkeyed digest of a short text**, as
    paths: `answer`, `spans[].quote`, `rows.*.text` (`[]` each element, `*` each member). A text-free export puts keyed
    digests in their place. Raises ValueError for a kind registered twice in two ways or a path that cannot be read,
    RegistryFrozen after the apps are loaded.
    """
    _add(Kind(kind, verifier, text_fields))


def register_plain(kind: str, *, text_fields: tuple[str, ...] = ()) -> None:
    """Register a kind of record without rows of its own, or a kind of result; raises as `register` does."""
    _add(Kind(kind, None, text_fields))


def register_table(name: str, verifier: TableVerifier) -> None:
    """Register a whole-table verifier, called once per verification after the chain; raises as `register` does."""
    if _tables.get(name) is verifier:
        return
    _refuse_when_frozen(name)
    if name in _tables:
        raise ValueError(f"table {name!r} is registered twice.")
    _tables[name] = verifier


def register_bundle(name: str, verifier: BundleVerifier) -> None:
    """Register what checks an app's attachments in an exported folder, without a database; raises as `register` does.

    It is called with the folder of every bundle that has attachments, once their bytes were compared with the manifest.
    """
    if _bundles.get(name) is verifier:
        return
    _refuse_when_frozen(name)
    if name in _bundles:
        raise ValueError(f"bundle verifier {name!r} is registered twice.")
    _bundles[name] = verifier


def _add(kind: Kind) -> None:
    # Saying the same again is harmless: Django calls ready() again when tests isolate apps.
    if _kinds.get(kind.name) == kind:
        return
    _refuse_when_frozen(kind.name)
    if kind.name in _kinds:
        raise ValueError(f"ledger kind {kind.name!r} is registered twice.")
    check_paths(kind.text_fields)
    _kinds[kind.name] = kind


def _refuse_when_frozen(name: str) -> None:
    if apps.ready and not _open_for_tests:
        raise RegistryFrozen(f"{name!r} came after the apps were loaded: register it in your AppConfig.ready().")


def find_kind(name: str) -> Kind | None:
    """Return the registered kind, or None."""
    return _kinds.get(name)


def kinds() -> Mapping[str, Kind]:
    """Return a copy of all kinds by name."""
    return dict(_kinds)


def tables() -> Mapping[str, TableVerifier]:
    """Return a copy of all whole-table verifiers by name."""
    return dict(_tables)


def bundles() -> Mapping[str, BundleVerifier]:
    """Return a copy of all verifiers of attachments by name."""
    return dict(_bundles)


@contextmanager
def opened() -> Iterator[None]:
    """Open the registry inside a `with` block and restore it afterwards. For tests only."""
    global _open_for_tests  # noqa: PLW0603
    kept_kinds, kept_tables, kept_bundles = dict(_kinds), dict(_tables), dict(_bundles)
    _open_for_tests += 1
    try:
        yield
    finally:
        _open_for_tests -= 1
        _kinds.clear()
        _kinds.update(kept_kinds)
        _tables.clear()
        _tables.update(kept_tables)
        _bundles.clear()
        _bundles.update(kept_bundles)
