"""Reads request bodies strictly and always answers JSON.

What the common parsers let through (a member twice, half of a surrogate pair, a body that nests until the stack ends)
would either lose something without a word or end as a 500.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import APIException, ParseError
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

#: Nothing the API takes nests deeper than a handful of levels.
MAX_DEPTH = 40


class TooLarge(APIException):
    """A body over the limit."""

    status_code = 413
    default_detail = "The body is too large."
    default_code = "too_large"


class StrictJsonParser(BaseParser):
    """UTF-8 JSON with each member once, no NaN, no lone surrogate, at most `MAX_DEPTH` levels."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """Return the value; raises ParseError (400) or TooLarge (413)."""
        data = stream.read(settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
        if len(data) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise TooLarge(f"The body is larger than {settings.DATA_UPLOAD_MAX_MEMORY_SIZE} bytes.")
        return read_json(data)


def read_json(data: bytes) -> Any:
    """Return the value of strict JSON bytes; raises ParseError saying what is wrong and where."""
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_members_once, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise ParseError(f"The body is not UTF-8: byte {error.start} is 0x{data[error.start]:02x}.") from error
    except json.JSONDecodeError as error:
        raise ParseError(f"The body is no JSON: {error.msg} at line {error.lineno}, column {error.colno}.") from error
    except ValueError as error:
        raise ParseError(f"The body is not accepted: {error}.") from error
    except RecursionError as error:
        raise ParseError(f"The body nests deeper than {MAX_DEPTH} levels.") from error
    _check(value, 0)
    return value


def _members_once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the member {twice!r} stands twice in one object")
    return value


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON number")


def _check(value: Any, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise ParseError(f"The body nests deeper than {MAX_DEPTH} levels.")
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ParseError("The body has half of a surrogate pair in a text, which is no Unicode text.") from error
    elif isinstance(value, dict):
        for name, item in value.items():
            _check(name, depth)
            _check(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _check(item, depth + 1)


class JsonWhateverIsAsked(DefaultContentNegotiation):
    """Answer in JSON whatever `Accept` says; no `?format=` override, which would be a parameter nobody listed."""

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """Return the only renderer."""
        return renderers[0], renderers[0].media_type
