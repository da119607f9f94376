"""A run's store opened to be looked at: nothing is written, also while another process writes."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import weakref
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from heedful.core.errors import RunError
from heedful.engine.lock import is_held
from heedful.engine.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

NAME, LOG = "run.sqlite", "run.sqlite-wal"

TABLES = {"meta", "inputs", "outputs", "calls", "usage"}


class Reader(Store):
    """The rows of a run that is there, for reading only."""

    def __init__(self, directory: Path) -> None:
        """Open the store in a directory.

        Raises:
            RunError: the directory holds no run, a damaged one, or one of another heedful.
        """
        self.path = directory / NAME
        if not self.path.is_file():
            raise RunError(
                "holds no run" if directory.is_dir() else "there is no such run",
                where=str(directory),
                hint="name the directory that --run named, the one with run.sqlite",
            )
        try:
            super().__init__(directory)
        except RunError as error:
            raise RunError(
                f"this run cannot be read: {error.__cause__ or error.what}",
                where=str(self.path),
                hint="the file is damaged, or may not be read",
            ) from error
        try:
            self._check()
        except RunError:
            self.close()
            raise

    def _check(self) -> None:
        tables = {name for (name,) in self.query("SELECT name FROM sqlite_master")}
        if not tables:
            raise RunError(
                "holds no run: its store is empty",
                where=str(self.directory),
                hint="give the command that made it again",
            )
        missing = TABLES - tables
        if missing:
            raise RunError(
                f"this run was written by another version of heedful: it has no {min(missing)}",
                where=str(self.directory),
                hint="open it with the heedful that wrote it",
            )

    def _connect(self) -> sqlite3.Connection:
        log = self.path.with_name(LOG)
        path, mode = self.path, "mode=ro"
        held = log.is_file() and is_held(self.path.parent)
        if not held and not (log.is_file() and log.stat().st_size):
            # Nobody is writing. To open it as usual would make an empty log, which stays.
            mode = "immutable=1"
        elif not held:
            # Its writer was killed. SQLite would write beside the file to read the log.
            self._copy = _copied(self.path, _stamp(self.path), _stamp(log))
            path = self._copy.path
        db = sqlite3.connect(
            f"{path.absolute().as_uri()}?{mode}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
        )
        db.execute("PRAGMA busy_timeout=5000")
        db.execute("SELECT count(*) FROM sqlite_master")  # is it a database?
        return db

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def meta(self, key: str) -> Any:
        """Return what was stored under a key, or ``None``.

        Raises:
            RunError: the file is damaged.
        """
        try:
            return super().meta(key)
        except (ValueError, TypeError, RecursionError) as error:
            raise self._unreadable(error) from error

    def query(self, sql: str, *values: object) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query.

        Raises:
            RunError: the file is damaged, or was changed under a reader's hands.
        """
        try:
            yield from super().query(sql, *values)
        except sqlite3.Error as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> RunError:
        return RunError(
            f"the run's store cannot be read: {error}",
            where=str(self.path),
            hint="look again; if it stays so, the file is damaged",
        )


class _Copy:
    """A copy of a store with its log, in a temporary folder that goes with the last reference."""

    def __init__(self, path: Path) -> None:
        folder = Path(tempfile.mkdtemp(prefix="heedful-run-"))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        for name in (LOG, NAME):
            shutil.copyfile(path.with_name(name), folder / name)
        self.path = folder / NAME


@lru_cache(maxsize=2)
def _copied(path: Path, *_: tuple[int, int]) -> _Copy:
    """Copy a store once for all who open it in the same state."""
    return _Copy(path)


def _stamp(path: Path) -> tuple[int, int]:
    """Say which state of a file is meant."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns
