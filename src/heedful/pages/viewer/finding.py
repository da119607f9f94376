"""Find what can be viewed below a folder: runs, reports of benchmarks, audits."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from heedful.critic.data.audit import KINDS
from heedful.pages.overview import folders

if TYPE_CHECKING:
    from collections.abc import Iterator

Kind = Literal["run", "report", "audit"]

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
    """Search a folder, by name and in the same order each time."""
    items: dict[str, ViewedItem] = {}
    for folder, files in folders(root):
        for kind, path in _items(folder, files):
            name = path.relative_to(root).as_posix() if path != root else root.resolve().name
            item = ViewedItem(kind, path, name, _key(kind, name))
            items[item.key] = item
    return items


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
