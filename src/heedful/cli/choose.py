"""``heedful choose``."""

from __future__ import annotations

from functools import partial
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import Annotated

from cyclopts import Parameter

from heedful.cli.connection import CallFlags, connect, sampling
from heedful.cli.rows import add_to_rows
from heedful.cli.running import Output, PartFlags, RunFlags
from heedful.core.errors import UsageError


def choose(
    input: list[Path],  # noqa: A002 - shown to users as INPUT
    /,
    *,
    output: Output = None,
    data: PartFlags = PartFlags(),  # noqa: B008 - immutable
    model_flags: Annotated[CallFlags, Parameter(name="*", group="Model")] = CallFlags(),  # noqa: B008 - immutable
    flags: RunFlags = RunFlags(),  # noqa: B008 - immutable
) -> int:
    """Have a model choose the better response of each labelled pair, in both orders.

    Args:
        input: The file with the pairs, or several: rows with preferred_to, or LLMBar's.
        output: Where the choices go, for heedful meta. Only a dry run needs none.
        data: How the input is read.
        model_flags: The model and how it is called.
        flags: How the job is run.
    """
    from heedful.jobs.choose import choose as have_chosen

    if len(model_flags.model) != 1:
        what = "several models are given" if model_flags.model else "no model is given"
        raise UsageError(what, hint="name one with --model")
    (model,) = connect(model_flags)
    how = sampling(model_flags, 0.0)
    name = ("choose", data.format, data.task, dict(model.config), how)
    job = partial(have_chosen, model=model, sampling=how)
    return add_to_rows(
        job, input, output, name=name, data=data, model_flags=model_flags, flags=flags
    )
