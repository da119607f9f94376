"""``heedful critic sample``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import Annotated

from cyclopts import Parameter

from heedful.cli import rows
from heedful.cli.connection import CallFlags, connect, sampling
from heedful.cli.judging import PROMPT
from heedful.cli.running import DataFlags, RunFlags, carry_out
from heedful.core.errors import UsageError


@Parameter(name="*", group="Model")
@dataclass(frozen=True, kw_only=True)
class ExpertFlags(CallFlags):
    """How the expert, or a trained critic, is sampled; by default at temperature 1.

    Attributes:
        seed: Critique k is sampled with the seed SEED + k - 1, where the model takes one.
    """

    seed: int | None = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CritiqueFlags:
    """What is sampled of which rows.

    Attributes:
        samples: Independent critiques of each response.
        prompt: plain, structured, structured_object, if_critic or advancedif. By default the one
            that the model's folder names, or plain.
        overwrite: Sample also where there are sampled critiques.
    """

    samples: Annotated[int, Parameter(name=["--samples", "-n"])] = 5
    prompt: str | None = None
    overwrite: Annotated[bool, Parameter(negative="")] = False


def sample(
    input: Path,  # noqa: A002 - shown to users as INPUT
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    wanted: CritiqueFlags = CritiqueFlags(),
    data: DataFlags = DataFlags(),  # noqa: B008 - immutable
    model_flags: ExpertFlags = ExpertFlags(),
    flags: RunFlags = RunFlags(),  # noqa: B008 - immutable
) -> int:
    """Sample several critiques of each response.

    Args:
        input: The file with the responses and their checklists.
        output: Where the rows go with their critiques: JSON lines. Only a dry run needs none.
        wanted: What is sampled of which rows.
        data: How the input is read.
        model_flags: How a model is asked.
        flags: How the job is run.

    Returns:
        The exit code.
    """
    from heedful.critic import data as critic
    from heedful.engine.inputs import default_run

    if len(model_flags.model) != 1:
        number = "no model" if not model_flags.model else f"{len(model_flags.model)} models"
        raise UsageError(f"there is {number} to ask", hint="name one with --model")
    (model,) = connect(model_flags)
    how = sampling(model_flags, 1.0 if wanted.samples > 1 else 0.0)
    how = how.model_copy(update={"seed": model_flags.seed})
    prompt = wanted.prompt or getattr(model, "prompt", None) or PROMPT
    expert = critic.Expert(model, prompt, how)
    choice = (data.format, data.task, wanted.samples, wanted.overwrite)
    options = ("critic sample", *choice, dict(expert.config))
    run = flags.run or default_run(input, None, *options)
    job = partial(
        critic.sample_critiques,
        input,
        expert=expert,
        samples=wanted.samples,
        overwrite=wanted.overwrite,
        output=output,
        format=data.format,
        task=data.task,
    )
    return carry_out(
        job,
        flags,
        run=run,
        models=model_flags.model,
        concurrency=model_flags.max_concurrency,
        outcome=partial(rows.outcome, output=output),
        output=output,
    )
