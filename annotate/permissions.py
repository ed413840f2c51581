"""The permission map: every action of Cutline, and the pure predicate that allows it.

`evaluation.permissions` adds its own actions to the same map when Django starts. A route, an endpoint, a command and a
task ask the same question, `require(actor, action)`; `test_permission_matrix.py` walks every route against every
role.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rest_framework.permissions import BasePermission

from annotate.domain.vocabulary import Role
from annotate.models import Membership, Person, Study


@dataclass(frozen=True)
class Actor:
    """Who asks, in one study. `clearance` is the union of the labels of the person's memberships there."""

    person_id: int | None
    roles: frozenset[Role] = frozenset()
    clearance: frozenset[str] = frozenset()

    @property
    def is_member(self) -> bool:
        """Whether the person has any role in the study."""
        return bool(self.roles)


class Operator:
    """Whoever runs `manage.py`: they hold the database, so a study's rules for its members do not bind them."""

    username = "operator"


OPERATOR = Operator()
By = Person | Operator


def actor_for(by: By, study: Study) -> Actor:
    """Return what `by` is in `study`; strangers and deactivated people get no role. One query (none for OPERATOR)."""
    if isinstance(by, Operator):
        return Actor(person_id=None, roles=frozenset({Role.LEAD}))
    if not by.is_active or by.pk is None:
        return Actor(person_id=by.pk)
    rows = Membership.objects.filter(study=study, person_id=by.pk).values_list("role", "clearance")
    roles, clearance = set(), set()
    for role, labels in rows:
        roles.add(Role(role))
        clearance.update(labels)
    return Actor(person_id=by.pk, roles=frozenset(roles), clearance=frozenset(clearance))


def actors_for(person: Person, studies: Iterable[Study]) -> dict[int, Actor]:
    """Return what `person` is in each of `studies`, by its key, as `actor_for` says it. One query."""
    wanted = [study.pk for study in studies]
    roles: dict[int, set[Role]] = {pk: set() for pk in wanted}
    clearance: dict[int, set[str]] = {pk: set() for pk in wanted}
    if person.is_active and person.pk is not None:
        rows = Membership.objects.filter(study_id__in=wanted, person_id=person.pk)
        for pk, role, labels in rows.values_list("study_id", "role", "clearance"):
            roles[pk].add(Role(role))
            clearance[pk].update(labels)
    return {pk: Actor(person.pk, frozenset(roles[pk]), frozenset(clearance[pk])) for pk in wanted}


def person_or_none(by: By) -> Person | None:
    """Return the person a row names as its author; None for the operator."""
    return by if isinstance(by, Person) else None


Predicate = Callable[[Actor], bool]


class NotAllowed(Exception):
    """The actor's roles do not allow the action. The site answers 403 (404 to a stranger of the study)."""

    def __init__(self, action: str, actor: Actor) -> None:
        self.action = action
        self.actor = actor
        have = f"you are {' and '.join(sorted(actor.roles))}" if actor.roles else "you have none"
        need = " or ".join(sorted(roles_for(action)))
        says = f"This needs the role {need} in the study; {have}." if need else "Nobody may do this in a study."
        super().__init__(f"{says} Ask the study's lead.")


_MAP: dict[str, Predicate] = {}


def has_role(*roles: Role) -> Predicate:
    """Return a predicate that holds for a member with any of `roles`."""
    wanted = frozenset(roles)
    return lambda actor: bool(actor.roles & wanted)


def declare(action: str, predicate: Predicate) -> None:
    """Add an action to the map; an action declared twice raises ValueError."""
    if action in _MAP:
        raise ValueError(f"permission {action!r} is declared twice")
    _MAP[action] = predicate


def actions() -> tuple[str, ...]:
    """Return every declared action, sorted."""
    return tuple(sorted(_MAP))


def allows(actor: Actor, action: str) -> bool:
    """Whether `actor` may do `action`; an unknown action raises KeyError."""
    return _MAP[action](actor)


def require(actor: Actor, action: str) -> None:
    """Raise NotAllowed unless `actor` may do `action`."""
    if not allows(actor, action):
        raise NotAllowed(action, actor)


def roles_for(action: str) -> Iterable[Role]:
    """Return the roles that, held alone, allow `action` (for messages and for the documentation)."""
    return [role for role in Role if _MAP[action](Actor(person_id=0, roles=frozenset({role})))]


EVERYONE = (Role.ANNOTATOR, Role.ADJUDICATOR, Role.LEAD, Role.OBSERVER)

declare("study.view", has_role(*EVERYONE))
declare("study.manage", has_role(Role.LEAD))
declare("member.manage", has_role(Role.LEAD))
declare("source.view", has_role(*EVERYONE))
declare("source.import", has_role(Role.LEAD))
declare("question.view", has_role(Role.LEAD, Role.ADJUDICATOR, Role.OBSERVER))
declare("question.import", has_role(Role.LEAD))
declare("question.assign", has_role(Role.LEAD))
declare("pass.edit", has_role(Role.ANNOTATOR))
declare("pass.submit", has_role(Role.ANNOTATOR))
declare("pass.return", has_role(Role.LEAD, Role.ADJUDICATOR))
declare("discussion.write", has_role(Role.ANNOTATOR, Role.ADJUDICATOR))
declare("item.view", has_role(Role.ADJUDICATOR))
declare("item.decide", has_role(Role.ADJUDICATOR))
declare("progress.view", has_role(Role.LEAD, Role.ADJUDICATOR, Role.OBSERVER))
declare("agreement.view", has_role(Role.LEAD, Role.ADJUDICATOR, Role.OBSERVER))
declare("fixture.view", has_role(Role.LEAD, Role.OBSERVER, Role.ADJUDICATOR))
declare("fixture.freeze", has_role(Role.LEAD))
declare("fixture.import", has_role(Role.LEAD))
declare("held-out.open", has_role(Role.LEAD))
declare("dataset.export", has_role(Role.LEAD))
declare("ledger.export", has_role(Role.LEAD))


class Nobody(BasePermission):
    """Deny by default: an API endpoint that names no permission answers 403 to everyone."""

    def has_permission(self, request: object, view: object) -> bool:
        """Refuse."""
        return False
