"""Opening what a user names to read it: a device never ends."""

from __future__ import annotations

import errno
import hashlib
import stat
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    import os
    from pathlib import Path

PROMPT_TEXT = "heedful.prompt.txt"
"""File beside data or a model that holds the text of the user's own prompt it was made with."""


def is_endless(status: os.stat_result) -> bool:
    """Say whether reading might never end: a device such as ``/dev/zero``, or a keyboard."""
    return stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode)


def opened_input(path: Path) -> BinaryIO:
    """Open a file or a named pipe to read its bytes."""
    if is_endless(path.stat()):
        raise OSError(errno.EINVAL, "it is a device, not a file")
    return path.open("rb")


def contents(path: Path) -> bytes:
    """Read a whole file, as :func:`opened_input`."""
    with opened_input(path) as file:
        return file.read()


def digest(path: Path) -> str:
    """Name a file by its content: the same content, the same name."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:32]
