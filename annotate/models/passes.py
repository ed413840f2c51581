"""One annotator's pass on one question.

A pass is edited by revisions and nothing is overwritten: a mark, set or contract row is born at a revision and may be
retired at a later one. The content at revision r is every row with `created_revision` ≤ r < `retired_revision`. The
triggers let `retired_revision` be written once and nothing else.
"""

from __future__ import annotations

from django.db import models

from annotate.domain.vocabulary import DependencyType, MissingBehaviour, SpanLabel
from annotate.models.choices import choices
from annotate.models.people import Person
from annotate.models.questions import Question
from annotate.models.sources import SourceVersion
from annotate.models.studies import Guideline


class Assignment(models.Model):
    """Slot 1 or 2 of a question, held by one annotator; the constraints guarantee two different people.

    `paused` stops work on it for a while; `note` is what the lead told its annotator last (why returned or paused).
    """

    class State(models.TextChoices):
        """Where the work stands."""

        OPEN = "open"
        SUBMITTED = "submitted"
        RETURNED = "returned"
        #: Given to somebody else before anything was submitted; what was marked stays, and nobody goes on with it.
        WITHDRAWN = "withdrawn"

    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="assignments")
    annotator = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="assignments")
    slot = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=12, choices=State.choices, default=State.OPEN)
    paused = models.BooleanField(default=False)
    note = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["question__key", "slot", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["question", "slot"],
                condition=~models.Q(state="withdrawn"),
                name="assignment_slot_once",
            ),
            models.UniqueConstraint(fields=["question", "annotator"], name="assignment_person_once"),
            models.CheckConstraint(condition=models.Q(slot__in=[1, 2]), name="assignment_two_slots"),
        ]

    def __str__(self) -> str:
        return f"{self.question.key} slot {self.slot}"


class Pass(models.Model):
    """The work itself. `revision` is compared and set on every write; `save_key` names the write that made it.

    `active_seconds` is the time the person worked on it, as their page measured. `guideline` is the version they work
    by, None before the first save and where the study has none.
    """

    assignment = models.OneToOneField(Assignment, on_delete=models.PROTECT, related_name="work")
    revision = models.PositiveIntegerField(default=0)
    save_key = models.CharField(max_length=64, blank=True)
    active_seconds = models.PositiveIntegerField(default=0)
    guideline = models.ForeignKey(Guideline, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = "passes"
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"pass of {self.assignment}"


class _Revised(models.Model):
    """Rows that live from one revision to another. `author` may differ from the annotator only for an import."""

    created_revision = models.PositiveIntegerField()
    retired_revision = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        abstract = True


class Mark(_Revised):
    """A named byte span `[start, end)`; the quote is never stored, it is always sliced from the version."""

    work = models.ForeignKey(Pass, on_delete=models.PROTECT, related_name="marks")
    name = models.SlugField(max_length=60)
    label = models.CharField(max_length=20, choices=choices(SpanLabel), default=SpanLabel.EVIDENCE)
    version = models.ForeignKey(SourceVersion, on_delete=models.PROTECT, related_name="marks")
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    forbidden = models.BooleanField(default=False)

    class Meta:
        ordering = ["work_id", "version_id", "start", "end", "pk"]
        constraints = [
            models.CheckConstraint(condition=models.Q(end__gt=models.F("start")), name="mark_not_empty"),
            models.UniqueConstraint(
                fields=["work", "name"],
                condition=models.Q(retired_revision__isnull=True),
                name="mark_name_once_in_force",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} [{self.start}, {self.end})"


class SupportSetRevision(_Revised):
    """A support set: the names of its member marks, in order."""

    work = models.ForeignKey(Pass, on_delete=models.PROTECT, related_name="support_sets")
    position = models.PositiveSmallIntegerField()
    members = models.JSONField(default=list)

    class Meta:
        ordering = ["work_id", "position", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["work", "position"],
                condition=models.Q(retired_revision__isnull=True),
                name="support_set_position_once_in_force",
            ),
        ]

    def __str__(self) -> str:
        return f"set {self.position}"


class ContractRevision(_Revised):
    """The answer contract as it stood from one revision to another."""

    work = models.ForeignKey(Pass, on_delete=models.PROTECT, related_name="contracts")
    answerable = models.BooleanField(null=True)
    answer = models.TextField(blank=True)
    scope = models.TextField(blank=True)
    qualification = models.TextField(blank=True)
    dependency = models.CharField(max_length=20, choices=choices(DependencyType), default=DependencyType.NONE)
    missing_behaviour = models.CharField(
        max_length=20, choices=choices(MissingBehaviour), default=MissingBehaviour.ABSTAIN
    )
    missing_text = models.TextField(blank=True)
    notes = models.TextField(blank=True)

    class Meta:
        ordering = ["work_id", "created_revision", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["work"], condition=models.Q(retired_revision__isnull=True), name="contract_once_in_force"
            ),
        ]

    def __str__(self) -> str:
        return f"contract at revision {self.created_revision}"


class Submission(models.Model):
    """A sealed copy of a pass. Ordinal 1 is the first submission, the one agreement is computed on. Immutable.

    `guideline` is the version it was made by.
    """

    work = models.ForeignKey(Pass, on_delete=models.PROTECT, related_name="submissions")
    ordinal = models.PositiveSmallIntegerField()
    revision = models.PositiveIntegerField()
    content = models.BinaryField()
    digest = models.CharField(max_length=64)
    idempotency_key = models.CharField(max_length=64, unique=True)
    guideline = models.ForeignKey(Guideline, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    submitted_by = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="+")
    submitted_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["work_id", "ordinal", "pk"]
        constraints = [models.UniqueConstraint(fields=["work", "ordinal"], name="submission_ordinal_once")]

    def __str__(self) -> str:
        return f"submission {self.ordinal} of {self.work}"


class RefusedSave(models.Model):
    """A stale write, kept whole: somebody's text is never lost because another window was faster. Immutable."""

    work = models.ForeignKey(Pass, on_delete=models.PROTECT, related_name="refused_saves")
    expected_revision = models.PositiveIntegerField()
    current_revision = models.PositiveIntegerField()
    content = models.BinaryField()
    digest = models.CharField(max_length=64)
    saved_by = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="+")
    saved_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["work_id", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["work", "expected_revision", "digest"], name="refused_save_once"),
        ]

    def __str__(self) -> str:
        return f"refused save of {self.work} at revision {self.expected_revision}"
