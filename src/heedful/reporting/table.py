"""Tables that can be shown in a terminal, in Markdown and on a page of HTML."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from heedful.core.text import markdown_cell

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table as RichTable

INDENT = "\N{EN SPACE}\N{EN SPACE}"
"""Set before the name of a row that belongs to the group row above it."""

_BLOCK = re.compile(r"^(#|[-+=](?=\s|[-+=]|$)|\d+(?=[.)](\s|$)))")
"""Beginnings of a heading, a list or a rule in Markdown."""

MIN_WIDTH = 12
"""Letters that a column of words keeps in a narrow terminal, where it has as many."""

UNBOUNDED = 10_000
"""Columns of a terminal that any table fits into."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table: columns of words, then columns of numbers.

    A row of which only the first cell holds something names the group of the rows below it.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    words: int = 1
    details: Collection[str] = ()

    def is_group(self, row: Sequence[str]) -> bool:
        """Check whether a row names a group."""
        return self.words == 1 and len(row) > 1 and bool(row[0]) and not any(row[1:])

    def filled(self) -> Table:
        """Return the table without the columns that are empty in every row."""
        places = [
            place
            for place in range(len(self.columns))
            if place < self.words or not self.rows or any(row[place] for row in self.rows)
        ]
        return replace(
            self,
            columns=[self.columns[place] for place in places],
            rows=[[row[place] for place in places] for row in self.rows],
        )

    def markdown(self) -> str:
        """Write it as Markdown, its title as a heading."""
        ruler = ["---" if place < self.words else "---:" for place in range(len(self.columns))]
        lines = [list(map(markdown_cell, self.columns)), ruler]
        for row in self.rows:
            cells = list(map(markdown_cell, row))
            if self.is_group(row):
                cells[0] = f"**{cells[0]}**"
            lines.append(cells)
        table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        note = f"\n\n{markdown_text(self.note)}" if self.note else ""
        return f"## {markdown_text(self.title)}\n\n{table}{note}\n"

    def html(self) -> str:
        """Write it as HTML, for a notebook; all that it says is escaped."""
        from html import escape  # its table of entities takes 2 ms to load

        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def terminal(self) -> RenderableType:
        """Lay it out for a terminal; a narrow one gets each row as a paragraph."""
        return _Fitted(self)

    def _grid(self) -> RichTable:
        from rich.box import SIMPLE_HEAD
        from rich.cells import cell_len
        from rich.table import Table as RichTable
        from rich.text import Text

        table = RichTable(
            title=Text(self.title) if self.title else None,
            title_justify="left",
            title_style="bold",
            caption_style="dim",
            box=SIMPLE_HEAD,
            header_style="bold",
            padding=(0, 1, 0, 0),
            caption=Text(self.note) if self.note else None,
            caption_justify="left",
        )
        shown = [place for place, name in enumerate(self.columns) if name not in self.details]
        for place in shown:
            words = place < self.words
            cells = (row[place] for row in (self.columns, *self.rows))
            longest = max(cell_len(line) for cell in cells for line in cell.split("\n"))
            table.add_column(
                Text(self.columns[place]),
                justify="left" if words else "right",
                overflow="fold",
                no_wrap=not words,
                min_width=min(MIN_WIDTH, longest) if words else longest,
            )
        for row in self.rows:
            style = "bold" if self.is_group(row) else None
            table.add_row(*(Text(row[place]) for place in shown), style=style)
        return table


class _Fitted:
    """A table as wide as its terminal, which would otherwise cut its numbers."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        from rich.measure import Measurement
        from rich.text import Text

        table = self._table
        grid = table._grid()  # noqa: SLF001 - its other half
        least = Measurement.get(console, options.update(max_width=UNBOUNDED), grid).minimum
        if least <= options.max_width:
            yield grid
            return
        if table.title:
            yield Text(f"{table.title}\n", style="bold")
        for row in table.rows:
            yield Text(" · ".join(filter(None, row[: table.words])), style="bold")
            named = zip(table.columns[table.words :], row[table.words :], strict=True)
            told = [f"{name} {' '.join(cell.split())}" for name, cell in named if cell]
            for line in _packed(told, options.max_width - 2):
                yield Text(f"  {line}")
        yield Text(f"\n{table.note}" if table.note else "", style="dim")


def _packed(parts: Sequence[str], width: int) -> Iterator[str]:
    """Fill lines with parts; a part stays in one line if it fits into one."""
    line = ""
    for part in parts:
        longer = f"{line} · {part}" if line else part
        if line and len(longer) > width:
            yield line
            longer = part
        line = longer
    if line:
        yield line


def markdown_text(text: str) -> str:
    r"""Keep text from being read as Markdown or HTML, and in one line.

    >>> print(markdown_text("1. <b>*bold*</b>"))
    1\. \<b\>\*bold\*\</b\>
    """
    line = markdown_cell(text)
    block = _BLOCK.match(line)
    if block is None:
        return line
    place = block.end() if block[0].isdigit() else 0
    return f"{line[:place]}\\{line[place:]}"
