"""The bytes of a file, unpacked where it is compressed, and the records that readers make of it."""

from __future__ import annotations

import codecs
import io
import json
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

from heedful.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

GZIP = b"\x1f\x8b"

CELL_LIMIT = 1 << 28
"""Characters in one CSV cell; what is longer is an unclosed quote, not a cell."""


UNPACKED = 1 << 24
"""Bytes that a part of a compressed file may unpack to whatever its size, and those of one row."""

RATIO = 200
"""How many times its size a larger part may unpack to; text comes to 10 or 20."""


class Record(NamedTuple):
    """One record of a file, or the problem why it cannot be read."""

    line: int
    """Where the record starts, from 1; in Parquet and workbooks the row."""
    data: dict[str, Any]
    problem: str | None = None


def refuse_bomb(path: Path, packed: int, unpacked: int) -> None:
    """Raise if a part of a file would fill the memory with what is next to nothing on the disk."""
    if unpacked > max(UNPACKED, RATIO * packed):
        raise InputError(
            f"{packed:,} bytes of the file unpack to {unpacked:,}",
            where=str(path),
            hint="if that is right, export it as JSON Lines",
        )


def is_compressed(path: Path) -> bool:
    """Tell by its first bytes whether a file is compressed with gzip."""
    with path.open("rb") as file:
        return file.read(2) == GZIP


def opened(path: Path) -> BinaryIO:
    """Open a file to read its bytes, as they were before it was compressed."""
    if not is_compressed(path):
        return path.open("rb")
    import gzip

    return cast("BinaryIO", gzip.open(path, "rb"))


def unmarked_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file without its byte order mark.

    Of a compressed file no line is so long that it fills the memory.
    """
    lines = iter(file) if isinstance(file, io.BufferedReader) else _bounded_lines(file)
    yield next(lines, b"").removeprefix(codecs.BOM_UTF8)
    yield from lines


def _bounded_lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(CELL_LIMIT):
        if len(line) == CELL_LIMIT:
            raise OSError(f"a line is longer than {CELL_LIMIT:,} bytes")
        yield line


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """Make text of values that JSON doesn't have, such as dates."""
    try:
        json.dumps(row)
    except TypeError:
        row = json.loads(json.dumps(row, default=str))
    return row


def refuse_twice(path: Path, header: Sequence[str]) -> None:
    """Raise if two columns of a table have the same name."""
    twice = sorted({name for name in header if name and header.count(name) > 1})
    if twice:
        names = ", ".join(map(repr, twice))
        what = f"the header names {names} more than once"
        raise InputError(what, where=str(path), hint="correct the header row")


def lost(line: int) -> str:
    """Say, after a problem, that no row after a line can be read."""
    return f"; the rest of the file after line {line} cannot be read"
