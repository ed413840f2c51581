"""Seals: one Merkle root per scope of results."""

from __future__ import annotations

from django.db import models

from ledger.domain import chain


class Seal(models.Model):
    """Closes a scope: no result enters it afterwards. The chain holds its root (`sweep.sealed` at `record_seq`)."""

    scope = models.CharField(max_length=chain.MAX_SCOPE, primary_key=True)
    root = models.CharField(max_length=64)
    leaf_count = models.BigIntegerField()
    record_seq = models.BigIntegerField(unique=True)

    def __str__(self) -> str:
        return f"{self.scope} sealed as {self.root[:12]}"
