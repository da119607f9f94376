"""``heedful critic sample``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import Annotated, Literal  # noqa: F401 - cyclopts reads inherited annotations here

from cyclopts import Parameter

from heedful.cli.connection import CallFlags, connect_one, sampling
from heedful.cli.rows import add_to_rows
from heedful.cli.running import Output, PartFlags, RunFlags


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
    """How critiques are sampled, and for which rows.

    Attributes:
        samples: Independent critiques of each response.
        prompt: plain, short, structured, structured_object, if_critic or advancedif. By default the
            one that the model's folder names, or plain.
        measure: Tell the model what code counts, as for a served critic that was trained so. A
            model's folder says it itself.
        overwrite: Also replace sampled critiques that are there.
    """

    samples: Annotated[int, Parameter(name=["--samples", "-n"])] = 5
    prompt: str | None = None
    measure: Annotated[bool, Parameter(negative="")] = False
    overwrite: Annotated[bool, Parameter(negative="")] = False


def sample(
    input: list[Path],  # noqa: A002 - shown to users as INPUT
    /,
    *,
    output: Output = None,
    sampled: CritiqueFlags = CritiqueFlags(),
    data: PartFlags = PartFlags(),  # noqa: B008 - immutable
    model_flags: ExpertFlags = ExpertFlags(),
    flags: RunFlags = RunFlags(),  # noqa: B008 - immutable
) -> int:
    """Sample several critiques of each response.

    Args:
        input: The file with the responses and their checklists, or several.
        output: Where the rows go with their critiques: JSON lines. Only a dry run needs none.
        sampled: How critiques are sampled, and for which rows.
        data: How the input is read.
        model_flags: The model and how it is called.
        flags: How the job is run.
    """
    from heedful.critic import data as critic
    from heedful.judges import Measurement
    from heedful.judges.making import prompt_for, protocol_of

    model = connect_one(model_flags)
    how = sampling(model_flags, 1.0 if sampled.samples > 1 else 0.0)
    how = how.model_copy(update={"seed": model_flags.seed})
    measure = Measurement() if sampled.measure or protocol_of(model).measure else None
    expert = critic.Expert(model, prompt_for(model, sampled.prompt), how, measure)
    choice = (data.format, data.task, sampled.samples, sampled.overwrite)
    name = ("critic sample", *choice, dict(expert.config))
    job = partial(
        critic.sample_critiques,
        expert=expert,
        samples=sampled.samples,
        overwrite=sampled.overwrite,
    )
    return add_to_rows(
        job, input, output, name=name, data=data, model_flags=model_flags, flags=flags
    )
