"""What every service of a study does first."""

from __future__ import annotations

from annotate.domain.errors import BadInput
from annotate.models import Study
from annotate.permissions import Actor, By, actor_for, require


def authorise(by: By, study: Study, action: str) -> Actor:
    """Return who `by` is in `study`; raises NotAllowed without the role, BadInput when the study is archived."""
    actor = authorise_reading(by, study, action)
    if study.archived_at:
        raise BadInput(f"study {study.slug}", "it is archived", "Work in a new study, or ask who archived it.")
    return actor


def authorise_reading(by: By, study: Study, action: str) -> Actor:
    """Return who `by` is in `study`; raises NotAllowed without the role. An archived study may be read."""
    actor = actor_for(by, study)
    require(actor, action)
    return actor
