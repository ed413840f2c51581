"""Questions, written independently of any chunker."""

from __future__ import annotations

from django.db import models

from annotate.domain.vocabulary import Partition, Sample, Segment
from annotate.models.choices import choices
from annotate.models.people import Person
from annotate.models.studies import Study


class Question(models.Model):
    """What a reader asks, as whom and when. `cluster_document` is the nearest document of an unanswerable one."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="questions")
    key = models.SlugField(max_length=120)
    text = models.TextField()
    reader_labels = models.JSONField(default=list, blank=True)
    as_of = models.DateField()
    locale = models.CharField(max_length=20, default="en")
    segment = models.CharField(max_length=30, choices=choices(Segment), default=Segment.UNCLASSIFIED)
    slice_tags = models.JSONField(default=list, blank=True)
    group = models.CharField(max_length=120, blank=True)
    sample = models.CharField(max_length=20, choices=choices(Sample), default=Sample.REPRESENTATIVE)
    partition = models.CharField(max_length=20, choices=choices(Partition), default=Partition.HELD_OUT)
    mandatory = models.BooleanField(default=False)
    cluster_document = models.CharField(max_length=120, blank=True)
    written_by = models.ForeignKey(Person, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["key", "pk"]
        constraints = [models.UniqueConstraint(fields=["study", "key"], name="question_once_per_study")]

    def __str__(self) -> str:
        return self.text
