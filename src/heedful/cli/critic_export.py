"""``heedful critic export``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import Annotated, Literal

from cyclopts import Parameter

from heedful.cli.rows import show
from heedful.cli.running import FormatName, Quiet, RequiredOutput  # noqa: TC001 - cyclopts reads annotations at run time


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CardFlags:
    """The contents of the dataset's card.

    Attributes:
        name: Of the dataset. Default: the folder's.
        funnel: The summary of heedful critic filter, for the card.
    """

    name: str | None = None
    funnel: Path | None = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class AskedFlags:
    """How critiques are put to a critic, and which verdicts of code become critiques.

    Attributes:
        prompt: The prompt for critiques made of code's verdicts. Default: plain.
        prompt_file: A file whose text replaces that of the prompt.
        per_call: Constraints in one example made of code's verdicts. Default: all.
        measure: Put what code counts beside each constraint, as heedful evaluate --measure does.
        balance: Of code's verdicts, take as many met as unmet of each type.
        cross: Constraints of other rows that code checks on each response.
        seed: Of the choice.
    """

    prompt: str = "plain"
    prompt_file: Path | None = None
    per_call: int | None = None
    measure: Annotated[bool, Parameter(negative="")] = False
    balance: bool = True
    cross: int = 0
    seed: int = 0


def export(
    input: Path,  # noqa: A002 - shown to users as INPUT
    /,
    *,
    output: RequiredOutput,
    to: Literal["trl", "parquet", "alpaca", "sharegpt", "openai"] = "trl",
    card: CardFlags = CardFlags(),
    asked: AskedFlags = AskedFlags(),
    format: FormatName = None,  # noqa: A002
    quiet: Quiet = False,
) -> int:
    """Export critiques, to fine-tune on, or pairs.

    The results of a run that was judged by code are critiques too: code knows why.

    Args:
        input: Pairs, samples with final critiques, or the results.jsonl of a run.
        output: A folder for the data, a dataset card and what the tool wants beside.
        to: trl (conversational JSON lines), parquet (the same columns, for Hugging Face datasets),
            alpaca or sharegpt (LLaMA-Factory), openai.
        card: What the dataset's card says.
        asked: How critiques are put to a critic.
        format: The format of samples; detected from the file by default.
        quiet: Print no numbers.
    """
    from heedful.critic.data.code_verdicts import ExportSettings
    from heedful.critic.data.export import export as write

    result = write(
        input,
        output,
        to=to,
        name=card.name,
        format=format,
        settings=ExportSettings(**asdict(asked)),
        funnel=card.funnel,
    )
    return show("export", result, output, broken=result["dropped"], quiet=quiet)
