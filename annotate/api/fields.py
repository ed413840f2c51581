"""Reads the members of a body and the headers of a write; each refusal says where, what and how to mend it."""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import StrEnum
from typing import Any

from rest_framework.request import Request

from annotate.api.refusals import PreconditionRequired
from annotate.domain.errors import BadInput, shown
from annotate.domain.written import written

_REVISION = re.compile(r'"(\d{1,9})"')
_KEY = re.compile(r"[!-~]{8,64}")


def members(body: Any, required: Collection[str], optional: Collection[str] = ()) -> dict[str, Any]:
    """Return a body that is an object with these members and no other."""
    known = [*required, *optional]
    if not isinstance(body, dict):
        raise BadInput("body", "it is no JSON object", f"Send an object with {', '.join(known) or 'no member'}.")
    if missing := [name for name in required if name not in body]:
        raise BadInput(missing[0], "it is missing", f"Send an object with {', '.join(known)}.")
    if unknown := sorted(body.keys() - set(known)):
        raise BadInput(unknown[0], "there is no such member", f"Known are {', '.join(known) or 'none'}.")
    return body


def text(value: Any, where: str, *, most: int) -> str:
    """Return a text of at most `most` characters that the store can keep; raises BadInput for any other value."""
    if not isinstance(value, str):
        raise BadInput(where, f"it is of type {type(value).__name__}, not a text", "Send a JSON string.")
    return written(value, where, most)


def word[W: StrEnum](kind: type[W], value: Any, where: str) -> W:
    """Return the word of `kind` that a value is; raises BadInput for any other value."""
    if not isinstance(value, str) or value not in {one.value for one in kind}:
        raise BadInput(where, f"it is {shown(value)}", f"Send one of {', '.join(kind)}.")
    return kind(value)


def count(value: Any, where: str) -> int:
    """Return a whole number from 0 of at most 18 digits; raises BadInput for any other value."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 10**18:
        raise BadInput(where, f"it is {shown(value)}, no whole number from 0", "Send the number you were told.")
    return value


def if_match(request: Request) -> int:
    """Return the revision that `If-Match` names; PreconditionRequired (428) without the header, BadInput for others.

    `*` is refused: it would let a write pass that has not seen what it replaces.
    """
    given = request.headers.get("If-Match")
    if given is None:
        raise PreconditionRequired()
    found = _REVISION.fullmatch(given.strip())
    if found is None:
        raise BadInput("If-Match", f"{given[:40]!r} is no single revision", 'Send the ETag you read, such as "3".')
    return int(found[1])


def idempotency_key(request: Request) -> str:
    """Return the `Idempotency-Key` header; BadInput when it is missing or no 8 to 64 visible ASCII characters."""
    given = request.headers.get("Idempotency-Key", "")
    if not _KEY.fullmatch(given):
        raise BadInput(
            "Idempotency-Key",
            "the header is missing" if not given else "it is no key",
            "Send 8 to 64 visible ASCII characters, the same again when you repeat the request.",
        )
    return given


def revision_tag(revision: int) -> str:
    """Return the ETag of a revision."""
    return f'"{revision}"'
