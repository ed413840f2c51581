"""What is derived from a document's bytes alone, kept so that a hundred phases derive it once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock


class DocumentCache[T]:
    """Values by (bytes, parameters), the least recently used dropped when the sources exceed `limit` bytes together.

    Equal bytes give equal values, so that a hit can never be stale. Python keeps the hash of a bytes object, and looks
    at identity before equality: asking again costs no pass over the bytes.
    """

    def __init__(self, limit: int = 256 * 1024 * 1024) -> None:
        self._limit = limit
        self._held = 0
        self._values: OrderedDict[tuple[bytes, Hashable], T] = OrderedDict()
        self._lock = Lock()

    def get(self, content: bytes, parameters: Hashable, make: Callable[[], T]) -> T:
        """The value for `content` and `parameters`, made by `make` where it is not held."""
        key = (content, parameters)
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = make()
        with self._lock:
            if key not in self._values:
                self._values[key] = value
                self._held += len(content)
            while self._held > self._limit and len(self._values) > 1:
                (dropped, _), _ = self._values.popitem(last=False)
                self._held -= len(dropped)
        return value
