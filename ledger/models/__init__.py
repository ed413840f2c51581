"""The ledger's tables. No foreign keys to other apps: a record outlives the row it describes."""

from ledger.models.record import Head, Record
from ledger.models.result import Result
from ledger.models.seal import Seal

__all__ = ["Head", "Record", "Result", "Seal"]
