"""``heedful evaluate | rejudge | respond``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import Annotated

from cyclopts import Parameter

from heedful.cli import judging
from heedful.cli.connection import CallFlags, connect, sampling
from heedful.cli.judging import JudgeFlags, ResultFlags
from heedful.cli.rows import add_to_rows
from heedful.cli.running import Output, PartFlags, RunFlags
from heedful.core.errors import UsageError


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


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ResponseFlags:
    """How many responses a sample gets, and from whom.

    Attributes:
        samples: Independent responses to each sample: a row for each, ID#1, ID#2, …
        models_per_sample: How many of the models answer each sample, chosen at random for it; all
            by default.
        seed: Seed of that choice.
        overwrite: Also replace a response that is there.
    """

    samples: int = 1
    models_per_sample: int | None = None
    seed: int = 0
    overwrite: Annotated[bool, Parameter(negative="")] = False


def respond(
    input: list[Path],  # noqa: A002 - shown to users as INPUT
    /,
    *,
    output: Output = None,
    wanted: ResponseFlags = ResponseFlags(),
    data: PartFlags = PartFlags(),  # noqa: B008 - immutable
    model_flags: Annotated[CallFlags, Parameter(name="*", group="Model")] = CallFlags(),  # noqa: B008 - immutable
    flags: RunFlags = RunFlags(),  # noqa: B008 - immutable
) -> int:
    """Obtain a response to every sample that has none.

    Several models answer each sample: a row for each, ID@MODEL.

    Args:
        input: The file with the samples; several, a folder or a 'PATTERN*'.
        output: Where the samples go with their responses: JSON lines. Only a dry run needs none.
        wanted: How many responses a sample gets, and from whom.
        data: How the input is read.
        model_flags: The model and how it is called.
        flags: How the job is run.
    """
    from heedful.core.errors import UsageError
    from heedful.jobs.respond import respond as obtain

    if not model_flags.model:
        raise UsageError("no model is given", hint="name one with --model")
    models = connect(model_flags)
    how = sampling(model_flags, 1.0 if wanted.samples > 1 else 0.0)
    configs = [dict(model.config) for model in models]
    options = (data.format, data.task, wanted.samples, wanted.overwrite, configs, how)
    size = wanted.models_per_sample
    chosen = () if size is None else (size, wanted.seed)
    name = ("respond", *options, *chosen)
    job = partial(
        obtain,
        models=models,
        samples=wanted.samples,
        sampling=how,
        models_per_sample=wanted.models_per_sample,
        seed=wanted.seed,
        overwrite=wanted.overwrite,
    )
    return add_to_rows(
        job, input, output, name=name, data=data, model_flags=model_flags, flags=flags
    )
