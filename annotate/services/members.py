"""Give people a sign-in, and roles and reader labels in a study."""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from annotate.domain.access import check_labels
from annotate.domain.errors import BadInput, BadInputs
from annotate.domain.vocabulary import Role
from annotate.models import Membership, Person, Study
from annotate.permissions import By
from annotate.records import record_member, record_person
from annotate.services.authorise import authorise


def random_password() -> str:
    """Return a fresh password of 128 random bits."""
    return secrets.token_urlsafe(16)


def create_person(by: By, study: Study, username: str, *, display_name: str = "", password: str | None) -> Person:
    """Create somebody who can sign in (without a password: once one is set); a lead may do so for their study.

    Raises NotAllowed, and BadInput for a user name in use or unusable and a password the site's rules refuse.
    """
    authorise(by, study, "member.manage")
    # As the sign-in form reads it, or nobody could ever type it there.
    username = Person.normalize_username(username)
    where = f"person “{username}”"
    person = Person(username=username, display_name=display_name)
    problems = []
    try:
        person.clean_fields(exclude=["password"])
    except ValidationError as error:
        problems += [
            BadInput(f"{where}, {field}", text.rstrip("."), "Mend it.")
            for field, texts in error.message_dict.items()
            for text in texts
        ]
    try:
        if password is not None:
            validate_password(password, person)
    except ValidationError as error:
        problems += [BadInput(f"{where}, password", text.rstrip("."), "Choose another.") for text in error.messages]
    if "\0" in display_name:
        problems.append(BadInput(f"{where}, name", "it holds a NUL character", "Remove it."))
    if problems:
        raise BadInputs(where, problems)
    person.set_password(password)
    try:
        with transaction.atomic():
            person.save(force_insert=True)
            record_person(person, by)
    except IntegrityError as error:
        raise BadInput(where, "somebody has this user name", "Choose another.") from error
    return person


def add_member(by: By, study: Study, person: Person, role: Role, clearance: Iterable[str] = ()) -> Membership:
    """Give `person` the role in `study` with these reader labels; with the role already held, set its labels.

    Doing the same again changes nothing and records nothing. Raises NotAllowed or BadInput.
    """
    authorise(by, study, "member.manage")
    labels = sorted(check_labels(clearance, f"clearance of {person.username}"))
    try:
        role = Role(role)
    except ValueError as error:
        raise BadInput(f"member {person.username}", f"“{role}” is no role", f"Use one of {', '.join(Role)}.") from error
    with transaction.atomic():
        # Two leads at once: the unique constraint makes one row, the lock orders who sets its labels last.
        membership, created = Membership.objects.select_for_update().get_or_create(
            study=study, person=person, role=role, defaults={"clearance": labels}
        )
        if not created and membership.clearance == labels:
            return membership
        membership.clearance = labels
        membership.save(update_fields=["clearance"])
        record_member(membership, by)
    return membership
