"""The flags about the log, once for all commands."""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from heedful.cli.terminal import say
from heedful.core.errors import UsageError
from heedful.core.text import printable

if TYPE_CHECKING:
    import logging
    from collections.abc import Iterator

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
