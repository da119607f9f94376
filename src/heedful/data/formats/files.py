"""Lazy readers of JSON Lines, JSON arrays, CSV and Parquet: no record is skipped in silence.

The kind of a file is known by its content, not by its name: ``[`` opens a JSON array, ``{`` JSON
Lines, anything else is CSV with a header row. All are UTF-8, with or without a byte order
mark, and may be compressed with gzip.
Memory does not grow with the number of rows. A row that cannot be read comes out as a
:class:`~heedful.data.formats.raw.Record` with a problem, and the next row is read; only an
unreadable file raises.
"""

from __future__ import annotations

import codecs
import csv
import json
import re
import zlib
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from pydantic_core import from_json

from heedful.core.errors import InputError
from heedful.core.text import amount
from heedful.data.formats import packed
from heedful.data.formats.raw import (
    CELL_LIMIT,
    Record,
    is_compressed,
    lost,
    opened,
    refuse_twice,
    unmarked_lines,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

CHUNK = 1 << 16
"""Bytes that are read at a time."""

FileKind = Literal["array", "object", "lines", "csv", packed.Kind]

_COMPRESSED = {
    "bzip2": b"BZh",
    "xz": b"\xfd7zXZ",
    "zstd": b"(\xb5/\xfd",
    "zip": b"PK\x03\x04",
}
"""How files begin that are to be unpacked first."""

_LFS = b"version https://git-lfs"
"""How the small file begins that stands for one which Git LFS has not fetched."""

ROWS = ("samples", "results", "rows", "data", "examples", "instances", "items", "records")
"""Names under which an object that is a whole file holds its rows."""

_ROWS_NAMES = [f'"{name}"'.encode() for name in (*ROWS, "columns")]
_NEAR = 400

_OF_A_ROW = frozenset(
    {"prompt", "messages", "conversation", "instruction", "checklist", "constraints", "response"}
)
"""Fields by which an object is a row, whatever lists it holds."""

_SMUGGLED = re.compile("[\udc80-\udcff]")
"""A byte that isn't UTF-8, in text that was decoded with surrogates."""

_TEXT_CONTROLS = frozenset(b"\t\n\r\f\x1a")


def kind(path: Path) -> FileKind:
    """Tell by its content what kind of file this is."""
    head = _head(path)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError("the file is UTF-16", where=str(path), hint="save it as UTF-8")
    text = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if text.startswith(_LFS):
        what = "this is a pointer of Git LFS, not the file it stands for"
        raise InputError(what, where=str(path), hint="git lfs pull fetches the file")
    of_package = packed.kind(path, head, text)
    if of_package is not None:
        return of_package
    for name, signature in _COMPRESSED.items():
        if head.startswith(signature):
            hint = "unpack it; heedful reads gzip as it is"
            raise InputError(f"this is compressed with {name}", where=str(path), hint=hint)
    if text.startswith(b"["):
        return "array"
    if text.startswith(b"{"):
        return "object" if _is_object(text) else "lines"
    header = text.partition(b"\n")[0][:1024]
    if any(byte < ord(" ") and byte not in _TEXT_CONTROLS for byte in header):
        hint = "heedful reads JSON Lines, JSON arrays, CSV (in UTF-8), Parquet and Excel"
        raise InputError("this is not a text file", where=str(path), hint=hint)
    return "csv"


UNWANTED = Record(0, {})
"""Stands for records that nobody wants, which aren't read."""


def records(path: Path, wanted: Callable[[int], bool] | None = None) -> Iterator[Record]:
    """Read a file's records, lazily and in order; of lines, those at the places wanted."""
    readers: dict[FileKind, Callable[[Path], Iterator[Record]]] = {
        "array": _array,
        "object": _rows_of_object,
        "lines": partial(_lines, wanted=wanted),
        "csv": csv_rows,
        "parquet": packed.parquet_rows,
        "arrow": packed.arrow_rows,
        "eval": packed.log_rows,
        "xlsx": packed.workbook_rows,
    }
    rows = readers[kind(path)](path)
    return _until_damaged(rows) if is_compressed(path) else rows


def _until_damaged(rows: Iterator[Record]) -> Iterator[Record]:
    """Give the rows of a compressed file up to where it is damaged, which the last one says."""
    line = 0
    try:
        for row in rows:
            line = row.line
            yield row
    except (EOFError, OSError, zlib.error) as error:
        what = f"the compressed file is damaged or cut off: {error}{lost(line)}"
        yield Record(line + 1, {}, what)


def shown(value: Any) -> str:
    """Name a JSON value's kind for a message, with the value where it is short.

    >>> shown(42), shown([1]), shown(None), shown("a")
    ('a number (42)', 'a list', 'null', 'text ("a")')
    """
    if value is None:
        return "null"
    if isinstance(value, list | tuple):
        return "a list" if value else "an empty list"
    if isinstance(value, dict):
        return "an object"
    if not isinstance(value, str | int | float):  # a trainer's row may hold what JSON doesn't
        return f"a value of type {type(value).__name__}"
    written = json.dumps(value, ensure_ascii=False).encode(errors="backslashreplace").decode()
    if len(written) > 40:  # noqa: PLR2004 - a message stays one line
        written = written[:40] + "…"
    if isinstance(value, bool):
        return written
    return f"{'text' if isinstance(value, str) else 'a number'} ({written})"


def _head(path: Path) -> bytes:
    """Return the first chunk that is more than white space."""
    where = str(path)
    if not path.exists():
        raise InputError("no such file", where=where, hint="check the path")
    if (path / "run.sqlite").is_file():
        raise InputError("this is a run", where=where, hint="heedful rejudge judges it again")
    if path.is_dir():
        raise InputError("this is a folder", where=where, hint="name a file in it")
    if not path.is_file():
        raise InputError(
            "this isn't a regular file", where=where, hint="it is read twice; save a pipe to a file"
        )
    try:
        with opened(path) as file:
            head = file.read(CHUNK)
            while head and not head.removeprefix(codecs.BOM_UTF8).strip():
                head = file.read(CHUNK)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"the file cannot be read: {reason}", where=where) from error
    if not head:
        raise InputError("the file is empty", where=where, hint="it needs at least one row")
    return head


def _is_object(head: bytes) -> bool:
    """Tell whether a file is one object, over several lines or with rows in it on one line."""
    begin = head[:_NEAR]
    return _is_spread(head) or (b"\n{" not in head and any(name in begin for name in _ROWS_NAMES))


def _is_spread(head: bytes) -> bool:
    """Tell whether an object goes over several lines."""
    lines = [line for line in head.splitlines() if line.strip()]
    several = len(lines) > 1 and not lines[1].lstrip().startswith(b"{")
    return several and _from_json(1, lines[0]).problem is not None


def _rows_of_object(path: Path) -> Iterator[Record]:
    """Read the rows that lie in one JSON object, such as a tool's log, numbered from 1."""
    with opened(path) as file:
        text = file.read(CELL_LIMIT + 1)
        if len(text) > CELL_LIMIT or file.read(1):
            what = f"one JSON object of more than {CELL_LIMIT:,} bytes"
            raise InputError(what, where=str(path), hint="write its rows one a line")
    record = _from_json(1, text.removeprefix(codecs.BOM_UTF8))
    rows = (
        None
        if record.problem or not _OF_A_ROW.isdisjoint(record.data)
        else _rows_within(record.data)
    )
    if rows is not None:
        yield from (_checked(number, "", row) for number, row in enumerate(rows, start=1))
    elif record.problem and not _is_spread(text):
        yield from _lines(path)
    else:
        yield record


def _rows_within(value: dict[str, Any], depth: int = 2) -> list[Any] | None:
    """Return the rows in an object: under a usual name, or by columns and data as tables have."""
    columns, data = value.get("columns"), value.get("data")
    if isinstance(columns, list) and isinstance(data, list) and {*map(type, columns)} == {str}:
        return [dict(zip(columns, row, strict=False)) for row in data if isinstance(row, list)]
    for name in ROWS:
        inner = value.get(name)
        if isinstance(inner, list) and inner and isinstance(inner[0], dict):
            return inner
        if isinstance(inner, dict) and depth > 1:
            within = _rows_within(inner, depth - 1)
            if within is not None:
                return within
    return None


def _lines(path: Path, wanted: Callable[[int], bool] | None = None) -> Iterator[Record]:
    """Read JSON Lines; a line that is blank is not a record."""
    place = 0
    with opened(path) as file:
        for line, raw in enumerate(unmarked_lines(file), start=1):
            if raw and not raw.isspace():
                yield _from_json(line, raw) if wanted is None or wanted(place) else UNWANTED
                place += 1


def _from_json(line: int, raw: bytes) -> Record:
    try:
        # Half the time of the standard decoder, which knows better what is wrong.
        value = from_json(raw)
    except ValueError:
        pass
    else:
        if isinstance(value, dict):
            return Record(line, value)
    try:
        text = raw.decode().rstrip("\r\n")  # or an error at the end has no column
        value = json.loads(text)
    except UnicodeDecodeError as error:
        return Record(line, {}, f"invalid UTF-8 at byte {error.start + 1}")
    except json.JSONDecodeError as error:
        return Record(line, {}, f"broken JSON at column {error.colno}: {_reason(error)}")
    except (ValueError, RecursionError) as error:
        return Record(line, {}, f"broken JSON: {_reason(error)}")
    return _checked(line, text, value)


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return error.msg[0].lower() + error.msg[1:]
    return "nested too deeply" if isinstance(error, RecursionError) else "a number is too long"


def _checked(line: int, text: str, value: Any) -> Record:
    """Make a record of a JSON value; a problem if it isn't an object or valid UTF-8."""
    if not isinstance(value, dict):
        return Record(line, {}, f"the row is {shown(value)}, not an object with named fields")
    if not text.isascii() and _SMUGGLED.search(text):
        return Record(line, {}, "invalid UTF-8 in this array element")
    if "\\ud" in text or "\\uD" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = f"\\u{ord(error.object[error.start]):04x}"
            return Record(line, {}, f"{half} is half a surrogate pair, which isn't a character")
    return Record(line, value)


_TOKEN = 16
"""Longer than any JSON literal: an error this close to the end may only mean "read on"."""

_NO_SPACE = re.compile(r"[^ \t\r\n]")
_DECODER = json.JSONDecoder()


class Window:
    """A window that slides over a file's text: bounded by the longest element, not by the file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        # A byte that is not UTF-8 must cost its own element only: it is smuggled through as a
        # surrogate and found again when the element is complete.
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="surrogateescape")
        self._ended = False
        self._text = ""
        self._at = 0
        self.line = 1

    def peek(self) -> str:
        """Skip white space; return the next character, ``""`` at the end of the file."""
        while (rest := _NO_SPACE.search(self._text, self._at)) is None:
            self._advance(len(self._text))
            if not self._more():
                return ""
        self._advance(rest.start())
        return rest[0]

    def take(self) -> None:
        """Pass a character, and the white space behind it."""
        self._advance(self._at + 1)
        self.peek()

    def element(self) -> Record:
        """Read the value that starts here."""
        line = self.line
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated")
                cut = cut or error.pos > len(self._text) - _TOKEN
                if not (cut and self._more()):
                    raise
                continue
            if end == len(self._text) and self._more():  # a number may go on behind the window
                continue
            return _checked(line, self._advance(end), value)

    def flaw(self, what: str) -> json.JSONDecodeError:
        """Make the error of an array that cannot be read on from here."""
        return json.JSONDecodeError(what, self._text, self._at)

    def problem(self, error: Exception) -> Record:
        """Report what is wrong with the element that starts here, or with the array."""
        line = self.line
        if isinstance(error, json.JSONDecodeError):
            line += self._text.count("\n", self._at, error.pos)
        what = f"broken JSON on line {line}: {_reason(error)}{lost(self.line)}"
        return Record(self.line, {}, what)

    def _advance(self, to: int) -> str:
        """Go on to a place in the text; return what was passed."""
        passed = self._text[self._at : to]
        self.line += passed.count("\n")
        self._at += len(passed)
        return passed

    def _more(self) -> bool:
        """Read on, forgetting what lies behind; false at the end of the file."""
        if self._ended:
            return False
        if len(self._text) - self._at > CELL_LIMIT:
            raise self.flaw(f"a row is longer than {CELL_LIMIT:,} characters")
        self._text = self._text[self._at :]
        self._at = 0
        # As much again as is held: an element of n characters is tried log(n) times, not n.
        raw = self._file.read(max(CHUNK, len(self._text)))
        self._ended = not raw
        self._text += self._decoder.decode(raw, final=self._ended)
        return True


def _array(path: Path) -> Iterator[Record]:
    """Read a JSON array element by element."""
    with opened(path) as file:
        window = Window(file)
        try:
            yield from _elements(window)
        except (ValueError, RecursionError) as error:
            yield window.problem(error)


def _elements(window: Window) -> Iterator[Record]:
    window.peek()
    window.take()
    if window.peek() != "]":
        yield window.element()
        while window.peek() == ",":
            window.take()
            yield window.element()
    if window.peek() != "]":
        between = "no comma after a row" if window.peek() else "the array is not closed"
        raise window.flaw(between)
    window.take()
    if window.peek():
        raise window.flaw("text after the array's closing bracket")


def csv_rows(path: Path) -> Iterator[Record]:
    """Read CSV, or a table with tabs or semicolons, by its header.

    Cells are text, of up to 2**28 characters.
    """
    csv.field_size_limit(max(csv.field_size_limit(), CELL_LIMIT))
    with opened(path) as file:
        # A byte that is not UTF-8 costs its own row only: it comes through as a surrogate.
        rest = (raw.decode(errors="surrogateescape") for raw in unmarked_lines(file))
        begin = [""]
        while not begin[-1].strip() and (line_text := next(rest, None)) is not None:
            begin.append(line_text)
        separator = _separator(begin[-1])
        rows = csv.reader(chain(begin[1:], rest), delimiter=separator, strict=True)
        header = _header(path, rows)
        while True:
            line = rows.line_num + 1
            try:
                cells = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                yield Record(line, {}, _csv_problem(error, line, rows.line_num))
                continue
            if cells:
                flaw = _flaw(cells)
                if flaw is None and len(cells) != len(header):
                    flaw = f"{amount(len(cells), 'cell')}, the header has {len(header)}"
                yield Record(line, {} if flaw else dict(zip(header, cells, strict=False)), flaw)


def _flaw(cells: Sequence[str]) -> str | None:
    """Say which cell holds what is not text."""
    for number, cell in enumerate(cells, start=1):
        if "\0" in cell:
            return f"a NUL byte in cell {number}: the file is damaged or not CSV"
        if not cell.isascii() and _SMUGGLED.search(cell):
            return f"invalid UTF-8 in cell {number}"
    return None


def _separator(header: str) -> str:
    r"""Return what stands between the cells: of comma, tab and semicolon the most frequent."""
    bare = re.sub(r'"(?:[^"]|"")*"', "", header)
    return max(",\t;", key=bare.count)


def _header(path: Path, rows: Iterator[list[str]]) -> list[str]:
    try:
        header = [cell.strip() for cell in next(row for row in rows if row)]
    except (csv.Error, StopIteration) as error:
        raise InputError(f"the header row is broken CSV: {error}", where=str(path)) from error
    flaw = _flaw(header)
    if flaw is not None:
        raise InputError(flaw, where=str(path), hint="correct the header row")
    refuse_twice(path, header)
    return header


def _csv_problem(error: csv.Error, start: int, end: int) -> str:
    message = str(error)
    if "unexpected end" in message or "field limit" in message:
        return f"a quote opened in the row that starts on line {start} is never closed{lost(start)}"
    lines = f"line {start}" if start == end else f"lines {start} to {end}"
    if "expected after" in message:
        message = "text after a closing quote; double the quotes in a cell"
    return f"broken CSV on {lines}: {message}"
