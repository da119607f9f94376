"""The summary of a run that made responses, checklists or critiques, for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from heedful.core.text import amount
from heedful.reporting.notation import cost_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["view"]

COUNTS = {
    "cut_off": "cut off at the limit of tokens",
    "empty": "empty",
    "ties": "answers that tie both responses",
    "unread_choice": "answers that can't be read",
    "rejected": "listed by the model but not in the instruction: left out",
    "duplicates": "listed again: left out",
    "undecided_critiques": "leave a constraint undecided",
}
"""Counts that a run which makes rows may have."""


def view(summary: Mapping[str, Any]) -> Text:
    """Lay out a summary."""
    rows, counts = summary["rows"], summary["counts"]
    text = Text()
    text.append(f"\n  {amount(sum(rows.values()), 'row')}: ")
    text.append(f"{rows['completed']:,} completed", style="green")
    if rows["unchanged"]:
        text.append(f", {rows['unchanged']:,} unchanged")
    if rows["failed"]:
        text.append(", ")
        text.append(f"{rows['failed']:,} failed", style="bold red")
    if rows["unread"]:
        text.append(", ")
        text.append(f"{rows['unread']:,} could not be read", style="bold red")
    for line, style in _counted(counts):
        text.append(f"\n  {line}", style=style)
    if "cost" in summary:
        text.append(f"\n  {cost_line(summary['cost'])}")
    for line in summary.get("adaptations", ()):
        text.append(f"\n  sent differently than requested: {line}", style="yellow")
    return text


def _counted(counts: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield a line for each count, and its style."""
    for name in ("constraint", "critique"):
        if f"{name}s" in counts:
            yield amount(counts[f"{name}s"], name), ""
    for name, meaning in COUNTS.items():
        if counts.get(name):
            yield f"{counts[name]:,} {meaning}", "yellow"
