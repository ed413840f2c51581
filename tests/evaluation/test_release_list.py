"""The list of a study's releases: what was signed, which are stale and why, in as many queries for many as for one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotate.domain.import_formats.sources_toml import SourceEntry
from annotate.domain.vocabulary import Role
from annotate.models import FixtureSet
from annotate.permissions import OPERATOR
from annotate.services.freeze_fixtures import freeze_fixtures
from annotate.services.import_sources import import_versions
from evaluation.models import Plan
from evaluation.selectors.staleness import stale_reasons, stale_reasons_of
from evaluation.services.result_keys import MANIFEST, build_key
from evaluation.services.sign_release import sign_release
from ledger import triggers
from ledger.models import Result
from tests.factories.studies import make_member
from tests.factories.sweeps import DAY, PLAN, make_fixture_set, make_plan, make_sealed_sweep

pytestmark = pytest.mark.django_db

CORRECTED = "The fixture set was corrected: its successor is v2."
CAME = "1 source version came after the fixture set was frozen."


def corrected(fixture_set: FixtureSet) -> FixtureSet:
    keys = [one.fixture_id for one in fixture_set.fixtures.all() if one.fixture_id != "colour"]
    return freeze_fixtures(OPERATOR, fixture_set.study, "v2", keys, successor_of=fixture_set)


@contextmanager
def unprotected() -> Iterator[None]:
    """Let a test change what the database keeps as it was written."""
    # PostgreSQL alters no table that has unchecked foreign keys.
    connection.check_constraints()
    with triggers.lifted(connection):
        yield
        connection.check_constraints()


def listed(client: Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(reverse("api-releases", args=["tools"])).json()["results"]
    return found


def test_list_and_api_mark_the_stale_ones_with_their_reasons(client: Client) -> None:
    old = make_sealed_sweep(make_plan(make_fixture_set("tools")))
    study = old.plan.study
    lead = make_member(study, Role.LEAD)
    signed = sign_release(lead, old, idempotency_key="old")
    new = make_sealed_sweep(make_plan(corrected(old.plan.fixture_set)))
    client.force_login(lead)
    page = reverse("releases", args=["tools"])
    rows = client.get(page).context["rows"]
    assert [(row["sweep"].pk, row["stale"]) for row in rows] == [(new.pk, []), (old.pk, [CORRECTED])]
    assert [(one["sweep"], one["stale"]) for one in listed(client)] == [(new.pk, []), (old.pk, [CORRECTED])]
    shown = client.get(page).content.decode()
    assert shown.count("◔ stale") == 1
    assert CORRECTED in shown
    first, second = listed(client)
    assert first["signed"] is None
    assert (second["signed"]["digest"], second["signed"]["signed_by"]) == (signed.digest, lead.username)
    assert second["url"] == reverse("api-release", args=[old.pk])
    assert (second["fixture_set"], second["plan"], second["root"]) == (old.plan.fixture_set.name, old.plan_id, old.root)
    import_versions(OPERATOR, study, [(SourceEntry("more.md", "more", "1", DAY, title="More"), b"More.")])
    assert [one["stale"] for one in listed(client)] == [[CAME], [CAME, CORRECTED]]
    shown = client.get(page).content.decode()
    assert shown.count("◔ stale") == 2
    assert "And 1 more, on its page." in shown


def test_reasons_of_many_are_those_of_each_and_no_other_studys() -> None:
    one = make_sealed_sweep(make_plan(make_fixture_set("tools")))
    other = make_sealed_sweep(make_plan(make_fixture_set("other")))
    again = make_sealed_sweep(make_plan(corrected(one.plan.fixture_set), PLAN.replace("seed = 7", "seed = 8")))
    import_versions(OPERATOR, other.plan.study, [(SourceEntry("m.md", "m", "1", DAY, title="M"), b"More.")])
    found = stale_reasons_of([again, other, one])
    assert found == {again.pk: [], other.pk: [CAME], one.pk: [CORRECTED]}
    assert found == {sweep.pk: stale_reasons(sweep) for sweep in (again, other, one)}
    assert stale_reasons_of([]) == {}


def test_the_first_build_of_each_arm_is_the_one_that_is_compared() -> None:
    sweep = make_sealed_sweep()
    arm = "window-48-0"
    first, *later = Result.objects.filter(
        scope=sweep.scope, kind=MANIFEST, key__startswith=build_key(sweep.plan.digest, arm, 0, "")[:-7]
    ).order_by("key")
    assert later, "an arm of one phase says nothing here"
    with unprotected():
        Result.objects.filter(scope=sweep.scope, key=later[-1].key).update(payload=b"{}", payload_digest="0" * 64)
    assert stale_reasons(sweep) == []
    with unprotected():
        Result.objects.filter(scope=sweep.scope, key=first.key).delete()
        Result.objects.filter(scope=sweep.scope, key=later[-1].key).delete()
    assert stale_reasons(sweep) == []


def test_release_whose_plan_this_version_does_not_read_is_stale_and_listed(client: Client) -> None:
    sweep = make_sealed_sweep(make_plan(make_fixture_set("tools")))
    with unprotected():
        canonical = bytes(sweep.plan.canonical).replace(b'"retriever":"bm25"', b'"retriever":"older"')
        Plan.objects.filter(pk=sweep.plan_id).update(canonical=canonical)
    client.force_login(make_member(sweep.plan.study, Role.OBSERVER))
    assert [one["stale"] for one in listed(client)] == [["This version does not read the sweep's plan any more."]]


@pytest.mark.parametrize("name", ["releases", "api-releases"])
def test_list_asks_as_often_for_three_releases_as_for_one(client: Client, name: str) -> None:
    fixture_set = make_fixture_set("tools")
    lead = make_member(fixture_set.study, Role.LEAD)
    client.force_login(lead)
    url = reverse(name, args=["tools"])

    def asked() -> int:
        with CaptureQueriesContext(connection) as seen:
            assert client.get(url).status_code == 200
        return len(seen)

    make_sealed_sweep(make_plan(fixture_set))
    asked()
    at_one = asked()
    signed = make_sealed_sweep(make_plan(corrected(fixture_set)))
    sign_release(lead, signed, idempotency_key="signed")
    make_sealed_sweep(make_plan(fixture_set, PLAN.replace("seed = 7", "seed = 9")))
    assert asked() == at_one <= 13
