"""The site's entry point answers a Content-Type that nothing can read, instead of breaking off."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import RequestFactory


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("text/plain; a*=utf-8''a; a*0=b", 400),
        ("text/plain; a*=no-such-code''b", 400),
        ("text/plain; a=" + "b" * 20_000, 400),
        ("text/plain; a*=utf-8''b", 403),
        ("", 403),
    ],
)
def test_content_type_that_cannot_be_read_is_refused(content_type: str, status: int) -> None:
    from config.wsgi import application

    said: list[str] = []

    def start_response(line: str, headers: list[tuple[str, str]], *_: Any) -> Any:
        said.append(line)

    environ = {**RequestFactory().generic("POST", "/", b"x").environ, "CONTENT_TYPE": content_type}
    assert b"".join(application(environ, start_response))
    assert int(said[0].split()[0]) == status
