"""One writer of a run: two processes would request, and pay for, the same answers twice.

The lock is the operating system's, on a file in the run's directory, so it goes with the process
that holds it, however that ends. Those who only read need none.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from heedful.core.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCK = "run.lock"

_BYTE = 1 << 30
"""The byte that is locked: behind the text, as Windows doesn't let others read locked bytes."""

_SIZE = 4096

LOOK_SECONDS = 0.05
"""Longer than it takes to look whether a run is held."""

_held: set[tuple[int, int]] = set()
"""The files that this process has locked: to itself the operating system would grant them again."""

_guard = threading.Lock()


@contextmanager
def only_writer(directory: str | os.PathLike[str] | None) -> Iterator[None]:
    """Hold a run, so that no other session writes it; ``None`` is a temporary one."""
    if directory is None:
        yield
        return
    path = Path(directory) / LOCK
    try:
        Path(directory).mkdir(parents=True, exist_ok=True)
        file, key = _acquire(path)
    except OSError as error:
        is_file = Path(directory).is_file()
        raise RunError(
            "a file, not the directory of a run"
            if is_file
            else f"the run cannot be locked: {error.strerror or error}",
            where=str(directory),
            hint="name another directory, as with --run",
        ) from error
    try:
        yield
    finally:
        _release(path, file, key)


def _acquire(path: Path) -> tuple[int, tuple[int, int]]:
    """Lock the file, making it if needed; return its descriptor, and what identifies it."""
    while True:
        with _guard:
            # Looked at without opening: closing it would end a lock of this process.
            with suppress(OSError):
                if _key(path.stat()) in _held:
                    raise _taken(path, f"process {os.getpid()}, this one")
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            if not _lock(file):
                time.sleep(LOOK_SECONDS)  # somebody may only look whether it is held
                if not _lock(file):
                    said = os.read(file, _SIZE).decode(errors="replace")
                    os.close(file)
                    raise _taken(path, said or "another process")
            key = _key(os.fstat(file))
            with suppress(OSError):
                if _key(path.stat()) == key:
                    _held.add(key)
                    break
            os.close(file)  # its holder removed it between the opening and the locking
    since = time.strftime("%Y-%m-%d %H:%M:%S %Z")
    said = f"process {os.getpid()} on {socket.gethostname()}, since {since}"
    with suppress(OSError):  # on a full disk the holder isn't named, but the lock is held
        os.ftruncate(file, 0)
        os.write(file, said.encode())
    return file, key


def _release(path: Path, file: int, key: tuple[int, int]) -> None:
    """Remove the file and let go of the lock, in this order, so that no other's is removed."""
    with _guard:
        with suppress(OSError):  # Windows removes no file that is open
            path.unlink()
        os.close(file)
        _held.discard(key)


def is_ours(directory: Path) -> bool:
    """Whether this process holds a run; not if somebody has removed its lock."""
    with suppress(OSError):
        return _key((directory / LOCK).stat()) in _held
    return False


def is_held(directory: Path) -> bool:
    """Whether a session, of this process or another, is writing a run."""
    path = directory / LOCK
    with _guard:
        try:
            if _key(path.stat()) in _held:
                return True
            file = os.open(path, os.O_RDONLY)
        except OSError:
            return False
        try:
            return not _lock(file, shared=True)
        finally:
            os.close(file)  # lets go of the lock too


def _key(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


if sys.platform == "win32":
    import msvcrt

    def _lock(file: int, *, shared: bool = False) -> bool:
        del shared  # Windows has only one kind, and the file need not be open for writing
        os.lseek(file, _BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(file, 0, os.SEEK_SET)
        return True
else:
    try:
        import fcntl
    except ImportError:  # as in a browser's Python, where there are no other processes
        fcntl = None  # type: ignore[assignment]

    def _lock(file: int, *, shared: bool = False) -> bool:
        """Lock the file as SQLite does, which no child process inherits and NFS knows."""
        if fcntl is None:
            return True
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.lockf(file, kind | fcntl.LOCK_NB, 1, _BYTE)
        except (BlockingIOError, PermissionError):
            return False
        return True


def _taken(path: Path, holder: str) -> RunError:
    return RunError(
        f"this run is being written by {holder}",
        where=str(path.parent),
        hint="wait until it has ended, or name another directory with --run",
    )
