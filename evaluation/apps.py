"""App configuration of `evaluation`."""

from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    """See docs/architecture.md for what lives in this app."""

    name = "evaluation"

    def ready(self) -> None:
        """Add this app's actions to the permission map and its pages to a study's links, protect what never changes,
        tell the ledger how to check records."""
        from annotate.selectors.next_steps import register_next
        from annotate.views.study_nav import register, register_steps
        from evaluation import permissions, verifiers  # noqa: F401
        from evaluation.models import Attempt, Plan, Release, Sweep
        from evaluation.selectors.next_steps import after_freeze
        from evaluation.selectors.study_steps import study_steps
        from ledger import triggers

        triggers.protect(Plan, update="when:OLD.locked_at IS NOT NULL", delete="when:OLD.locked_at IS NOT NULL")
        # A sealed or cancelled sweep is over; its row says what it came to. A capped or paused one may go on.
        triggers.protect(Sweep, update="when:OLD.state NOT IN ('running', 'capped', 'paused')")
        triggers.protect(Attempt)
        triggers.protect(Release)
        verifiers.register_all()
        register(70, "Plans", "plans", "plan.view")
        register(80, "Releases", "releases", "release.view")
        register_steps(study_steps)
        register_next(after_freeze)
