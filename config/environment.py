"""Reading of environment variables: every setting Cutline takes from outside is declared and documented here.

A variable that is set to something unusable stops the start with its name and what is allowed; nothing is guessed.
`tests/architecture` fails when a variable declared here is missing from `docs/settings.md`.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

DECLARED: dict[str, str] = {}


def text(name: str, default: str, doc: str) -> str:
    """Return variable `name`, or `default` where it is unset or empty."""
    DECLARED[name] = doc
    return os.environ.get(name) or default


def folder(path: Path) -> Path:
    """Return the folder of CUTLINE_VAR, made where it is missing; raises ImproperlyConfigured where that cannot be.

    A folder that cannot be written to is refused here, with its name, and not by whatever writes there first.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except OSError as error:
        raise ImproperlyConfigured(
            f"CUTLINE_VAR={str(path)!r}: no folder to write to ({error.strerror}). Name one in which this user may "
            "make files, or mend its rights."
        ) from error
    return path


def flag(name: str, default: bool, doc: str) -> bool:
    """Return a yes/no variable; anything but 1/0/true/false/yes/no raises ImproperlyConfigured."""
    raw = text(name, "1" if default else "0", doc).lower()
    if raw in {"1", "true", "yes"}:
        return True
    if raw in {"0", "false", "no"}:
        return False
    raise ImproperlyConfigured(f"{name}={raw!r}: write 1 or 0.")


def integer(name: str, default: int, doc: str, *, minimum: int = 0) -> int:
    """Return a whole number of at least `minimum`; raises ImproperlyConfigured otherwise."""
    raw = text(name, str(default), doc)
    try:
        value = int(raw)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}={raw!r}: write a whole number.") from error
    if value < minimum:
        raise ImproperlyConfigured(f"{name}={value}: the smallest allowed value is {minimum}.")
    return value


def words(name: str, default: str, doc: str) -> list[str]:
    """Return a comma-separated variable as a list without empty items."""
    return [item.strip() for item in text(name, default, doc).split(",") if item.strip()]


def tokens(name: str, doc: str) -> dict[str, str]:
    """Return a comma-separated variable of `host=token` items; raises ImproperlyConfigured, which repeats no token, for
    an item without a host or a token, or a token that cannot stand in an HTTP header."""
    found: dict[str, str] = {}
    for number, item in enumerate(words(name, "", doc), 1):
        host, _, token = (part.strip() for part in item.partition("="))
        if not host or not token or not (token.isascii() and token.isprintable()):
            raise ImproperlyConfigured(f"{name}, item {number}: write host=token, in printable ASCII.")
        found[host] = token
    return found


def secret_key(var: Path, *, embedded: bool) -> str:
    """Return CUTLINE_SECRET_KEY; embedded installations make one of their own and keep it in `var/`.

    Raises ImproperlyConfigured for a server installation (DATABASE_URL is set) without a key of at least 32 characters.
    """
    given = text("CUTLINE_SECRET_KEY", "", "Signing key of sessions; at least 32 random characters.")
    if given:
        if len(given) < 32:
            raise ImproperlyConfigured("CUTLINE_SECRET_KEY is shorter than 32 characters: make a longer random one.")
        return given
    if not embedded:
        raise ImproperlyConfigured(
            "CUTLINE_SECRET_KEY is not set. A server installation (DATABASE_URL is set) must have its own: "
            'python -c "import secrets; print(secrets.token_urlsafe(48))"'
        )
    path = var / "secret_key"
    if not path.exists():
        folder(var)
        # Written aside and linked: of several first starts at once, one key wins and nobody reads half of it.
        descriptor, own = tempfile.mkstemp(dir=var, prefix="secret_key.")
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(48))
        with contextlib.suppress(FileExistsError):
            os.link(own, path)
        os.unlink(own)
    return path.read_text()
