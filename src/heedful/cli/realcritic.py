"""``heedful bench realcritic build | run | report``."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from heedful.cli.connection import CallFlags, Names, connect, sampling
from heedful.cli.running import (
    Outcome,
    Output,
    Quiet,
    RequiredOutput,
    RunFlags,
    carry_out,
    print_outcome,
)
from heedful.core.errors import UsageError
from heedful.core.text import amount

if TYPE_CHECKING:
    from heedful.bench.realcritic.run import Grading, Results
    from heedful.models import Model


@Parameter(name="*", group="Model")
@dataclass(frozen=True, kw_only=True)
class RealCriticFlags(CallFlags):
    """The models, and how they are called.

    Attributes:
        model: Who is asked: a critic each, or for build a pool of two or more.
    """

    model: Names = field(default_factory=list)


@Parameter(name="*", group="Grading")
@dataclass(frozen=True, kw_only=True)
class GradingFlags:
    """How answers are compared.

    Attributes:
        grading_timeout: Seconds that comparing one answer may take; longer is undecided.
        workers: Processes that compare answers. Default: one per core.
        accept_choice_text: Take a choice in words for its letter.
    """

    grading_timeout: float = 5.0
    workers: int | None = None
    accept_choice_text: Annotated[bool, Parameter(negative="")] = False

    def grading(self) -> Grading:
        """Say it to the graders."""
        from heedful.bench.realcritic.run import Grading

        return Grading(self.grading_timeout, self.workers, self.accept_choice_text)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CritiquingFlags:
    """The critiques: of which solutions, how many, and the model that checks them.

    Attributes:
        modes: direct (the critic's own solution), self (critiques of that), cross (of the given
            solution); with commas.
        rounds: Critiques of each solution, the history kept; from 2 on, iterative critique.
        check_model: A model that marks critiques which took a shortcut; it is asked like the
            critics are.
        prompts: A folder with prompts of your own: direct.txt, critique.txt, again.txt, check.txt,
            and critique.system.txt and so on for system turns.
    """

    modes: str = "direct,self,cross"
    rounds: int = 1
    check_model: str | None = None
    prompts: Path | None = None


def run(
    files: list[Path],
    /,
    *,
    critiquing: CritiquingFlags = CritiquingFlags(),
    scoring: Literal["strict", "faithful"] = "strict",
    labels: Literal["shipped", "corrected"] = "shipped",
    model_flags: RealCriticFlags = RealCriticFlags(),
    comparing: GradingFlags = GradingFlags(),
    flags: RunFlags = RunFlags(),  # noqa: B008 - immutable
) -> int:
    """Have critics criticise and correct solutions, and grade the corrections.

    Args:
        files: RealCritic's files (question, gt, reasoning) or ProcessBench's, one a set.
        critiquing: The critiques: of which solutions, how many, and the model that checks them.
        scoring: Scoring of the table: strict, or faithful (as the published code counts).
        labels: Labels for the table: corrected takes people's verdicts on given solutions of
            the published sets where code had erred or could not decide.
        model_flags: The models and how they are called.
        comparing: How answers are compared.
        flags: How the job is run.
    """
    from heedful.bench.realcritic.prompts import Prompts
    from heedful.bench.realcritic.run import RealCriticPlan, run_realcritic

    modes = [mode.strip() for mode in critiquing.modes.split(",")]
    plan = RealCriticPlan(
        files=files,
        critics=connect(model_flags),
        modes=modes,  # type: ignore[arg-type]  # RealCriticPlan looks
        rounds=critiquing.rounds,
        checker=_checker(model_flags, critiquing.check_model),
        sampling=sampling(model_flags),
        grading=comparing.grading(),
        prompts=Prompts.read(critiquing.prompts),
    )
    run = flags.run or plan.default_run()

    return carry_out(
        partial(run_realcritic, plan),
        flags,
        run=run,
        models=[*model_flags.model, *filter(None, [critiquing.check_model])],
        concurrency=model_flags.max_concurrency,
        outcome=partial(_graded, run=run, scoring=scoring, labels=labels),
        output=run,
    )


def _graded(
    results: Results,
    *,
    run: Path,
    scoring: Literal["strict", "faithful"],
    labels: Literal["shipped", "corrected"],
) -> Outcome:
    """Lay out the result of a run."""
    from heedful.bench.realcritic.metrics import numbers
    from heedful.bench.realcritic.report import document

    summary = results.summary()
    rows = summary["rows"]
    retry = "--retry-failed repeats the calls that failed"
    return Outcome(
        view=lambda: document(
            numbers(results, scoring, labels=labels), cost=summary.get("cost")
        ).terminal(),
        written=(run / "results.jsonl",),
        problems=summary["problems"],
        failed=sum(rows.values()) - rows["done"],
        names=run / "results.jsonl",
        resumed=results.progress.resumed if results.progress else 0,
        hints=(retry,) if rows["incomplete"] or rows["failed"] else (),
        complete=not summary["problems"],
    )


def report(
    runs: list[Path],
    /,
    *,
    output: Output = None,
    charts: Literal["svg", "png", "pdf"] | None = None,
    scoring: Literal["strict", "faithful"] = "strict",
    labels: Literal["shipped", "corrected"] = "shipped",
    quiet: Quiet = False,
) -> int:
    """Make the tables and charts of finished runs, without a call.

    Args:
        runs: Directories of runs; several are compared, each critic once.
        output: The folder for report.json, report.md, report.html, and the charts. Default: the
            first run's.
        charts: The format of the files of charts beside report.md. By default svg, where
            heedful[charts] is installed.
        scoring: strict: undecided is left out, given solutions are graded. faithful: as the
            published code counts.
        labels: shipped, or corrected: people's verdicts on given solutions of the published sets
            where code had erred or could not decide.
        quiet: Print no table.
    """
    from heedful.bench.realcritic.report import write_report

    if not runs:
        raise UsageError("no run to report on", hint="name the directory that --run named")
    made, written = write_report(
        runs, output or runs[0], scoring=scoring, labels=labels, charts=charts
    )
    return print_outcome(Outcome(view=made.terminal, written=written), quiet=quiet)


def build(
    sources: list[str],
    /,
    *,
    output: RequiredOutput,
    cap: int = 300,
    seed: int = 0,
    model_flags: RealCriticFlags = RealCriticFlags(),
    comparing: GradingFlags = GradingFlags(),
    flags: RunFlags = RunFlags(),  # noqa: B008 - immutable
) -> int:
    """Build sets of solutions to criticise from a pool of models, as RealCritic was built.

    Args:
        sources: Problems, one a set: GSM8K, MATH, TruthfulQA or RealCritic files, or
            hf:OWNER/NAME:CONFIG@SPLIT.
        output: The folder for SET.jsonl and manifest.json.
        cap: Questions of a set at most; a set with more is sampled.
        seed: Seed of the random choices.
        model_flags: The models and how they are called.
        comparing: How answers are compared.
        flags: How the job is run.
    """
    from heedful.bench.realcritic.build import Pool, build_realcritic

    models = connect(model_flags)
    pool = Pool(sources, models, cap, seed, sampling(model_flags), comparing.grading())
    run = flags.run or pool.default_run()

    def outcome(manifest: dict[str, Any]) -> Outcome:
        from heedful.bench.realcritic.tables import build_document

        failed = sum(counts["failed"] for counts in manifest["sets"].values())
        unread = [{"problem": failure} for failure in manifest["failures"]]
        retry = f"{amount(failed, 'call')} failed; --retry-failed requests them again"
        return Outcome(
            view=lambda: build_document(manifest).terminal(),
            written=(output,),
            problems=unread,
            failed=len(unread),
            hints=(retry,) if failed else (),
            complete=not (failed or unread),
        )

    return carry_out(
        partial(build_realcritic, pool, output),
        flags,
        run=run,
        models=model_flags.model,
        concurrency=model_flags.max_concurrency,
        outcome=outcome,
        output=output,
    )


def _checker(model_flags: RealCriticFlags, name: str | None) -> Model | None:
    """Make the post-check's model, asked over the same connection."""
    if name is None:
        return None
    from dataclasses import replace

    (model,) = connect(replace(model_flags, model=[name]))
    return model
