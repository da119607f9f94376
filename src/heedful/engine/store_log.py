"""Moving what is committed from a store's log into its file, beside the work.

SQLite does this within every so many commits, and waits for the disk meanwhile; calls in flight
would wait too. Here a thread with a connection of its own does it.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

SHORT_S = 1.0
"""After so many seconds a run is worth a thread."""

PAUSE_S = 0.25
"""Seconds between two moves."""

MOST_PAGES = 8192
"""Pages of the log after which the commits wait for a move: 128 MiB."""

MOVE = "PRAGMA wal_checkpoint(PASSIVE)"
"""Move what nobody reads or writes just then, without waiting for them."""


class StoreLog:
    """The log of a store that is written."""

    def __init__(self, path: Path | None) -> None:
        """Begin without a thread."""
        self._path = path
        self._opened = time.monotonic()
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()
        self._behind = False

    def committed(self, db: sqlite3.Connection) -> None:
        """Keep the log short after a commit, by a thread where the run takes more than a moment."""
        if self._behind:
            self._behind = False
            db.execute(MOVE).fetchall()
            return
        if self._thread is not None or self._path is None:
            return
        if time.monotonic() - self._opened > SHORT_S:
            self._stopped.clear()
            self._thread = threading.Thread(target=self._run, args=(self._path,), daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop the thread; what it has not moved stays in the log."""
        thread, self._thread = self._thread, None
        self._opened = time.monotonic()
        if thread is not None:
            self._stopped.set()
            if thread is not threading.current_thread():
                thread.join()

    def _run(self, path: Path) -> None:
        # What goes wrong here goes wrong where it is committed too, and is told there.
        with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as db:
            while not self._stopped.wait(PAUSE_S):
                ((_, pages, _),) = db.execute(MOVE)
                # Moved or not: only what is whole before the next commit lets it begin anew.
                self._behind = pages > MOST_PAGES
