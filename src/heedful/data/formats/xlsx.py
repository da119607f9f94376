"""Excel workbooks: the rows of the first sheet below its header; needs ``heedful[xlsx]``."""

from __future__ import annotations

from contextlib import closing
from itertools import zip_longest
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

from heedful.core.errors import InputError
from heedful.data.formats.raw import UNPACKED, Record, plain, refuse_bomb, refuse_twice

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

MAGIC = b"PK\x03\x04"
"""First bytes of a workbook, which is a zip file."""


def is_workbook(path: Path) -> bool:
    """Tell whether a zip file holds a workbook, whose parts are read whole."""
    try:
        with ZipFile(path) as archive:
            for part in archive.infolist():
                refuse_bomb(path, part.compress_size, part.file_size)
            return "xl/workbook.xml" in archive.namelist()
    except BadZipFile:
        return False


def rows(path: Path) -> Iterator[Record]:
    """Read the first sheet row by row, its cells by the header.

    Empty cells are empty text, as in CSV; numbers and booleans stay what they are; values that
    JSON does not have, such as dates, become text.
    """
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise InputError(
            f"this is an Excel file, and openpyxl, which reads it, cannot be imported ({error})",
            where=str(path),
            hint="pip install 'heedful[xlsx]', or export it as CSV",
        ) from error
    try:
        # Given as a file, since by its name openpyxl would refuse it for another ending.
        with (
            path.open("rb") as file,
            closing(load_workbook(file, read_only=True, data_only=True)) as book,
        ):
            lines = enumerate(book.worksheets[0].iter_rows(values_only=True), start=1)
            first = next(lines, (0, ()))[1]
            header = ["" if cell is None else str(cell).strip() for cell in first]
            refuse_twice(path, header)
            for number, cells in lines:
                size = sum(len(cell) for cell in cells if isinstance(cell, str))
                if size > UNPACKED:
                    problem = f"{size:,} characters, more than {UNPACKED:,}"
                    yield Record(number, {}, problem)
                elif any(cell is not None for cell in cells):
                    yield Record(number, plain(dict(_named(header, cells))))
    except InputError:
        raise
    except Exception as error:  # openpyxl lets those of zip, XML and its own readers through
        raise InputError(
            f"the Excel file cannot be read: {error}", where=str(path), hint="export it as CSV"
        ) from error


def _named(header: Sequence[str], cells: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the cells by their columns' names; one outside the named columns goes by its number."""
    for number, (name, cell) in enumerate(zip_longest(header, cells), start=1):
        if name or cell is not None:
            yield name or f"column {number}", "" if cell is None else cell
