"""``heedful respond``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import Annotated

from cyclopts import Parameter

from heedful.cli.connection import CallFlags, connect, sampling
from heedful.cli.rows import add_to_rows
from heedful.cli.running import Output, PartFlags, RunFlags


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
