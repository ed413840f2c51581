"""The API of plans, sweeps and releases: the main job by program, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotate.domain.vocabulary import Role
from annotate.models import Person
from evaluation.models import Plan, Release, Sweep
from evaluation.services.work import drain
from tests.factories import make_member
from tests.factories.sweeps import PLAN, make_fixture_set, make_plan, make_sealed_sweep, make_sweep

pytestmark = pytest.mark.django_db
JSON = "application/json"


def client_of(person: Person) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(person)
    return client


def lead_of(plan_or_set: Any) -> Client:
    return client_of(make_member(plan_or_set.study, Role.LEAD))


def post(client: Client, url: str, body: Any, key: str = "") -> HttpResponse:
    headers = {"Idempotency-Key": key} if key else {}
    return client.post(url, json.dumps(body), JSON, headers=headers)


def problems(answer: HttpResponse) -> list[dict[str, str]]:
    body = answer.json()
    assert body["error"]
    assert all(set(problem) == {"where", "what", "mend"} and problem["what"] for problem in body["problems"]), body
    return body["problems"]


def test_main_job_by_program_from_plan_to_signed_release(tmp_path: Path) -> None:
    fixture_set = make_fixture_set()
    client = lead_of(fixture_set)
    plans = reverse("api-plans", args=[fixture_set.study.slug])
    written = post(client, plans, {"fixture_set": "v1", "toml": PLAN})
    assert written.status_code == 201
    plan = written.json()
    assert (written["Location"], plan["locked_at"], plan["toml"]) == (plan["url"], None, PLAN)
    assert post(client, plans, {"fixture_set": "v1", "toml": PLAN}).json()["id"] == plan["id"]
    runs = reverse("api-plan-sweeps", args=[plan["id"]])
    assert post(client, runs, {}, "too-early-key").status_code == 409
    locked = post(client, reverse("api-plan-lock", args=[plan["id"]]), {})
    assert locked.json()["locked_at"]
    assert post(client, reverse("api-plan-lock", args=[plan["id"]]), {}).status_code == 409

    first, again = (post(client, runs, {"seed": 5}, "run-it-once") for _ in range(2))
    assert (first.status_code, first.json()["id"]) == (201, again.json()["id"])
    assert first.json()["seed"] == "5"
    assert Sweep.objects.count() == 1
    url = first["Location"]
    waiting = client.get(url).json()
    assert waiting["state"] == "running"
    assert waiting["cells"]["waiting"] == waiting["cells"]["total"] > 0
    results, release = (reverse(name, args=[first.json()["id"]]) for name in ("api-results", "api-release"))
    assert client.get(results).status_code == client.get(release).status_code == 409

    drain("test", sweep_id=first.json()["id"])
    done = client.get(url).json()
    assert (done["state"], done["cells"]["done"]) == ("sealed", done["cells"]["total"])
    call_command("results", str(done["id"]), json=str(tmp_path / "results.json"), verbosity=0)
    assert client.get(results).content == (tmp_path / "results.json").read_bytes()

    computed = client.get(release).json()
    assert computed["signed"] is None
    signed, twice = (post(client, release, {}, "signed-by-me") for _ in range(2))
    assert (signed.status_code, signed.json()) == (201, twice.json())
    assert signed.json()["decision"] == computed["decision"]
    assert signed.json()["signed"]["disposition"] == computed["decision"]["disposition"]
    assert post(client, release, {}, "signed-again").status_code == 409
    assert Release.objects.count() == 1


def test_refused_plan_names_every_problem_with_its_line() -> None:
    fixture_set = make_fixture_set()
    client, url = lead_of(fixture_set), reverse("api-plans", args=[fixture_set.study.slug])
    bad = PLAN.replace("overlap = 16", "overlap = 48").replace("top_k = 2", "top_k = true")
    answer = post(client, url, {"fixture_set": "v1", "toml": bad})
    assert answer.status_code == 422
    said = problems(answer)
    assert len(said) >= 2
    assert all("line " in problem["where"] for problem in said)
    assert not Plan.objects.exists()


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        {"fixture_set": "v1"},
        {"fixture_set": "v1", "toml": 1},
        {"fixture_set": "v1", "toml": "nul\x00"},
        {"fixture_set": "nul\x00", "toml": PLAN},
        {"fixture_set": "no-such", "toml": PLAN},
        {"fixture_set": ["v1"], "toml": PLAN},
        {"fixture_set": "v1", "toml": "not toml ["},
        {"fixture_set": "v1", "toml": PLAN, "locked": True},
        {"fixture_set": "v1", "toml": "x" * 600_000},
    ],
)
def test_bad_plan_body_is_422_and_nothing_is_kept(body: Any) -> None:
    fixture_set = make_fixture_set()
    answer = post(lead_of(fixture_set), reverse("api-plans", args=[fixture_set.study.slug]), body)
    assert answer.status_code == 422
    assert problems(answer)
    assert not Plan.objects.exists()


@pytest.mark.parametrize("seed", [True, -1, 2**63, 1.5, "7", [], 10**300])
def test_seed_that_is_none_is_refused(seed: Any) -> None:
    plan = make_plan()
    answer = post(lead_of(plan), reverse("api-plan-sweeps", args=[plan.pk]), {"seed": seed}, "a-good-key")
    assert answer.status_code == 422
    assert problems(answer)[0]["where"] == "seed"
    assert not Sweep.objects.exists()


def test_recompute_is_sent_shown_and_must_be_a_truth_value() -> None:
    plan = make_plan()
    client = lead_of(plan)
    url = reverse("api-plan-sweeps", args=[plan.pk])
    for value in ("yes", 1, None):
        answer = post(client, url, {"recompute": value}, "a-good-key")
        assert answer.status_code == 422
        assert problems(answer)[0]["where"] == "recompute"
    made = post(client, url, {"recompute": True}, "a-good-key").json()
    assert made["recompute"] is True
    shown = client.get(made["url"]).json()
    assert (shown["recompute"], shown["reused"]) == (True, {})


def test_caps_are_sent_shown_and_raised() -> None:
    plan = make_plan()
    client = lead_of(plan)
    url = reverse("api-plan-sweeps", args=[plan.pk])
    for body in ({"max_cells": True}, {"max_cells": 2.5}, {"max_cost": "1"}, {"max_minutes": "soon"}):
        answer = post(client, url, body, "a-good-key")
        assert answer.status_code == 422
        assert problems(answer)[0]["where"] in {"max_cells", "max_cost", "max_minutes"}
    made = post(client, url, {"max_cells": 2, "max_cost": "7.50", "price_input": "0.1"}, "a-good-key").json()
    drain("w", sweep_id=made["id"])
    shown = client.get(reverse("api-sweep", args=[made["id"]])).json()
    assert shown["state"] == "capped"
    assert shown["limits"] == {
        "max_cells": 2,
        "max_minutes": None,
        "max_cost": "7.5",
        "price_input": "0.1",
        "price_output": None,
    }
    assert shown["used"]["cells"] == 2
    resume = reverse("api-sweep-resume", args=[made["id"]])
    assert post(client, resume, {}).status_code == 409
    assert post(client, resume, {"max_cells": "none"}).json()["state"] == "running"
    drain("w", sweep_id=made["id"])
    assert Sweep.objects.get().state == Sweep.State.SEALED
    assert post(client, resume, {}).status_code == 409


def test_estimate_is_measured_once_and_priced() -> None:
    plan = make_plan()
    client, url = lead_of(plan), reverse("api-plan-estimate", args=[plan.pk])
    first = post(client, url, {"price_input": "2"}).json()
    again = post(client, url, {}).json()
    assert {**first, "cost": None} == again
    assert first["cells"] == 9
    assert post(client, url, {"price_input": "NaN"}).status_code == 422
    assert post(client, url, {"max_cells": 3}).status_code == 422


def test_sweep_and_release_need_an_idempotency_key() -> None:
    sweep = make_sealed_sweep()
    client = lead_of(sweep.plan)
    for url in (reverse("api-plan-sweeps", args=[sweep.plan_id]), reverse("api-release", args=[sweep.pk])):
        assert problems(post(client, url, {}))[0]["where"] == "Idempotency-Key"
    assert Sweep.objects.count() == 1
    assert not Release.objects.exists()


def test_key_of_another_plans_sweep_is_a_conflict() -> None:
    fixture_set = make_fixture_set()
    one, other = make_plan(fixture_set), make_plan(fixture_set, PLAN.replace("seed = 7", "seed = 8"))
    client = lead_of(fixture_set)
    assert post(client, reverse("api-plan-sweeps", args=[one.pk]), {}, "the-same-key").status_code == 201
    assert post(client, reverse("api-plan-sweeps", args=[other.pk]), {}, "the-same-key").status_code == 409
    assert other.sweeps.count() == 0


def test_override_needs_its_reason_and_a_known_word() -> None:
    sweep = make_sealed_sweep()
    client, url = lead_of(sweep.plan), reverse("api-release", args=[sweep.pk])
    computed = client.get(url).json()["decision"]["disposition"]
    another = next(word for word in ("reject", "collect-more") if word != computed)
    for body in (
        {"disposition": another},
        {"disposition": "ship-it"},
        {"disposition": True},
        {"override_reason": "There is nothing to override."},
        {"disposition": another, "override_reason": "nul\x00"},
        {"disposition": another, "override_reason": "   "},
        {"signed_by": "somebody"},
    ):
        assert post(client, url, body, "a-good-key").status_code == 422, body
    assert not Release.objects.exists()
    made = post(client, url, {"disposition": another, "override_reason": "The desk asked for it."}, "a-good-key")
    assert made.json()["signed"] | {"computed": computed, "disposition": another} == made.json()["signed"]


def test_cancelled_sweep_keeps_its_reason_and_a_sealed_one_is_not_cancelled() -> None:
    sweep = make_sweep()
    client = lead_of(sweep.plan)
    url = reverse("api-sweep-cancel", args=[sweep.pk])
    assert post(client, url, {}).status_code == 422
    answer = post(client, url, {"reason": "The wrong plan."})
    assert (answer.json()["state"], answer.json()["problem"]) == ("cancelled", "The wrong plan.")
    sealed = make_sealed_sweep(sweep.plan)
    assert post(client, reverse("api-sweep-cancel", args=[sealed.pk]), {"reason": ""}).status_code == 409


def test_paused_sweep_says_why_and_goes_on() -> None:
    sweep = make_sweep()
    client = lead_of(sweep.plan)
    url = reverse("api-sweep-pause", args=[sweep.pk])
    assert post(client, url, {}).status_code == 422
    answer = post(client, url, {"reason": "Night shift."})
    assert answer.json()["state"] == "paused"
    assert answer.json()["problem"].endswith(": Night shift.")
    listed = reverse("api-sweeps", args=[sweep.plan.study.slug])
    for state, there in (("paused", [sweep.pk]), ("capped", [])):
        assert [row["id"] for row in client.get(listed, {"state": state}).json()["results"]] == there
    assert post(client, reverse("api-sweep-resume", args=[sweep.pk]), {}).json()["state"] == "running"


def test_observer_reads_and_does_not_write() -> None:
    sweep = make_sealed_sweep()
    observer = client_of(make_member(sweep.plan.study, Role.OBSERVER))
    assert observer.get(reverse("api-results", args=[sweep.pk])).status_code == 200
    answer = post(observer, reverse("api-release", args=[sweep.pk]), {}, "a-good-key")
    assert answer.status_code == 403
    assert "lead" in problems(answer)[0]["what"]


@pytest.mark.parametrize("name", ["api-plans", "api-sweeps", "api-plan-sweeps"])
def test_list_asks_as_often_for_three_rows_as_for_one(name: str) -> None:
    plan = make_plan()
    client = lead_of(plan)
    url = reverse(name, args=[plan.pk if name == "api-plan-sweeps" else plan.study.slug])

    def count() -> tuple[int, int]:
        with CaptureQueriesContext(connection) as captured:
            answer = client.get(url)
        return len(captured), len(answer.json()["results"])

    make_sweep(plan)
    at_one = count()
    for number in (1, 2):
        make_sweep(plan)
        make_plan(plan.fixture_set, PLAN.replace("seed = 7", f"seed = 7{number}"), locked=False)
    at_three = count()
    assert (at_one[1], at_three[1]) == (1, 3)
    assert at_three[0] == at_one[0] <= 9


def test_sweeps_are_filtered_by_listed_parameters_only() -> None:
    sweep = make_sweep()
    client, url = lead_of(sweep.plan), reverse("api-sweeps", args=[sweep.plan.study.slug])
    assert [row["id"] for row in client.get(url, {"plan": sweep.plan_id, "state": "running"}).json()["results"]] == [
        sweep.pk
    ]
    assert client.get(url, {"state": "sealed"}).json()["results"] == []
    for query in ({"state": "running "}, {"plan": "1x"}, {"started_by__password": "x"}, {"plan__study": "1"}):
        assert client.get(url, query).status_code == 422
