"""Frozen fixture sets and the exact bytes that were hashed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.api.endpoint import StudyEndpoint, attachment
from annotate.api.fields import members, text
from annotate.api.freeze import apart_of, keys_of
from annotate.api.listing import one_of, paged, parameters
from annotate.api.studies import times
from annotate.domain.errors import BadInput
from annotate.models import Fixture, FixtureSet
from annotate.selectors.fixtures import corrections, fixture_sets_visible_to, openings_of, require_manifest
from annotate.selectors.frozen_partition import frozen_partition
from annotate.services.export_archive import fixture_archive
from annotate.services.freeze_fixtures import freeze_fixtures

MAX_NAME = 80


class FixtureSets(StudyEndpoint):
    """The fixture sets of a study."""

    actions = {"GET": "fixture.view", "POST": "fixture.freeze"}

    def get(self, request: Request, slug: str) -> Response:
        """List them, newest first."""
        rows = fixture_sets_visible_to(self.person, self.study).defer("canonical").annotate(size=Count("fixtures"))
        return paged(request, rows, ("-pk",), self._shown)

    def post(self, request: Request, slug: str) -> Response:
        """Freeze settled questions as a set; the very same by the same person again is the set there is.

        422 names everything that blocks it, and nothing is written then.
        """
        parameters(request, {})
        body = members(request.data, ["name"], ["questions", "successor_of", "apart"])
        made = freeze_fixtures(
            self.person,
            self.study,
            text(body["name"], "name", most=MAX_NAME),
            keys_of(body.get("questions"), "questions"),
            successor_of=self._predecessor(body.get("successor_of")),
            apart=apart_of(body.get("apart", []), "apart"),
        )
        answer = {**set_object(made, made.fixtures.count()), "changes": corrections(self.person, made)}
        return Response(answer, status=201, headers={"Location": answer["url"]})

    def _predecessor(self, value: Any) -> FixtureSet | None:
        if value is None:
            return None
        sought = text(value, "successor_of", most=MAX_NAME)
        found = fixture_sets_visible_to(self.person, self.study).filter(name=sought).first()
        if found is None:
            raise BadInput("successor_of", f"there is no set called “{sought}” here", "Name a set of this study.")
        return found

    def _shown(self, rows: Sequence[Any]) -> list[dict[str, Any]]:
        return [set_object(row, row.size) for row in rows]


class FixtureSetEndpoint(StudyEndpoint):
    """An endpoint of one fixture set."""

    actions = {"GET": "fixture.view"}

    def fixture_set(self) -> FixtureSet:
        """Return the set; raises Http404."""
        found: FixtureSet = get_object_or_404(fixture_sets_visible_to(self.person, self.study), pk=self.kwargs["pk"])
        return found


class FixtureSetDetail(FixtureSetEndpoint):
    """One fixture set."""

    def get(self, request: Request, slug: str, pk: int) -> Response:
        """Return it with each use of its held-out partition, what it changed against the set it corrects (`changes`),
        the rule of its partition and the counts of each side.
        """
        parameters(request, {})
        found = self.fixture_set()
        openings = [
            {
                "opened_at": times(row.opened_at),
                "opened_by": row.opened_by.username if row.opened_by else None,
                "purpose": row.purpose,
            }
            for row in openings_of(found)
        ]
        more = {"openings": openings, "changes": corrections(self.person, found), **_partition(found)}
        return Response({**set_object(found, found.fixtures.count()), **more})


class FixtureSetCanonical(FixtureSetEndpoint):
    """The set's manifest as it was hashed."""

    def get(self, request: Request, slug: str, pk: int) -> HttpResponse:
        """Send the bytes whose SHA-256 is the set's digest; 403 where they name sources hidden from the person."""
        parameters(request, {})
        found = self.fixture_set()
        require_manifest(self.person, found)
        return _hashed(bytes(found.canonical), found.digest, f"{found.name}.manifest.json")


class FixtureSetArchive(FixtureSetEndpoint):
    """The set as one archive that a stranger can verify."""

    actions = {"GET": "dataset.export"}

    def get(self, request: Request, slug: str, pk: int) -> HttpResponse:
        """Send it; with `?sources=1` every source text is in it, 422 where the person may not read all of them."""
        given = parameters(request, {"sources": one_of(("0", "1"))})
        found = self.fixture_set()
        made = fixture_archive(self.person, found, sources=given.get("sources") == "1")
        return attachment(made.data, f"{found.name}.tar.gz")


class Fixtures(FixtureSetEndpoint):
    """The fixtures of a set."""

    def get(self, request: Request, slug: str, pk: int) -> Response:
        """List ids and digests by id."""
        found = self.fixture_set()
        rows = found.fixtures.defer("canonical")
        return paged(request, rows, ("fixture_id", "pk"), lambda page: [self._object(row) for row in page])

    def _object(self, row: Fixture) -> dict[str, Any]:
        address = reverse("api-fixture", args=[self.study.slug, row.fixture_set_id, row.fixture_id])
        return {"fixture_id": row.fixture_id, "digest": row.digest, "canonical": address}


class FixtureCanonical(FixtureSetEndpoint):
    """One fixture as it was hashed."""

    def get(self, request: Request, slug: str, pk: int, fixture_id: str) -> HttpResponse:
        """Send the bytes whose SHA-256 is the fixture's digest."""
        parameters(request, {})
        found = get_object_or_404(self.fixture_set().fixtures, fixture_id=fixture_id)
        return _hashed(bytes(found.canonical), found.digest, f"{found.fixture_id}.json")


def _partition(found: FixtureSet) -> dict[str, Any]:
    made = frozen_partition(found)
    return {
        "kept_on_one_side": None if made.apart is None else list(made.apart),
        "partitions": [
            {**asdict(side), "partition": side.partition or "on both sides"} for side in (*made.sides, made.both)
        ],
    }


def set_object(row: FixtureSet, size: int) -> dict[str, Any]:
    """Return a fixture set with its number of fixtures."""
    args = [row.study.slug, row.pk]
    return {
        "id": row.pk,
        "name": row.name,
        "digest": row.digest,
        "fixtures": size,
        "successor_of": row.successor_of.name if row.successor_of else None,
        "frozen_by": row.frozen_by.username if row.frozen_by else None,
        "frozen_at": times(row.frozen_at),
        "url": reverse("api-fixture-set", args=args),
        "canonical": reverse("api-fixture-set-canonical", args=args),
    }


def _hashed(content: bytes, digest: str, name: str) -> HttpResponse:
    response = attachment(content, name)
    response["ETag"] = f'"{digest}"'
    return response
