"""Sums by instruction, the clusters of every interval."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def open_bounds(counted: float, decided: float, of: float) -> list[float] | None:
    """Compute a share if nothing that wasn't decided counted, and if all of it did."""
    return [counted / of, (counted + of - decided) / of] if of else None


class Sums:
    """Sums tuples of numbers by instruction, and counts the instructions that came to the same."""

    def __init__(self, width: int) -> None:
        """Begin with nothing."""
        self._zero = (0.0,) * width
        self._sums: dict[int, tuple[float, ...]] = {}

    def add(self, instruction: int, values: Iterable[float]) -> None:
        """Add to an instruction's sums."""
        before = self._sums.get(instruction, self._zero)
        self._sums[instruction] = tuple(a + b for a, b in zip(before, values, strict=True))

    def counted(self) -> Counter[tuple[float, ...]]:
        """Count the instructions by their sums."""
        return Counter(self._sums.values())

    def total(self) -> list[float]:
        """Add up over all instructions."""
        return [sum(column) for column in zip(self._zero, *self._sums.values(), strict=True)]
