"""Stores that cannot be used as they are: of another version, or damaged in their structure."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from heedful.core.errors import RunError
from heedful.engine.schema import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

DATABASE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""Errors that SQLite raises; on a damaged file the message may not be UTF-8."""

DAMAGE_HINT = (
    "take it from a copy, or name another --run; heedful export --salvage writes what is whole of "
    "a run of evaluate"
)


def refuse_version(version: int, path: Path) -> None:
    """Refuse a store of another version."""
    if version != VERSION:
        raise RunError(
            "this run was written by another version of heedful",
            where=str(path),
            hint="open it with the heedful that wrote it, or name another directory with --run",
        )


def refuse_damaged(query: Callable[[str], Iterable[Sequence[Any]]], path: Path) -> None:
    """Refuse a store whose structure is damaged; takes time linear in its size."""
    ((problem,),) = query("PRAGMA integrity_check(1)")
    if problem != "ok":
        said = str(problem).splitlines()[-1]
        raise RunError(f"the run's store is damaged: {said}", where=str(path), hint=DAMAGE_HINT)


@contextmanager
def refuse_unusable(directory: Path | None) -> Iterator[None]:
    """Say of a store that it can be written or read no more, as on a full disk."""
    try:
        yield
    except DATABASE_ERRORS as error:
        raise RunError(
            f"the run's store cannot be used: {error}",
            where=str(directory or "a temporary run"),
            hint="on a full disk make room, then give the same command; else name another --run",
        ) from error
