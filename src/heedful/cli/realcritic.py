"""``heedful bench realcritic build | run | report``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from heedful.bench.realcritic.build import Pool
from heedful.bench.realcritic.run import Grading, RealCriticPlan
from heedful.cli.connection import MODEL, connected
from heedful.cli.flags import FlagGroup, Output, Quiet, RequiredOutput, Scoring, taken, takes
from heedful.cli.running import RUN, Outcome, carry_out, print_outcome
from heedful.core.errors import UsageError
from heedful.core.text import amount

if TYPE_CHECKING:
    from heedful.bench.realcritic.run import Results

GRADING = FlagGroup("Grading", (Grading,))
CRITIQUES = FlagGroup("", (RealCriticPlan,), only=("rounds",))
POOL = FlagGroup("", (Pool,), only=("cap", "seed"))
WHO = "Who is asked: a critic each, or for build a pool of two or more."


@takes(CRITIQUES, MODEL, GRADING, RUN, model=WHO)
def run(
    files: list[Path],
    /,
    *,
    modes: str = "direct,self,cross",
    check_model: str | None = None,
    prompts: Path | None = None,
    scoring: Scoring = "strict",
    labels: Literal["shipped", "corrected"] = "shipped",
    **options: Any,
) -> int:
    """Have critics criticise and correct solutions, and grade the corrections.

    Args:
        files: RealCritic's files (question, gt, reasoning) or ProcessBench's, one a set.
        modes: direct (the critic's own solution), self (critiques of that), cross (of the given
            solution); with commas.
        check_model: A model that marks critiques which took a shortcut; it is asked like the
            critics are.
        prompts: A folder with prompts of your own: direct.txt, critique.txt, again.txt, check.txt,
            and critique.system.txt and so on for system turns.
        scoring: Scoring of the table: strict, or faithful (as the published code counts).
        labels: Labels for the table: corrected takes people's verdicts on given solutions of
            the published sets where code had erred or could not decide.
    """
    from heedful.bench.realcritic.prompts import Prompts
    from heedful.bench.realcritic.run import run_realcritic

    critics = options.pop("model", [])
    names = [*critics, *([] if check_model is None else [check_model])]
    models, how = connected(options, names)
    plan = RealCriticPlan(
        files=files,
        critics=models[: len(critics)],
        modes=[mode.strip() for mode in modes.split(",")],  # type: ignore[misc]  # it looks
        checker=None if check_model is None else models[-1],
        sampling=how,
        grading=Grading(**taken(options, Grading)),
        prompts=Prompts.read(prompts),
        **taken(options, RealCriticPlan),
    )
    return carry_out(
        partial(run_realcritic, plan),
        options,
        models=names,
        outcome=partial(_graded, scoring=scoring, labels=labels),
    )


def _graded(
    results: Results,
    *,
    scoring: Scoring,
    labels: Literal["shipped", "corrected"],
) -> Outcome:
    """Lay out the result of a run."""
    from heedful.bench.realcritic.metrics import numbers
    from heedful.bench.realcritic.tables import document

    summary = results.summary()
    rows, file = summary["rows"], (results.directory or Path()) / "results.jsonl"
    retry = "--retry-failed repeats the calls that failed"
    return Outcome(
        view=lambda: document(
            numbers(results, scoring, labels=labels), cost=summary.get("cost")
        ).terminal(),
        written=(file,),
        problems=summary["problems"],
        failed=sum(rows.values()) - rows["done"],
        names=file,
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
    scoring: Scoring = "strict",
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
    from heedful.bench.realcritic.tables import write_report

    if not runs:
        raise UsageError("no run to report on", hint="name the directory that --run named")
    made, written = write_report(
        runs, output or runs[0], scoring=scoring, labels=labels, charts=charts
    )
    return print_outcome(Outcome(view=made.terminal, written=written), quiet=quiet)


@takes(POOL, MODEL, GRADING, RUN, model=WHO)
def build(
    sources: list[str],
    /,
    *,
    output: RequiredOutput,
    **options: Any,
) -> int:
    """Build sets of solutions to criticise from a pool of models, as RealCritic was built.

    Args:
        sources: Problems, one a set: GSM8K, MATH, TruthfulQA or RealCritic files, or
            hf:OWNER/NAME:CONFIG@SPLIT.
        output: The folder for SET.jsonl and manifest.json.
    """
    from heedful.bench.realcritic.build import build_realcritic

    names = options.pop("model", [])
    models, how = connected(options, names)
    grading = Grading(**taken(options, Grading))
    pool = Pool(sources, models, sampling=how, grading=grading, **taken(options, Pool))

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
        options,
        models=names,
        outcome=outcome,
    )
