"""Sources and their immutable versions."""

from __future__ import annotations

from datetime import date, timedelta

from django.db import models

from annotate.models.people import Person
from annotate.models.studies import Study


class Source(models.Model):
    """A document as the organisation knows it; its text lives in versions."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="sources")
    document_id = models.CharField(max_length=120)
    title = models.CharField(max_length=300)
    tenant = models.CharField(max_length=80, blank=True)
    archived_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["document_id", "pk"]
        constraints = [models.UniqueConstraint(fields=["study", "document_id"], name="source_once_per_study")]

    def __str__(self) -> str:
        return self.title


class SourceVersion(models.Model):
    """Bytes that never change (a trigger holds this). `sha256` is the hex digest of `content`.

    `effective_to` is the first day the version is no longer in force; `last_day` is the last one it is.
    `access_labels` attach to the whole version; `access_ranges` is a list of `[start, end, [labels]]` in bytes.
    `derived` is empty for an original, else {parent, tool, tool_version, settings, map} of a transcoding or extraction.
    """

    source = models.ForeignKey(Source, on_delete=models.PROTECT, related_name="versions")
    sha256 = models.CharField(max_length=64)
    content = models.BinaryField()
    byte_length = models.PositiveIntegerField()
    version_label = models.CharField(max_length=80)
    observation_date = models.DateField()
    effective_from = models.DateField(null=True, blank=True)
    effective_to = models.DateField(null=True, blank=True)
    media_type = models.CharField(max_length=100, default="text/plain")
    locale = models.CharField(max_length=20, default="en")
    supersedes = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="superseded_by"
    )
    access_labels = models.JSONField(default=list, blank=True)
    access_ranges = models.JSONField(default=list, blank=True)
    derived = models.JSONField(default=dict, blank=True)
    imported_by = models.ForeignKey(Person, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    imported_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["source__document_id", "observation_date", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["source", "sha256"], name="version_bytes_once"),
            models.UniqueConstraint(fields=["source", "version_label"], name="version_label_once"),
        ]
        indexes = [models.Index(fields=["sha256"])]

    def __str__(self) -> str:
        return f"{self.source} {self.version_label}"

    @property
    def last_day(self) -> date | None:
        """Last day in force, as people write it; None without an end."""
        return self.effective_to - timedelta(days=1) if self.effective_to else None
