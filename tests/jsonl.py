"""Files with a JSON object a line, as tests write and read them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def read_rows(path: str | Path) -> list[dict[str, Any]]:
    """Read a file's objects."""
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def write_rows(path: str | Path, rows: Iterable[Any]) -> Path:
    """Write objects into a file."""
    path = Path(path)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
