"""Create a study."""

from __future__ import annotations

import re

from django.db import IntegrityError, transaction

from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import Role, StudyKind
from annotate.models import Guideline, Membership, Person, Study
from annotate.permissions import Actor, By, NotAllowed, person_or_none
from annotate.records import record_guideline, record_member, record_study

_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,79}")


def may_create_study(by: By) -> bool:
    """Whether `by` may: the operator, an administrator, and whoever leads a study already."""
    if not isinstance(by, Person):
        return True
    return by.is_active and (by.is_superuser or by.memberships.filter(role=Role.LEAD).exists())


def create_study(
    by: By,
    slug: str,
    title: str,
    *,
    kind: StudyKind = StudyKind.FULL,
    description: str = "",
    guideline: str = "",
) -> Study:
    """Create a study; a person who creates one becomes its lead. Raises NotAllowed, and BadInput for a slug in use."""
    if not may_create_study(by):
        raise NotAllowed("study.manage", Actor(person_id=by.pk if isinstance(by, Person) else None))
    if not _SLUG.fullmatch(slug):
        raise BadInput(f"study “{slug}”", "it is no short name", "Use up to 80 of a–z, 0–9 and -.")
    if not title.strip() or "\0" in title or len(title) > 200:
        raise BadInput(f"study {slug}, title", "it is empty or too long", "Write 1 to 200 characters.")
    try:
        with transaction.atomic():
            study = Study.objects.create(slug=slug, title=title.strip(), kind=kind, description=description)
            record_study(study, by)
            if guideline.strip():
                first = Guideline.objects.create(study=study, number=1, text=guideline, published_by=person_or_none(by))
                record_guideline(first, by)
            if isinstance(by, Person):
                record_member(Membership.objects.create(study=study, person=by, role=Role.LEAD), by)
    except IntegrityError as error:
        raise BadInput(f"study {slug}", "there is one of this name", "Choose another name.") from error
    return study
