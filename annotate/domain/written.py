"""What people write in a field of their own words: any text the store can keep."""

from __future__ import annotations

from annotate.domain.errors import BadInput

#: Characters a reason or a note may have.
MOST = 5_000


def written(text: str, where: str, most: int = MOST) -> str:
    """Return `text` as it is; raises BadInput for a NUL, half a character, or more than `most` characters."""
    if "\x00" in text:
        raise BadInput(where, "it holds a NUL", "Take it out; it cannot be seen anyway.")
    if len(text) > most:
        raise BadInput(where, f"it has {len(text)} characters and is too long", f"Write up to {most} characters.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadInput(
            where, f"it holds half a character (a lone surrogate) at {error.start}", "Write whole characters."
        ) from error
    return text
