"""Every row of a pass, up to a revision, as one digest: what was ever written there, not only what is in force."""

from __future__ import annotations

from typing import Any

from annotate.models import ContractRevision, Mark, Pass, SupportSetRevision
from ledger.domain.canonical import canonical_bytes, digest

_CONTRACT = (
    "answerable",
    "answer",
    "scope",
    "qualification",
    "dependency",
    "missing_behaviour",
    "missing_text",
    "notes",
)
# Two documents can have the same bytes, hence the document beside the digest.
_MARK = ("name", "label", "version__source__document_id", "version__sha256", "start", "end", "forbidden")


def history_digest(work: Pass, revision: int | None = None) -> str:
    """Return the SHA-256 (hex) of the canonical JSON of every mark, set and contract row written up to `revision`.

    A row retired later counts as in force. None: all rows there are, as they stand. Three queries.
    """
    rows = {
        "marks": _rows(Mark, work, revision, _MARK),
        "sets": _rows(SupportSetRevision, work, revision, ("position", "members")),
        "contracts": _rows(ContractRevision, work, revision, _CONTRACT),
    }
    return digest(canonical_bytes(rows))


def _rows(
    model: type[Mark | SupportSetRevision | ContractRevision],
    work: Pass,
    revision: int | None,
    fields: tuple[str, ...],
) -> list[list[Any]]:
    found = model._default_manager.filter(work=work)
    if revision is not None:
        found = found.filter(created_revision__lte=revision)
    rows = []
    for created, retired, *said in found.values_list("created_revision", "retired_revision", *fields):
        later = retired is not None and revision is not None and retired > revision
        rows.append([created, None if later else retired, *said])
    # By their bytes and not by primary key, which is another one wherever the rows are written again.
    return sorted(rows, key=canonical_bytes)
