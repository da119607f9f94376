"""``heedful compare``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from heedful.cli.running import Outcome, print_outcome
from heedful.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable


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


def compare(
    *runs: Annotated[str, Parameter(name="RUN")],
    comparison: ComparisonFlags = ComparisonFlags(),
    seed: int = 0,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")] = False,
) -> int:
    """Compare the same samples under several models or judges.

    Args:
        runs: Directories of finished runs; RUN@MODEL for the rows of one model in a run. One run
            alone is compared by model.
        comparison: How runs are compared.
        seed: For the randomization tests.
        output: Write the numbers to a .json file, or the tables to a .md or .html file.
        quiet: Print nothing.

    Returns:
        The exit code.
    """
    from heedful.analysis.compare import compare as compare_runs
    from heedful.analysis.compare import tables as report

    writers: dict[str, Callable[[dict[str, Any]], str]] = {
        ".json": lambda summary: json.dumps(summary, ensure_ascii=False, indent=2) + "\n",
        ".md": lambda summary: report.document(summary).markdown(),
        ".html": lambda summary: report.document(summary).html(),
    }
    if output is not None:
        _check_output(output, list(writers), runs)
    summary = compare_runs(
        *runs,
        metrics=[name for words in comparison.metric or () for name in _names(words)],
        by=None if comparison.by is None else _names(comparison.by),
        match=comparison.match,
        baseline=comparison.baseline,
        anyway=comparison.anyway,
        seed=seed,
    )
    if output is not None:
        from heedful.data.formats.base import atomically

        with atomically(output) as file:
            file.write(writers[output.suffix.lower()](summary))
    outcome = Outcome(
        view=lambda: report.view(summary), written=[output], complete=_is_complete(summary)
    )
    return print_outcome(outcome, quiet=quiet)


def _is_complete(summary: dict[str, Any]) -> bool:
    """Whether the numbers cover all samples."""
    whole = all(pair["coverage"] == 1 for pair in summary["pairs"])
    decided = all(pair["agreement"]["value"] is not None for pair in summary["pairs"])
    return whole and decided and not any(run["unread"] for run in summary["runs"])


def _names(words: str) -> list[str]:
    return [name.strip() for name in words.split(",") if name.strip()]


def _check_output(path: Path, suffixes: list[str], runs: tuple[str, ...]) -> None:
    """Refuse an output that cannot be written before anything is compared, not after."""
    from heedful.jobs.results import check_folder

    if path.suffix.lower() not in suffixes:
        raise UsageError(
            "the output is of an unknown kind",
            where=str(path),
            hint=f"name a {', '.join(suffixes[:-1])} or {suffixes[-1]} file",
        )
    # Of RUN@MODEL, what stands before an @ may be the directory.
    places = [run[:at] for run in runs for at, mark in enumerate(f"{run}@") if mark == "@" and at]
    check_folder(path, places)
