"""Formats, their rows, and the helpers that all formats share."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from heedful.core.errors import UsageError
from heedful.core.files import announced

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

    from heedful.core.nouns import Critique, Sample


__all__ = [
    "Format",
    "atomically",
    "make_folder",
    "refuse_inputs",
    "refuse_run_files",
    "replacing",
    "write_json",
]

PART_NAME = 200
"""Characters of a file's name in that of its unfinished part: names may have 255 bytes."""

RUN_FILES = ("run.sqlite", "run.sqlite-wal", "run.sqlite-shm", "summary.json")
"""Input of a run."""

RUN_STORE = ("run.sqlite", "run.sqlite-wal", "run.sqlite-shm", "run.lock")
"""Never an output."""

RUN_RESULTS = ("results.jsonl", "summary.json", "samples.jsonl", "triplets.jsonl")
"""No output where they lie beside a store."""

_OPEN_FILES = re.compile(r"/proc/(self|\d+)/fd|/dev/fd")
_LINKS = 8
"""Links followed on the way to an open file; there are two in practice."""

_DEVICES = (("dev",), ("proc",))
"""Folders whose symbolic links are names of open files, not of places."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of an input file: a sample, or the reason why it cannot be read.

    The line is the one where the row starts, from 1; the file is named where several are read.
    """

    line: int
    sample: Sample | None = None
    id: str | None = None
    problem: str | None = None
    file: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """A judge's reply in the form in which a format writes it back.

    The answers go by the format's own keys, and the text reads as the verdicts.
    """

    answers: Mapping[str, str]
    text: str | None = None
    prompt: str | None = None


class Result(Protocol):
    """Result of one row: a judged sample, or the problem that prevented judging."""

    @property
    def id(self) -> str:
        """The row's id."""

    @property
    def sample(self) -> Sample | None:
        """The sample; ``None`` where the row could not be read."""

    @property
    def critique(self) -> Critique | None:
        """Its judgments."""

    @property
    def problem(self) -> str | None:
        """Reason why the row could not be read or judged."""

    @property
    def reply(self) -> Reply | None:
        """The judge's reply, for a format that writes replies back."""


Writer = Callable[[Path, Callable[[], Iterable[Result]]], None]
"""Writes results to a file; the second argument gives them again for each pass."""


def _no_writer(_: Path) -> Writer | None:
    return None


def _one(record: dict[str, Any]) -> list[dict[str, Any]]:
    return [record]


@dataclass(frozen=True, slots=True)
class Format:
    """Format of one benchmark's rows.

    Attributes:
        name: as the command line names it.
        needs: what a record must have; of each group of keys, one.
        sample: a record and its 1-based number in the file to a sample; pure; raises
            :class:`~heedful.core.errors.RowError` on a record that cannot be read.
        matches: whether a record is in this format, by its keys (and no more of its values than
            it takes to tell two formats with the same keys apart); by default a record that has
            what is needed.
        writer: for a path, the writer of results in this format; ``None`` where there is none.
        reply: the prompt in whose form results hold a judge's reply; ``None`` where they hold none.
        turns: takes a record apart that holds several turns of one conversation, each to be a
            sample that follows on the one before; raises as ``sample`` does.
        follows: whether a turn's conversation goes on from the sample before and its response;
            otherwise ``sample`` gives each turn its whole conversation.
        keys: fields by which a benchmark's own files of responses, or of verdicts, name a record.
            Their fields are then read as if they were the record's own.
    """

    name: str
    needs: tuple[tuple[str, ...], ...]
    sample: Callable[[dict[str, Any], int], Sample]
    matches: Callable[[Mapping[str, Any]], bool] | None = None
    writer: Callable[[Path], Writer | None] = _no_writer
    reply: str | None = None
    turns: Callable[[dict[str, Any]], list[dict[str, Any]]] = _one
    follows: bool = True
    keys: tuple[str, ...] = ()

    @property
    def one_by_one(self) -> bool:
        """Whether each record is one row."""
        return self.turns is _one

    def fits(self, record: Mapping[str, Any]) -> bool:
        """Tell whether a record is in this format."""
        return self.matches(record) if self.matches else not self.missing(record)

    def missing(self, record: Mapping[str, Any]) -> list[str]:
        """Name the groups of keys of which the record has none, such as ``prompt or messages``."""
        return [" or ".join(group) for group in self.needs if not any(k in record for k in group)]


@contextmanager
def atomically(path: Path) -> Iterator[TextIO]:
    """Write a text file so that it appears only when it is complete; see :func:`replacing`."""
    opened = _descriptor(path)
    if opened is not None:
        # Opening its name again would empty the file and begin at its start.
        with open(os.dup(opened), "w", encoding="utf-8", newline="\n") as file:  # noqa: PTH123
            yield file
        return
    with replacing(path) as part, part.open("w", encoding="utf-8", newline="\n") as file:
        yield file


def _descriptor(path: Path) -> int | None:
    """Return the open file that a name such as ``/dev/stdout`` or ``/dev/fd/3`` stands for."""
    for _ in range(_LINKS):
        if path.name.isdecimal() and _OPEN_FILES.fullmatch(os.path.realpath(path.parent)):
            return int(path.name)
        if not path.is_symlink():
            return None
        path = path.parent / path.readlink()
    return None


def write_json(path: Path, value: Any) -> None:
    """Write a value as indented JSON; the file appears only when it is complete."""
    with atomically(path) as file:
        file.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Put what is written beside a file in its place, once it is complete.

    A symbolic link is followed: its target is replaced and the link stays. A pipe, a device or
    anything else that isn't a regular file is never replaced, but written straight into.
    """
    part: Path | None = None
    try:
        target = _replaceable(path)
        if target is None:
            with announced(path):
                yield path
            return
        # A name of its own: a fixed one could be that of somebody's file, or of another process.
        part = target.with_name(f"{target.name[:PART_NAME]}.{os.urandom(4).hex()}.part")
        yield part
        with suppress(OSError):  # nothing to copy where the file is new
            shutil.copymode(target, part)
        part.replace(target)
    except OSError as error:
        what = f"cannot be written: {error.strerror or error}"
        raise UsageError(what, where=str(path), hint="name another place") from error
    finally:
        if part is not None:
            with suppress(OSError):  # it is there only if something went wrong
                part.unlink()


def _replaceable(path: Path) -> Path | None:
    """Return the regular file that an output replaces; ``None`` where it is to be written into."""
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(path.stat().st_mode):
            return None
    if not path.is_symlink():
        return path
    return None if path.parent.resolve().parts[1:2] in _DEVICES else Path(os.path.realpath(path))


def refuse_run_files(output: Path) -> None:
    """Refuse an output that would take the place of a file of a run, whichever run it is."""
    target = Path(os.path.realpath(output))
    result = target.name in RUN_RESULTS and (target.parent / "run.sqlite").exists()
    if result or target.name in RUN_STORE:
        raise UsageError(
            "the output is a file of a run", where=str(output), hint="name another file"
        )


def refuse_inputs(output: Path, inputs: Iterable[str | os.PathLike[str]]) -> None:
    """Refuse an output that would take the place of what it is made from."""
    try:
        status = output.stat()
    except OSError:
        return  # not there yet, or a better message comes when it is opened
    if not stat.S_ISREG(status.st_mode):
        return
    for path in map(Path, inputs):
        files = [path / name for name in RUN_FILES] if path.is_dir() else [path]
        for file in files:
            if file.exists() and os.path.samestat(file.stat(), status):
                said = f"the output is the input{'' if file == output else f' {file}'}"
                raise UsageError(said, where=str(output), hint="name another file")


def make_folder(path: Path) -> None:
    """Make a folder for what is to be written."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"no folder can be made here: {error.strerror}"
        raise UsageError(what, where=str(path), hint="name another place") from error
