"""difflib's ``ratio`` between all of several texts, at a fraction of its time.

The values are those of ``SequenceMatcher(None, a, b).ratio()``, to the last bit, its heuristic for
frequent characters included. difflib takes the longest match, then the longest on either side of
it, and so on, going through the texts again each time. Here the places at which two texts share
three characters are found once, for all texts together; they tell the longest match as long as
there is one of three. Between such matches the texts share two characters in a row at most, and
one pass from left to right finds those in difflib's order.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.int64]
    Mask = NDArray[np.bool_]

AUTOJUNK = 200
"""From this length of the second text on, difflib matches no characters that make up more than one
per cent of it, except next to others that match."""

LONG = 3
"""The length of match from which on matches are found in all texts together."""

SURROGATES = 0xD800
"""The first code point that is half of a pair in UTF-16, and so no letter."""

STRIDE = 12
"""How many characters are compared at once where a match is extended."""

PAIR_CLASSES = 65_521
"""A prime: bigrams are identified by their number modulo this. Few that differ are taken for the
same, and those are found out when they are looked for."""

Run = tuple[int, int, int]
"""A match that is :data:`LONG`: minus its length, so that runs sort as difflib prefers them, and
its starts in the first and in the second text."""


Stretch = tuple[int, int, int, int]
"""A part of the first text and a part of the second, each by its start and its end."""


def ratios(texts: Sequence[str]) -> list[list[float]]:
    """Compare every text with every other."""
    prepared = _Prepared(texts)
    table = [[1.0] * len(texts) for _ in texts]
    for column, second in enumerate(texts):
        matching = prepared.matching(column)
        for row, first in enumerate(texts):
            if first != second:
                both = bool(first and second)
                total = matching.total(*prepared.task(row, column)) if both else 0
                table[row][column] = 2.0 * total / (len(first) + len(second))
    return table


class _Prepared:
    """All texts, joined and as numbers, and what is found in all of them at once."""

    def __init__(self, texts: Sequence[str]) -> None:
        import numpy as np

        self._texts = texts
        self._joined = "".join(texts)
        points = np.frombuffer(self._joined.encode("utf-32-le", "surrogatepass"), np.uint32)
        letters, codes = np.unique(points, return_inverse=True)
        self._letters = len(letters)
        self._codes: Codes = codes.astype(np.int64)
        self._pairs = (self._codes[:-1] * self._letters + self._codes[1:]) % PAIR_CLASSES
        ends = np.cumsum([len(text) for text in texts]).tolist()
        self._bounds = [(end - len(text), end) for text, end in zip(texts, ends, strict=True)]
        self._matched = [self._matched_in(self._codes[start:end]) for start, end in self._bounds]
        self._runs, self._begins = self._all_runs()

    def task(self, row: int, column: int) -> tuple[int, int, list[Run]]:
        """Say where a first text is in the joined ones, and which runs it has with a second."""
        at = row * len(self._texts) + column
        return *self._bounds[row], self._runs[self._begins[at] : self._begins[at + 1]]

    def matching(self, column: int) -> _Matching:
        """Prepare a second text."""
        import numpy as np

        start, end = self._bounds[column]
        usable = self._matched[column][self._codes]
        masked = _text(np.where(usable, self._codes, self._letters))
        # What is never matched is another letter in the second text than in the first ones.
        never, else_never = (_text(np.array([self._letters + extra])) for extra in (0, 1))
        shared = np.zeros(PAIR_CLASSES, dtype=bool)
        inside = slice(start, max(end - 1, start))
        shared[self._pairs[inside][usable[:-1][inside] & usable[1:][inside]]] = True
        return _Matching(
            self._joined,
            self._texts[column],
            masked,
            masked[start:end].replace(never, else_never),
            np.flatnonzero(shared[self._pairs]).tolist(),
            np.flatnonzero(usable).tolist(),
        )

    def _matched_in(self, codes: Codes) -> Mask:
        """Say of each letter whether difflib matches it where this is the second text."""
        import numpy as np

        counts = np.bincount(codes, minlength=self._letters)
        matched: Mask = counts > 0
        if len(codes) >= AUTOJUNK:
            matched &= counts <= len(codes) // 100 + 1
        return matched

    def _all_runs(self) -> tuple[list[Run], list[int]]:
        """Find the runs of every two texts: sorted, and where those of which two begin."""
        import numpy as np

        codes, size, texts = self._codes, len(self._codes), len(self._texts)
        owner = np.repeat(np.arange(texts), [end - start for start, end in self._bounds])
        inside = np.flatnonzero(owner[: max(size - 2, 0)] == owner[2:])
        if not len(inside):
            return [], [0] * (texts**2 + 1)
        spelled = (codes[:-2] * self._letters + codes[1:-1]) * self._letters + codes[2:]
        inside = inside[np.argsort(spelled[inside], kind="stable")]
        heads = np.diff(spelled[inside], prepend=-1) != 0
        grams = np.cumsum(heads) - 1
        matched = np.stack(self._matched)[owner, codes]
        usable = matched[inside] & matched[inside + 1] & matched[inside + 2]
        # Each gram of a first text meets the places of the same gram in the second texts.
        places = inside[usable]
        counts = np.bincount(grams[usable], minlength=int(grams[-1]) + 1)
        meets = counts[grams]
        first = np.repeat(inside, meets)
        begins = (np.cumsum(counts) - counts)[grams] - (np.cumsum(meets) - meets)
        second = places[np.repeat(begins, meets) + np.arange(len(first))]
        apart = owner[first] != owner[second]
        first, second = first[apart], second[apart]
        # Neighbours on a diagonal make a run; grams never cross the border of a text.
        keys = np.sort((second - first + size) * (size + 1) + first)
        begins = np.flatnonzero(np.diff(keys, prepend=-2) != 1)
        lengths = np.diff(begins, append=len(keys)) + 2
        diagonals, first = np.divmod(keys[begins], size + 1)
        second = first + diagonals - size
        both = owner[first] * texts + owner[second]
        # What begins at the same place is in the order of the second text already.
        ranks = (both * (size + 1) - lengths) * (size + 1) + first
        order = np.argsort(ranks, kind="stable")
        first, second, both = first[order], second[order], both[order]
        starts = np.array([start for start, _ in self._bounds])
        runs = zip(
            (-lengths[order]).tolist(),
            first.tolist(),
            (second - starts[owner[second]]).tolist(),
            strict=True,
        )
        return list(runs), np.searchsorted(both, np.arange(texts**2 + 1)).tolist()


class _Matching(NamedTuple):
    """A second text to be matched with others."""

    a: str
    b: str
    a_masked: str
    b_masked: str
    pairs: list[int]
    singles: list[int]

    def total(self, start: int, end: int, runs: list[Run]) -> int:
        """Count the characters in all matches with the first text in a place of the joined ones."""
        total = 0
        stack: list[tuple[Stretch, list[Run]]] = [((start, end, 0, len(self.b)), runs)]
        while stack:
            stretch, runs = stack.pop()
            if not runs:
                total += self._in_pairs(stretch)
                continue
            length, at, b_at = runs[0]
            low, high, b_low, b_high = stretch
            start, end, b_start, b_end = self._extended(
                (at, at - length, b_at, b_at - length), stretch
            )
            total += end - start
            if low < start and b_low < b_start:
                left = (low, start, b_low, b_start)
                stack.append((left, _before(runs, start, b_start)))
            if end < high and b_end < b_high:
                right = (end, high, b_end, b_high)
                stack.append((right, _behind(runs, end, b_end)))
        return total

    def _in_pairs(self, stretch: Stretch) -> int:
        """Count the characters in matches where no match is longer than two."""
        low, high, b_low, b_high = stretch
        if high - low == 1 or b_high - b_low == 1:
            return self._in_singles(stretch)
        total = 0
        places, find, masked = self.pairs, self.b_masked.find, self.a_masked
        for at in places[bisect_left(places, low) : bisect_left(places, high - 1)]:
            if at < low:
                continue
            b_at = find(masked[at : at + 2], b_low, b_high)
            if b_at < 0:
                continue
            match = (at, at + 2, b_at, b_at + 2)
            start, end, b_start, b_end = self._extended(match, (low, high, b_low, b_high))
            total += end - start
            if low < start and b_low < b_start:
                total += self._in_singles((low, start, b_low, b_start))
            low, b_low = end, b_end
            if low >= high or b_low >= b_high:
                return total
        return total + self._in_singles((low, high, b_low, b_high))

    def _in_singles(self, stretch: Stretch) -> int:
        """Count the characters in matches where no match is longer than one."""
        low, high, b_low, b_high = stretch
        total = 0
        a, b, masked, find = self.a, self.b, self.a_masked, self.b_masked.find
        places = self.singles
        for at in places[bisect_left(places, low) : bisect_left(places, high)]:
            if at < low:
                continue
            b_at = find(masked[at], b_low, b_high)
            if b_at < 0:
                continue
            match = (at, at + 1, b_at, b_at + 1)
            start, end, b_start, b_end = self._extended(match, (low, high, b_low, b_high))
            total += end - start
            if low < start and b_low < b_start and a[low] == b[b_low]:
                total += self._alike((low, start, b_low, b_start))
            low, b_low = end, b_end
            if low >= high or b_low >= b_high:
                return total
        if a[low] == b[b_low]:
            total += self._alike((low, high, b_low, b_high))
        return total

    def _alike(self, stretch: Stretch) -> int:
        low, _, b_low, _ = stretch
        return self._extended((low, low, b_low, b_low), stretch)[1] - low

    def _extended(self, match: Stretch, within: Stretch) -> Stretch:
        """Extend a match over equal characters next to it, also those that are never matched."""
        start, end, b_start, b_end = match
        low, high, b_low, b_high = within
        a, b = self.a, self.b
        room = min(start - low, b_start - b_low)
        size = 0
        while room - size >= STRIDE and (
            a[start - size - STRIDE : start - size] == b[b_start - size - STRIDE : b_start - size]
        ):
            size += STRIDE
        while size < room and a[start - size - 1] == b[b_start - size - 1]:
            size += 1
        start, b_start = start - size, b_start - size
        room = min(high - end, b_high - b_end)
        size = 0
        while room - size >= STRIDE and (
            a[end + size : end + size + STRIDE] == b[b_end + size : b_end + size + STRIDE]
        ):
            size += STRIDE
        while size < room and a[end + size] == b[b_end + size]:
            size += 1
        return start, end + size, b_start, b_end + size


def _before(runs: list[Run], a_end: int, b_end: int) -> list[Run]:
    """Return what is left of runs that must end before a place in both texts."""
    left = []
    clipped = False
    for run in runs:
        negative, a, b = run
        if a - negative <= a_end and b - negative <= b_end:
            left.append(run)
        elif a_end - a >= LONG and b_end - b >= LONG:
            left.append((-min(a_end - a, b_end - b), a, b))
            clipped = True
    if clipped:
        left.sort()
    return left


def _behind(runs: list[Run], a_start: int, b_start: int) -> list[Run]:
    """Return what is left of runs that must begin at or behind a place in both texts."""
    right = []
    clipped = False
    for run in runs:
        negative, a, b = run
        if a >= a_start and b >= b_start:
            right.append(run)
        elif a - negative - a_start >= LONG and b - negative - b_start >= LONG:
            cut = max(a_start - a, b_start - b)
            right.append((negative + cut, a + cut, b + cut))
            clipped = True
    if clipped:
        right.sort()
    return right


def _text(codes: Codes) -> str:
    """Write numbers as letters, leaving out those that are half of a pair in UTF-16."""
    if codes.max(initial=0) >= SURROGATES:
        codes = codes + (codes >= SURROGATES) * 0x800
    return codes.astype("<u4").tobytes().decode("utf-32-le")
