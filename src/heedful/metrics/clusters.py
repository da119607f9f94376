"""Samples that vary together: how they are identified, and their joint contribution to rates.

Intervals take whole clusters as their units, everywhere the same ones.
"""

from __future__ import annotations

import sqlite3
import weakref
from array import array
from hashlib import blake2b
from itertools import groupby
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from heedful.metrics.rates import EndSpreads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from heedful.core.nouns import Sample
    from heedful.metrics.rates import Share


GROUPING_TAGS = ("conversation_id", "system_id")
"""Tags that say that samples belong together although their prompts differ."""

BYTES = 16
WAITING = 2000
"""Rows that are gathered in memory before they go into the file."""

CACHED = 4000
"""Clusters whose changes are cached, for others that contribute the same."""

Cell: TypeAlias = tuple[str, ...]
Stored: TypeAlias = tuple[int, bytes]
"""Cluster, and packed contributions."""

Spreads: TypeAlias = "dict[tuple[Cell, Any], EndSpreads]"
"""By cell and rate, what changes because rows go together."""

REPEATED = """
SELECT cluster, contributions FROM rows WHERE cluster IN
    (SELECT cluster FROM rows GROUP BY cluster HAVING count(*) > 1)
ORDER BY cluster
"""
"""The rows that do not vary alone; SQLite sorts them in a file."""


def cluster_of(sample: Sample) -> bytes:
    """Identify the cluster of a sample: what it varies together with.

    That is its conversation or system (the tags ``conversation_id`` and ``system_id``), or else its
    instruction (the field ``instruction_id``, which ``heedful respond`` writes), or else all that
    was said to the model; a sample without any of these is known by its id.
    """
    return cluster_digest(
        sample.id,
        sample.tags,
        (sample.model_extra or {}).get("instruction_id"),
        [
            (turn.role, "\n".join((turn.content, *turn.images)) if turn.images else turn.content)
            for turn in sample.conversation
        ],
    )


def place_of(cluster: bytes, seed: int = 0) -> float:
    """Place a cluster between 0 and 1, the same whatever other clusters there are."""
    digest = blake2b(cluster, digest_size=8, key=str(seed).encode()).digest()
    return float(int.from_bytes(digest) / 2**64)


CHOOSING = 0.5
"""Clusters placed below choose; the others measure what was chosen, and have not chosen it."""


def cluster_digest(
    key: str, tags: Mapping[str, Any], instruction: object, turns: Iterable[tuple[str, str]]
) -> bytes:
    """Do what :func:`cluster_of` does, for a sample that is not parsed."""
    for tag in GROUPING_TAGS:
        if tags.get(tag) is not None:
            return _digest(tag, str(tags[tag]))
    if instruction is not None:
        return _digest("instruction", str(instruction))
    # Earlier answers may be the model's own: other models were given the same prompt.
    prompt = [part for role, content in turns if role != "assistant" for part in (role, content)]
    return _digest(*prompt) if prompt else _digest("instruction", instruction_of(key, tags)[0])


def instruction_of(key: str, tags: Mapping[str, Any]) -> tuple[str, int]:
    """Take an id apart as ``heedful respond`` puts it together: ``INSTRUCTION@MODEL#NUMBER``."""
    named, mark, number = key.rpartition("#")
    sampled = bool(mark) and number.isdecimal()
    base = named if sampled else key
    return base.removesuffix(f"@{tags.get('model', '')}"), int(number) if sampled else 1


class ClusterStore:
    """Contributions of rows to rates, by cluster, in a temporary file.

    Each row by itself is counted elsewhere; here is only what changes for rows that go together.
    A row contributes numbers to cells, such as all rows or the rows of one task.
    """

    def __init__(self, cells: Iterable[Cell] = (), rows: Iterable[Stored] = ()) -> None:
        self._db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode=OFF")
        self._db.execute("CREATE TABLE rows (cluster INTEGER, contributions BLOB)")
        self._waiting: list[Stored] = [*rows]
        self._cells: dict[Cell, int] = {name: number for number, name in enumerate(cells)}
        weakref.finalize(self, self._db.close)

    def __reduce__(self) -> tuple[type[Self], tuple[list[Cell], list[Stored]]]:
        """Send cells and rows; a file can't be sent."""
        return type(self), ([*self._cells], self._rows())

    def _rows(self) -> list[Stored]:
        self._flush()
        return self._db.execute("SELECT * FROM rows").fetchall()

    def merge(self, other: ClusterStore, numbers: Mapping[str, Sequence[int]]) -> None:
        """Add another's rows; ``numbers`` has, by kind of cell, ours for theirs."""
        cells = [(self.cell(name), numbers.get(name[0])) for name in other._cells]
        for cluster, packed in other._rows():
            contributed = array("q", packed)
            for place in range(0, len(contributed), 2):
                contributed[place], ours = cells[contributed[place]]
                if ours is not None:
                    contributed[place + 1] = ours[contributed[place + 1]]
            self._waiting.append((cluster, contributed.tobytes()))
            if len(self._waiting) >= WAITING:
                self._flush()

    def cell(self, name: Cell) -> int:
        """Return the number of a cell; the first word of its name is its kind."""
        return self._cells.setdefault(name, len(self._cells))

    def add(self, cluster: bytes, contributions: Iterable[int]) -> None:
        """Take in a row."""
        number = int.from_bytes(cluster[:8], signed=True)
        self._waiting.append((number, array("q", contributions).tobytes()))
        if len(self._waiting) >= WAITING:
            self._flush()

    def spreads(self, shares: Callable[[str, int], Mapping[Any, Share]]) -> Spreads:
        """Add up what changes in each cell's rates because rows go together."""
        self._flush()
        names = list(self._cells)
        spreads: Spreads = {}
        known: dict[tuple[str, tuple[int, ...]], dict[Any, EndSpreads]] = {}
        for members in self._together():
            if len(known) > CACHED:
                known.clear()
            for cell, numbers in members.items():
                if len(numbers) < 2:  # noqa: PLR2004 - alone in its cell
                    continue
                name = names[cell]
                same = name[0], tuple(sorted(numbers))
                if same not in known:
                    known[same] = _changes([shares(name[0], number) for number in numbers])
                for rate, change in known[same].items():
                    before = spreads.get((name, rate))
                    spreads[name, rate] = change if before is None else before.plus(change)
        return spreads

    def _together(self) -> Iterator[dict[int, list[int]]]:
        """Go through the clusters of several rows: by cell, what each row contributes."""
        for _, rows in groupby(self._db.execute(REPEATED), key=lambda row: row[0]):
            members: dict[int, list[int]] = {}
            for _, packed in rows:
                numbers = array("q", packed)
                for cell, number in zip(numbers[::2], numbers[1::2], strict=True):
                    members.setdefault(cell, []).append(number)
            yield members

    def _flush(self) -> None:
        self._db.execute("BEGIN")
        self._db.executemany("INSERT INTO rows VALUES (?, ?)", self._waiting)
        self._db.execute("COMMIT")
        self._waiting.clear()


def _changes(rows: Sequence[Mapping[Any, Share]]) -> dict[Any, EndSpreads]:
    """Compute the change in each rate when rows are a single cluster."""
    by_rate: dict[Any, list[Share]] = {}
    for row in rows:
        for rate, share in row.items():
            by_rate.setdefault(rate, []).append(share)
    return {
        rate: EndSpreads.together(shares) for rate, shares in by_rate.items() if len(shares) > 1
    }


def _digest(*texts: str) -> bytes:
    joined = "\0".join(texts).encode("utf-8", "surrogatepass")
    return blake2b(joined, digest_size=BYTES).digest()
