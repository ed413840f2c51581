"""Frozen questions. A fixture set is locked by the database from its first moment."""

from __future__ import annotations

from django.db import models

from annotate.models.people import Person
from annotate.models.questions import Question
from annotate.models.studies import Study


class FixtureSet(models.Model):
    """`canonical` is what is hashed: the set's manifest naming every fixture's and source's digest."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="fixture_sets")
    name = models.SlugField(max_length=80)
    digest = models.CharField(max_length=64)
    canonical = models.BinaryField()
    successor_of = models.ForeignKey("self", null=True, blank=True, on_delete=models.PROTECT, related_name="successors")
    frozen_by = models.ForeignKey(Person, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    frozen_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["study_id", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["study", "name"], name="fixture_set_name_once"),
            models.UniqueConstraint(fields=["study", "digest"], name="fixture_set_digest_once"),
        ]

    def __str__(self) -> str:
        return self.name


class Fixture(models.Model):
    """One frozen question; `canonical` is hashed, the published layout is regenerated from it."""

    fixture_set = models.ForeignKey(FixtureSet, on_delete=models.PROTECT, related_name="fixtures")
    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="fixtures")
    fixture_id = models.CharField(max_length=120)
    digest = models.CharField(max_length=64)
    canonical = models.BinaryField()

    class Meta:
        ordering = ["fixture_set_id", "fixture_id", "pk"]
        constraints = [models.UniqueConstraint(fields=["fixture_set", "fixture_id"], name="fixture_once_per_set")]

    def __str__(self) -> str:
        return self.fixture_id


class HeldOutOpening(models.Model):
    """Each use of a held-out partition: who, when, for what. Shown on every release of the fixture set."""

    fixture_set = models.ForeignKey(FixtureSet, on_delete=models.PROTECT, related_name="openings")
    opened_by = models.ForeignKey(Person, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    opened_at = models.DateTimeField(auto_now_add=True)
    purpose = models.CharField(max_length=300)

    class Meta:
        ordering = ["fixture_set_id", "pk"]

    def __str__(self) -> str:
        return self.purpose
