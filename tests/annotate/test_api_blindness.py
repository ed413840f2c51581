"""What nobody may find out, looked for in every answer of every route: pages, API, exports, headers, refusals.

The walks open each route with every object of the world and with none, so a new route is covered on the day it is
added.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from annotate.domain.vocabulary import Role
from annotate.models import AdjudicationItem, Person
from evaluation.domain.decision import Disposition
from evaluation.services.decide_release import decide_release
from evaluation.services.sign_release import sign_release
from tests.factories.answers import said_in
from tests.factories.routes import NOBODYS, addresses, all_routes, candidates
from tests.factories.studies import make_member
from tests.factories.world import (
    CANARY,
    NAMES,
    RESTRICTED,
    RESTRICTED_TITLE,
    SECTION,
    World,
    make_pair,
    make_world,
    second_pass,
)

pytestmark = pytest.mark.django_db

#: Made anew for every page: they say nothing about anybody's work.
_FRESH = re.compile(
    r'(name="(?:csrfmiddlewaretoken|idempotency_key|key)" value="|"X-CSRFToken": ?"|X-CSRFToken&quot;: ?&quot;)'
    r"[A-Za-z0-9_-]+"
)
#: Ways in which an address might be asked to search, filter, sort or count.
PROBES = ("q", "search", "ordering", "answer__contains", "assignments__annotator__username", "annotator", "page")

type Answers = dict[str, str]


def client_of(person: Person) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(person)
    return client


def whole(answer: HttpResponse) -> str:
    """Return everything an answer says: status, headers, body; without what is drawn anew each time."""
    # `Expires` is the time of the answer; the length is that of what is drawn anew.
    kept = sorted(
        set(answer.items()) - {(name, answer[name]) for name in ("Content-Length", "Expires") if name in answer}
    )
    headers = "\n".join(f"{name}: {value}" for name, value in kept)
    return _FRESH.sub(r"\1", f"{answer.status_code}\n{headers}\n\n{said_in(answer)}")


def walk(world: World, person: Person, values: dict[str, list[object]] | None = None) -> Answers:
    """Return everything that each address of every route answers to a person."""
    client, values = client_of(person), values or candidates(world, beyond=False)
    urls = [url for route in all_routes() for url in addresses(route, values)]
    found = {url: whole(client.get(url)) for url in urls}
    for name in ("home", "api-tasks", "api-studies"):
        found[f"{name} by htmx"] = whole(client.get(reverse(name), headers={"HX-Request": "true"}))
    return found


@pytest.fixture(scope="module", autouse=True)
def quiet() -> Iterator[None]:
    """Keep a line about every refused request out of the report; there are a thousand."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="module")
def answers(django_db_setup: None, django_db_blocker: Any) -> dict[str, Answers]:
    """Return what each kind of person is answered everywhere in one world; the world itself is undone."""
    with django_db_blocker.unblock(), transaction.atomic():
        world = make_world()
        people = {name: world.person(name) for name in ("annotator-one", "adjudicator", "lead", "observer")}
        found = {name: walk(world, person) for name, person in (people | {"uncleared": world.uncleared}).items()}
        transaction.set_rollback(True)
    return found


def finding(answers: Answers, *texts: str) -> list[str]:
    """Return the addresses whose answers hold one of `texts`, however they are written."""
    wanted = [text.casefold() for text in texts]
    return [url for url, said in answers.items() if any(text in said.casefold() for text in wanted)]


def test_annotator_finds_nothing_the_other_one_wrote(answers: dict[str, Answers]) -> None:
    assert finding(answers["annotator-one"], CANARY) == []
    # The walk would find it: the adjudicator is shown both passes.
    assert finding(answers["adjudicator"], CANARY)


def test_annotator_finds_nobody_elses_name(answers: dict[str, Answers]) -> None:
    assert finding(answers["annotator-one"], f"{NAMES}-two", f"{NAMES} two") == []


def test_adjudicator_finds_no_annotators_name_anywhere(answers: dict[str, Answers]) -> None:
    assert finding(answers["adjudicator"], NAMES) == []
    assert finding(answers["lead"], NAMES)


@pytest.mark.parametrize("who", ["annotator-one", "adjudicator", "uncleared", "observer"])
def test_nobody_without_the_label_finds_restricted_text(answers: dict[str, Answers], who: str) -> None:
    assert finding(answers[who], *RESTRICTED, *SECTION, RESTRICTED_TITLE) == []


def test_who_holds_the_versions_label_reads_all_but_its_restricted_section(answers: dict[str, Answers]) -> None:
    assert finding(answers["lead"], *SECTION) == []
    for text in (*RESTRICTED, RESTRICTED_TITLE):
        assert finding(answers["lead"], text), text


def test_restricted_text_let_through_into_a_records_pdf_would_be_found() -> None:
    world = make_world()
    leak = f"Signed against the rule, for the {RESTRICTED[0]}."
    urls = [reverse(name, args=[world.sealed.pk]) for name in ("release-pdf", "release-record")]
    observer = client_of(world.person("observer"))
    before = {url: whole(observer.get(url)) for url in urls}
    assert finding(before, *RESTRICTED, *SECTION, RESTRICTED_TITLE) == []
    # What a lead writes beside the signature is shown to every reader of the release, so that this lets it through.
    computed = decide_release(world.sealed).disposition
    other = Disposition.REJECT if computed is not Disposition.REJECT else Disposition.COLLECT_MORE
    sign_release(world.person("lead"), world.sealed, idempotency_key="k", disposition=other, override_reason=leak)
    after = {url: observer.get(url) for url in urls}
    assert finding({url: whole(answer) for url, answer in after.items()}, *RESTRICTED) == urls
    assert RESTRICTED[0].encode() not in after[urls[0]].content, "reading the bytes would have found it as well"


def test_nothing_breaks_whoever_opens_whatever(answers: dict[str, Answers]) -> None:
    assert len(answers["lead"]) > 100
    assert [(who, url) for who, found in answers.items() for url, said in found.items() if said[0] == "5"] == []


def test_no_answer_about_people_may_be_kept_by_a_cache(answers: dict[str, Answers]) -> None:
    kept = [
        (who, url)
        for who, found in answers.items()
        for url, said in found.items()
        if said.startswith("200") and url != reverse("sign-in") and "Cache-Control: no-store" not in said
    ]
    assert kept == []


def test_every_answer_carries_the_content_security_policy(answers: dict[str, Answers]) -> None:
    bare = [
        (who, url)
        for who, found in answers.items()
        for url, said in found.items()
        if "Content-Security-Policy: default-src 'none'" not in said or "X-Content-Type-Options: nosniff" not in said
    ]
    assert bare == []
    assert {said[:3] for found in answers.values() for said in found.values()} >= {"200", "302", "403", "404"}


def test_annotator_cannot_tell_whether_the_other_one_has_begun_or_submitted() -> None:
    world = make_world(second_submits=False, with_sweeps=False)
    one = world.person("annotator-one")
    others = (make_member(world.study), make_member(world.study))
    for task in make_pair(world.study, others, "settled-by-others"):
        world.save(task, "others")
        world.submit(task)
    values = candidates(world, beyond=True)
    # The key of the item that annotator two's submission will make: keys are drawn one after another.
    values["pk"] += [AdjudicationItem.objects.latest("pk").pk + 1]
    before = walk(world, one, values)
    second_pass(world)
    item = world.closed[0].question.items.get()
    assert reverse("adjudicate", args=[item.pk]) in before, "the test guessed the item's key wrong and proves nothing"
    after = walk(world, one, values)
    assert [url for url in before if before[url] != after[url]] == []


def test_somebody_elses_task_is_refused_like_one_that_is_not_there() -> None:
    world = make_world(with_sweeps=False)
    client = client_of(world.person("annotator-one"))
    for name in ("workspace", "api-task", "api-task-content", "api-task-submissions"):
        for method in ("get", "post", "put"):
            said = []
            for pk in (world.open[1].pk, NOBODYS):
                url = reverse(name, args=[pk])
                sent = () if method == "get" else (b"{}", "application/json")
                said.append(whole(getattr(client, method)(url, *sent)).replace(url, ""))
            assert said[0] == said[1], (name, method)


def test_no_parameter_searches_what_a_person_may_not_read() -> None:
    world = make_world(with_sweeps=False)
    client = client_of(world.person("annotator-one"))
    values = candidates(world, beyond=False)
    urls = [url for route in all_routes() for url in addresses(route, values)]
    for url in urls:
        if client.get(url).status_code == 200:
            said = {
                whole(client.get(url, dict.fromkeys(PROBES, word))).replace(word, "")
                for word in (CANARY, f"{NAMES}-two", "nothing-has-this")
            }
            assert len(said) == 1, url


def test_a_filter_by_segment_does_not_tell_an_annotator_the_segment() -> None:
    world = make_world(with_sweeps=False)
    url = reverse("api-questions", args=[world.study.slug])
    one = client_of(world.person("annotator-one"))
    for name in ("segment", "sample", "partition", "group", "submitted"):
        assert one.get(url, {name: "number-and-scope"}).status_code == 422
    # An adjudicator who marks a question is an annotator of it.
    both = make_member(world.study, Role.ADJUDICATOR, person=world.person("annotator-one"))
    listed = client_of(both).get(url).json()["results"]
    own = {world.closed[0].question.key, world.open[0].question.key}
    hints = {"segment", "slice_tags", "group", "sample", "submitted", "settled"}
    assert {row["key"] for row in listed if not hints & row.keys()} == own
    assert {row["key"] for row in listed if hints <= row.keys()} == {row["key"] for row in listed} - own
    chosen = client_of(both).get(url, {"segment": "number-and-scope"}).json()["results"]
    assert chosen
    assert own.isdisjoint(row["key"] for row in chosen)
