"""One wider interval per chunk of a build, and hits replaced by theirs.

A policy works on whole builds: what a chunk is widened to does not depend on the question, so it is looked up. Tables
are kept per process for the builds a worker met last, under the build's digest, which also names corpus and tokenizer.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace

import numpy as np

from evaluation.domain.hits import Hits
from evaluation.domain.tokens import IntArray

#: Builds, at most, whose tables one process keeps.
KEPT_BUILDS = 24


@dataclass(frozen=True)
class Widened:
    """What each chunk of a build is widened to; every array has one entry per chunk. Bytes and source-token indices.

    The interval holds the chunk and lies in the chunk's document, which is one version.
    """

    start: IntArray
    end: IntArray
    token_start: IntArray
    token_end: IntArray


class Kept[Value]:
    """The values met last, made once per key; safe between threads (a value made twice at once is the same value)."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of `key`, made by `make` where it is not there."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = make()
        with self._lock:
            self._values[key] = value
            while len(self._values) > self._most:
                self._values.popitem(last=False)
        return value


def widen(hits: Hits, table: Widened) -> Hits:
    """Return every hit as the interval its chunk is widened to, in the same order and the same column."""
    valid = hits.valid
    if not valid.any():
        return replace(hits, into=np.full(valid.shape, -1, dtype=np.int64))
    chunk = np.where(valid, hits.chunk, 0)

    def column(values: IntArray) -> IntArray:
        return np.where(valid, values[chunk], 0)

    columns = np.arange(valid.shape[1], dtype=np.int64)[None, :]
    return replace(
        hits,
        start=column(table.start),
        end=column(table.end),
        token_start=column(table.token_start),
        token_end=column(table.token_end),
        into=np.where(valid, columns, -1),
    )
