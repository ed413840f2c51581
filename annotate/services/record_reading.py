"""Count that somebody looked at results of held-out questions."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from annotate.models import FixtureSet, HeldOutOpening
from annotate.permissions import By, person_or_none
from annotate.records_passes import HELD_OUT_OPENED, opening_payload, record_in_study

READING = "results were read: "


def record_reading(by: By, fixture_set: FixtureSet, what: str) -> HeldOutOpening | None:
    """Record that `by` was shown held-out results of `fixture_set`: once a person, set and day (UTC).

    Whether they may see them was asked before they were shown; here nothing is refused. Returns the opening that was
    made, None where there is one of today already. `what` names what was shown first that day.
    """
    now = timezone.now()
    with transaction.atomic():
        # Two pages at one moment count once.
        FixtureSet.objects.select_for_update(of=("self",)).get(pk=fixture_set.pk)
        today = HeldOutOpening.objects.filter(
            fixture_set=fixture_set,
            opened_by=person_or_none(by),
            purpose__startswith=READING,
            opened_at__gte=now.replace(hour=0, minute=0, second=0, microsecond=0),
        )
        if today.exists():
            return None
        opening = HeldOutOpening.objects.create(
            fixture_set=fixture_set, opened_by=person_or_none(by), purpose=f"{READING}{what}"
        )
        record_in_study(HELD_OUT_OPENED, opening_payload(opening), by=by)
    return opening
