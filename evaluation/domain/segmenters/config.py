"""What every segmenter's configuration must hold; a configuration that cannot give chunks never becomes a segmenter."""

from __future__ import annotations

from annotate.domain.sentences import LANGUAGES

TAILS = ("keep", "drop")


class SegmenterConfigError(ValueError):
    """A segmenter configuration that cannot give chunks; the message names the field and the mend."""


def check_window(segmenter: str, capacity: int, overlap: int, tails: str, unit: str) -> None:
    """Refuse sizes that are no whole numbers of `unit`s (booleans are none), a stride below 1, unknown tails.

    Raises `SegmenterConfigError`.
    """
    one = unit.removesuffix("s")
    for field, value in (("capacity", capacity), ("overlap", overlap)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise SegmenterConfigError(f"{segmenter}: {field} must be a whole number of {unit}, got {value!r}")
    if capacity < 1:
        raise SegmenterConfigError(f"{segmenter}: capacity must be at least 1 {one}, got {capacity}")
    if overlap < 0:
        raise SegmenterConfigError(f"{segmenter}: overlap must not be negative, got {overlap}; use 0 for none")
    if overlap >= capacity:
        raise SegmenterConfigError(
            f"{segmenter}: overlap must be smaller than capacity, got overlap {overlap} "
            f"and capacity {capacity}; the stride would not be positive"
        )
    if tails not in TAILS:
        raise SegmenterConfigError(f"{segmenter}: tails must be 'keep' or 'drop', got {tails!r}")


def check_unit(segmenter: str, unit: str, known: tuple[str, ...]) -> None:
    """Refuse a unit the segmenter cannot count in. Raises `SegmenterConfigError`."""
    if unit not in known:
        names = " or ".join(repr(name) for name in known)
        raise SegmenterConfigError(f"{segmenter}: unit must be {names}, got {unit!r}; write unit = {known[0]!r}")


def check_shift(segmenter: str, shift_every: int) -> None:
    """Refuse a period that shifts no chunk after the first, or all of them. Raises `SegmenterConfigError`."""
    if isinstance(shift_every, bool) or not isinstance(shift_every, int) or shift_every < 0 or shift_every == 1:
        raise SegmenterConfigError(
            f"{segmenter}: shift_every must be a whole number from 2 on, got {shift_every!r}; "
            "use 0 to shift the first chunk of a run only"
        )


def shift_words(shift_every: int) -> str:
    """What a rule says of the cores that are filled under the phase."""
    return f"first core and every {shift_every}th after it" if shift_every else "first core"


def check_language(segmenter: str, language: str) -> None:
    """Refuse a language without sentence rules; "" is every language's. Raises `SegmenterConfigError`."""
    if language and language not in LANGUAGES:
        raise SegmenterConfigError(
            f"{segmenter}: language {language!r} has no sentence rules; use one of {', '.join(sorted(LANGUAGES))} "
            "or leave it out"
        )
