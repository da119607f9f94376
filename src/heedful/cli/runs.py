"""``heedful runs``."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from heedful.cli import terminal
from heedful.core.errors import UsageError

if TYPE_CHECKING:
    from heedful.pages.overview import RunLine

SHOWN = ("constraints met", "responses fully met")
"""Rates that are shown beside the one that the runs are sorted by."""


def runs(
    folder: Path | None = None,
    /,
    *,
    sort: str | None = None,
    judge: str = "",
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """List runs: what each judged, how far it is, and its rates.

    Args:
        folder: The folder whose runs are listed, with those in its folders. Default:
            the current folder.
        sort: A rate (of a range, its lower end), coverage or cost; the best run comes first.
            Default: the newest.
        judge: Only runs with these words in the judge, the command or the name.
        json: Print JSON, a list of runs with all their rates.
    """
    from heedful.pages.overview import run_lines

    root = folder or Path()
    if not root.is_dir():
        raise UsageError("no such folder", where=str(root), hint="name the folder of the runs")
    lines = [line for line in run_lines(root) if judge.lower() in _words(line)]
    if sort is not None:
        lines = _sorted(lines, sort)
    if json:
        sys.stdout.write(_json(lines) + "\n")
    elif lines:
        console = terminal.console()
        console.print(_table(lines, root, sort))
        for line in lines:
            if line.problem:
                console.print(f"  {_name(line, root)}: {line.problem}", soft_wrap=True)
    else:
        sys.stdout.write(f"no runs in {root}: heedful evaluate FILE makes one\n")
    return 0


def _words(line: RunLine) -> str:
    return f"{line.directory} {line.what}".lower()


def _sorted(lines: list[RunLine], name: str) -> list[RunLine]:
    """Sort by a rate, the highest first, or by cost, the lowest first; the rest comes last.

    Of a rate that is a range, its lower end counts.
    """
    values = {line.directory: _value(line, name) for line in lines}
    known = sorted({rate for line in lines for rate in line.rates} | {"coverage", "cost"})
    if lines and all(value is None for value in values.values()):
        from difflib import get_close_matches

        near = get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(map(repr, known))}"
        raise UsageError(f"no run has {name!r}", hint=hint)
    down = 1 if name == "cost" else -1
    return sorted(
        lines,
        key=lambda line: (
            values[line.directory] is None,
            down * (values[line.directory] or 0.0),
        ),
    )


def _value(line: RunLine, name: str) -> float | None:
    if name == "coverage":
        return line.coverage
    if name == "cost":
        return line.paid
    rate = line.rates.get(name)
    return None if rate is None else rate.least


def _table(lines: list[RunLine], root: Path, sort: str | None) -> Any:
    from heedful.reporting.notation import percent
    from heedful.reporting.table import Table

    own = () if sort in (None, "coverage", "cost", *SHOWN) else (str(sort),)
    rates = [*own, *SHOWN]
    rows = [
        (
            _name(line, root) + ("" if line.state == "finished" else f" ({line.state})"),
            line.what.replace(",", ", "),
            "" if line.samples is None else f"{line.samples:,}",
            *(line.rates[rate].shown if rate in line.rates else "" for rate in rates),
            "" if line.coverage is None else percent(line.coverage, 1),
            line.cost,
            datetime.fromtimestamp(line.changed, UTC).astimezone().strftime("%m-%d %H:%M"),
        )
        for line in lines
    ]
    names = {"constraints met": "met %", "responses fully met": "fully met %"}
    heads = [names.get(rate, rate) for rate in rates]
    columns = ("run", "judge", "samples", *heads, "coverage", "cost", "changed")
    return Table("", columns, rows, words=2, details=("changed",)).filled().terminal()


def _name(line: RunLine, root: Path) -> str:
    name = line.directory.relative_to(root).as_posix()
    return line.directory.resolve().name if name == "." else name


def _json(lines: list[RunLine]) -> str:
    """Write the runs with all their rates, as shares."""
    return json.dumps(
        [
            {
                "run": str(line.directory),
                "judge": line.what,
                "state": line.state,
                "samples": line.samples,
                "coverage": line.coverage,
                "dollars": line.paid,
                "problem": line.problem or None,
                "rates": {name: rate.value for name, rate in line.rates.items()},
                "least": {name: rate.least for name, rate in line.rates.items()},
            }
            for line in lines
        ],
        ensure_ascii=False,
        indent=2,
    )
