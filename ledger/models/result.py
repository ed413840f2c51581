"""Results: deterministic payloads by scope and key, and the seals over them."""

from __future__ import annotations

from typing import Any

from django.db import models

from ledger.domain import chain
from ledger.domain.canonical import parse_canonical
from ledger.domain.encoding import IDENTITY, ZLIB, decode
from ledger.models.fields import BytesField

MAX_KEY = 300


class Result(models.Model):
    """One deterministic result, covered by its scope's seal and not chained. Only `ledger.services.put_results` writes.

    `payload` holds canonical bytes in the form `encoding` names; `payload_digest` is of the plain canonical bytes.
    """

    pk = models.CompositePrimaryKey("scope", "key")
    scope = models.CharField(max_length=chain.MAX_SCOPE)
    key = models.CharField(max_length=MAX_KEY)
    kind = models.CharField(max_length=chain.MAX_KIND)
    payload = BytesField()
    encoding = models.CharField(max_length=8, default=IDENTITY)
    payload_digest = models.CharField(max_length=64)

    class Meta:
        indexes = [models.Index(fields=["scope", "kind"], name="result_scope_kind")]
        constraints = [
            models.CheckConstraint(condition=models.Q(encoding__in=[IDENTITY, ZLIB]), name="result_encoding_known")
        ]

    def __str__(self) -> str:
        return f"{self.scope} {self.key}"

    @property
    def plain(self) -> bytes:
        """The canonical payload bytes; raises ValueError where the stored form is damaged."""
        return decode(self.encoding, bytes(self.payload))

    @property
    def value(self) -> Any:
        """The payload as a Python value; raises ValueError where it is damaged or not canonical."""
        return parse_canonical(self.plain)
