"""Every named route of the URLconf as it stands, and addresses made of a world's objects."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.urls import NoReverseMatch, URLPattern, URLResolver, get_resolver, reverse

from annotate.models import AdjudicationItem, Assignment, FixtureSet, SourceVersion
from evaluation.models import Plan, Sweep
from tests.factories.world import World

#: A key that no row has.
NOBODYS = 987_654


@dataclass(frozen=True)
class Route:
    """A route by its name, with the names of what its address holds."""

    name: str
    holds: tuple[str, ...]
    view: object


def all_routes() -> list[Route]:
    """Return every route in order; raises ValueError for one without a name."""
    return list(_walk(get_resolver().url_patterns))


def _walk(patterns: Iterable[URLPattern | URLResolver]) -> Iterator[Route]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns)
        elif not pattern.name:
            raise ValueError(f"the route {pattern.pattern} has no name")
        else:
            yield Route(pattern.name, tuple(pattern.pattern.regex.groupindex), pattern.callback)


def candidates(world: World, *, beyond: bool = True) -> dict[str, list[object]]:
    """Return every value that a part of an address may take: each object of the world, and one that is none."""
    rows = (Assignment, AdjudicationItem, SourceVersion, FixtureSet, Plan, Sweep)
    keys = sorted({pk for model in rows for pk in model.objects.values_list("pk", flat=True)})
    found: dict[str, list[object]] = {
        "slug": [world.study.slug],
        "pk": [*keys],
        "key": [world.open[0].question.key, world.closed[0].question.key, "holiday"],
        "fixture_id": ["holiday"],
        # About the restricted version, about its restricted section, about neither.
        "question_id": ["holiday", "alarm", "late"],
        "segment": ["rule-and-exception"],
        "kind": ["csv", "svg", "parquet"],
        "name": ["support-by-phase", "questions-by-phase"],
        "rest": ["nothing/"],
    }
    if beyond:
        found["slug"].append("no-such-study")
        found["pk"].append(NOBODYS)
        found["key"].append("no-such")
    return found


def addresses(route: Route, values: dict[str, list[object]]) -> Iterator[str]:
    """Yield every address of a route; a part that `values` does not know is a KeyError naming it.

    A part that takes one of a few words only (the kind of a file) takes those of `values` that it knows; none of them
    is a NoReverseMatch.
    """
    refused: NoReverseMatch | None = None
    found = False
    for chosen in itertools.product(*(values[part] for part in route.holds)):
        try:
            address = reverse(route.name, kwargs=dict(zip(route.holds, chosen, strict=True)))
        except NoReverseMatch as error:
            refused = error
            continue
        found = True
        yield address
    if refused is not None and not found:
        raise refused
