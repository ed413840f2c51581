"""People and what they may do in a study."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.db import models

from annotate.domain.vocabulary import Role
from annotate.models.choices import choices
from annotate.models.studies import Study


class Person(AbstractUser):
    """Somebody who signs in. Deactivated, never deleted: their work keeps its author."""

    display_name = models.CharField(max_length=120, blank=True)
    #: Action → key, where the person chose another key than the workspace's own (annotate.domain.keys).
    keys = models.JSONField(default=dict, blank=True)

    def __str__(self) -> str:
        return self.display_name or self.username


class Membership(models.Model):
    """One role of one person in one study; a person may hold several. `clearance` are the reader labels they hold."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="memberships")
    person = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=20, choices=choices(Role))
    clearance = models.JSONField(default=list, blank=True)

    class Meta:
        ordering = ["study_id", "person_id", "role", "pk"]
        constraints = [models.UniqueConstraint(fields=["study", "person", "role"], name="membership_once")]

    def __str__(self) -> str:
        return f"{self.person} as {self.role} in {self.study}"
