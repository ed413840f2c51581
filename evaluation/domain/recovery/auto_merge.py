"""Auto-merging: hits that make up enough of a larger window become that window.

Windows (see `windows`) are the parents. Where at least `merge_share` of a parent's chunks stand in a question's list,
its hits there become one unit, the whole parent, at the place of the first of them; the others stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np

from evaluation.domain.hits import BoolArray, Hits
from evaluation.domain.pipeline import IndexBuild, PreparedCorpus
from evaluation.domain.recovery.configuration import RecoveryConfigError, whole_number
from evaluation.domain.recovery.widened import KEPT_BUILDS, Kept
from evaluation.domain.recovery.windows import Windows, windows
from evaluation.domain.tokens import IntArray

_tables: Kept[tuple[Windows, IntArray]] = Kept(KEPT_BUILDS)


@dataclass(frozen=True)
class AutoMerge:
    """Merges hits into parents of `parent_capacity` tokens; `merge_share` is the exact value of a decimal text.

    Raises RecoveryConfigError for a capacity below 1 and a share outside (0, 1].
    """

    parent_capacity: int
    merge_share: str = "0.5"

    def __post_init__(self) -> None:
        whole_number("auto-merge", "parent_capacity", self.parent_capacity, "tokens")
        try:
            share = Fraction(self.merge_share)
        except (ValueError, ZeroDivisionError) as error:
            raise RecoveryConfigError(
                f"auto-merge: recovery.merge_share must be a decimal number, got {self.merge_share!r}"
            ) from error
        if not 0 < share <= 1:
            raise RecoveryConfigError(
                f"auto-merge: recovery.merge_share is {self.merge_share}; give a share above 0 and at most 1"
            )

    def describe(self) -> dict[str, str | int]:
        """Configuration in canonical values."""
        return {
            "expansion": "auto-merge",
            "version": "1",
            "parent_capacity": self.parent_capacity,
            "merge_share": self.merge_share,
            "rule": "parents are runs of chunks within parent_capacity tokens, cut where the build is cut; hits become "
            "their parent where they are at least merge_share of its chunks",
        }

    def expand(self, hits: Hits, prepared: PreparedCorpus, build: IndexBuild) -> Hits:
        """Return units in the order of their first hits; `into` sends every hit of a merged parent to its one unit."""
        table, needed = _tables.get((self, build.digest), lambda: self._table(build))
        valid = hits.valid
        if not valid.any():
            return _regrouped(hits, valid, np.zeros(valid.shape, dtype=np.int64), valid, table)
        row, column = np.nonzero(valid)
        slots, chunks = table.size.size, table.of.size
        key = row * slots + table.of[hits.chunk[row, column]]
        # A list that names a chunk twice must not reach the share by it. Windows follow the order of chunks, so that
        # chunks in order stand in groups.
        distinct = np.sort(row * chunks + hits.chunk[row, column])
        distinct = distinct[np.append(True, distinct[1:] != distinct[:-1])]
        of_row, chunk = np.divmod(distinct, chunks)
        group = of_row * slots + table.of[chunk]
        begins = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
        groups, members = group[begins], np.diff(np.append(begins, group.size))
        enough = members >= needed[groups % slots]
        at = np.searchsorted(groups, key)
        first = np.full(enough.size, valid.shape[1], dtype=np.int64)
        np.minimum.at(first, at, column)
        lead = np.zeros(valid.shape, dtype=np.int64)
        merged = np.zeros(valid.shape, dtype=np.bool_)
        lead[row, column] = np.where(enough[at], first[at], column)
        merged[row, column] = enough[at]
        return _regrouped(hits, valid, lead, merged, table)

    def _table(self, build: IndexBuild) -> tuple[Windows, IntArray]:
        """The parents, and how many chunks of each must be hits: exact, however many digits the share has."""
        found, share = windows(build.chunks, self.parent_capacity), Fraction(self.merge_share)
        return found, np.array([ceil(share * size) for size in found.size.tolist()], dtype=np.int64)


def _regrouped(hits: Hits, valid: BoolArray, lead: IntArray, merged: BoolArray, table: Windows) -> Hits:
    """Return one unit per leading hit: its parent where `merged`, else itself. `lead` is a column of the same row."""
    columns = np.arange(valid.shape[1], dtype=np.int64)[None, :]
    leads = valid & (lead == columns)
    place = np.cumsum(leads, axis=1, dtype=np.int64) - 1
    into = np.where(valid, np.take_along_axis(place, lead, axis=1), -1)
    row, column = np.nonzero(leads)
    target = place[row, column]
    parent = table.of[hits.chunk[row, column]]
    whole = merged[row, column]

    def moved(values: IntArray, wide: IntArray | None, empty: int) -> IntArray:
        found = np.full(values.shape, empty, dtype=np.int64)
        own = values[row, column]
        found[row, target] = own if wide is None else np.where(whole, wide[parent], own)
        return found

    wide = table.interval
    return Hits(
        count=leads.sum(axis=1, dtype=np.int64),
        document=moved(hits.document, None, -1),
        start=moved(hits.start, wide.start, 0),
        end=moved(hits.end, wide.end, 0),
        token_start=moved(hits.token_start, wide.token_start, 0),
        token_end=moved(hits.token_end, wide.token_end, 0),
        rank=moved(hits.rank, None, 0),
        chunk=moved(hits.chunk, None, -1),
        into=into,
    )
