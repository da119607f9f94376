"""``heedful bench criticbench``: build a benchmark of critics, run critics on it, report."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from heedful.cli.connection import CallFlags, Names, connect, sampling
from heedful.cli.running import Outcome, Output, Quiet, RunFlags, carry_out, print_outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from heedful.bench.criticbench.build import Built
    from heedful.engine.runner import Progress
    from heedful.reporting.chart import Format

TEMPERATURE = 0.6


@Parameter(name="*", group="Generators")
@dataclass(frozen=True, kw_only=True)
class GeneratorFlags(CallFlags):
    """The generators, and how they are called.

    Attributes:
        model: Who answers; several of different strength make a better benchmark.
        code_model: Also answers, but only questions for programs: a model trained for code.
        temperature: Default: 0.6.
    """

    model: Names = field(default_factory=list)
    code_model: Annotated[list[str], Parameter(negative="")] = field(default_factory=list)
    temperature: float | None = None


@Parameter(name="*", group="Critics")
@dataclass(frozen=True, kw_only=True)
class CriticFlags(CallFlags):
    """The critics, and how they are called.

    Attributes:
        model: Who judges; each of several judges everything.
        temperature: Default: 0.6.
    """

    model: Names = field(default_factory=list)
    temperature: float | None = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class QuestionFlags:
    """Which questions are answered, and how often.

    Attributes:
        samples: Answers to each question from each generator. Default: 64, and 100 programs.
        limit: Read only the first so many questions of each file.
        seed: Shuffles the choices of TruthfulQA.
    """

    samples: int | None = None
    limit: int | None = None
    seed: int = 0


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TripletFlags:
    """Which questions are kept.

    Attributes:
        queries: Questions selected of each task. Default: all but those that are too easy.
        ranking: Which are kept first: separating (strong generators from weak), certain, uncertain.
        certainty: How certain a generator is, from how often it gave each answer.
    """

    queries: int | None = None
    ranking: Literal["separating", "certain", "uncertain"] = "separating"
    certainty: Literal["log_ratio", "majority_share"] = "log_ratio"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CheckerFlags:
    """How code grades answers.

    Attributes:
        sandbox: What programs run in.
        grading_timeout: Seconds that comparing two answers may take.
    """

    sandbox: Literal["auto", "bubblewrap", "docker", "unsafe"] = "auto"
    grading_timeout: float = 5.0


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ExaminationFlags:
    """How critics are examined.

    Attributes:
        repeats: Critiques of each response by each critic.
        check: Self-consistency with self-check: each critic checks its own answers (own) or those
            of all generators (all) where these were unsure. BENCHMARK is then a build's directory.
        threshold: Check where certainty is below this; several are compared. Default: 1 and 2.
    """

    repeats: int = 8
    check: Literal["own", "all"] | None = None
    threshold: Annotated[list[float] | None, Parameter(negative="")] = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class NumberFlags:
    """How critiques become numbers.

    Attributes:
        scoring: What a critique without a judgment is: strict: nothing. faithful: "correct".
        size: A critic's size in billions of parameters, for the scaling chart: NAME=7.
    """

    scoring: Literal["strict", "faithful"] = "strict"
    size: Annotated[list[str] | None, Parameter(negative="")] = None

    def sizes(self) -> dict[str, float]:
        """Read ``NAME=7``."""
        from heedful.core.errors import UsageError

        sizes: dict[str, float] = {}
        for text in self.size or ():
            name, _, number = text.rpartition("=")
            try:
                sizes[name] = float(number)
            except ValueError:
                name = ""
            if not name:
                raise UsageError(f"--size {text!r} isn't a size", hint="write --size NAME=7")
        return sizes


def build(
    files: list[str],
    /,
    *,
    questions: QuestionFlags = QuestionFlags(),
    kept: TripletFlags = TripletFlags(),
    checking: CheckerFlags = CheckerFlags(),
    output: Output = None,
    model_flags: GeneratorFlags = GeneratorFlags(),
    flags: RunFlags = RunFlags(),  # noqa: B008 - immutable
) -> int:
    """Build a benchmark: generators answer questions, code grades, triplets are selected.

    Args:
        files: Questions: GSM8K, MATH, HumanEval, TruthfulQA; or hf:OWNER/NAME:CONFIG@SPLIT.
        questions: Which questions are answered, and how often.
        kept: Which questions are kept.
        checking: How code grades answers.
        output: Also write the triplets here, as JSON lines.
        model_flags: The generators and how they are called.
        flags: How the job is run.
    """
    from heedful.bench.criticbench.build import build as build_benchmark
    from heedful.bench.criticbench.generate import BuildPlan
    from heedful.engine.inputs import unnamed

    names = [*model_flags.model, *model_flags.code_model]
    models = connect(replace(model_flags, model=names))
    count = len(model_flags.model)
    plan = BuildPlan(
        files,
        models[:count],
        code_generators=models[count:],
        sampling=sampling(model_flags, TEMPERATURE),
        sandbox=checking.sandbox,
        timeout_s=checking.grading_timeout,
        **vars(questions),
    )
    configs = [dict(model.config) for model in models]
    options = (_contents(files), configs, count, str(plan.sampling), *vars(questions).values())
    run = flags.run or unnamed("criticbench-build", *options)
    job = partial(build_benchmark, plan, **vars(kept), output=output)
    return carry_out(
        job,
        flags,
        run=run,
        models=names,
        concurrency=model_flags.max_concurrency,
        outcome=partial(_built, run=run, output=output),
        output=run,
    )


def run(
    benchmark: Path,
    /,
    *,
    examination_flags: ExaminationFlags = ExaminationFlags(),
    counting: NumberFlags = NumberFlags(),
    output: Output = None,
    model_flags: CriticFlags = CriticFlags(),
    flags: RunFlags = RunFlags(),  # noqa: B008 - immutable
) -> int:
    """Have critics judge a benchmark, and say how often they are right.

    Args:
        benchmark: The directory of a build, or a file of triplets.
        examination_flags: How critics are examined.
        counting: How critiques become numbers.
        output: Write a report here, a folder: JSON, Markdown, HTML, charts.
        model_flags: The critics and how they are called.
        flags: How the job is run.
    """
    from heedful.bench.criticbench.items import TRIPLETS
    from heedful.bench.criticbench.report import examine
    from heedful.bench.criticbench.run import Examination
    from heedful.engine.inputs import unnamed

    models = connect(model_flags)
    examination = Examination(
        benchmark,
        models,
        repeats=examination_flags.repeats,
        sampling=sampling(model_flags, TEMPERATURE),
        checks=examination_flags.check,
        thresholds=examination_flags.threshold or (1.0, 2.0),
    )
    configs = [dict(model.config) for model in models]
    file = benchmark / TRIPLETS if benchmark.is_dir() else benchmark
    asked = (examination_flags.repeats, examination_flags.check, examination_flags.threshold)
    options = (configs, str(examination.sampling), *asked)
    run = flags.run or unnamed("criticbench-run", _contents([str(file)]), *options)
    job = partial(
        examine,
        examination,
        scoring=counting.scoring,
        sizes=counting.sizes(),
    )
    return carry_out(
        job,
        flags,
        run=run,
        models=model_flags.model,
        concurrency=model_flags.max_concurrency,
        outcome=lambda item: _examined(item[0], output, run=run, progress=item[1]),
        output=run,
    )


def report(
    runs: list[Path],
    /,
    *,
    output: Output = None,
    charts: Literal["svg", "png", "pdf"] | None = None,
    counting: NumberFlags = NumberFlags(),
    prices: Path | None = None,
    quiet: Quiet = False,
) -> int:
    """Put runs of critics over one benchmark together, without a model.

    Args:
        runs: Their directories.
        output: Write the report here, a folder: JSON, Markdown, HTML, charts.
        charts: The format of the files of charts beside report.md. By default svg, where
            heedful[charts] is installed.
        counting: How critiques become numbers.
        prices: A file, {"MODEL": {"prompt": 1, "completion": 2}}, dollars per million tokens.
        quiet: Print no tables.
    """
    from heedful.bench.criticbench.report import report as report_runs

    table = RunFlags(prices=prices).price_table([])
    result = report_runs(
        runs,
        scoring=counting.scoring,
        sizes=counting.sizes(),
        prices=table,
    )
    return print_outcome(_examined(result, output, charts=charts), quiet=quiet)


def _built(made: Built, *, run: Path, output: Path | None) -> Outcome:
    """Say what came of a build."""
    from heedful.bench.criticbench.tables import build_document

    summary = made.summary
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
    charts: Format | None = None,
    run: Path | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Say how good critics are, and write the report."""
    from heedful.bench.criticbench.report import RESULTS, SUMMARY, write_report
    from heedful.bench.criticbench.tables import document

    written = write_report(result, output, charts) if output else []
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


def _contents(files: Iterable[str]) -> list[str]:
    """Name files by what is in them; one that is missing is refused better when it is read."""
    from heedful.engine.inputs import fingerprint

    return [fingerprint(Path(file)) if Path(file).is_file() else file for file in files]
