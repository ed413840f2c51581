"""Studies and people, made straight in the tables with their ledger records: no permission is asked."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from django.db import transaction

from annotate import records
from annotate.domain.vocabulary import Role, StudyKind
from annotate.models import Membership, Person, Study
from annotate.permissions import OPERATOR

#: Every person of the factories signs in with this.
PASSWORD = "a-long-test-password"

_numbers = count(1)


def make_study(slug: str = "", *, title: str = "", kind: StudyKind = StudyKind.FULL, **fields: object) -> Study:
    """Return a new study; without a slug it gets one of its own."""
    slug = slug or f"study-{next(_numbers)}"
    with transaction.atomic():
        study = Study.objects.create(slug=slug, title=title or f"Study {slug}", kind=kind, **fields)
        records.record_study(study, OPERATOR)
    return study


def make_person(username: str = "", *, password: str = PASSWORD, **fields: object) -> Person:
    """Return a new person who can sign in with `PASSWORD`."""
    username = username or f"person-{next(_numbers)}"
    with transaction.atomic():
        person = Person.objects.create_user(username=username, password=password, **fields)
        records.record_person(person, OPERATOR)
    return person


def make_member(
    study: Study, *roles: Role, person: Person | None = None, username: str = "", clearance: Iterable[str] = ()
) -> Person:
    """Return a person (a new one unless given) with `roles` (annotator by default) and `clearance` in `study`."""
    person = person or make_person(username)
    for role in roles or (Role.ANNOTATOR,):
        with transaction.atomic():
            membership = Membership.objects.create(study=study, person=person, role=role, clearance=sorted(clearance))
            records.record_member(membership, OPERATOR)
    return person
