"""``heedful bench realcritic build | run | report | grade``."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from heedful.bench.realcritic.build import Pool
from heedful.bench.realcritic.run import Grading, RealCriticPlan
from heedful.cli.flags import (
    MODEL,
    FlagGroup,
    Output,
    Quiet,
    Reasoning,
    RequiredOutput,
    Scoring,
    connected,
    takes,
)
from heedful.cli.running import ALONE, PROBLEMS_SHOWN, Outcome, carry_out, print_outcome
from heedful.core.errors import UsageError
from heedful.core.text import amount
from heedful.engine.options import taken

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heedful.bench.grading.graders import GradeCounts
    from heedful.bench.realcritic.run import Results


GRADING = FlagGroup("Grading", (Grading,))
CRITIQUES = FlagGroup("", (RealCriticPlan,), only=("rounds",))
POOL = FlagGroup("", (Pool,), only=("cap", "seed"))
WHO = "Who is asked: a critic each, or for build a pool of two or more."


@takes(CRITIQUES, MODEL, GRADING, ALONE, model=WHO)
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

    Direct answers, self-critique, cross-critique, and any number of rounds of each.
    A run goes on where it stopped, and can be extended: nothing is requested twice.

    heedful bench realcritic run gsm8k.jsonl math.jsonl --model gpt-4.1-mini

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
    from heedful.bench.realcritic.critic import Prompts
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

    heedful bench realcritic report runs/mine -o report

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


@takes(POOL, MODEL, GRADING, ALONE, model=WHO)
def build(
    sources: list[str],
    /,
    *,
    output: RequiredOutput,
    **options: Any,
) -> int:
    """Build sets of solutions to criticise from a pool of models.

    heedful bench realcritic build test.jsonl -m gpt-4o -m gpt-4.1-nano -o sets

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
            hints=(retry,) if failed else (),
            complete=not (failed or unread),
        )

    return carry_out(
        partial(build_realcritic, pool, output),
        options,
        models=names,
        outcome=outcome,
    )


@takes(FlagGroup("", (Grading,), {"timeout_s"}))
def grade(
    files: list[Path],
    /,
    *,
    output: Output = None,
    from_: Annotated[Literal["solution", "pred"], Parameter(name="--from")] = "solution",
    timeout: float = 5.0,
    reasoning: Reasoning = "strip",
    quiet: Quiet = False,
    **grading: Any,
) -> int:
    """Grade given solutions against gold answers, without a model.

    heedful bench realcritic grade gsm8k.jsonl math.jsonl -o graded.jsonl

    Args:
        files: RealCritic's files, one a set: question, gt, reasoning, pred.
        output: Write each item's grade here, as JSON lines.
        from_: Grade the solution's text, or the answer that the file gives as pred.
        timeout: Seconds that comparing one answer may take; longer is undecided.
        reasoning: strip: look for answers after the reasoning. keep: in all of a solution.
        quiet: Print no table and no progress.
    """
    from heedful.bench.grading.graders import grade_files
    from heedful.engine.progress import Display

    if not files:
        raise UsageError("no file to grade", hint="name RealCritic's files, such as gsm8k.jsonl")
    started = time.monotonic()
    display = Display(say=lambda graded, now: _progress(graded, now - started))
    try:
        counts = asyncio.run(
            grade_files(
                files,
                output,
                reading=from_,
                timeout_s=timeout,
                reasoning=reasoning,
                **grading,
                on_progress=(lambda _: None) if quiet else display,
            )
        )
    finally:
        display.clear()
    seconds = time.monotonic() - started
    return print_outcome(_grades(counts, output), seconds=seconds, quiet=quiet)


def _progress(graded: int, seconds: float) -> str:
    return f"{graded:,} graded, {graded / max(seconds, 1e-9):,.0f} a second"


def _grades(counts: dict[str, GradeCounts], output: Path | None) -> Outcome:
    from rich.console import Group

    from heedful.bench.grading.graders import grading_table

    unread = sum(each.unread for each in counts.values())
    return Outcome(
        view=lambda: Group(grading_table(counts).terminal(), *_reasons(counts)),
        written=[output],
        problems=[{"problem": problem} for each in counts.values() for problem in each.failures],
        failed=unread,
        complete=not unread and any(each.decided for each in counts.values()),
    )


def _reasons(counts: dict[str, GradeCounts]) -> Iterator[str]:
    """Yield why items are undecided, the most frequent reasons first."""
    reasons: Counter[str] = Counter()
    for each in counts.values():
        reasons.update(each.undecided)
    if reasons:
        yield f"  {reasons.total():,} undecided, neither correct nor wrong:"
    shown = reasons.most_common(PROBLEMS_SHOWN)
    for reason, count in shown:
        yield f"    {count:,}: {reason}"
    others = reasons.total() - sum(count for _, count in shown)
    if others:
        yield f"    {others:,}: other reasons"
