"""Parts of a run's rows, each in a store of its own; see :mod:`heedful.engine.shards`."""

from __future__ import annotations

import json
import shutil
import time
from typing import TYPE_CHECKING

from heedful.core.log import logger
from heedful.engine.lock import is_held, only_writer
from heedful.engine.store import END, NAME, Input

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from heedful.engine.store import Store, UsageRecord

__all__: list[str] = []

END_S = 5.0
"""Seconds in which a worker must end when it is told to, or its run is gone."""

MERGED = "merged_part"
"""Key under which a store names the last part that is in it, though its folder may be left."""


def part_directory(directory: Path, first: int, last: int) -> Path:
    """Return the folder of a part."""
    return directory / f"{first:012}-{last:012}"


CHANGED = """
SELECT 1 FROM main.inputs AS before LEFT JOIN part.inputs AS now USING (position)
WHERE position BETWEEN ? AND ? AND now.checksum IS NOT before.checksum LIMIT 1
"""


def merge(store: Store, directory: Path) -> int:
    """Move a part into the run's store; return how many of its rows have an earlier row's id."""
    first, last = (int(place) for place in directory.name.split("-"))
    with store.attached(directory / NAME):
        usage = [*store.usage_records("part")]
        if store.count() > first:  # it was read before; where it has changed, so has what follows
            end = END if any(store.query(CHANGED, first, last - 1)) else last - 1
            for table in ("inputs", "outputs"):
                dropped = f"DELETE FROM main.{table} WHERE position BETWEEN ? AND ?"  # noqa: S608
                store.change(dropped, [(first, end)])
        twice = "SELECT position FROM part.inputs WHERE id IN (SELECT id FROM main.inputs)"
        duplicates = [position for (position,) in store.query(twice)]
        for table in ("inputs", "outputs"):
            copied = f"INSERT INTO main.{table} SELECT * FROM part.{table}"  # noqa: S608 - ours
            others = f"{copied} WHERE position NOT IN (SELECT value FROM json_each(?))"  # noqa: S608
            store.change(others, [(json.dumps(duplicates),)])
        for position in duplicates:
            query = "SELECT position, line, id, value, problem FROM part.inputs WHERE position = ?"
            (row,) = map(Input._make, store.query(query, position))
            logger.warning("line %d: %s", row.line, *store.add_inputs([row]))
        _merge_calls(store, usage, directory.name)
    return len(duplicates)


def _merge_calls(store: Store, usage: Sequence[UsageRecord], part: str) -> None:
    """Add what a part paid for, and what it learnt of models; commit that it is merged."""
    store.change("INSERT OR IGNORE INTO main.calls SELECT * FROM part.calls", [()])
    for record in usage:
        store.add_usage(record)
    learnt = store.meta("adaptations", "part")
    if learnt:
        store.set_meta("adaptations", sorted({*(store.meta("adaptations") or ()), *learnt}))
    store.set_meta(MERGED, part)
    store.flush()


def absorb(store: Store, directory: Path) -> None:
    """Take in what a session left of its parts.

    Rows that follow those of the run become rows of it. Of others the answers are kept, so
    that they are worked on again without a call.
    """
    if not directory.is_dir():
        return
    merged = store.meta(MERGED)
    for part in sorted(directory.iterdir()):
        _wait_for(part)
        if part.name != merged and (part / NAME).is_file():
            with only_writer(part):
                _take_in(store, part)
        shutil.rmtree(part, ignore_errors=True)
    directory.rmdir()
    store.set_meta(MERGED, None)


def _take_in(store: Store, part: Path) -> None:
    first, known = int(part.name.split("-")[0]), store.count()
    with store.attached(part / NAME):
        if not any(store.query("SELECT 1 FROM part.sqlite_master WHERE name = 'inputs'")):
            return  # its worker died before it had a table
        ((rows,),) = store.query("SELECT count(*) FROM part.inputs")
    if first <= known <= first + rows:
        merge(store, part)
        return
    with store.attached(part / NAME):
        _merge_calls(store, [*store.usage_records("part")], part.name)


def _wait_for(part: Path) -> None:
    """Wait until a worker has ended whose run was killed."""
    ends = time.monotonic() + END_S
    while is_held(part) and time.monotonic() < ends:
        time.sleep(0.01)
