"""The ledger's verbs. Upper apps import them from here."""

from ledger.domain.chain import ExternalHead
from ledger.domain.encoding import MAX_PAYLOAD_BYTES, PayloadTooLarge
from ledger.services.append import LedgerError, append
from ledger.services.results import ResultConflict, ResultEntry, ScopeSealed, put_results
from ledger.services.seal import SEALED_KIND, seal

__all__ = [
    "MAX_PAYLOAD_BYTES",
    "SEALED_KIND",
    "ExternalHead",
    "LedgerError",
    "PayloadTooLarge",
    "ResultConflict",
    "ResultEntry",
    "ScopeSealed",
    "append",
    "put_results",
    "seal",
]
