"""Lists: named parameters only, one total order, pages that continue after a row instead of counting from the start.

A page says `next` and no total: a count costs a query and, for an annotator, may tell about somebody else's work.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from django.db.models import Model, Q, QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.domain.errors import BadInput, BadInputs

PER_PAGE, MOST_PER_PAGE = 100, 500
_NUMBER = re.compile(r"[0-9]{1,18}")

type Reader = Callable[[str, str], Any]


def number(where: str, value: str) -> int:
    """Read a whole number from 0 of at most 18 digits."""
    if not _NUMBER.fullmatch(value):
        raise BadInput(where, f"{value[:40]!r} is no whole number", "Send digits only.")
    return int(value)


def one_of(words: Iterable[str]) -> Reader:
    """Return a reader of one of `words`."""
    known = tuple(words)

    def read(where: str, value: str) -> str:
        if value not in known:
            raise BadInput(where, f"{value[:40]!r} is none of its words", f"Use one of {', '.join(known)}.")
        return value

    return read


def name(where: str, value: str) -> str:
    """Read a short name, such as a slug or a document id; it never reaches a lookup as anything but a value."""
    if not 0 < len(value) <= 120 or not value.isprintable():
        raise BadInput(where, f"{value[:40]!r} is no name", "Send 1 to 120 printable characters.")
    return value


def parameters(request: Request, known: Mapping[str, Reader]) -> dict[str, Any]:
    """Return the query's parameters, read; BadInputs for one that is not listed in `known` or stands twice."""
    problems: list[BadInput] = []
    found: dict[str, Any] = {}
    for key, values in request.query_params.lists():
        where = f"?{key[:40]}"
        if key not in known:
            problems.append(BadInput(where, "there is no such parameter", f"Known are {', '.join(known) or 'none'}."))
        elif len(values) != 1:
            problems.append(BadInput(where, "it stands there twice", "Send it once."))
        else:
            try:
                found[key] = known[key](where, values[0])
            except BadInput as problem:
                problems.append(problem)
    if problems:
        raise BadInputs("address", problems)
    return found


#: What each list takes beside its filters.
PAGE: Mapping[str, Reader] = {"after": number, "limit": number}


def paged[M: Model](
    request: Request,
    rows: QuerySet[M, Any],
    order: Sequence[str],
    shown: Callable[[Sequence[M]], list[dict[str, Any]]],
    **filters: tuple[Reader, str],
) -> Response:
    """Return one page of `rows` in `order`, which ends in the primary key; `shown` turns its rows into objects.

    `filters` maps a parameter to its reader and the lookup it stands for. `?after=` is the key of the last row of the
    page before; it must be a row the person sees.
    """
    if order[-1].lstrip("-") != "pk":
        raise ValueError(f"the order {order} is not total")
    readers = {key: reader for key, (reader, _) in filters.items()}
    given = parameters(request, {**readers, **PAGE})
    for key, (_, lookup) in filters.items():
        if key in given:
            rows = rows.filter(**{lookup: given[key]})
    limit = limit_of(given)
    ordered = rows.order_by(*order)
    if "after" in given:
        ordered = ordered.filter(_later(rows, order, given["after"]))
    found = list(ordered[: limit + 1])
    page = found[:limit]
    more = len(found) > limit
    return Response({"results": shown(page), "next": _next(request, page[-1].pk) if more else None})


def page_of[T](
    request: Request,
    given: Mapping[str, Any],
    rows: Sequence[T],
    key: Callable[[T], Any],
    shown: Callable[[Sequence[T]], list[dict[str, Any]]],
    wanted: Callable[[T], bool] = lambda row: True,
) -> Response:
    """Return one page of `rows`, a list in its total order, of which those `wanted` are shown.

    `given` are its parameters (`parameters` with PAGE). `?after=` is the `key` of the last row of the page before: one
    of `rows`, wanted still or not by now.
    """
    limit, start = limit_of(given), 0
    if "after" in given:
        places = [index for index, row in enumerate(rows) if key(row) == given["after"]]
        if not places:
            raise _no_row(given["after"])
        start = places[0] + 1
    left = [row for row in rows[start:] if wanted(row)]
    page = left[:limit]
    more = len(left) > limit
    return Response({"results": shown(page), "next": _next(request, key(page[-1])) if more else None})


def limit_of(given: Mapping[str, Any]) -> int:
    """Return how many rows a page has; raises BadInput for a number out of range."""
    limit: int = given.get("limit", PER_PAGE)
    if not 1 <= limit <= MOST_PER_PAGE:
        raise BadInput("?limit", f"{limit} is out of range", f"Ask for 1 to {MOST_PER_PAGE}.")
    return limit


def _no_row(after: object) -> BadInput:
    return BadInput("?after", f"{after} is no row of this list", "Follow `next`, or start without it.")


def _later(rows: QuerySet[Any, Any], order: Sequence[str], after: int) -> Q:
    names = [field.lstrip("-") for field in order]
    last = rows.order_by().filter(pk=after).values_list(*names).first()
    if last is None:
        raise _no_row(after)
    later, equal = Q(), Q()
    for field, bare, value in zip(order, names, last, strict=True):
        side = "lt" if field.startswith("-") else "gt"
        later |= equal & Q(**{f"{bare}__{side}": value})
        equal &= Q(**{bare: value})
    return later


def _next(request: Request, after: object) -> str:
    query = request.query_params.copy()
    query["after"] = str(after)
    return f"{request.path}?{query.urlencode()}"
