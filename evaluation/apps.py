"""App configuration of `evaluation`."""

from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    """See docs/architecture.md for what lives in this app."""

    name = "evaluation"
