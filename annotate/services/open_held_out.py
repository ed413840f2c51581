"""Count a use of a held-out partition."""

from __future__ import annotations

from django.db import transaction

from annotate.domain.errors import BadInput
from annotate.domain.written import written
from annotate.models import FixtureSet, HeldOutOpening
from annotate.permissions import By, person_or_none
from annotate.records_passes import HELD_OUT_OPENED, opening_payload, record_in_study
from annotate.services.authorise import authorise

MAX_PURPOSE = 300


def open_held_out(by: By, fixture_set: FixtureSet, purpose: str) -> HeldOutOpening:
    """Record that the held-out questions of a set are about to be looked at, by whom and what for.

    Raises NotAllowed, and BadInput without a purpose.
    """
    authorise(by, fixture_set.study, "held-out.open")
    if not written(purpose, "purpose", MAX_PURPOSE).strip():
        raise BadInput("purpose", "it is empty", f"Say in 1 to {MAX_PURPOSE} characters what it is for.")
    with transaction.atomic():
        opening = HeldOutOpening.objects.create(
            fixture_set=fixture_set, opened_by=person_or_none(by), purpose=purpose.strip()
        )
        record_in_study(HELD_OUT_OPENED, opening_payload(opening), by=by)
    return opening
