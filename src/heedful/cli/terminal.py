"""The terminal that commands print on, of any width and encoding."""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from heedful.core.errors import UsageError
from heedful.core.text import printable

if TYPE_CHECKING:
    import logging
    from collections.abc import Iterator
    from typing import Any, TextIO

    from rich.console import Console, ConsoleOptions
    from rich.segment import Segment


WIDTH = 80
"""Columns of what is piped, and of no known terminal."""

PLAIN = {
    "−": "-",
    "–": "-",
    "→": "->",
    "…": "...",
    "×": "x",
    "Δ": "diff",
    "·": "|",
    "κ": "kappa",
    "█": "#",
}
"""Signs of ours in ASCII, as a minus that became a question mark would be another number."""

DEFAULTS = {"strict", "surrogateescape", "backslashreplace"}
"""Python's handlers of signs that a stream cannot write, without PYTHONIOENCODING."""


def console() -> Console:
    """Make the console that results are shown on.

    It takes texts as they are: a name with brackets in it is not markup.
    """
    from rich.console import Console

    class Piped(Console):
        """A console whose reader may go away: rich would exit with 1, which means something."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

        def print(self, *objects: Any, **options: Any) -> None:
            try:
                super().print(*map(_Shown, objects), **options)
            except BrokenPipeError:
                raise
            except OSError as error:
                raise _unprintable(error) from error

    made = Piped(highlight=False, markup=False, emoji=False)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = max(made.width, WIDTH)
    return made


class _Shown:
    """A renderable without the control characters that a terminal would obey."""

    def __init__(self, renderable: Any) -> None:
        self._renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        from rich.segment import Segment

        for text, style, control in console.render(self._renderable, options):
            yield Segment(text if control else printable(text), style, control)


def say(*lines: str) -> None:
    """Write to standard error, each text in one line, whatever is in it."""
    # On a full disk, or where nobody reads any more, the exit code has to suffice.
    with suppress(OSError):
        sys.stderr.writelines(f"{printable(' '.join(line.splitlines()))}\n" for line in lines)
        sys.stderr.flush()


def open_closed_streams() -> None:
    """Open what a caller has closed of standard input, output and error, to read and keep nothing.

    The next files that are opened would take their numbers, and get what is meant for them.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
        if getattr(sys, name) is None:
            mode = "w" if number else "r"
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - for good


def flush(stream: TextIO) -> None:
    """Write out what is printed while an error can still be told."""
    try:
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _unprintable(error) from error


def _unprintable(error: OSError) -> UsageError:
    # Python would try again at its end, and complain at length.
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return UsageError(
        f"the result cannot be printed: {error.strerror or error}",
        where="standard output",
        hint="files that were to be written are complete; the same command prints again",
    )


def spell_out(*streams: TextIO) -> None:
    """Have streams that cannot write a sign write it in ASCII, instead of failing."""
    codecs.register_error("heedful", _in_ascii)
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper) and stream.errors in DEFAULTS:
            stream.reconfigure(errors="heedful")


def warn_plainly(plain: type[Warning]) -> None:
    """Print warnings of a category as messages of ours, without the line of code they are from."""
    write = warnings.formatwarning

    def formatted(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        line: str | None = None,
    ) -> str:
        if issubclass(category, plain):
            return f"heedful: warning: {message}\n"
        return write(message, category, filename, lineno, line)

    warnings.formatwarning = formatted


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """Replace what cannot be encoded by its plain form, else by a question mark."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    return "".join(PLAIN.get(sign, "?") for sign in signs), error.end


LINE = "%(asctime)s %(levelname)s %(message)s"
REDRAWN = "\r\x1b[2K"
"""Takes the line of the progress away, so that the log does not go on behind it."""

TIME = b"0000-00-00 00:00:00,000 "
"""The start of each line of a log, with zeros for all digits."""

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


class LogOptions(TypedDict, total=False):
    """The log: its level and its file.

    Attributes:
        log_level: DEBUG, INFO, WARNING, ERROR or CRITICAL; INFO where only the file is named.
        log_file: A file that the log is appended to. Default: standard error.
    """

    log_level: str
    log_file: Path


@contextmanager
def logged(*, log_level: str | None = None, log_file: Path | None = None) -> Iterator[None]:
    """Log what happens inside; nothing without a flag that asks for it."""
    level = (log_level or "INFO").upper()
    if level not in LEVELS:
        raise UsageError(f"--log-level is {log_level!r}", hint=f"give one of {', '.join(LEVELS)}")
    if log_level is None and log_file is None:
        yield
        return
    import logging

    from heedful.core.log import logger

    handler: logging.Handler
    if log_file is None:
        handler = logging.StreamHandler()
        redrawn = REDRAWN if sys.stderr.isatty() else ""
        handler.setFormatter(_formatter(redrawn + LINE))
    else:
        from heedful.core.outputs import refuse_run_files

        refuse_run_files(log_file)
        _refuse_data(log_file)
        try:
            handler = _log_file(log_file)
        except OSError as error:
            raise UsageError(
                f"the log cannot be written: {error.strerror}",
                where=str(log_file),
                hint="name another file with --log-file",
            ) from error
        handler.setFormatter(_formatter(LINE))
    before = logger.level
    logger.setLevel(level)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
        with suppress(OSError):  # it has been said that the log cannot be written
            handler.close()


def _formatter(line: str) -> logging.Formatter:
    """Make what writes each message as one line, without signs that a terminal would obey."""
    import logging

    class Formatter(logging.Formatter):
        def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
            record.message = printable(" ".join(record.message.splitlines()))
            return super().formatMessage(record)

    return Formatter(line)


def _log_file(path: Path) -> logging.Handler:
    """Open a log; if it cannot be written any more, that is said once, and the work goes on."""
    import logging

    class Log(logging.FileHandler):
        def handleError(self, _: logging.LogRecord) -> None:  # noqa: N802 - logging's name
            if self.level <= logging.CRITICAL:
                self.setLevel(logging.CRITICAL + 1)
                say(f"heedful: {path}: the log cannot be written any more: {sys.exc_info()[1]}")

    return Log(path, encoding="utf-8")


def _refuse_data(path: Path) -> None:
    """Refuse to append to a file that isn't a log."""
    try:
        if not path.is_file():
            return
        with path.open("rb") as file:
            start = file.read(len(TIME))
    except OSError:
        return  # opening it for the log says why
    if start and re.sub(rb"[0-9]", b"0", start) != TIME:
        raise UsageError(
            "the log would be appended to a file that isn't a log",
            where=str(path),
            hint="name another file with --log-file",
        )
