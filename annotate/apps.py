"""App configuration of `annotate`."""

from django.apps import AppConfig


class AnnotateConfig(AppConfig):
    """See docs/architecture.md for what lives in this app."""

    name = "annotate"
