"""``heedful trust``, and whether a ``heedful.toml`` may say where prompts and keys go."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FILE = Path("heedful.toml")

RISKY = frozenset({"api-key-env", "base-url", "header", "host", "output", "sandbox"})
"""Flags that send a key or a prompt somewhere, open a port, replace a file, or run programs
without a sandbox."""


def trust(file: Path = FILE) -> int:
    """Use the address and the key that a heedful.toml names, in this folder, as long as they stay.

    Args:
        file: The file.
    """
    if not file.is_file():
        raise UsageError("no such file", where=str(file), hint="name a heedful.toml")
    content = read(file)
    risky = dict(_risky(content))
    if not risky:
        sys.stdout.write(f"{file} says nothing that needs trust\n")
        return 0
    remember(file, content)
    for name, value in risky.items():
        sys.stdout.write(f"trusted: {name} = {value}\n")
    return 0


def read(file: Path) -> Mapping[str, Any]:
    """Read a heedful.toml."""
    import tomllib

    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"cannot be read: {error}", where=str(file)) from error


def remember(file: Path, content: Mapping[str, Any]) -> None:
    """Note in the user's own configuration what a file says now."""
    path = _trusted_files()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as lines:
            lines.write(f"{_name(file, content)} {file.absolute()}\n")
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", where=str(path)) from error


def is_trusted(file: Path, content: Mapping[str, Any]) -> bool:
    """Whether what a file says of addresses, keys and programs needs no trust, or has it."""
    if not any(True for _ in _risky(content)):
        return True
    try:
        lines = _trusted_files().read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return False
    return _name(file, content) in {line.partition(" ")[0] for line in lines}


def _risky(content: Mapping[str, Any], table: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in content.items():
        if isinstance(value, dict):
            yield from _risky(value, f"{table}{name}.")
        elif name.lstrip("-").replace("_", "-") in RISKY:
            yield f"{table}{name}", value


def _name(file: Path, content: Mapping[str, Any]) -> str:
    """Name a file by its place and by what it says that needs trust; the rest may change."""
    import json
    from hashlib import sha256

    said = [os.path.realpath(file), dict(_risky(content))]
    return sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()


def _trusted_files() -> Path:
    folder = os.environ.get("APPDATA" if os.name == "nt" else "XDG_CONFIG_HOME")
    return (Path(folder) if folder else Path("~/.config").expanduser()) / "heedful" / "trusted"
