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
    guideline = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["slug"]
        verbose_name_plural = "studies"

    def __str__(self) -> str:
        return self.title
