"""Rows in input order, whatever order they finish in, so that results are written as they come.

What is passed on is what the store holds. The text of a row that this process wrote remembers what
it was written from (:class:`Written`), so that nobody parses and validates it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from heedful.engine.records import Entry
    from heedful.engine.store import Store

__all__ = ["Written"]

T = TypeVar("T")

FROM_STORE = 64
"""Rows read from the store at a time, so that the event loop is never held for long."""


class Written(str, Generic[T]):
    """JSON text that remembers the value that it was written from.

    Attributes:
        value: what parsing the text would give.
    """

    __slots__ = ("value",)
    value: T

    def __new__(cls, text: str, value: T) -> Self:
        """Join a text and its value."""
        written = super().__new__(cls, text)
        written.value = value
        return written


class InOrder:
    """Passes finished rows on in input order, each once.

    A row that finishes ahead of its turn is held back. Behind a slow one there is room for so many;
    the others are read from the store when their turn comes, so memory doesn't grow with the input.
    """

    def __init__(self, store: Store, take: Callable[[Entry], None] | None, room: int) -> None:
        """Begin before the first row."""
        self._store = store
        self._take = take
        self._room = room
        self._next = 0
        self._held: dict[int, Entry] = {}
        self._last_stored = -1  # the last of the rows that are only in the store
        self._in_work = -1  # the row that the others wait for, where the store shows that

    def add(self, entry: Entry) -> None:
        """Take note of a row that was finished just now."""
        if self._take is None:
            return
        if entry.input is None:
            self.add_stored(entry.position)
            return
        if entry.position == self._next:
            self._pass(entry, self._take)
        elif len(self._held) < self._room:
            self._held[entry.position] = entry
        else:
            self._last_stored = max(self._last_stored, entry.position)
        self._go_on()

    def add_stored(self, position: int) -> None:
        """Take note of a finished row that is to be read from the store."""
        self._last_stored = max(self._last_stored, position)
        if self._take is None:
            return
        if position == self._in_work:
            self._in_work = -1
        if position - self._next >= FROM_STORE or self._next in self._held:
            self._go_on()

    def finish(self) -> None:
        """Pass on what is left; every row is finished."""
        while self._go_on():
            pass

    def _go_on(self) -> bool:
        """Pass on the rows whose turn has come; tell whether there may be more in the store."""
        if self._take is None:
            return False
        while self._next in self._held:
            self._pass(self._held.pop(self._next), self._take)
        if self._next > self._last_stored or self._next == self._in_work:
            return False
        last = min(self._last_stored, self._next + FROM_STORE - 1)
        for entry in self._store.entries(self._next, last):
            if entry.problem is None and entry.output is None and entry.failure is None:
                self._in_work = entry.position
                return False
            self._held.pop(entry.position, None)
            self._pass(entry, self._take)
        return True

    def _pass(self, entry: Entry, take: Callable[[Entry], None]) -> None:
        self._next = entry.position + 1
        take(entry)
