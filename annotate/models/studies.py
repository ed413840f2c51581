"""A study: the sources, questions and people of one chunking question."""

from __future__ import annotations

from django.db import models

from annotate.domain.vocabulary import StudyKind
from annotate.models.choices import choices


class Study(models.Model):
    """Archived, never deleted."""

    slug = models.SlugField(max_length=80, unique=True)
    title = models.CharField(max_length=200)
    kind = models.CharField(max_length=20, choices=choices(StudyKind), default=StudyKind.FULL)
    description = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["slug"]
        verbose_name_plural = "studies"

    def __str__(self) -> str:
        return self.title

    @property
    def guideline(self) -> str:
        """Text of the newest guideline; empty where there is none. One query."""
        return self.guidelines.order_by("-number").values_list("text", flat=True).first() or ""


class Guideline(models.Model):
    """One version of what annotators are told, with the span labels it offers them. Immutable; work keeps its version.

    `labels` are values of `SpanLabel` in the order of the page; empty means all of them.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="guidelines")
    number = models.PositiveSmallIntegerField()
    text = models.TextField()
    labels = models.JSONField(default=list, blank=True)
    change_note = models.CharField(max_length=300, blank=True)
    published_by = models.ForeignKey(
        "annotate.Person", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    published_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["study_id", "number", "pk"]
        constraints = [models.UniqueConstraint(fields=["study", "number"], name="guideline_number_once")]

    def __str__(self) -> str:
        return f"guideline {self.number}"
