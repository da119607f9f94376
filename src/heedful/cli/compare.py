"""``heedful compare``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from heedful.cli.running import Outcome, Output, Quiet, print_outcome
from heedful.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.analysis.compare.headline import GateResult


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ComparisonFlags:
    """How runs are compared.

    Attributes:
        metric: Only these rates, as isr, cfbench.isr or ifeval (all four); several with commas.
        by: Break down by type, subtype, priority, verifier or any tag, several with commas.
            Default: type, and of task, split, turn and language those that tell samples apart.
        match: What makes two rows the same sample. Default: the first of these by which any match.
        baseline: One of the runs: compare the others with it, each minus it. Without it, each run
            comes minus those named after it.
        anyway: Compare although more differs than the responses or the judge.
    """

    metric: Annotated[list[str] | None, Parameter(name=["--metric", "-m"], negative="")] = None
    by: str | None = None
    match: Literal["id", "instruction", "conversation"] | None = None
    baseline: str | None = None
    anyway: Annotated[bool, Parameter(negative="")] = False


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class GateFlags:
    """When the exit code says that a run is worse.

    Attributes:
        no_worse_than: A run: exit with 3 if another is worse by more than the margin, with p below
            0.05, in the rates of --metric, or in that of the first line. It is the baseline.
        margin: By how many points another may be worse.
        require_shown: Exit with 3 also where the interval leaves open whether another is worse.
    """

    no_worse_than: str | None = None
    margin: float = 0.0
    require_shown: Annotated[bool, Parameter(negative="")] = False


def compare(
    *runs: Annotated[str, Parameter(name="RUN")],
    comparison: ComparisonFlags = ComparisonFlags(),
    gate: GateFlags = GateFlags(),
    seed: int = 0,
    output: Output = None,
    comment: Path | None = None,
    quiet: Quiet = False,
) -> int:
    """Compare the same samples under several models or judges.

    Args:
        runs: Directories of finished runs; RUN@MODEL for the rows of one model in a run. One run
            alone is compared by model.
        comparison: How runs are compared.
        gate: When the exit code says that a run is worse.
        seed: For the randomization tests.
        output: Write the numbers to a .json file, or the tables to a .md or .html file.
        comment: Write the headline and the first tables to a .md file, for a pull request.
        quiet: Print nothing.
    """
    from heedful.analysis.compare import compare as compare_runs
    from heedful.analysis.compare import tables as report

    named, baseline = _with_baseline(runs, comparison, gate)
    if output is not None:
        _check_output(output, [".json", ".md", ".html"], named)
    if comment is not None:
        _check_output(comment, [".md"], named)
    metrics = [name for words in comparison.metric or () for name in _names(words)]
    summary = compare_runs(
        *named,
        metrics=metrics,
        by=None if comparison.by is None else _names(comparison.by),
        match=comparison.match,
        baseline=baseline,
        anyway=comparison.anyway,
        seed=seed,
    )
    results = [] if gate.no_worse_than is None else _checked(summary, gate, chosen=bool(metrics))
    _write(summary, output, comment, [result.said for result in results])
    lacks = _lacks(summary)
    # A gate holds against the lower end of what undecided verdicts leave.
    failing = {"worse", "undecided"} | ({"open"} if gate.require_shown else set())
    outcome = Outcome(
        view=lambda: report.view(summary),
        written=[output, comment],
        complete=not lacks,
        hints=[*(result.said for result in results if result.verdict not in failing), *lacks],
        failures=[result.said for result in results if result.verdict in failing],
    )
    return print_outcome(outcome, quiet=quiet)


def _write(
    summary: dict[str, Any], output: Path | None, comment: Path | None, said: Sequence[str]
) -> None:
    """Write the numbers or the tables, and the comment, whose first lines are ``said``."""
    from heedful.analysis.compare.tables import document
    from heedful.data.formats.base import atomically

    if output is not None:
        kind = output.suffix.lower()
        if kind == ".json":
            text = json.dumps(summary, ensure_ascii=False, indent=2) + "\n"
        else:
            text = document(summary).markdown() if kind == ".md" else document(summary).html()
        with atomically(output) as file:
            file.write(text)
    if comment is not None:
        with atomically(comment) as file:
            file.write(document(summary, brief=True, first=said).markdown())


def _with_baseline(
    runs: tuple[str, ...], comparison: ComparisonFlags, gate: GateFlags
) -> tuple[tuple[str, ...], str | None]:
    """Name the runs and the baseline, which a gate's run is."""
    old = gate.no_worse_than
    if not 0 <= gate.margin <= 100:  # noqa: PLR2004 - points
        raise UsageError(
            f"--margin is {gate.margin:g}", hint="give points from 0 to 100, such as 2"
        )
    if old is None:
        if gate.margin or gate.require_shown:
            raise UsageError("nothing to be no worse than", hint="name a run: --no-worse-than RUN")
        return runs, comparison.baseline
    if comparison.baseline not in (None, old):
        raise UsageError("--no-worse-than and --baseline name two runs", hint="leave one out")
    # As it is named among the runs, such as without a slash at its end.
    same = [run for run in runs if Path(run).resolve() == Path(old).resolve()]
    return (runs, same[0]) if same else ((*runs, old), old)


def _checked(summary: dict[str, Any], gate: GateFlags, *, chosen: bool) -> list[GateResult]:
    """Check each run against the baseline."""
    from heedful.analysis.compare.headline import no_worse

    return [
        result
        for pair in summary["pairs"]
        if pair["second"] == summary["baseline"]
        for rates in [[(f, name) for f, names in pair["metrics"].items() for name in names]]
        for result in no_worse(pair, margin=gate.margin / 100, rates=rates if chosen else ())
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


def _names(words: str) -> list[str]:
    return [name.strip() for name in words.split(",") if name.strip()]


def _check_output(path: Path, suffixes: list[str], runs: tuple[str, ...]) -> None:
    """Refuse an output that cannot be written before anything is compared, not after."""
    from heedful.jobs.results import check_folder

    if path.suffix.lower() not in suffixes:
        raise UsageError(
            "the output is of an unknown kind",
            where=str(path),
            hint=f"name a {' or '.join([*filter(None, [', '.join(suffixes[:-1])]), suffixes[-1]])} "
            "file",
        )
    # Of RUN@MODEL, what stands before an @ may be the directory.
    places = [run[:at] for run in runs for at, mark in enumerate(f"{run}@") if mark == "@" and at]
    check_folder(path, places)
