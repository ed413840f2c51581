"""A plan's text on its way to the editor: kept in the session, since it is too long for an address."""

from __future__ import annotations

from django.http import HttpRequest

from annotate.models import FixtureSet, Study

_KEY = "plan-draft"


def keep_draft(request: HttpRequest, study: Study, fixture_set: FixtureSet, toml: str) -> None:
    """Keep a text for the editor of `study`; the newest replaces an older one."""
    request.session[_KEY] = {"study": study.slug, "fixture_set": fixture_set.name, "toml": toml}


def kept_draft(request: HttpRequest, study: Study) -> tuple[str, str]:
    """Return (text, name of its fixture set) kept for `study`, ("", "") for none."""
    kept = request.session.get(_KEY) or {}
    return (kept["toml"], kept["fixture_set"]) if kept.get("study") == study.slug else ("", "")


def drop_draft(request: HttpRequest, study: Study) -> None:
    """Forget what is kept for `study`, once it was written or another text was chosen."""
    if kept_draft(request, study) != ("", ""):
        del request.session[_KEY]
