"""``heedful init`` and ``heedful completion``."""

from __future__ import annotations

import sys
from importlib import resources
from pathlib import Path
from typing import Literal

from heedful.core.errors import UsageError

EXAMPLES = {"samples.jsonl": "init_samples.jsonl", "heedful.toml": "init_config.toml"}
"""The files that are written, and the texts beside this module that they hold."""


def init(folder: Path = Path()) -> int:
    """Create an example: three samples, and a commented heedful.toml.

    heedful init

    Args:
        folder: Where; made where it is missing. Files that are there stay as they are.
    """
    from heedful.core.outputs import make_folder

    make_folder(folder)
    there = [name for name in EXAMPLES if (folder / name).exists()]
    if len(there) == len(EXAMPLES):
        raise UsageError(
            f"there are {' and '.join(there)} already",
            where=str(folder),
            hint="name another FOLDER",
        )
    for name, text in EXAMPLES.items():
        if name not in there:
            path = folder / name
            try:
                path.write_text(_text(text), encoding="utf-8", newline="\n")
            except OSError as error:
                what = f"cannot be written: {error.strerror}"
                raise UsageError(what, where=str(path), hint="name another FOLDER") from error
            sys.stdout.write(f"→ {path}\n")
    inside = "" if folder == Path() else f"cd {folder}; "
    sys.stdout.write(
        f"\n{inside}heedful evaluate samples.jsonl           judges what code can decide\n"
        "heedful evaluate samples.jsonl --model gpt-4.1-mini   asks a model for the rest\n"
    )
    return 0


def completion(shell: Literal["bash", "zsh", "fish"] | None = None) -> int:
    """Print the script that completes commands and flags in a shell.

    heedful completion bash

    Args:
        shell: Default: the one that runs.
    """
    from heedful.cli import application

    try:
        script = application().generate_completion(prog_name="heedful", shell=shell)
    except Exception as error:
        if type(error).__name__ != "ShellDetectionError":
            raise
        hint = "name it: heedful completion bash"
        raise UsageError("which shell this is cannot be seen", hint=hint) from error
    sys.stdout.write(script)
    return 0


def _text(name: str) -> str:
    return resources.files("heedful.cli").joinpath(name).read_text(encoding="utf-8")
