"""WSGI entry point for gunicorn (`gunicorn config.wsgi`)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from django.core.wsgi import get_wsgi_application
from django.utils.http import parse_header_parameters

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
_site = get_wsgi_application()


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer a request; 400 for a Content-Type that cannot be read, which Django raises before it can answer."""
    try:
        parse_header_parameters(environ.get("CONTENT_TYPE", ""))
    except (ValueError, TypeError):  # TypeError: pieces of a parameter (RFC 2231) of which only some are numbered
        start_response("400 Bad Request", [("Content-Type", "text/plain; charset=utf-8")])
        return [b"The header Content-Type cannot be read. Send a media type and its parameters, each once.\n"]
    return _site(environ, start_response)
