"""Takes the text out of a payload: declared fields are replaced by keyed digests.

A path is a dotted list of members; `name[]` goes into each element of the array `name`, `*` into each member.
"""

from __future__ import annotations

import re
from typing import Any

from ledger.domain.canonical import canonical_bytes, keyed_digest

MARK = "keyed_digest"
_STEP = re.compile(r"(?:\*|[A-Za-z0-9_\-]+)(?:\[\])*")


def check_paths(paths: tuple[str, ...]) -> None:
    """Raise ValueError for a path that cannot be read (a lone string in place of the tuple included)."""
    if not isinstance(paths, tuple):
        raise ValueError(f"text_fields={paths!r}: give a tuple of paths.")
    for path in paths:
        if not all(_STEP.fullmatch(step) for step in path.split(".")):
            raise ValueError(f"text field {path!r}: write members joined by dots, with [] for elements and * for any.")


def redact(payload: Any, paths: tuple[str, ...], key: bytes) -> tuple[Any, int]:
    """Return (payload with each declared field replaced by `{"keyed_digest": hex}`, number of fields replaced).

    The digest is HMAC-SHA-256 of the field's canonical bytes; null and missing fields stay as they are. Where the
    payload has another shape than the path expects, the whole value there is replaced: text never slips through a
    changed payload. The given payload is not changed.
    """
    replaced = 0
    for path in paths:
        steps = [part for step in path.split(".") for part in _parts(step)]
        payload, count = _replace(payload, steps, key)
        replaced += count
    return payload, replaced


def _parts(step: str) -> list[str]:
    name = step.rstrip("[]")
    return [name, *["[]"] * ((len(step) - len(name)) // 2)]


def _replace(value: Any, steps: list[str], key: bytes) -> tuple[Any, int]:
    if value is None:
        return value, 0
    if steps and steps[0] == "[]" and isinstance(value, list):
        pairs = [_replace(item, steps[1:], key) for item in value]
        return [item for item, _ in pairs], sum(count for _, count in pairs)
    if steps and steps[0] != "[]" and isinstance(value, dict):
        names = list(value) if steps[0] == "*" else [steps[0]] if steps[0] in value else []
        changed = dict(value)
        total = 0
        for name in names:
            changed[name], count = _replace(value[name], steps[1:], key)
            total += count
        return changed, total
    return {MARK: keyed_digest(key, canonical_bytes(value))}, 1
