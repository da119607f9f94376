"""A run's store opened read-only, so that nothing in its directory is changed."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import weakref
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.core.closing import closed_on_error
from heedful.core.errors import RunError
from heedful.engine.integrity import damaged_entry
from heedful.engine.lock import is_held
from heedful.engine.schema import refuse_damaged, refuse_version
from heedful.engine.store import NAME, Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.engine.schema import Entry

__all__ = ["SUMMARY", "Reader"]

LOG = f"{NAME}-wal"


class Reader(Store):
    """The rows of a run that is there, for reading only."""

    def __init__(
        self, directory: Path, *, salvage: bool = False, marks_damaged: bool = False
    ) -> None:
        self.path = directory / NAME
        self._salvage = salvage
        self._marks_damaged = marks_damaged
        if not self.path.is_file():
            inside = any(directory.glob(f"*/{NAME}"))
            named = "name the directory that --run named, the one with run.sqlite"
            raise RunError(
                "holds no run" if directory.is_dir() else "there is no such run",
                where=str(directory),
                hint=f"its folders are runs: {directory}/*" if inside else named,
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
        ((tables,),) = self.query("SELECT count(*) FROM sqlite_master")
        if not tables:
            raise RunError(
                "holds no run: its store is empty",
                where=str(self.directory),
                hint="re-run the command that created it",
            )
        ((version,),) = self.query("PRAGMA user_version")
        refuse_version(version, self.path)

    def refuse_damaged(self) -> None:
        """Refuse a store whose structure is damaged; takes time linear in its size."""
        refuse_damaged(self.query, self.path)

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
        with closed_on_error(db):
            db.execute("PRAGMA busy_timeout=5000")
            if self._salvage:
                db.execute("PRAGMA writable_schema=ON")  # or SQLite refuses a short file
            db.execute("SELECT count(*) FROM sqlite_master")  # is it a database?
        return db

    def _entry(self, columns: Sequence[Any]) -> Entry:
        try:
            return super()._entry(columns)
        except RunError:
            if not self._marks_damaged:
                raise
            return damaged_entry(columns[0])

    def _keep(self, key: bytes, value: str) -> None:
        """Keep nothing of another run: nothing is written."""

    def close(self) -> None:
        """Close the file."""
        self._db.close()


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


SUMMARY = "summary.json"
"""The file that a job writes when it is finished."""
