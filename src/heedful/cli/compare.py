"""``heedful compare``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from heedful.analysis.compare import compare as compare_runs
from heedful.analysis.compare import tables as report
from heedful.cli.files import check_document, write_document
from heedful.cli.flags import FlagGroup, Output, Quiet, Switch, listed, takes
from heedful.cli.running import Outcome, print_outcome
from heedful.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from heedful.analysis.compare.tables import GateResult


@takes(FlagGroup("", (compare_runs,), only=("match", "baseline", "anyway", "seed")))
def compare(
    *runs: Annotated[str, Parameter(name="RUN")],
    metric: Annotated[list[str] | None, Parameter(name=["--metric", "-m"], negative="")] = None,
    by: str | None = None,
    no_worse_than: str | None = None,
    margin: float = 0.0,
    require_shown: Switch = False,
    output: Output = None,
    comment: Path | None = None,
    quiet: Quiet = False,
    **options: Any,
) -> int:
    """Compare the same samples under several models or judges.

    Paired differences with intervals and tests of every metric, wins and losses,
    and the verdicts that differ. Nothing is judged, and no model is called.

    heedful compare runs/gpt runs/haiku -o comparison.md
    heedful compare runs/a runs/b runs/old --baseline runs/old

    Args:
        runs: Directories of finished runs; RUN@MODEL for the rows of one model in a run. One run
            alone is compared by model.
        metric: Only these rates, as isr, cfbench.isr or ifeval (all four); several with commas.
        by: Break down by type, subtype, priority, verifier or any tag, several with commas.
            Default: type, and of task, split, turn and language those that tell samples apart.
        no_worse_than: A run: exit with 3 if another is worse by more than the margin, with p below
            0.05, in the rates of --metric, or in that of the first line. It is the baseline.
        margin: By how many points another may be worse.
        require_shown: Exit with 3 also where the interval leaves open whether another is worse.
        output: Write the numbers to a .json file, or the tables to a .md or .html file.
        comment: Write the headline and the first tables to a .md file, for a pull request.
        quiet: Print nothing.
    """
    _check_margin(margin)
    if no_worse_than is not None:
        runs, options["baseline"] = _with_baseline(runs, no_worse_than, options.get("baseline"))
    elif margin or require_shown:
        raise UsageError("nothing to be no worse than", hint="name a run: --no-worse-than RUN")
    check_document(output, _places(runs))
    check_document(comment, _places(runs), [".md"])
    options["by"] = None if by is None else listed(by)
    metrics = listed(",".join(metric or ()))
    summary = compare_runs(*runs, metrics=metrics, **options)
    results = [] if no_worse_than is None else _checked(summary, margin / 100, chosen=bool(metrics))
    write_document(output, summary, partial(report.document, summary))
    brief = partial(report.document, summary, brief=True, first=[each.said for each in results])
    write_document(comment, summary, brief)
    # A gate holds against the lower end of what undecided verdicts leave.
    failing = {"worse", "undecided"} | ({"open"} if require_shown else set())
    lacks = _lacks(summary)
    outcome = Outcome(
        view=partial(report.view, summary),
        written=[output, comment],
        complete=not lacks,
        hints=[*(each.said for each in results if each.verdict not in failing), *lacks],
        failures=[each.said for each in results if each.verdict in failing],
    )
    return print_outcome(outcome, quiet=quiet)


def _check_margin(margin: float) -> None:
    if not 0 <= margin <= 100:  # noqa: PLR2004 - points
        raise UsageError(f"--margin is {margin:g}", hint="give points from 0 to 100, such as 2")


def _places(runs: Iterable[str]) -> list[str]:
    """List what may be directories: of RUN@MODEL, what stands before an @."""
    return [run[:at] for run in runs for at, mark in enumerate(f"{run}@") if mark == "@" and at]


def _with_baseline(
    runs: tuple[str, ...], old: str, baseline: str | None
) -> tuple[tuple[str, ...], str]:
    """Name the runs, and the baseline, which a gate's run is."""
    if baseline not in (None, old):
        raise UsageError("--no-worse-than and --baseline name two runs", hint="leave one out")
    # As it is named among the runs, such as without a slash at its end.
    same = [run for run in runs if Path(run).resolve() == Path(old).resolve()]
    return (runs, same[0]) if same else ((*runs, old), old)


def _checked(summary: dict[str, Any], margin: float, *, chosen: bool) -> list[GateResult]:
    """Check each run against the baseline."""
    from heedful.analysis.compare.tables import no_worse

    return [
        result
        for pair in summary["pairs"]
        if pair["second"] == summary["baseline"]
        for rates in [[(f, name) for f, names in pair["metrics"].items() for name in names]]
        for result in no_worse(pair, margin=margin, rates=rates if chosen else ())
    ]


def _lacks(summary: dict[str, Any]) -> list[str]:
    """Say what of the samples is not in the numbers, a line each; nothing where all of them are."""
    from heedful.core.text import amount
    from heedful.reporting.notation import percent

    said = []
    for pair in summary["pairs"]:
        names = f"{pair['first']}, {pair['second']}"
        if pair["coverage"] < 1:
            missing = percent(1 - pair["coverage"], 1)
            said.append(f"{names}: {missing} % of the samples could not be compared")
        if pair["agreement"]["value"] is None:
            said.append(f"{names}: no verdict is decided in both")
    said += [
        f"{run['run']}: {amount(run['unread'], 'row')} could not be read"
        for run in summary["runs"]
        if run["unread"]
    ]
    return said
