"""``heedful evaluate``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import Annotated

from cyclopts import Parameter

from heedful.cli import judging
from heedful.cli.judging import JudgeFlags, ResultFlags
from heedful.cli.running import PartFlags, RunFlags


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class JudgedDataFlags(PartFlags):
    """How the input is read.

    Attributes:
        exclude_generation_failures: Leave out rows that say that no response was generated
            (_generation_error, or a failed row of heedful respond). They are counted apart.
    """

    exclude_generation_failures: Annotated[bool, Parameter(negative="")] = False


def evaluate(
    input: Annotated[  # noqa: A002 - AdvancedIF's name
        list[Path], Parameter(name=["--input", "-i"], negative="")
    ],
    *,
    responses: Path | None = None,
    judge: Annotated[str | None, Parameter(name=["--judge", "-j"])] = None,
    results: ResultFlags = ResultFlags(),  # noqa: B008 - immutable
    data: JudgedDataFlags = JudgedDataFlags(),
    model_flags: JudgeFlags = JudgeFlags(),  # noqa: B008 - immutable
    flags: RunFlags = RunFlags(),  # noqa: B008 - immutable
) -> int:
    """Judge every response against its checklist and say how well the constraints were met.

    Args:
        input: The file to judge; several, a folder, a 'PATTERN*' or - (standard input).
        responses: A file with the responses, joined on key or prompt, where INPUT has none.
        judge: rules (code), compiled (code, from the constraints' words), recorded (in the file),
            checklist (a model), likelihood (a model's log-probabilities), or a plugin's; with
            commas, in turn. Default: rules,recorded,compiled; with a model
            rules,compiled,checklist.
        results: How results are computed and written.
        data: How the input is read.
        model_flags: The model and how it is called.
        flags: How the job is run.
    """
    from heedful.cli.files import readable
    from heedful.engine.inputs import default_run
    from heedful.jobs.evaluate import evaluate as judge_all

    who = judging.make(judge, model_flags, scoring=results.scoring, seed=results.seed)
    exclude = data.exclude_generation_failures
    options = (data.format, results.scoring, results.seed, data.task, dict(who.config))
    files = readable(input)
    run = flags.run or default_run(
        files, responses, *options, *data.part(), *(["excluded"] if exclude else [])
    )
    job = partial(
        judge_all,
        files,
        judge=who,
        scoring=results.scoring,
        seed=results.seed,
        responses=responses,
        output=results.output,
        replies=results.replies,
        **data.reading(),
        exclude_generation_failures=exclude,
    )
    return judging.carry_out(job, flags, model_flags, results, run=run)
