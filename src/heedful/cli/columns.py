"""Several models' responses in one table: a run for each column, and their comparison."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.cli import judging, terminal
from heedful.cli.judging import ResultOptions
from heedful.cli.running import ConsoleOptions
from heedful.core.errors import UsageError
from heedful.engine.options import RunOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def judge_columns(
    files: list[Path], columns: Sequence[str], judge: str | None, options: dict[str, Any]
) -> int:
    """Judge each column's responses in a run that is named by it, and compare the runs."""
    from heedful.data.formats.source import response_in

    if len(files) > 1:
        raise UsageError("--response goes with one file", hint="name one")
    if len({*columns}) < len(columns):
        raise UsageError("--response names a column twice", hint="name each once")
    several = len(columns) > 1
    folder = options.get("run") or (_folder(files[0], judge, options) if several else None)
    runs, codes = [], []
    for column in columns:
        mapping = response_in(files[0], column, options.get("format"))
        own = {**options, "format": mapping.name}
        if not options.get("quiet"):
            title = f"\n  {column}" if several else ""
            console = terminal.console()
            console.print("\n".join(filter(None, (title, mapping.said))), style="dim")
        if folder is not None:
            own["run"] = folder / column if several else folder
            runs.append(own["run"])
        if several and "output" in own:
            output = own["output"]
            own["output"] = output.with_name(f"{output.stem}-{column}{output.suffix}")
        codes.append(judging.carry_out(files, judge, own))
    if several and not options.get("dry_run"):
        _compare(runs, quiet=bool(options.get("quiet")))
    return max(codes)


def _compare(runs: Sequence[Path], *, quiet: bool) -> None:
    from heedful.analysis.compare import compare, tables

    if not quiet:
        terminal.console().print(tables.view(compare(*runs)))


def _folder(file: Path, judge: str | None, options: Mapping[str, Any]) -> Path:
    """Name the folder of the runs after all that tells it from others, so that they resume."""
    from heedful.core.files import digest
    from heedful.engine.inputs import unnamed

    how = {*RunOptions.__annotations__, *ConsoleOptions.__annotations__, "output"}
    how |= {*ResultOptions.__annotations__} - {"scoring", "seed"}
    chosen = {name: str(value) for name, value in options.items() if name not in how}
    return unnamed(file.name.partition(".")[0], digest(file), judge, chosen)
