"""``heedful evaluate | rejudge | respond | choose``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from heedful.cli import judging
from heedful.cli.connection import MODEL, the_model
from heedful.cli.flags import FlagGroup, Judge, Output, takes
from heedful.cli.judging import JUDGING, RESULTS
from heedful.cli.rows import add_to_rows
from heedful.cli.running import DATA, DIVIDED, RUN
from heedful.core.errors import UsageError
from heedful.jobs.options import RespondOptions

FILE = Annotated[list[Path], Parameter(name=["--input", "-i"], negative="")]


@takes(RESULTS, DATA._replace(without=()), JUDGING, DIVIDED)
def evaluate(
    input: FILE,
    *,
    judge: Judge = None,
    **options: Any,
) -> int:
    """Judge every response against its checklist and say how well the constraints were met.

    Args:
        input: The file to judge; several, a folder, a 'PATTERN*' or - (standard input).
        judge: rules (code), compiled (code, from the constraints' words), recorded (in the file),
            checklist (a model), likelihood (a model's log-probabilities), or a plugin's; with
            commas, in turn. Default: rules,recorded,compiled; with a model
            rules,compiled,checklist.
    """
    from heedful.cli.files import readable

    return judging.carry_out(readable(input), judge, options)


@takes(RESULTS.but("responses"), JUDGING, DIVIDED)
def rejudge(
    past: Annotated[Path, Parameter(name="RUN")],
    /,
    *,
    judge: Judge = judging.WITH_MODEL,
    **options: Any,
) -> int:
    """Judge the samples of a finished run again, with another judge or another prompt.

    Args:
        past: The directory of the run whose samples are judged; it stays as it is.
        judge: rules (code), compiled (code, from the constraints' words), recorded (in the file),
            checklist (a model); with commas, in turn.
    """
    from heedful.engine.saved_run import SavedRun

    run = options.get("run")
    if run is not None and run.resolve() == past.resolve():
        raise UsageError(
            "the new run would be in the directory of the old one",
            where=str(run),
            hint="name another directory with --run",
        )
    return judging.carry_out(SavedRun.open(past), judge, options)


@takes(FlagGroup("", (RespondOptions,)), DATA, MODEL, RUN)
def respond(
    input: list[Path],
    /,
    *,
    output: Output = None,
    **options: Any,
) -> int:
    """Obtain a response to every sample that has none.

    Several models answer each sample: a row for each, ID@MODEL.

    Args:
        input: The file with the samples; several, a folder or a 'PATTERN*'.
        output: Where the samples go with their responses: JSON lines. Only a dry run needs none.
    """
    from heedful.jobs.respond import respond as obtain

    names = options.pop("model", [])
    if not names:
        raise UsageError("no model is given", hint="name one with --model")
    return add_to_rows(partial(obtain, models=names), input, output, options, names)


@takes(DATA, MODEL, RUN)
def choose(
    input: list[Path],
    /,
    *,
    output: Output = None,
    **options: Any,
) -> int:
    """Have a model choose the better response of each labelled pair, in both orders.

    Args:
        input: The file with the pairs, or several: rows with preferred_to, or LLMBar's.
        output: Where the choices go, for heedful meta. Only a dry run needs none.
    """
    from heedful.jobs.choose import choose as have_chosen

    name = the_model(options)
    return add_to_rows(partial(have_chosen, model=name), input, output, options, [name])
