"""Commands about finished runs: ``heedful runs | view | report | merge | export``."""

from __future__ import annotations

import json as as_json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from heedful.cli import terminal
from heedful.cli.flags import Quiet, RequiredOutput, Switch
from heedful.cli.judging import is_complete, too_little
from heedful.cli.running import INCOMPLETE, Outcome, print_outcome
from heedful.core.errors import UsageError
from heedful.core.text import amount

if TYPE_CHECKING:
    from heedful.analysis.export import Exported
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
    """List runs: the judge of each, its rates, coverage and cost.

    heedful runs
    heedful runs runs --sort "responses fully met"

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
    return f"{line.directory} {line.what} {line.judge}".lower()


def _sorted(lines: list[RunLine], name: str) -> list[RunLine]:
    """Sort by a rate, the coverage or the cost; refuse one that no run has."""
    known = sorted({rate for line in lines for rate in line.rates} | {"coverage", "cost"})
    if lines and all(line.rank(name)[0] for line in lines):
        from difflib import get_close_matches

        near = get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(map(repr, known))}"
        raise UsageError(f"no run has {name!r}", hint=hint)
    return sorted(lines, key=lambda line: line.rank(name))


def _table(lines: list[RunLine], root: Path, sort: str | None) -> Any:
    from heedful.reporting.notation import percent
    from heedful.reporting.table import Table

    own = () if sort in (None, "coverage", "cost", *SHOWN) else (str(sort),)
    rates = [*own, *SHOWN]
    rows = [
        (
            _name(line, root) + ("" if line.state == "finished" else f" ({line.state})"),
            line.judge.replace(",", ", "),
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
    return as_json.dumps(
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


def view(
    runs_dir: Path | None = None,
    /,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    annotator: str | None = None,
    open: Switch = False,
) -> int:
    """View runs in a browser.

    Samples by text, verdict, type, tag and judge; each with its explanations and
    the judge's words; runs under way; two runs side by side. It listens on
    this machine only, and writes only labels and audits.

    heedful view runs --open

    Args:
        runs_dir: The folder whose runs are shown, with those in its folders; or one run. Default:
            the current folder.
        host: The address to listen at; what is sent is not encrypted, so leave it at loopback.
        port: The port. Default: any that is free.
        annotator: Your name, where several people label the same rows: each sees only their own
            labels. Without a name, labels decide where annotators differ.
        open: Open a browser.
    """
    try:
        from heedful.pages.viewer.app import serve
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the viewer needs {error.name}", hint="pip install 'heedful[view]'"
        ) from error
    root = runs_dir or Path()
    serve(root, host=host, port=port, browser=open, say=_say, annotator=annotator)
    return 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def report(
    run: Path,
    /,
    *,
    output: RequiredOutput = Path("report.html"),
    examples: int = 10,
    charts: bool = True,
) -> int:
    """Write a report on a finished run: a self-contained HTML page.

    Rates with intervals and coverage, breakdowns, charts, the hardest constraints,
    what judges disagreed on or did not decide, cost, and how it all came about.
    Nothing is judged, and no model is called.

    heedful report runs/mine -o report.html

    Args:
        run: The directory of a finished run.
        output: The .html file.
        examples: How many samples with an unmet constraint are shown; 0 for none.
        charts: Draw charts; without them the file is about a megabyte smaller.
    """
    from heedful.pages.report.report import report as write

    written = write(run, output=output, examples=examples, charts=charts)
    size = output.stat().st_size / 1000
    sys.stdout.write(f"{amount(written.samples, 'sample')} → {output} ({size:,.0f} kB)\n")
    if written.unread:
        rows = amount(written.unread, "row")
        sys.stderr.write(f"{rows} could not be read or judged; the report lists them\n")
    elif not written.samples:
        sys.stderr.write("no sample is in the report: the run holds no row that could be read\n")
    return INCOMPLETE if written.unread or not written.samples else 0


def merge(
    *runs: Annotated[Path, Parameter(name="RUN")],
    run: Path | None = None,
    prices: Path | None = None,
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
    quiet: Quiet = False,
) -> int:
    """Merge finished runs over parts of a data set, such as one for each file.

    Rates and intervals come from all rows. With --run the whole is written too, as
    the run that judging all files together makes; otherwise nothing is. Nothing is
    judged, and no model is called.

    heedful merge runs/part-1 runs/part-2 --run runs/whole

    Args:
        runs: Directories of finished runs of one judge, in the order of their rows.
        run: A new directory for the whole run, with all rows. By default nothing is written.
        prices: A file, {"MODEL": {"prompt": 1, "completion": 2}}, in dollars per million tokens.
        json: Print the summary as JSON.
        quiet: Print nothing.
    """
    from heedful.jobs.evaluate_tables import view
    from heedful.jobs.merge import merge as merge_runs

    table = None
    if prices is not None:
        from heedful.models.pricing import read_prices

        table = read_prices(prices)
    summary = merge_runs(*runs, run=run, prices=table)
    failed, complete = summary["rows"]["failed"], is_complete(summary)
    if json:
        sys.stdout.write(as_json.dumps(summary, ensure_ascii=False, indent=2) + "\n")
        return 0 if complete else INCOMPLETE
    results = run and run / "results.jsonl"
    outcome = Outcome(
        view=lambda: view(summary),
        written=[results, run and run / "summary.json"],
        problems=summary["problems"],
        failed=failed,
        names=results,
        complete=complete,
        hints=[*too_little(summary)],
    )
    return print_outcome(outcome, quiet=quiet)


def export(
    *runs: Annotated[Path, Parameter(name="RUN")],
    output: RequiredOutput,
    salvage: Switch = False,
) -> int:
    """Write finished runs for other tools.

    A .csv, .jsonl or .parquet file has the judgments, a row each; a .xml file is a
    JUnit report; a .md file has the summary, as for a pull request.

    heedful export runs/gpt runs/haiku -o judgments.csv

    Args:
        runs: Directories of finished runs.
        output: A .csv, .jsonl or .parquet file for the judgments, a row each; a .xml file for a
            JUnit report; a .md file for the summary.
        salvage: Leave out rows that are damaged, instead of refusing their run.
    """
    from heedful.analysis.export import WRITERS
    from heedful.analysis.export import export as write

    if output.suffix.lower() == ".md":
        return _summaries(runs, output)
    if output.suffix.lower() not in WRITERS:
        raise UsageError(
            "the output is of an unknown kind",
            where=str(output),
            hint="name a .csv, .jsonl or .parquet file for the judgments, a .xml file for a JUnit "
            "report, or a .md file for the summary",
        )
    return _said(write(*runs, output=output, salvage=salvage), str(output))


def _said(written: Exported, where: str) -> int:
    sys.stdout.write(f"{amount(written.judgments, 'judgment')} → {where}\n")
    if written.unread:
        have = "has" if written.unread == 1 else "have"
        rows = amount(written.unread, "row")
        sys.stderr.write(f"{rows} could not be read and {have} no judgments\n")
    return INCOMPLETE if written.unread else 0


def _summaries(runs: tuple[Path, ...], output: Path) -> int:
    from heedful.core.outputs import atomically
    from heedful.jobs.evaluate_tables import document
    from heedful.jobs.results import check_folder
    from heedful.jobs.saved_run import SavedRun

    check_folder(output, runs)
    if not runs:
        raise UsageError("no run is named", hint="name the directory of a run, or several")
    opened = [SavedRun.open(run) for run in runs]
    named = [(run.directory.resolve().name, run.summary) for run in opened]
    pages = [document(name, summary).markdown() for name, summary in named]
    with atomically(output) as file:
        file.write("\n".join(pages))
    sys.stdout.write(f"{amount(len(pages), 'summary', 'summaries')} → {output}\n")
    return 0
