"""App configuration of `ledger`."""

from django.apps import AppConfig


class LedgerConfig(AppConfig):
    """See docs/architecture.md for what lives in this app."""

    name = "ledger"
