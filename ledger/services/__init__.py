"""The ledger's verbs. Upper apps import them from here."""

from ledger.domain.chain import ExternalHead
from ledger.domain.encoding import MAX_PAYLOAD_BYTES, PayloadTooLarge
from ledger.domain.report import Report
from ledger.services.append import LedgerError, append
from ledger.services.check_sealed import check_sealed
from ledger.services.export import WrongUsage, export_bundle
from ledger.services.results import ResultConflict, ResultEntry, ScopeSealed, StoredEntry, put_results, stored_entries
from ledger.services.seal import SEALED_KIND, seal, sealed_leaves
from ledger.services.verify import verify
from ledger.services.verify_bundle import verify_bundle

__all__ = [
    "MAX_PAYLOAD_BYTES",
    "SEALED_KIND",
    "ExternalHead",
    "LedgerError",
    "PayloadTooLarge",
    "Report",
    "ResultConflict",
    "ResultEntry",
    "ScopeSealed",
    "StoredEntry",
    "WrongUsage",
    "append",
    "check_sealed",
    "export_bundle",
    "put_results",
    "seal",
    "sealed_leaves",
    "stored_entries",
    "verify",
    "verify_bundle",
]
