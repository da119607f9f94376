"""Files that numbers or their tables are written to, by the file's suffix."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from heedful.core.errors import UsageError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from heedful.reporting.document import Document

KINDS = {
    ".json": "a .json file for the numbers",
    ".md": "a .md file for the tables",
    ".html": "an .html file for the tables",
    ".tex": "a .tex file for the tables",
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
    from heedful.reporting.document import Document

    if path is None:
        return
    kind = path.suffix.lower()
    if kind == ".json":
        text = json.dumps(numbers, ensure_ascii=False, indent=2) + "\n"
    else:
        writers = {".md": Document.markdown, ".html": Document.html, ".tex": Document.latex}
        text = writers[kind](document())
    with atomically(path) as file:
        file.write(text)
