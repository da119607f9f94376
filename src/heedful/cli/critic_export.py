"""``heedful critic export``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import Annotated, Literal

from cyclopts import Parameter

from heedful.cli import critic_data


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


def export(
    input: Path,  # noqa: A002 - shown to users as INPUT
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    to: Literal["trl", "parquet", "alpaca", "sharegpt", "openai"] = "trl",
    card: CardFlags = CardFlags(),
    prompt_file: Path | None = None,
    format: Annotated[str | None, Parameter(name=["--format", "-f"])] = None,  # noqa: A002
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")] = False,
) -> int:
    """Export critiques, to fine-tune on, or pairs.

    Args:
        input: Pairs, or samples with final critiques.
        output: A folder for the data, a dataset card and what the tool wants beside.
        to: trl (conversational JSON lines), parquet (the same columns, for Hugging Face datasets),
            alpaca or sharegpt (LLaMA-Factory), openai.
        card: What the dataset's card says.
        prompt_file: A file whose text replaces that of the critiques' prompt.
        format: The format of samples; detected from the file by default.
        quiet: Print no numbers.

    Returns:
        The exit code.
    """
    from heedful.critic.data.export import export as write

    result = write(
        input,
        output,
        to=to,
        name=card.name,
        format=format,
        prompt_file=prompt_file,
        funnel=card.funnel,
    )
    return critic_data.show("export", result, output, broken=result["dropped"], quiet=quiet)
