"""Find what can be viewed below a folder: runs, reports of benchmarks, audits."""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from heedful.critic.data.audit import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

Kind = Literal["run", "report", "audit"]

DEPTH = 4
"""Folders within folders that are looked into."""

FOLDERS = 20_000
"""Folders that are looked into at most: somebody may name the root of a disk."""

HEAD_BYTES = 65_536
"""How much of a file is read to see whether it is an audit."""


@dataclass(frozen=True, slots=True)
class ViewedItem:
    """A run, report or audit that can be viewed.

    Attributes:
        kind: a run's directory, a folder with a ``report.json``, or the file of an audit.
        path: where it is.
        name: its path below the folder that was searched.
        key: names it in an address.
    """

    kind: Kind
    path: Path
    name: str
    key: str


def find(root: Path) -> dict[str, ViewedItem]:
    """Search a folder, by name and in the same order each time.

    Args:
        root: the folder; it may be a run itself.

    Returns:
        What was found, by key.
    """
    items: dict[str, ViewedItem] = {}
    for at, (folder, files) in enumerate(_folders(root)):
        for kind, path in _items(folder, files):
            name = path.relative_to(root).as_posix() if path != root else root.resolve().name
            item = ViewedItem(kind, path, name, _key(kind, name))
            items[item.key] = item
        if at >= FOLDERS:
            break
    return items


def _folders(root: Path) -> Iterator[tuple[Path, list[str]]]:
    depth = len(root.parts)
    for folder, folders, files in os.walk(root):
        path = Path(folder)
        inner = len(path.parts) - depth < DEPTH
        folders[:] = sorted(name for name in folders if not name.startswith(".") and inner)
        yield path, sorted(files)


def _items(folder: Path, files: list[str]) -> Iterator[tuple[Kind, Path]]:
    if "run.sqlite" in files:
        yield "run", folder
    elif "report.json" in files:
        yield "report", folder
    for name in files:
        if name.endswith((".csv", ".jsonl")) and _is_audit(folder / name):
            yield "audit", folder / name


def _is_audit(path: Path) -> bool:
    """Look at a file's first line for the questions of an audit."""
    try:
        with path.open("rb") as file:
            head = file.readline(HEAD_BYTES).decode("utf-8", "replace")
    except OSError:
        return False
    return "number" in head and any(all(q in head for q in kind.each) for kind in KINDS.values())


def _key(kind: Kind, name: str) -> str:
    """Name a item in an address: readable, and one of its own."""
    words = "".join(c if c.isascii() and c.isalnum() else "-" for c in Path(name).name.lower())
    digest = blake2b(f"{kind} {name}".encode("utf-8", "surrogateescape"), digest_size=4)
    return f"{words.strip('-')[:40] or kind}-{digest.hexdigest()}"
