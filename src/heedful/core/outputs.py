"""Writing what a user names: complete or not at all, and never over what it is made from."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TextIO

PART_NAME = 200
"""Characters of a file's name in that of its unfinished part: names may have 255 bytes."""

STORE = ("run.sqlite", "run.sqlite-wal", "run.sqlite-shm", "run.lock")
"""Never an output."""

RUN_FILES = (*STORE, "results.jsonl", "summary.json", "samples.jsonl", "triplets.jsonl")
"""No output where they lie beside a store."""

_STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}
_OPEN_FILE = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")
"""Names of files that this process has open."""


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
    match = _OPEN_FILE.fullmatch(str(path))
    return int(match[1]) if match else _STREAMS.get(str(path))


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
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def refuse_run_files(output: Path) -> None:
    """Refuse an output that would take the place of a file of any run."""
    target = Path(os.path.realpath(output))
    beside_store = target.name in RUN_FILES and (target.parent / "run.sqlite").exists()
    if beside_store or target.name in STORE:
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
