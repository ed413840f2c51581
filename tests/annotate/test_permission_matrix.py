"""Every route × person × method: who gets in, who is told no, and for whom there is nothing at all.

A new route needs one line in `ROWS`. What a line says:

- `page("name", …)` or `api("name", …)`: a page sends anonymous people to the sign-in, the API answers them 401.
- the second argument names the object the address leads to (`_leads_to`).
- `GET=`, `POST=`, … name who gets in; a method without a line is 405. HEAD goes with GET in the API.
- `hidden=` names members for whom the object does not exist (404, as for strangers); the others who do not get in: 403.
- `body=` is sent with POST, where a page's one address serves several actions; several lines per route are welcome.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import transaction
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from annotate import permissions
from annotate.api.endpoint import Endpoint, NothingHere, SignedIn, StudyAction, StudyEndpoint
from annotate.api.task_edits import MyKeys
from evaluation.services.results import sweep_results
from tests.factories.routes import all_routes
from tests.factories.world import PEOPLE, World, make_world

pytestmark = pytest.mark.django_db

METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
#: A deactivated person's session is worth nothing: they are answered as anonymous people are.
OUTSIDE = frozenset({"anonymous", "deactivated"})
SIGNED_IN = frozenset(PEOPLE) - OUTSIDE
MEMBERS = SIGNED_IN - {"stranger"}
ONE, LEAD, ADJUDICATOR = frozenset({"annotator-one"}), frozenset({"lead"}), frozenset({"adjudicator"})
ANNOTATORS = ONE | {"annotator-two"}
OVERSEERS = LEAD | ADJUDICATOR | {"observer"}
READERS = LEAD | {"observer"}
#: A set's manifest names every source: it is for those who may know of all of them.
CLEARED = LEAD


@dataclass(frozen=True)
class Row:
    """What one route answers to whom."""

    name: str
    to: str = ""
    api: bool = False
    allowed: dict[str, frozenset[str]] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()
    scoped: bool = True
    body: dict[str, Any] = field(default_factory=dict)

    def expects(self, who: str, method: str) -> Callable[[int], bool]:
        """Return the test that a status must pass."""
        method = "GET" if method == "HEAD" and self.api else method
        if not self.api and method not in self.allowed:
            return _is(405)
        if who in OUTSIDE:
            return _is(401 if self.api else 302)
        if method not in self.allowed:
            return _is(405)
        if who in self.allowed[method]:
            return _is(200) if method == "GET" else _gets_in
        return _is(404 if who in self.hidden or (who == "stranger" and self.scoped) else 403)


def _is(status: int) -> Callable[[int], bool]:
    return lambda found: found == status


def _gets_in(status: int) -> bool:
    """Whether a write came to its own checks: done, or refused for what it said."""
    return status < 500 and status not in {401, 403, 404, 405}


def page(
    name: str, to: str = "", *, hidden: frozenset[str] = frozenset(), body: dict[str, Any] | None = None, **allowed: Any
) -> Row:
    return Row(name, to, False, allowed, hidden, bool(to), body or {})


def api(name: str, to: str = "", *, hidden: frozenset[str] = frozenset(), **allowed: Any) -> Row:
    return Row(name, to, True, allowed, hidden, bool(to))


ROWS = [
    page("home", GET=SIGNED_IN),
    page("study", "study", GET=MEMBERS),
    page("sources", "study", GET=MEMBERS, POST=LEAD),
    page("source", "version", GET=MEMBERS),
    page("source-download", "version", GET=MEMBERS),
    page("questions", "study", GET=OVERSEERS, POST=LEAD),
    page("people", "study", GET=LEAD, POST=LEAD),
    page("people", "study", GET=LEAD, POST=LEAD, body={"action": "assign"}),
    page("assignments", "study", GET=LEAD, POST=LEAD),
    page("assignments", "study", GET=LEAD, POST=LEAD, body={"action": "assign", "annotator": "nobody"}),
    page("assignments", "study", GET=LEAD, POST=LEAD, body={"action": "guideline", "text": "Mark it."}),
    page("guidelines", "study", GET=MEMBERS),
    page("workspace", "task", GET=ONE, POST=ONE, hidden=MEMBERS),
    page("workspace", "task", GET=ONE, POST=ONE, hidden=MEMBERS, body={"action": "submit"}),
    page("workspace-blocks", "task", GET=ONE, hidden=MEMBERS),
    page("workspace-layout", "task", GET=ONE, hidden=MEMBERS),
    page("workspace-find", "task", GET=ONE, hidden=MEMBERS),
    page("workspace-sources", "task", GET=ONE, hidden=MEMBERS),
    page("workspace-moves", "task", GET=ONE, hidden=MEMBERS),
    page("workspace-original", "task", GET=ONE, hidden=MEMBERS),
    page("adjudication", "study", GET=ADJUDICATOR),
    page("adjudicate", "item", GET=ADJUDICATOR, POST=ADJUDICATOR, hidden=ANNOTATORS),
    page("adjudicate", "item", GET=ADJUDICATOR, POST=ADJUDICATOR, hidden=ANNOTATORS, body={"action": "reopen"}),
    page(
        "adjudicate",
        "item",
        GET=ADJUDICATOR,
        POST=ADJUDICATOR,
        hidden=ANNOTATORS,
        body={"action": "return", "side": "a", "text": "Count again."},
    ),
    page("adjudicate-blocks", "item", GET=ADJUDICATOR, hidden=ANNOTATORS),
    # Nobody replies about a pass that was not returned.
    page("own-decisions", "task", GET=ONE, POST=frozenset(), hidden=MEMBERS - ONE),
    page("agreed-items", "study", GET=ADJUDICATOR, POST=ADJUDICATOR),
    page("agreement", "study", GET=OVERSEERS),
    page("agreement-items", "study", GET=OVERSEERS),
    page("fixtures", "study", GET=OVERSEERS, POST=LEAD),
    page("freeze", "study", GET=LEAD, POST=LEAD),
    page("fixture-set", "fixture-set", GET=OVERSEERS),
    page("fixture-set-manifest", "fixture-set", GET=CLEARED),
    page("fixture-set-archive", "fixture-set", GET=LEAD),
    page("plans", "study", GET=READERS, POST=LEAD, body={"fixture_set": "v1", "toml": "name ="}),
    page("plan", "draft", GET=READERS, POST=LEAD, body={"action": "lock"}),
    page("plan", "draft", GET=READERS, POST=LEAD, body={"action": "write"}),
    page("plan", "plan", GET=READERS, POST=LEAD, body={"action": "start", "key": "matrixkey"}),
    page("plan-toml", "plan", GET=READERS),
    page("sweep", "running", GET=READERS, HEAD=READERS, POST=LEAD, body={"action": "cancel", "sure": "1"}),
    page("results", "sealed", GET=READERS, HEAD=READERS),
    page("results-top-k", "sealed", GET=READERS, HEAD=READERS),
    page("results-charts", "sealed", GET=READERS, HEAD=READERS),
    page("results-table", "sealed", GET=READERS, HEAD=READERS),
    page("results-parquet", "sealed", GET=READERS, HEAD=READERS),
    page("results-measures", "sealed", GET=READERS, HEAD=READERS),
    page("results-segment", "segment", GET=READERS, HEAD=READERS),
    page("results-chart", "chart", GET=READERS, HEAD=READERS),
    page("results-drawing", "drawing", GET=READERS, HEAD=READERS),
    page("sweep-questions", "sealed", GET=READERS, HEAD=READERS),
    page("sweep-questions-file", "listed", GET=READERS, HEAD=READERS),
    page("sweep-question", "asked", GET=READERS, HEAD=READERS),
    page("sweep-question-next", "asked", GET=READERS, POST=LEAD, body={"proposal": "none"}),
    page("sweep-question-fixture", "asked", POST=LEAD),
    page("sweep-bundle", "sealed", POST=LEAD, body={"form": "text-free"}),
    page("releases", "study", GET=READERS),
    page("release", "sealed", GET=READERS, POST=LEAD),
    page("release-record", "sealed", GET=READERS),
    page("release-pdf", "sealed", GET=READERS),
    api("api", GET=SIGNED_IN),
    api("api-studies", GET=SIGNED_IN),
    api("api-study", "study", GET=MEMBERS),
    api("api-sources", "study", GET=MEMBERS),
    api("api-versions", "study", GET=MEMBERS),
    api("api-version", "version", GET=MEMBERS),
    api("api-version-bytes", "version", GET=MEMBERS),
    api("api-questions", "study", GET=MEMBERS),
    api("api-question", "question", GET=MEMBERS),
    api("api-items", "study", GET=ADJUDICATOR),
    api("api-agreed-items", "study", GET=ADJUDICATOR, POST=ADJUDICATOR),
    api("api-item", "item", GET=ADJUDICATOR, hidden=ANNOTATORS),
    api("api-item-decisions", "item", POST=ADJUDICATOR, hidden=ANNOTATORS),
    api("api-item-confirm", "item", POST=ADJUDICATOR, hidden=ANNOTATORS),
    api("api-item-results", "item", POST=ADJUDICATOR, hidden=ANNOTATORS),
    api("api-item-return", "item", POST=ADJUDICATOR, hidden=ANNOTATORS),
    api("api-item-reopen", "item", POST=ADJUDICATOR, hidden=ANNOTATORS),
    api("api-item-notes", "item", GET=ADJUDICATOR, POST=ADJUDICATOR, hidden=ANNOTATORS),
    api("api-agreement", "study", GET=OVERSEERS),
    api("api-agreement-items", "study", GET=OVERSEERS),
    api("api-freeze", "study", GET=LEAD),
    api("api-fixture-sets", "study", GET=OVERSEERS, POST=LEAD),
    api("api-fixture-set", "fixture-set", GET=OVERSEERS),
    api("api-fixture-set-canonical", "fixture-set", GET=CLEARED),
    api("api-fixture-set-archive", "fixture-set", GET=LEAD),
    api("api-fixtures", "fixture-set", GET=OVERSEERS),
    api("api-fixture", "fixture", GET=OVERSEERS),
    api("api-tasks", GET=SIGNED_IN),
    api("api-task", "task", GET=ONE, hidden=MEMBERS),
    api("api-task-content", "task", GET=ONE, PUT=ONE, hidden=MEMBERS),
    api("api-task-edits", "task", POST=ONE, hidden=MEMBERS),
    api("api-task-time", "task", POST=ONE, hidden=MEMBERS),
    api("api-task-decisions", "task", GET=ONE, hidden=MEMBERS),
    # Nobody replies about a pass that was not returned; what it says is read first.
    api("api-task-notes", "task", GET=ONE, POST=ONE, hidden=MEMBERS),
    api("api-keys", GET=SIGNED_IN, PUT=SIGNED_IN),
    api("api-task-submissions", "task", GET=ONE, POST=ONE, hidden=MEMBERS),
    api("api-plans", "study", GET=READERS, POST=LEAD),
    api("api-plan", "plan", GET=READERS),
    api("api-plan-lock", "draft", POST=LEAD),
    api("api-plan-estimate", "plan", POST=LEAD),
    api("api-plan-sweeps", "plan", GET=READERS, POST=LEAD),
    api("api-releases", "study", GET=READERS),
    api("api-sweeps", "study", GET=READERS),
    api("api-sweep", "sealed", GET=READERS),
    api("api-sweep-cancel", "running", POST=LEAD),
    api("api-sweep-pause", "running", POST=LEAD),
    api("api-sweep-resume", "running", POST=LEAD),
    api("api-results", "sealed", GET=READERS),
    api("api-release", "sealed", GET=READERS, POST=LEAD),
]
#: Routes that belong to Django's own views, or to no study: tested one by one below.
APART = {"sign-in", "sign-out", "api-nothing-here"}


def _leads_to(world: World) -> dict[str, dict[str, Any]]:
    slug = {"slug": world.study.slug}
    item = world.closed[0].question.items.get()
    return {
        "": {},
        "study": slug,
        "version": {**slug, "pk": world.texts["lending"].pk},
        "question": {**slug, "key": world.open[0].question.key},
        "fixture-set": {**slug, "pk": world.fixture_set.pk},
        "fixture": {**slug, "pk": world.fixture_set.pk, "fixture_id": "late"},
        "task": {"pk": world.open[0].pk},
        "item": {"pk": item.pk},
        "draft": {"pk": world.draft.pk},
        "plan": {"pk": world.plan.pk},
        "running": {"pk": world.running.pk},
        "sealed": {"pk": world.sealed.pk},
        "segment": {"pk": world.sealed.pk, "segment": "rule-and-exception"},
        "chart": {"pk": world.sealed.pk, "name": "losses", "kind": "csv"},
        "drawing": {"pk": world.sealed.pk, "name": "losses"},
        "listed": {"pk": world.sealed.pk, "kind": "parquet"},
        "asked": {"pk": world.sealed.pk, "question_id": "late"},
    }


def clients_of(world: World, **options: Any) -> dict[str, Client]:
    """Return a signed-in client of each person (two without a session that counts)."""
    found = {}
    for name, person in world.people.items():
        found[name] = Client(raise_request_exception=False, **options)
        if person is not None:
            found[name].force_login(person)
    return found


def ask(client: Client, method: str, url: str, row: Row | None = None) -> HttpResponse:
    """Send one request; whatever it writes is undone."""
    in_json = url.startswith("/api/")
    sent = {"data": b"{}", "content_type": "application/json"} if in_json else {"data": row.body if row else {}}
    with transaction.atomic():
        answer = getattr(client, method.lower())(url, **({} if method in {"GET", "HEAD", "OPTIONS"} else sent))
        transaction.set_rollback(True)
    return answer


@pytest.fixture(scope="module", autouse=True)
def quiet() -> Iterator[None]:
    """Keep a line about every refused request out of the report; there are thousands."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def test_every_route_has_a_row_and_every_row_a_route() -> None:
    routes = {route.name for route in all_routes()}
    rows = {row.name for row in ROWS}
    assert sorted(routes - rows - APART) == [], "say in ROWS who may open these"
    assert sorted((rows | APART) - routes) == []


def test_every_route_answers_each_person_and_method_as_its_row_says() -> None:
    world = make_world()
    sweep_results(world.sealed)  # kept by the sweep: each of the many requests below would compute it and be undone
    clients, objects, wrong = clients_of(world), _leads_to(world), []
    for row in ROWS:
        url = reverse(row.name, kwargs=objects[row.to])
        for who in PEOPLE:
            for method in METHODS:
                status = ask(clients[who], method, url, row).status_code
                if not row.expects(who, method)(status):
                    wrong.append(f"{row.name} {row.body or ''} {method} by {who}: {status}")
    assert wrong == []


def test_pages_send_outsiders_to_the_sign_in_and_back() -> None:
    world = make_world(with_sweeps=False)
    clients = clients_of(world)
    url = reverse("study", args=[world.study.slug])
    for who in sorted(OUTSIDE):
        assert clients[who].get(url)["Location"] == f"{reverse('sign-in')}?next={url}"


def test_an_object_is_found_in_its_own_study_only() -> None:
    world = make_world()
    client, objects, wrong = clients_of(world)["stranger"], _leads_to(world), []
    tried = 0
    for row in ROWS:
        kwargs = objects[row.to]
        if "slug" in kwargs and len(kwargs) > 1:
            tried += 1
            url = reverse(row.name, kwargs={**kwargs, "slug": world.elsewhere.slug})
            if (status := client.get(url).status_code) != 404:
                wrong.append(f"{url}: {status}")
    assert wrong == []
    assert tried > 6


def test_sign_in_and_sign_out_are_open_and_write_nothing_by_get() -> None:
    world = make_world(with_sweeps=False)
    clients = clients_of(world)
    for who in PEOPLE:
        for method in METHODS:
            assert ask(clients[who], method, reverse("sign-in")).status_code in {200, 302, 405}, (who, method)
        answer = ask(clients[who], "GET", reverse("sign-out"))
        assert answer.status_code == 405
    assert clients["lead"].get(reverse("home")).status_code == 200
    assert clients["lead"].post(reverse("sign-out")).status_code == 302
    assert clients["lead"].get(reverse("home")).status_code == 302


def test_addresses_that_are_none_are_404_and_the_api_says_so_in_json() -> None:
    world = make_world(with_sweeps=False)
    clients = clients_of(world)
    for who in PEOPLE:
        for method in METHODS:
            assert ask(clients[who], method, "/no/such/page/").status_code == 404
            status = ask(clients[who], method, "/api/no/such/").status_code
            assert status == (401 if who in OUTSIDE else 404), (who, method)
    answer = clients["lead"].get("/api/studies/no-such-study/")
    assert answer.json()["problems"][0].keys() == {"where", "what", "mend"}


def _endpoints() -> list[type[Endpoint]]:
    return [
        route.view.view_class
        for route in all_routes()
        if hasattr(route.view, "view_class") and issubclass(route.view.view_class, Endpoint)
    ]


def test_every_endpoint_names_its_permission_and_every_action_is_in_the_map() -> None:
    import annotate.urls
    import evaluation.urls

    assert len(_endpoints()) > 20
    known = set(permissions.actions())
    for endpoint in _endpoints():
        assert endpoint.permission_classes in ([SignedIn], [StudyAction]), endpoint
        handled = {name.upper() for name in ("get", "post", "put", "patch", "delete") if hasattr(endpoint, name)}
        if issubclass(endpoint, StudyEndpoint):
            assert set(endpoint.actions) == handled, endpoint
            assert set(endpoint.actions.values()) <= known, endpoint
        else:
            # What is a person's own and nobody else's, such as their keys, they may change as well.
            assert handled <= {"GET"} or endpoint in {NothingHere, MyKeys}, endpoint
    for pattern in (*annotate.urls.urlpatterns, *evaluation.urls.urlpatterns):
        assert not hasattr(pattern.callback, "cls"), f"{pattern.name} is an API view outside /api/"


def test_an_endpoint_that_names_no_permission_is_closed_to_the_lead(rf: Any) -> None:
    class Forgotten(Endpoint):
        def get(self, request: Any) -> HttpResponse:
            return HttpResponse("open")

    world = make_world(with_sweeps=False)
    request = rf.get("/api/forgotten/")
    request.user = world.person("lead")
    assert Forgotten.as_view()(request).status_code == 403
