"""App configuration of `evaluation`."""

from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    """See docs/architecture.md for what lives in this app."""

    name = "evaluation"

    def ready(self) -> None:
        """Add this app's actions to the permission map."""
        from evaluation import permissions  # noqa: F401
