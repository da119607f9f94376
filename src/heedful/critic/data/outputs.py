"""What this room's commands share in writing: no input is written over, a summary lies beside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.jobs.results import check_folder

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["refuse"]


def refuse(output: Path, inputs: Iterable[Path]) -> None:
    """Refuse an output that cannot be written, or that would take the place of an input.

    Raises:
        UsageError: it would.
    """
    check_folder(output, inputs)


def summary_path(output: Path) -> Path:
    """Say where the summary of an output is: ``pairs.jsonl`` has ``pairs.summary.json``."""
    return output.with_suffix(".summary.json")
