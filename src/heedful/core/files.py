"""Opening what a user names: a device never ends, and a pipe may wait for its other end."""

from __future__ import annotations

import errno
import hashlib
import os
import select
import stat
import warnings
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO

from heedful.core.errors import HeedfulWarning

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["contents", "digest", "is_endless", "opened_input"]

PROMPT_TEXT = "heedful.prompt.txt"
"""File beside data or a model that holds the text of the user's own prompt it was made with."""

PATIENCE = 1.0
"""Seconds without a byte from a pipe, after which it is said what is waited for."""


def is_endless(status: os.stat_result) -> bool:
    """Say whether reading might never end: a device such as ``/dev/zero``, or a keyboard."""
    return stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode)


def opened_input(path: Path) -> BinaryIO:
    """Open a file or a named pipe to read its bytes.

    Where nobody writes into the pipe, a warning says so, and the pipe is waited for.
    """
    status = path.stat()
    if is_endless(status):
        raise OSError(errno.EINVAL, "it is a device, not a file")
    if not stat.S_ISFIFO(status.st_mode):
        return path.open("rb")
    pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # else opening waits, in silence
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    if not poll.poll(PATIENCE * 1000):
        _say(f"{path}: waiting for a program to write into this pipe")
        poll.poll()
    os.set_blocking(pipe, True)
    return os.fdopen(pipe, "rb")


def contents(path: Path) -> bytes:
    """Read a whole file, as :func:`opened_input`."""
    with opened_input(path) as file:
        return file.read()


@contextmanager
def announced(path: Path) -> Iterator[None]:
    """Say so where a file is a named pipe that nobody reads: opening it to write would wait."""
    held = None
    with suppress(FileNotFoundError):
        if stat.S_ISFIFO(path.stat().st_mode):
            try:
                held = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
                _say(f"{path}: waiting for a program to read this pipe")
    try:
        yield
    finally:  # not before it is open again: without a writer its reader would see its end
        if held is not None:
            os.close(held)


def digest(path: Path) -> str:
    """Name a file by its content: the same content, the same name."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:32]


def _say(what: str) -> None:
    warnings.warn(what, HeedfulWarning, stacklevel=4)
