"""The instructions that were selected, as a table."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from heedful.core.text import amount
from heedful.reporting.document import Document
from heedful.reporting.notation import NOTHING
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping


def document(summary: Mapping[str, Any]) -> Document:
    """Lay out how many instructions of each category and complexity were selected."""
    selection, rows = summary["selection"], summary["rows"]
    line = f"{amount(sum(rows.values()), 'row')}: {selection['chosen']:,} chosen"
    for name, meaning in (("failed", "failed"), ("unread", "could not be read")):
        if rows[name]:
            line += f", {rows[name]:,} {meaning}"
    categories: Mapping[str, Mapping[str, Mapping[str, int]]] = selection["categories"]
    if not categories:
        return Document("Selection", [line])
    complexities = sorted({level for levels in categories.values() for level in levels})
    cells = []
    for category, levels in categories.items():
        total: Counter[str] = Counter()
        for counts in levels.values():
            total.update(counts)
        cells.append(
            [category, *(_cell(levels.get(level)) for level in complexities), _cell(total)]
        )
    columns = ("category, by complexity", *complexities, "all")
    return Document("Selection", [line], [Table("", columns, cells)])


def _cell(counts: Mapping[str, int] | None) -> str:
    return f"{counts['chosen']:,} of {counts['of']:,}" if counts else NOTHING
