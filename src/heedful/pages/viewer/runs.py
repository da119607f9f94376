"""One run as the viewer sees it: what it is, how far it is, which of its rows are wanted."""

from __future__ import annotations

import sqlite3
import time
from array import array
from bisect import bisect_left
from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from heedful.core.closing import Closing
from heedful.core.errors import RunError
from heedful.jobs.saved_run import SavedRun
from heedful.pages.overview import State, state
from heedful.pages.viewer.building import BATCH, Facts, facts, identity, row
from heedful.pages.viewer.index import Covered, Index

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from heedful.engine.store import Entry
    from heedful.jobs.results import Scored
    from heedful.pages.viewer.index import Filter


LOOKING_SECONDS = 0.7
"""How long rows that are not in the index are looked through for one page."""

CACHED_SELECTIONS = 16
"""Selections that are cached, at eight bytes a row: going through their pages costs nothing."""


class NoRowError(RunError):
    """A run has no row of this number."""


@dataclass(frozen=True, slots=True)
class RowSelection:
    """The rows that a filter wants."""

    positions: Sequence[int]  # their places in the run, in the order in which they are shown
    looked: int  # how many rows, from the first on, were looked at
    total: int  # how many rows there are
    # rows from there on that the index names and nobody has looked at
    candidates: Sequence[int] = ()
    sorted: bool = False  # whether that order is another than the file's

    @property
    def exact(self) -> bool:
        """Whether all rows were looked at: otherwise there may be more."""
        return self.looked >= self.total

    def place(self, position: int) -> int | None:
        """Return where among the wanted rows one is."""
        if self.sorted:
            return self.positions.index(position) if position in self.positions else None
        at = bisect_left(self.positions, position)
        there = at < len(self.positions) and self.positions[at] == position
        return at if there else None


T = TypeVar("T")


class Recent(Generic[T]):
    """The values that were used last."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[object, T] = OrderedDict()

    def get(self, key: object) -> T | None:
        """Return the value cached under a key."""
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def keep(self, key: object, value: T) -> None:
        """Cache a value, in the place of the least recently used."""
        self._values[key] = value
        if len(self._values) > self._size:
            self._values.popitem(last=False)


class Run(Closing):
    """A run, open for as long as one page is made."""

    def __init__(self, directory: Path, indexes: Path, memory: Recent[RowSelection]) -> None:
        self.directory = directory
        self.saved = SavedRun(directory, marks_damaged=True)
        self._memory = memory
        self._identity = identity(self.saved)
        self.index_path = indexes / f"{directory.resolve().name[:40]}-{_digest(directory)}.sqlite"
        self.index = Index(self.index_path, self._identity)

    def close(self) -> None:
        """Close the run."""
        self.saved.close()

    @property
    def has_samples(self) -> bool:
        """Whether its rows are samples."""
        return self.saved.judged or self.saved.command in {
            "respond",
            "checklist",
            "critic sample",
            "critic filter",
        }

    @cached_property
    def summary(self) -> dict[str, Any] | None:
        """Its numbers; ``None`` where it is not finished, or the file is damaged."""
        return self.saved.summary if self.saved.finished and not self.problem else None

    @cached_property
    def problem(self) -> str:
        """Why a finished run's numbers cannot be read; empty where they can."""
        try:
            _ = self.saved.summary if self.saved.finished else None
        except RunError as error:
            return error.what
        return ""

    @cached_property
    def total(self) -> int:
        """How many rows have been read."""
        (last,) = next(self.saved.query("SELECT max(position) + 1 FROM inputs"))
        return last if isinstance(last, int) else 0

    @cached_property
    def covered(self) -> Covered:
        """How many rows are in its index."""
        return self.index.covered()

    @property
    def missing(self) -> int:
        """How many rows its index lacks; the text of less than a block is looked through."""
        text = self.total // BATCH * BATCH - self.covered.text
        return max(self.total - self.covered.columns, text)

    def state(self) -> State:
        """Say whether it is under way."""
        return state(self.directory)

    def row(self, position: int) -> Scored:
        """Return a row, with its judgments."""
        if not 0 <= position < self.total:
            raise NoRowError(f"no row {position + 1:,}", where=str(self.directory))
        return self.saved.row(position, lambda entry: row(entry, judged=self.saved.judged))

    def select(self, wanted: Filter) -> RowSelection:
        """Find the rows that a filter wants, in its order; rows that aren't indexed come last."""
        found = self._found(wanted.bare)
        limit = self.covered.columns
        if not wanted.sort or not limit:
            return found
        key = self._identity, limit, wanted.bare, wanted.sort, len(found.positions)
        cached = self._memory.get(key)
        if cached is not None:
            return replace(cached, looked=found.looked, total=found.total)
        try:
            order = self.index.order(wanted.sort)
        except sqlite3.Error:
            self.index.forget()
            return found
        chosen = set(found.positions)
        positions = array("L", (position for position in order if position in chosen))
        positions.extend(found.positions[bisect_left(found.positions, limit) :])
        result = replace(found, positions=positions, candidates=(), sorted=True)
        self._memory.keep(key, result)
        return result

    def _found(self, wanted: Filter) -> RowSelection:
        """Find the rows a filter selects, in the index and among rows not indexed yet."""
        if not wanted:
            return RowSelection(range(self.total), self.total, self.total)
        limit = min(self.covered.text if wanted.text else self.covered.columns, self.total)
        key = self._identity, limit, wanted
        cached = self._memory.get(key)
        if cached is None:
            try:
                matches = self.index.positions(wanted) if limit else array("L")
            except sqlite3.Error:
                self.index.forget()
                matches, limit = array("L"), 0
            matches = matches[: bisect_left(matches, limit)]
            cached = RowSelection(matches, limit, limit)
            if wanted.text and matches:
                cached = RowSelection(array("L"), matches[0], limit, matches)
            if limit:
                self._memory.keep(key, cached)
        if cached.candidates:
            cached = self._checked(wanted, cached)
            self._memory.keep(key, cached)
        if not cached.exact:
            return replace(cached, total=self.total)
        if limit == self.total:
            return cached
        positions = array("L", cached.positions)
        looked = self._look(wanted, limit, positions)
        return RowSelection(positions, looked, self.total)

    def _checked(self, wanted: Filter, selection: RowSelection) -> RowSelection:
        """Look at the rows that the index names, as far as time suffices."""
        until = time.monotonic() + LOOKING_SECONDS
        positions = array("L", selection.positions)
        for at, position in enumerate(selection.candidates, start=1):
            if self.wants(wanted, self.saved.entry(position)):
                positions.append(position)
            if time.monotonic() > until and at < len(selection.candidates):
                left = selection.candidates[at:]
                return RowSelection(positions, position + 1, selection.total, left)
        return RowSelection(positions, selection.total, selection.total)

    def _look(self, wanted: Filter, limit: int, positions: array[int]) -> int:
        """Look through the rows from a place on; return how far time sufficed."""
        until = time.monotonic() + LOOKING_SECONDS
        for entry in self.saved.entries(limit):
            if self.wants(wanted, entry):
                positions.append(entry.position)
            if time.monotonic() > until:
                return entry.position + 1
        return self.total

    def parsed(self, entry: Entry) -> Scored | None:
        """Return a stored row with its judgments; ``None`` for one that is damaged."""
        try:
            return self.saved.parsed(lambda each: row(each, judged=self.saved.judged), entry)
        except RunError:
            return None

    def wants(self, wanted: Filter, entry: Entry) -> bool:
        """Tell whether a filter wants a stored row."""
        return wanted.matches(self.saved.parsed(self._facts, entry))

    def _facts(self, entry: Entry) -> Facts:
        return facts(entry, judged=self.saved.judged)


def _digest(directory: Path) -> str:
    from hashlib import blake2b

    return blake2b(str(directory.resolve()).encode(errors="replace"), digest_size=6).hexdigest()
