"""A person's own task, found and permitted in one statement: what every single edit begins with."""

from __future__ import annotations

import json
from dataclasses import dataclass

from django.db import connection

from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import Role
from annotate.models import Assignment, Person
from annotate.permissions import Actor, NotAllowed, require

# Written out, not composed: composing these joins anew costs more processor time than the database needs to answer.
_OWN_TASK = """
SELECT a.state, q.study_id, s.slug, s.archived_at, m.role, m.clearance
FROM annotate_assignment a
JOIN annotate_question q ON q.id = a.question_id
JOIN annotate_study s ON s.id = q.study_id
LEFT JOIN annotate_membership m ON m.study_id = s.id AND m.person_id = a.annotator_id
WHERE a.id = %s AND a.annotator_id = %s
"""


class NotYours(NotAllowed):
    """A pass belongs to one annotator, and nobody else writes it, whatever their role."""

    def __init__(self, action: str, actor: Actor) -> None:
        super().__init__(action, actor)
        self.args = (f"“{action}”: this question is assigned to somebody else. Open your own next task.",)


@dataclass(frozen=True)
class OwnTask:
    """A task that `person` holds and may work on, as `own_task` found it; whoever has one has asked for permission.

    `pk` is the assignment's key. `withdrawn` says that it was given to somebody else meanwhile.
    """

    pk: int
    person: Person
    actor: Actor
    study_pk: int
    withdrawn: bool


def own_task(person: Person, pk: int, action: str) -> OwnTask:
    """Return the assignment `pk` of `person`.

    Raises NotYours where they do not hold it (or there is none), NotAllowed without a role for `action` in its study,
    BadInput where the study is archived.
    """
    rows = []
    if person.is_active and person.pk is not None:
        with connection.cursor() as cursor:
            cursor.execute(_OWN_TASK, [pk, person.pk])
            rows = cursor.fetchall()
    if not rows:
        raise NotYours(action, Actor(person_id=person.pk))
    state, study_pk, slug, archived_at, *_ = rows[0]
    held = [(Role(role), json.loads(clearance)) for *_, role, clearance in rows if role is not None]
    actor = Actor(
        person_id=person.pk,
        roles=frozenset(role for role, _ in held),
        clearance=frozenset(label for _, labels in held for label in labels),
    )
    require(actor, action)
    if archived_at is not None:
        raise BadInput(f"study {slug}", "it is archived", "Work in a new study, or ask who archived it.")
    return OwnTask(pk, person, actor, study_pk, state == Assignment.State.WITHDRAWN)
