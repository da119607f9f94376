"""``heedful rejudge``."""

from __future__ import annotations

from functools import partial
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import Annotated

from cyclopts import Parameter

from heedful.cli import judging
from heedful.cli.judging import JudgeFlags, ResultFlags
from heedful.cli.running import RunFlags
from heedful.core.errors import UsageError


def rejudge(
    past: Annotated[Path, Parameter(name="RUN")],
    /,
    *,
    judge: Annotated[str, Parameter(name=["--judge", "-j"])] = judging.WITH_MODEL,
    results: ResultFlags = ResultFlags(),  # noqa: B008 - immutable
    model_flags: JudgeFlags = JudgeFlags(),  # noqa: B008 - immutable
    flags: RunFlags = RunFlags(),  # noqa: B008 - immutable
) -> int:
    """Judge the samples of a finished run again, with another judge or another prompt.

    Args:
        past: The directory of the run whose samples are judged; it stays as it is.
        judge: rules (code), compiled (code, from the constraints' words), recorded (in the file),
            checklist (a model); with commas, in turn.
        results: How results are computed and written.
        model_flags: The model and how it is called.
        flags: How the job is run.
    """
    from heedful.engine.saved_run import SavedRun
    from heedful.jobs.evaluate import evaluate as judge_all

    if flags.run is not None and flags.run.resolve() == past.resolve():
        raise UsageError(
            "the new run would be in the directory of the old one",
            where=str(flags.run),
            hint="name another directory with --run",
        )
    samples = SavedRun.open(past)
    who = judging.make(judge, model_flags, scoring=results.scoring, seed=results.seed)
    run = flags.run or samples.default_run(results.scoring, results.seed, dict(who.config))
    job = partial(
        judge_all,
        samples,
        judge=who,
        scoring=results.scoring,
        seed=results.seed,
        output=results.output,
        replies=results.replies,
    )
    return judging.carry_out(job, flags, model_flags, results, run=run)
