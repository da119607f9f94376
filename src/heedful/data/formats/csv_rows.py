"""Rows of CSV, by their header."""

from __future__ import annotations

import codecs
import csv
import re
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO

from heedful.core.errors import InputError
from heedful.core.text import amount
from heedful.data.formats.raw import CELL_LIMIT, Record, opened, text_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class _Decoded:
    """A CSV file's lines as text, noting the last byte that was not UTF-8.

    ``csv`` pulls as many lines as a quoted cell needs, so the note is how the row's reader hears
    of it.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.flaw: str | None = None

    def __iter__(self) -> Iterator[str]:
        for line, raw in enumerate(text_lines(self._file), start=1):
            content = raw.removeprefix(codecs.BOM_UTF8) if line == 1 else raw
            try:
                yield content.decode()
            except UnicodeDecodeError as error:
                self.flaw = f"invalid UTF-8 at byte {error.start + 1} of line {line}"
                yield content.decode(errors="replace")

    def take_flaw(self) -> str | None:
        """Return the note, once."""
        flaw, self.flaw = self.flaw, None
        return flaw


def csv_rows(path: Path) -> Iterator[Record]:
    """Read CSV, or a table with tabs or semicolons, by its header.

    Cells are text, of up to 2**28 characters.
    """
    csv.field_size_limit(max(csv.field_size_limit(), CELL_LIMIT))
    with opened(path) as file:
        lines = _Decoded(file)
        rest = iter(lines)
        begin = [""]
        while not begin[-1].strip() and (line_text := next(rest, None)) is not None:
            begin.append(line_text)
        separator = _separator(begin[-1])
        rows = csv.reader(chain(begin[1:], rest), delimiter=separator, strict=True)
        header = _header(path, rows, lines)
        while True:
            line = rows.line_num + 1
            try:
                cells = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                lines.take_flaw()
                yield Record(line, {}, _csv_problem(error, line, rows.line_num))
                continue
            flaw = lines.take_flaw()
            if not cells:
                continue
            if flaw is None and any("\0" in cell for cell in cells):
                flaw = "a NUL byte in a cell: the file is damaged or not CSV"
            if flaw is None and len(cells) != len(header):
                flaw = f"{amount(len(cells), 'cell')}, the header has {len(header)}"
            yield Record(line, {} if flaw else dict(zip(header, cells, strict=False)), flaw)


def _separator(header: str) -> str:
    r"""Return what stands between the cells: of comma, tab and semicolon the most frequent."""
    bare = re.sub(r'"(?:[^"]|"")*"', "", header)
    return max(",\t;", key=bare.count)


def _header(path: Path, rows: Iterator[list[str]], lines: _Decoded) -> list[str]:
    try:
        header = [cell.strip() for cell in next(row for row in rows if row)]
    except (csv.Error, StopIteration) as error:
        raise InputError(f"the header row is broken CSV: {error}", where=str(path)) from error
    twice = sorted({name for name in header if header.count(name) > 1})
    flaw = lines.take_flaw()
    if flaw is None and twice:
        flaw = f"the header names {', '.join(map(repr, twice))} more than once"
    if flaw is not None:
        raise InputError(flaw, where=str(path), hint="correct the header row")
    return header


def _csv_problem(error: csv.Error, start: int, end: int) -> str:
    message = str(error)
    if "unexpected end" in message or "field limit" in message:
        return (
            f"a quote opened in the row that starts on line {start} is never closed; "
            f"the file cannot be read from there on (to line {end})"
        )
    if "expected after" in message:
        lines = f"line {start}" if start == end else f"lines {start} to {end}"
        return f"broken CSV on {lines}: text after a closing quote; double the quotes in a cell"
    return f"broken CSV: {message}"
