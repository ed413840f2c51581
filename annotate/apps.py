"""App configuration of `annotate`."""

from django.apps import AppConfig


class AnnotateConfig(AppConfig):
    """See docs/architecture.md for what lives in this app."""

    name = "annotate"

    def ready(self) -> None:
        """Protect what never changes, and tell the ledger how to check its records."""
        from annotate import protection, verifiers, verifiers_belonging, verifiers_passes
        from annotate.models import SourceVersion
        from ledger import triggers

        triggers.protect(SourceVersion)
        protection.protect_passes()
        verifiers.register_all()
        verifiers_passes.register_all()
        verifiers_belonging.register_all()
