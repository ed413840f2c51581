"""Make sure that the results of a sealed scope are still the sealed ones, before something is decided from them."""

from __future__ import annotations

from itertools import batched

from ledger.services.results import stored_entries
from ledger.services.seal import sealed_leaves

_BATCH = 500


def check_sealed(scope: str, root: str) -> int:
    """Compute the root again and compare every payload with its digest; return how many results there are.

    Holds at most 500 payloads at once. Raises LedgerError, naming the first result that is missing, damaged or not
    what was sealed, and where `root` is not that of the seal.
    """
    found = sealed_leaves(scope, root)
    for batch in batched(found.items(), _BATCH):
        stored_entries(scope, dict(batch))
    return len(found)
