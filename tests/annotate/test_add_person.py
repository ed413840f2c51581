"""`manage.py add_person`: how the first person of an installation, and every other one, gets a sign-in."""

import re
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotate.domain.vocabulary import Role
from annotate.models import Membership, Person, Study
from annotate.permissions import actor_for
from ledger.services import verify
from tests.factories import make_member, make_person, make_study

pytestmark = pytest.mark.django_db


def run(*arguments):
    out = StringIO()
    call_command("add_person", *arguments, stdout=out)
    return out.getvalue()


def test_first_person_of_an_installation_leads_a_new_study_and_signs_in(client):
    told = run("mara", "--name", "Mara K.", "--study", "first", "--create-study", "First", "--role", "lead")
    person, study = Person.objects.get(), Study.objects.get()
    assert "mara is lead in the study first" in told
    assert (person.display_name, person.is_superuser) == ("Mara K.", False)
    assert actor_for(person, study).roles == {Role.LEAD}
    password = re.search(r"^password (\S+)$", told, re.MULTILINE)[1]
    assert client.login(username="mara", password=password)
    assert verify().ok


def test_person_without_a_role_can_sign_in_and_sees_no_study(client):
    make_study("s")
    told = run("mara", "--study", "s")
    assert "password" in told
    assert not Membership.objects.exists()


def test_person_who_is_there_keeps_the_password_and_gets_the_role_and_its_labels():
    study, person = make_study("s"), make_person("mara")
    before = person.password
    told = run("mara", "--study", "s", "--role", "annotator", "--clearance", "hr, finance")
    assert "password" not in told
    person.refresh_from_db()
    assert person.password == before
    assert actor_for(person, study).clearance == {"hr", "finance"}


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (("known", "--study", "s"), "somebody has this user name", 2),
        (("gone", "--study", "s", "--role", "lead"), "they were deactivated", 2),
        (("new", "--study", "no-such"), "there is no such study", 2),
        (("new", "--study", "s", "--clearance", "hr"), "labels belong to a role", 2),
        (("new", "--study", "s", "--role", "annotator", "--clearance", "two words"), "label", 2),
        (("no blanks", "--study", "s"), "valid username", 2),
        (("new", "--study", "s", "--role", "lead", "--as", "known"), "needs the role lead", 3),
    ],
)
def test_refusal_says_what_to_mend_and_makes_nobody(arguments, said, code):
    study = make_study("s")
    make_member(study, Role.ANNOTATOR, username="known")
    make_person("gone", is_active=False)
    with pytest.raises(CommandError, match=said) as refused:
        run(*arguments)
    assert refused.value.returncode == code
    assert Person.objects.count() == 2
    assert Membership.objects.count() == 1
