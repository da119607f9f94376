"""Excel workbooks: the rows of the first sheet below its header; needs ``heedful[xlsx]``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from heedful.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAGIC = b"PK\x03\x04"
"""First bytes of a workbook, which is a zip file."""


def rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read the first sheet row by row: its number, and its cells by the header.

    Empty cells are empty text, as in CSV; numbers and booleans stay what they are; values that
    JSON does not have, such as dates, become text.

    Raises:
        InputError: openpyxl cannot be imported, the file isn't a workbook, or its header names a
            column twice.
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
        book = load_workbook(path, read_only=True, data_only=True)
    except Exception as error:
        raise InputError(
            f"the Excel file cannot be read: {error}", where=str(path), hint="export it as CSV"
        ) from error
    try:
        lines = enumerate(book.worksheets[0].iter_rows(values_only=True), start=1)
        header = [str(cell).strip() if cell is not None else "" for cell in next(lines, (0, ()))[1]]
        twice = sorted({name for name in header if name and header.count(name) > 1})
        if twice:
            names = ", ".join(map(repr, twice))
            raise InputError(f"the header names {names} more than once", where=str(path))
        for number, cells in lines:
            if any(cell is not None for cell in cells):
                named = zip(header, cells, strict=False)
                yield number, {name: _plain(cell) for name, cell in named if name}
    finally:
        book.close()


def _plain(cell: Any) -> Any:
    if cell is None:
        return ""
    try:
        json.dumps(cell)
    except TypeError:
        return str(cell)
    return cell
