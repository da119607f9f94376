"""Input files as they are named on the command line: paths, patterns, and standard input."""

from __future__ import annotations

import atexit
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.core.errors import InputError, UsageError
from heedful.core.files import opened_input

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import BinaryIO

    from heedful.reporting.document import Document


STANDARD_INPUT = Path("-")
PATTERN = frozenset("*?[")

_DEVICE = "name a file, or pipe rows into the command"


def readable(paths: Iterable[Path]) -> list[Path]:
    """Return the files that are read: patterns expanded, standard input and pipes kept in files.

    What is piped is read twice, as all input is, so it waits in a file that goes with the process.
    """
    return [file for path in paths for file in _files(path)]


def _files(path: Path) -> list[Path]:
    from heedful.engine.inputs import files

    if path == STANDARD_INPUT:
        if sys.stdin.isatty():
            hint = "pipe rows into the command, or name a file"
            raise InputError("standard input is the keyboard", where="-", hint=hint)
        kept = _kept(sys.stdin.buffer, "stdin")
        if not kept.stat().st_size:
            hint = "check the command before the pipe, or name a file"
            raise InputError("standard input is empty", where="-", hint=hint)
        return [kept]
    if path.is_dir() or (str(path).startswith("hf:") and not path.exists()):
        return files(path)
    if path.exists() and not path.is_file():
        return [_from_pipe(path)]
    if path.exists() or PATTERN.isdisjoint(str(path)):
        return [path]
    from glob import glob

    matched = sorted(map(Path, glob(str(path), recursive=True)))  # noqa: PTH207 - may be absolute
    if not matched:
        raise InputError("no file matches", where=str(path), hint="check the pattern")
    return matched


def _from_pipe(path: Path) -> Path:
    try:
        with opened_input(path) as pipe:
            return _kept(pipe, "stdin")
    except OSError as error:
        what = f"the file cannot be read: {error.strerror}"
        raise InputError(what, where=str(path), hint=_DEVICE) from error


def _kept(stream: BinaryIO, name: str) -> Path:
    import shutil
    import tempfile

    folder = tempfile.mkdtemp(prefix="heedful-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = Path(folder, name)
    with file.open("wb") as copy:
        shutil.copyfileobj(stream, copy)
    return file


KINDS = {
    ".json": "a .json file for the numbers",
    ".md": "a .md file for the tables",
    ".html": "an .html file for the tables",
}


def check_document(
    path: Path | None, inputs: Iterable[str | os.PathLike[str]], kinds: Iterable[str] = KINDS
) -> None:
    """Refuse an output that cannot be written before anything is computed, not after."""
    if path is None:
        return
    if path.suffix.lower() not in kinds:
        raise UsageError(
            "the output is of an unknown kind",
            where=str(path),
            hint=f"name {' or '.join(KINDS[kind] for kind in kinds)}",
        )
    from heedful.jobs.results import check_folder

    check_folder(path, inputs)


def write_document(
    path: Path | None, numbers: Mapping[str, Any], document: Callable[[], Document]
) -> None:
    """Write numbers as JSON, or their tables as a document; nothing without a path."""
    from heedful.core.outputs import atomically

    if path is None:
        return
    kind = path.suffix.lower()
    if kind == ".json":
        text = json.dumps(numbers, ensure_ascii=False, indent=2) + "\n"
    else:
        text = document().markdown() if kind == ".md" else document().html()
    with atomically(path) as file:
        file.write(text)
