"""What protects a session: CSRF on every write, cookie flags, and the headers of every answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import NoReverseMatch, reverse

from annotate.models import Assignment
from evaluation.models import Plan
from tests.annotate.passes import make_desk
from tests.annotate.test_permission_matrix import ROWS, _leads_to
from tests.factories import PASSWORD
from tests.factories.routes import all_routes, candidates
from tests.factories.world import World, make_world

pytestmark = pytest.mark.django_db


def writes(world: World) -> Iterator[tuple[str, str, str, bool]]:
    """Yield (who gets in, method, address, whether it is the API's) of every route that writes."""
    objects = _leads_to(world)
    for row in ROWS:
        for method in row.allowed.keys() - {"GET", "HEAD"}:
            # Where the world's state lets nobody write (a reply before a return), whoever reads tries it.
            who = min(row.allowed[method] or row.allowed["GET"])
            yield who, method, reverse(row.name, kwargs=objects[row.to]), row.api


def test_every_write_without_its_token_is_refused() -> None:
    world = make_world()
    let_in, tried = [], 0
    for who, method, url, in_json in writes(world):
        client = Client(enforce_csrf_checks=True, raise_request_exception=False)
        client.force_login(world.person(who))
        sent = {"data": b"{}", "content_type": "application/json"} if in_json else {"data": {"action": "save"}}
        answer = getattr(client, method.lower())(url, **sent)
        tried += 1
        if answer.status_code != 403:
            let_in.append(f"{method} {url}: {answer.status_code}")
        if in_json:
            assert "CSRF" in answer.json()["problems"][0]["what"]
    assert let_in == []
    assert tried > 15


def test_api_write_with_the_token_of_a_real_sign_in_is_accepted() -> None:
    desk = make_desk()
    client = Client(enforce_csrf_checks=True)
    client.get(reverse("sign-in"))
    form = {
        "username": desk.one.username,
        "password": PASSWORD,
        "csrfmiddlewaretoken": client.cookies["csrftoken"].value,
    }
    assert client.post(reverse("sign-in"), form).status_code == 302
    url = reverse("api-task-content", args=[desk.first.pk])
    body = json.dumps({"content": client.get(url).json()["content"]})
    headers = {"If-Match": '"0"', "X-CSRFToken": client.cookies["csrftoken"].value}
    assert client.put(url, body, "application/json", headers=headers).status_code == 200
    wrong = headers | {"X-CSRFToken": "x" * 64}
    assert client.put(url, body, "application/json", headers=wrong).status_code == 403
    foreign = headers | {"Origin": "https://elsewhere.example"}
    assert client.put(url, body, "application/json", headers=foreign).status_code == 403


def test_session_cookie_is_out_of_reach_of_scripts_and_of_other_sites() -> None:
    desk = make_desk()
    client = Client()
    client.get(reverse("sign-in"))
    client.post(reverse("sign-in"), {"username": desk.one.username, "password": PASSWORD})
    session = client.cookies["sessionid"]
    assert session["httponly"]
    assert session["samesite"] == "Lax"
    assert client.cookies["csrftoken"]["samesite"] == "Lax"


def test_cookies_are_secure_where_the_site_speaks_https(settings: Any) -> None:
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True
    desk = make_desk()
    client = Client()
    client.post(reverse("sign-in"), {"username": desk.one.username, "password": PASSWORD}, secure=True)
    assert client.cookies["sessionid"]["secure"]


def test_session_of_a_person_deactivated_meanwhile_ends_at_once() -> None:
    desk = make_desk()
    client = Client()
    client.force_login(desk.one)
    url = reverse("api-task", args=[desk.first.pk])
    assert client.get(url).status_code == 200
    desk.one.is_active = False
    desk.one.save()
    assert client.get(url).status_code == 401
    assert client.get(reverse("home")).status_code == 302
    assert Assignment.objects.filter(pk=desk.first.pk).exists()


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("/no/such/page/", 404),
        ("/api/no/such/", 401),
        ("/api/studies/", 401),
        ("/sign-in/", 200),
        ("/sign-out/", 405),
        ("/studies/x/", 302),
    ],
)
def test_refusals_carry_the_policy_too(url: str, status: int) -> None:
    answer = Client().get(url)
    assert answer.status_code == status
    assert answer["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'")
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["X-Frame-Options"] == "DENY"


def test_a_damaged_row_is_an_error_that_says_nothing_of_the_inside() -> None:
    world = make_world(with_sweeps=False)
    damaged = Plan.objects.create(
        study=world.study, fixture_set=world.fixture_set, name="damaged", toml="zq-inside", canonical=b"zq-inside"
    )
    client = Client(raise_request_exception=False)
    client.force_login(world.person("lead"))
    for name in ("api-plan", "plan"):
        answer = client.get(reverse(name, args=[damaged.pk]))
        assert answer.status_code == 500
        assert "zq-inside" not in answer.content.decode()
        assert answer["Content-Security-Policy"].startswith("default-src 'none'")


#: With these the reason is the only thing wrong about a form.
VALID = {"key": "matrixkey", "disposition": "reject", "confirmed": "1", "sure": "1", "reason_code": "wording-only"}
NASTY = ("\x00", "9" * 5000)


def test_no_form_breaks_on_hard_input() -> None:
    """Fill every field of every form with the same hard value and press each of its buttons."""
    world = make_world()
    objects, broken, tried = _leads_to(world), [], 0
    for row in ROWS:
        if row.api or "POST" not in row.allowed:
            continue
        client = Client(raise_request_exception=False)
        client.force_login(world.person(min(row.allowed["POST"] or row.allowed["GET"])))
        url = reverse(row.name, kwargs=objects[row.to])
        shown = client.get(url).content.decode()
        names = set(re.findall(r'name="([^"]+)"', shown)) - {"csrfmiddlewaretoken", "viewport"}
        actions = set(re.findall(r'name="action" value="([^"]+)"', shown)) | {*row.body.values(), ""}
        for nasty in NASTY:
            for action in actions:
                for fields in (dict.fromkeys(names, nasty), {**row.body, **VALID, "reason": nasty}):
                    with transaction.atomic():
                        status = client.post(url, {**fields, "action": action}).status_code
                        transaction.set_rollback(True)
                    tried += 1
                    if status >= 500:
                        broken.append(f"{url} {action} {nasty[:5]!r}")
    assert broken == [], "\n".join(broken)
    assert tried > 100


def test_no_address_breaks_on_hard_values() -> None:
    world = make_world(with_sweeps=False)
    client = Client(raise_request_exception=False)
    client.force_login(world.person("lead"))
    hard = ("%00", "a%00b", "9" * 30, "9" * 5000, "%F0%9F%93%8F", "%ff", "..%2f..%2fx", "%0d%0aX-A: b")
    broken = []
    for route in all_routes():
        known = {part: values[0] for part, values in candidates(world, beyond=False).items()}
        for part in route.holds:
            marks = {"pk": 777_777} if part == "pk" else {part: "zq-part"}
            try:
                pattern = reverse(route.name, kwargs={name: known[name] for name in route.holds} | marks)
            except NoReverseMatch:
                continue  # a part that takes one of a few words only
            for value in hard:
                url = pattern.replace("777777" if part == "pk" else "zq-part", value)
                if client.get(url).status_code >= 500:
                    broken.append(url[:80])
        query = "&".join(
            f"{name}=%00{'9' * 400}" for name in ("page", "preset", "version", "after", "limit", "arm", "view")
        )
        url = reverse(route.name, kwargs={name: known[name] for name in route.holds})
        if client.get(f"{url}?{query}").status_code >= 500:
            broken.append(f"{url}?…")
    assert broken == [], "\n".join(broken)
