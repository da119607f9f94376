"""Documents of text, tables and charts, for a terminal, as Markdown and as a page of HTML."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from heedful.core.outputs import make_folder, replacing
from heedful.core.version import __version__
from heedful.reporting.chart import INSTALL, Chart, can_render
from heedful.reporting.table import Table, markdown_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rich.console import RenderableType

    from heedful.reporting.chart import Format


@dataclass(frozen=True, slots=True)
class Document:
    """Text, tables and charts, in the order in which they are read."""

    title: str
    paragraphs: Sequence[str] = ()
    parts: Sequence[Table | Chart] = ()
    notes: Sequence[str] = ()

    @property
    def charts(self) -> list[Chart]:
        """The charts among the parts."""
        return [part for part in self.parts if isinstance(part, Chart)]

    def terminal(self) -> RenderableType:
        """Lay it out for a terminal, without the title: the command has named it."""
        from rich.console import Group
        from rich.padding import Padding
        from rich.text import Text

        shown: list[RenderableType] = []
        if self.paragraphs:
            shown.append(Padding(Text("\n".join(self.paragraphs)), (1, 2)))
        for table in self.parts:
            if isinstance(table, Table):
                # Below a narrow table its caption would be as narrow.
                shown.append(replace(table, note="").terminal())
                if table.note:
                    shown.append(Padding(Text(table.note, style="dim"), (0, 2, 1, 2)))
        shown += [Padding(Text(note, style="yellow"), (0, 2)) for note in self.notes]
        return Group(*shown)

    def markdown(self, images: Mapping[str, str] | None = None) -> str:
        """Write it as Markdown."""
        lines = [f"# {markdown_text(self.title)}", ""]
        for paragraph in self.paragraphs:
            lines += [markdown_text(paragraph), ""]
        for part in self.parts:
            if isinstance(part, Table):
                lines.append(part.markdown())
            elif part.name in (images or {}):
                lines.append(_image(part, (images or {})[part.name]))
        lines += [f"- {markdown_text(note)}" for note in self.notes]
        return "\n".join(lines).rstrip() + "\n"

    def html(self) -> str:
        """Write it as a page of HTML that makes no request; all text in it is escaped."""
        from heedful.reporting.html.environment import environment, self_contained

        page = self_contained(charts=bool(self.charts))
        template = environment().get_template("document.html")
        return str(template.render(document=self, version=__version__, **page))

    def write(
        self,
        folder: Path,
        data: Mapping[str, Any],
        *,
        name: str = "report",
        charts: Format | None = None,
    ) -> list[Path]:
        """Write it into a folder: as JSON, Markdown and HTML, and each chart as a file."""
        format_ = charts or ("svg" if can_render() else None)
        notes = self.notes
        if self.charts and format_ is None:
            notes = [*notes, f"The charts are in {name}.html; as files beside it after: {INSTALL}"]
        images = {chart.name: f"{chart.name}.{format_}" for chart in self.charts if format_}
        files = {
            f"{name}.md": replace(self, notes=notes).markdown(images).encode("utf-8", "replace"),
            f"{name}.html": self.html().encode("utf-8", "replace"),
        }
        if format_ is not None:
            files |= {images[chart.name]: chart.image(format_) for chart in self.charts}
        files[f"{name}.json"] = json.dumps(data, ensure_ascii=False, indent=2).encode(
            errors="replace"
        )
        make_folder(folder)
        for file, content in files.items():
            with replacing(folder / file) as part:
                part.write_bytes(content)
        return [folder / file for file in (f"{name}.json", *list(files)[:-1])]


def _image(chart: Chart, file: str) -> str:
    show = "" if file.endswith(".pdf") else "!"  # Markdown shows no PDF, but links to it
    return f"{show}[{markdown_text(chart.title)}]({file})\n"
