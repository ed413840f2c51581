"""The project's own app: system checks that belong to no room of the house."""

from django.apps import AppConfig


class ConfigConfig(AppConfig):
    """Registers the numbered system checks."""

    name = "config"

    def ready(self) -> None:
        """Import the checks so that Django finds them."""
        from config import checks  # noqa: F401
