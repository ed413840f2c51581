"""The plug-ins of this installation: what ships and what the settings allow. The table is frozen at its first use."""

from __future__ import annotations

from functools import cache

from django.conf import settings

from evaluation.plugins.registry import Registry, build_registry


@cache
def installed_plugins() -> Registry:
    """Return the frozen registry. Raises `PluginError` for an allow-listed plug-in that is not there or is none."""
    return build_registry(settings.PLUGINS_ALLOWED)
