"""A session ends at once, on the server, however it ends."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotate.models import Person
from tests.factories import make_member, make_study

pytestmark = pytest.mark.django_db


def signed_in() -> tuple[Client, Person]:
    person = make_member(make_study())
    person.keys = {"undo": "u"}
    person.save()
    client = Client()
    client.force_login(person)
    return client, person


def deactivate(client: Client, person: Person) -> None:
    Person.objects.filter(pk=person.pk).update(is_active=False)


def change_the_password(client: Client, person: Person) -> None:
    person.set_password("another long one")
    person.save()


def expire(client: Client, person: Person) -> None:
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))


def sign_out_elsewhere(client: Client, person: Person) -> None:
    other = Client()
    other.cookies = client.cookies.copy()
    assert other.post(reverse("sign-out")).status_code == 302


def delete_the_row(client: Client, person: Person) -> None:
    Session.objects.all().delete()


def tamper(client: Client, person: Person) -> None:
    row = Session.objects.get()
    data = row.session_data
    Session.objects.update(session_data=data[:-1] + ("A" if data[-1] != "A" else "B"))


@pytest.mark.parametrize(
    "end",
    [deactivate, change_the_password, expire, sign_out_elsewhere, delete_the_row, tamper],
    ids=lambda end: end.__name__,
)
def test_a_session_that_ended_on_the_server_answers_401_at_the_next_request(
    end: Callable[[Client, Person], None],
) -> None:
    client, person = signed_in()
    assert client.get(reverse("api-tasks")).status_code == 200
    end(client, person)
    assert client.get(reverse("api-tasks")).status_code == 401


def test_the_person_of_a_session_is_whole_and_costs_one_statement_beside_the_session() -> None:
    client, person = signed_in()
    with CaptureQueriesContext(connection) as captured:
        answer = client.get(reverse("api-keys"))
    assert answer.json()["keys"]["undo"] == "u"
    assert len(captured) == 2
    stored = Person.objects.get(pk=person.pk)
    for field in Person._meta.concrete_fields:
        value, wanted = getattr(answer.wsgi_request.user, field.attname), getattr(stored, field.attname)
        assert (type(value), value) == (type(wanted), wanted), field.attname
