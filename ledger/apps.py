"""App configuration of `ledger`."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate, pre_migrate


class LedgerConfig(AppConfig):
    """See docs/architecture.md for what lives in this app."""

    name = "ledger"

    def ready(self) -> None:
        """Protect the ledger's own tables, and see to every app's triggers around each migration."""
        from ledger import checks, registry, triggers  # noqa: F401 — checks register themselves
        from ledger.models import Head, Record, Result, Seal
        from ledger.services import SEALED_KIND

        for model in (Record, Result, Seal):
            triggers.protect(model)
        # The head is the one row that moves, and only one step forward at a time.
        triggers.protect(Head, update="when:NEW.seq <> OLD.seq + 1 OR NEW.id <> OLD.id")
        registry.register_plain(SEALED_KIND)
        pre_migrate.connect(triggers.lift_before_migrate, dispatch_uid="ledger.triggers")
        post_migrate.connect(triggers.install_after_migrate, dispatch_uid="ledger.triggers")
