"""Records: operations and human acts, chained as they arrive. They name things by digest, never by foreign key."""

from __future__ import annotations

from typing import Any

from django.db import models

from ledger.domain import chain
from ledger.domain.canonical import parse_canonical
from ledger.models.fields import BytesField, LabelsField


class Record(models.Model):
    """One link of the chain. Written only by `ledger.services.append`; never changed, never deleted."""

    seq = models.BigIntegerField(primary_key=True)
    kind = models.CharField(max_length=chain.MAX_KIND)
    scope = models.CharField(max_length=chain.MAX_SCOPE)
    labels = LabelsField(default=list)
    labels_bytes = BytesField()
    payload = BytesField()
    payload_digest = models.CharField(max_length=64, db_index=True)
    salt = BytesField()
    previous = models.CharField(max_length=64, unique=True)
    link = models.CharField(max_length=64, unique=True)
    recorded_at = models.DateTimeField()

    class Meta:
        ordering = ["seq"]
        indexes = [
            models.Index(fields=["scope", "seq"], name="record_scope_seq"),
            models.Index(fields=["kind", "seq"], name="record_kind_seq"),
        ]
        constraints = [models.CheckConstraint(condition=models.Q(seq__gte=1), name="record_seq_positive")]

    def __str__(self) -> str:
        return f"{self.seq} {self.kind} ({self.scope})"

    @property
    def value(self) -> Any:
        """The payload as a Python value; raises CanonicalError where the stored bytes are not canonical."""
        return parse_canonical(bytes(self.payload))


class Head(models.Model):
    """The chain's last position: one row, locked by whoever appends."""

    THE_ONE = 1

    id = models.SmallIntegerField(primary_key=True, default=THE_ONE)
    seq = models.BigIntegerField(default=0)
    link = models.CharField(max_length=64, default=chain.GENESIS)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="head_is_one_row")]

    def __str__(self) -> str:
        return f"head at {self.seq}"
