"""Sentences and numbers of records as pages write them: records keep ASCII signs, six places and short names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal

#: Places a page shows of a share; records keep six.
PLACES = 3
_DECIMAL = re.compile(r"(?<![\w.])[-−]?[0-9]+\.[0-9]+")
_WORDS = {
    "newly missed mandatory observed": "mandatory questions newly missed",
    "permission leaks observed": "permission leaks observed",
    "superseded evidence observed": "pieces of superseded evidence observed",
    "reads as collect-more": "reads as “collect more evidence”",
    "“collect-more”": "“collect more evidence”",
}


def plain(text: str) -> str:
    """Return a recorded sentence for a page: real minus signs, three places, and words for what records abbreviate.

    A number whose three places would look like one of the sentence's own limits keeps all of its places.
    """
    limits = [one for one in _DECIMAL.findall(text) if _places(one) <= PLACES]
    text = _DECIMAL.sub(lambda match: shown(match[0], limits), text)
    text = re.sub(r"(?<=[0-9])%", " %", text)
    for record, page in _WORDS.items():
        text = text.replace(record, page)
    return text


def shown(text: str, limits: Iterable[str] = ()) -> str:
    """Return a recorded number with a real minus and at most three places, or all of its places where three would make
    it look equal to one of `limits` that it is not."""
    value = _value(text)
    rounded = round(value, min(PLACES, _places(text)))
    if rounded != value and any(abs(rounded) == abs(_value(limit)) for limit in limits):
        rounded = value
    return f"{'−' if rounded < 0 else ''}{abs(rounded):f}"


def _value(text: str) -> Decimal:
    return Decimal(text.replace("−", "-"))


def _places(text: str) -> int:
    return len(text.partition(".")[2])
