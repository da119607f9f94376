"""``heedful bench criticbench``: build a benchmark of critics, run critics on it, report."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from heedful.bench.criticbench.build import BuildPlan
from heedful.bench.criticbench.build import build as build_benchmark
from heedful.bench.criticbench.run import Examination
from heedful.cli.flags import MODEL, FlagGroup, Output, Quiet, Scoring, connected, takes
from heedful.cli.running import ALONE, Outcome, carry_out, print_outcome
from heedful.core.errors import UsageError
from heedful.engine.options import taken

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from heedful.bench.criticbench.build import Built
    from heedful.engine.runner import Progress
    from heedful.reporting.chart import Format as ChartFormat

TEMPERATURE = 0.6

QUESTIONS = FlagGroup("", (BuildPlan,), only=("samples", "limit", "seed", "sandbox", "timeout_s"))
TRIPLETS = FlagGroup("", (build_benchmark,), only=("queries", "ranking", "certainty"))
EXAMINATION = FlagGroup("", (Examination,), only=("repeats", "checks", "thresholds"))

Sizes = Annotated[list[str] | None, Parameter(negative="")]


@takes(
    QUESTIONS,
    TRIPLETS,
    MODEL._replace(title="Generators"),
    ALONE,
    model="Who answers; several of different strength make a better benchmark.",
    temperature=f"Default: {TEMPERATURE}.",
)
def build(
    files: list[str],
    /,
    *,
    output: Output = None,
    code_model: Annotated[list[str] | None, Parameter(negative="", group="Generators")] = None,
    **options: Any,
) -> int:
    """Build a benchmark: generators answer questions, code grades, triplets are selected.

    heedful bench criticbench build gsm8k.jsonl -m small -m large --run bench

    Args:
        files: Questions: GSM8K, MATH, HumanEval, TruthfulQA; or hf:OWNER/NAME:CONFIG@SPLIT.
        output: Also write the triplets here, as JSON lines.
        code_model: Also answers, but only questions for programs: a model trained for code.
    """
    generators = options.pop("model", [])
    names = [*generators, *(code_model or ())]
    models, how = connected(options, names, temperature=TEMPERATURE)
    count = len(generators)
    plan = BuildPlan(
        files,
        models[:count],
        code_generators=models[count:],
        sampling=how,
        **taken(options, BuildPlan),
    )
    return carry_out(
        partial(build_benchmark, plan, output=output),
        options,
        models=names,
        outcome=partial(_built, output=output),
    )


@takes(
    EXAMINATION,
    MODEL._replace(title="Critics"),
    ALONE,
    model="Who judges; each of several judges everything.",
    temperature=f"Default: {TEMPERATURE}.",
)
def run(
    benchmark: Path,
    /,
    *,
    scoring: Scoring = "strict",
    size: Sizes = None,
    output: Output = None,
    **options: Any,
) -> int:
    """Have critics judge a benchmark, and measure how often they are right.

    heedful bench criticbench run bench -m small -m large --check own -o report

    Args:
        benchmark: The directory of a build, or a file of triplets.
        scoring: What a critique without a judgment is: strict: nothing. faithful: "correct".
        size: A critic's size in billions of parameters, for the scaling chart: NAME=7.
        output: Write a report here, a folder: JSON, Markdown, HTML, charts.
    """
    from heedful.bench.criticbench.tables import examine

    names = options.pop("model", [])
    models, how = connected(options, names, temperature=TEMPERATURE)
    plan = Examination(benchmark, models, sampling=how, **taken(options, Examination))
    return carry_out(
        partial(examine, plan, scoring=scoring, sizes=_sizes(size)),
        options,
        models=names,
        outcome=lambda item: _examined(item[0], output, progress=item[1]),
    )


def report(
    runs: list[Path],
    /,
    *,
    output: Output = None,
    charts: Literal["svg", "png", "pdf"] | None = None,
    scoring: Scoring = "strict",
    size: Sizes = None,
    prices: Path | None = None,
    quiet: Quiet = False,
) -> int:
    """Report on runs of critics over one benchmark, without a model.

    heedful bench criticbench report runs/a runs/b --size small=2 --size large=30 -o report

    Args:
        runs: Their directories.
        output: Write the report here, a folder: JSON, Markdown, HTML, charts.
        charts: The format of the files of charts beside report.md. By default svg, where
            heedful[charts] is installed.
        scoring: What a critique without a judgment is: strict: nothing. faithful: "correct".
        size: A critic's size in billions of parameters, for the scaling chart: NAME=7.
        prices: A file, {"MODEL": {"prompt": 1, "completion": 2}}, dollars per million tokens.
        quiet: Print no tables.
    """
    from heedful.bench.criticbench.tables import report as report_runs
    from heedful.models.pricing import read_prices

    table = None if prices is None else read_prices(prices)
    result = report_runs(runs, scoring=scoring, sizes=_sizes(size), prices=table)
    return print_outcome(_examined(result, output, charts=charts), quiet=quiet)


def _sizes(texts: Iterable[str] | None) -> dict[str, float]:
    """Read ``NAME=7``."""
    sizes: dict[str, float] = {}
    for text in texts or ():
        name, _, number = text.rpartition("=")
        try:
            sizes[name] = float(number)
        except ValueError:
            name = ""
        if not name:
            raise UsageError(f"--size {text!r} isn't a size", hint="write --size NAME=7")
    return sizes


def _built(made: Built, *, output: Path | None) -> Outcome:
    """Say what came of a build."""
    from heedful.bench.criticbench.tables import build_document

    summary, run = made.summary, made.directory or Path()
    files = [run / name for name in ("triplets.jsonl", "samples.jsonl", "summary.json")]
    hints = _hints(summary, run)
    rows = summary["rows"]
    return Outcome(
        view=lambda: build_document(summary).terminal(),
        written=(*files, output),
        problems=summary["problems"],
        failed=rows["failed"] + rows["unread"],
        resumed=made.progress.resumed,
        hints=hints if made.triplets else (*hints, _why_none(summary["selection"]["tasks"])),
        complete=bool(made.triplets) and not (rows["failed"] or rows["unread"]),
    )


def _why_none(tasks: Mapping[str, Mapping[str, int]]) -> str:
    """Say why a build made no triplet."""
    queries, unsampled, undecided = (
        sum(counts[name] for counts in tasks.values())
        for name in ("queries", "unsampled", "undecided")
    )
    if unsampled == queries:
        return "no triplet was made: no generator answered"
    if unsampled + undecided == queries:
        return "no triplet was made: no answer could be graded (see samples.jsonl)"
    return "no triplet was made: no generator gave both a right answer and a wrong one"


def _examined(
    result: Mapping[str, Any],
    output: Path | None,
    *,
    charts: ChartFormat | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Say how good critics are, and write the report."""
    from heedful.bench.criticbench.tables import RESULTS, SUMMARY, document, write_report

    written = write_report(result, output, charts) if output else []
    run = Path(result["runs"][0]["run"]) if progress else None
    made = [run / RESULTS, run / SUMMARY] if run else []
    critics = result["critics"].values()
    decided = critics and all(critic["accuracy"]["coverage"] for critic in critics)
    rows = result["rows"]
    failed = rows["failed"] or any(critic["failed"] for critic in critics)
    return Outcome(
        view=lambda: document(result).terminal(),
        written=(*made, *written),
        problems=result["problems"],
        failed=rows["failed"],
        resumed=progress.resumed if progress else 0,
        hints=_hints(result, run),
        complete=bool(decided) and not (failed or rows["waiting"]),
    )


def _hints(summary: Mapping[str, Any], run: Path | None) -> tuple[str, ...]:
    """Say how to go on where calls failed, or rows are not done."""
    rows = summary["rows"]
    calls = [critic["failed"] for critic in summary.get("critics", {}).values()]
    calls += [
        generator["failed"]
        for task in summary.get("tasks", {}).values()
        for generator in task.values()
    ]
    hints = []
    if run is not None and (rows["failed"] or any(calls)):
        hints.append(f"--retry-failed requests again what failed (run {run})")
    if rows.get("waiting"):
        hints.append(f"{rows['waiting']:,} rows are not done: the run's command goes on")
    return tuple(hints)
