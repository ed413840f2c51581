"""`manage.py add_person`: somebody who can sign in, and a role for them."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import Role
from annotate.management.study_command import StudyCommand
from annotate.models import Person, Study
from annotate.permissions import By
from annotate.services.members import add_member, create_person, random_password


class Command(StudyCommand):
    """Make a person unless they are there, and give them a role in the study when one is named."""

    help = (
        "Make somebody who can sign in, with a fresh password that is printed once, and give them a role. "
        "A person who is there keeps their password (manage.py changepassword sets another)."
    )
    example = 'manage.py add_person mara --study policies --create-study "Our policies" --role lead'

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the user name, the role and the labels."""
        parser.add_argument("user", metavar="USER", help="what they sign in with")
        parser.add_argument("--name", default="", metavar="NAME", help="what the site calls them")
        parser.add_argument("--role", choices=[str(role) for role in Role], help="their role in the study")
        parser.add_argument(
            "--clearance", default="", metavar="LABELS", help="access labels they may read, separated by commas"
        )
        super().add_arguments(parser)

    def run(self, by: By, study: Study, options: dict[str, Any]) -> None:
        """Make the person, then the member, and print what to sign in with."""
        role, labels = options["role"], [label.strip() for label in options["clearance"].split(",") if label.strip()]
        if labels and not role:
            raise BadInput("--clearance", "labels belong to a role", "Name the role with --role.")
        person = Person.objects.filter(username=Person.normalize_username(options["user"])).first()
        if person is None:
            password = random_password()
            person = create_person(by, study, options["user"], display_name=options["name"], password=password)
            self.stdout.write(f"user name {person.username}\npassword {password}")
        elif not role or not person.is_active:
            what = "somebody has this user name" if person.is_active else "they were deactivated"
            raise BadInput(f"person “{person.username}”", what, "Choose another, or name a role for an active person.")
        if role:
            add_member(by, study, person, Role(role), labels)
            self.stdout.write(f"{person.username} is {role} in the study {study.slug}")
