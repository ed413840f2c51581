"""Preregistered plans."""

from __future__ import annotations

from django.db import models

from annotate.models import FixtureSet, Person, Study


class Plan(models.Model):
    """`toml` is what a person wrote; `canonical` the validated payload that is hashed. Immutable once `locked_at` is
    set."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="plans")
    fixture_set = models.ForeignKey(FixtureSet, on_delete=models.PROTECT, related_name="plans")
    name = models.CharField(max_length=200)
    toml = models.TextField()
    canonical = models.BinaryField()
    digest = models.CharField(max_length=64)
    post_hoc = models.BooleanField(default=False)
    written_by = models.ForeignKey(Person, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    written_at = models.DateTimeField(auto_now_add=True)
    locked_by = models.ForeignKey(Person, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    locked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["study_id", "-pk"]

    def __str__(self) -> str:
        return self.name
