"""Differences between two passes and how they were settled. Everything here is append-only."""

from __future__ import annotations

from django.db import models

from annotate.domain.vocabulary import Choice, DisagreementType, Necessity, NoteKind, ReasonCode, Segment
from annotate.models.choices import choices
from annotate.models.passes import Assignment, Submission
from annotate.models.people import Person
from annotate.models.questions import Question


class AdjudicationItem(models.Model):
    """Two submissions of a question, compared. Which one is shown as A was shuffled once and is recorded here."""

    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="items")
    round = models.PositiveSmallIntegerField(default=1)
    submission_a = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="+")
    submission_b = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["question__key", "round", "pk"]
        constraints = [models.UniqueConstraint(fields=["question", "round"], name="item_round_once")]

    def __str__(self) -> str:
        return f"{self.question.key}, round {self.round}"


class Disagreement(models.Model):
    """One typed difference. Values are canonical JSON bytes (empty where a side has nothing)."""

    item = models.ForeignKey(AdjudicationItem, on_delete=models.PROTECT, related_name="disagreements")
    position = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=40, choices=choices(DisagreementType))
    subject = models.CharField(max_length=300, blank=True)
    value_a = models.BinaryField(blank=True)
    value_b = models.BinaryField(blank=True)

    class Meta:
        ordering = ["item_id", "position", "pk"]
        constraints = [models.UniqueConstraint(fields=["item", "position"], name="disagreement_position_once")]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"


class Decision(models.Model):
    """One choice about one difference; `disagreement` is empty for the confirmation of all that was equal.

    The newest decision of a disagreement is in force; earlier ones stay.
    """

    item = models.ForeignKey(AdjudicationItem, on_delete=models.PROTECT, related_name="decisions")
    disagreement = models.ForeignKey(
        Disagreement, null=True, blank=True, on_delete=models.PROTECT, related_name="decisions"
    )
    ordinal = models.PositiveIntegerField()
    choice = models.CharField(max_length=12, choices=choices(Choice))
    value = models.BinaryField(blank=True)
    reason_code = models.CharField(max_length=30, choices=choices(ReasonCode))
    reason = models.TextField(blank=True)
    decided_by = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="+")
    decided_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["item_id", "ordinal", "pk"]
        constraints = [models.UniqueConstraint(fields=["item", "ordinal"], name="decision_ordinal_once")]

    def __str__(self) -> str:
        return f"decision {self.ordinal}: {self.choice}"


class AdjudicatedResult(models.Model):
    """The settled content of a question (canonical bytes of a PassContent). `item` is empty for an imported fixture.

    `alternatives_reason` says why a support set stands beside one it holds whole; empty where none does.
    """

    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="results")
    item = models.ForeignKey(AdjudicationItem, null=True, blank=True, on_delete=models.PROTECT, related_name="results")
    ordinal = models.PositiveSmallIntegerField()
    segment = models.CharField(max_length=30, choices=choices(Segment))
    content = models.BinaryField()
    digest = models.CharField(max_length=64)
    alternatives_reason = models.TextField(blank=True, default="")
    settled_by = models.ForeignKey(Person, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    settled_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["question_id", "ordinal", "pk"]
        constraints = [models.UniqueConstraint(fields=["question", "ordinal"], name="result_ordinal_once")]

    def __str__(self) -> str:
        return f"result {self.ordinal} of {self.question.key}"


class SpanDecision(models.Model):
    """Necessary or merely topical, for one span of a result, with the reason."""

    result = models.ForeignKey(AdjudicatedResult, on_delete=models.PROTECT, related_name="span_decisions")
    span_name = models.SlugField(max_length=60)
    necessity = models.CharField(max_length=12, choices=choices(Necessity))
    reason = models.TextField(blank=True)

    class Meta:
        ordering = ["result_id", "span_name", "pk"]
        constraints = [models.UniqueConstraint(fields=["result", "span_name"], name="span_decision_once")]

    def __str__(self) -> str:
        return f"{self.span_name}: {self.necessity}"


class DiscussionNote(models.Model):
    """One contribution to the discussion of a question, in every round; why a pass was returned or an item re-opened.

    `assignment` is the pass it is about: its annotator reads it once the pass was returned, and the other annotator
    never does. Without one it stays among adjudicators. `round` is the newest item's then, 0 before there was one.
    """

    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="notes")
    round = models.PositiveSmallIntegerField()
    ordinal = models.PositiveIntegerField()
    kind = models.CharField(max_length=12, choices=choices(NoteKind))
    assignment = models.ForeignKey(Assignment, null=True, blank=True, on_delete=models.PROTECT, related_name="notes")
    text = models.TextField()
    written_by = models.ForeignKey(Person, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    written_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["question_id", "ordinal", "pk"]
        constraints = [models.UniqueConstraint(fields=["question", "ordinal"], name="note_ordinal_once")]

    def __str__(self) -> str:
        return f"{self.kind} {self.ordinal} on {self.question.key}"
