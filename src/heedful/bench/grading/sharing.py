"""Objects that a program and its tests would share, had they one process.

Copies go between their two processes. So tests that change a value, or look at an older copy, don't
see what they would have seen where the program returned an object that it also has elsewhere: a row
of an argument, or a list that it keeps. Both sides remember the values that can be changed, to say
afterwards whether that could have decided the tests. This file runs in sandboxes, too: it imports
the standard library and ``plain`` alone.
"""

from __future__ import annotations

from typing import Any

from heedful.bench.grading.plain import changeable, encode, unmarked

MOST_KNOWN = 100_000
"""Values that are remembered."""


class Sharing:
    """The shared objects that one of the two processes knows."""

    def __init__(self) -> None:
        """Know nothing."""
        self._known: dict[int, tuple[Any, Any]] = {}
        self._kept: list[tuple[Any, Any]] = []
        self._elsewhere = ""

    def seen(self, value: Any, args: tuple[Any, ...]) -> str:
        """Say where the program has parts of a value that it returns."""
        mine = {id(part): part for part in changeable(value)}
        given = {id(part): part for part in changeable(args)}
        again = [name for name in mine if name in self._known or name in given]
        known = [self._known[name] for name in again if name in self._known]
        changed = any(_written(part) != before for part, before in known)
        if len(self._known) < MOST_KNOWN:  # an object that is kept keeps its number
            for part in (*mine.values(), *given.values()):
                self._known.setdefault(id(part), (part, _written(part)))
        return ("changed" if changed else "here") if again else ""

    def keep(self, *values: Any, elsewhere: str) -> None:
        """Remember what the tests sent and got."""
        if elsewhere and self._elsewhere != "changed":
            self._elsewhere = elsewhere
        if len(self._kept) < MOST_KNOWN:
            changing = [value for value in values if next(changeable(value), None) is not None]
            self._kept += [(value, _written(value)) for value in changing]

    def lost(self) -> str | None:
        """Say what of shared objects the tests would have seen; ``None`` where there is nothing."""
        if self._elsewhere == "changed":
            return "it changed a value that it had returned before"
        if self._elsewhere and any(_written(value) != before for value, before in self._kept):
            return "the tests change a value that the program may have elsewhere, too"
        return None


def _written(value: Any) -> Any:
    return unmarked(encode(value, _number))


def _number(_: Any) -> int:
    return -1
