"""``heedful critic split``."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time

from heedful.cli.rows import show
from heedful.cli.running import FormatName, Quiet, RequiredOutput  # noqa: TC001 - cyclopts reads annotations at run time


def split(
    input: Path,  # noqa: A002 - shown to users as INPUT
    /,
    *,
    output: RequiredOutput,
    share: float = 0.6,
    seed: int = 42,
    format: FormatName = None,  # noqa: A002
    quiet: Quiet = False,
) -> int:
    """Split samples in two parts by instruction.

    Args:
        input: The file with the samples.
        output: A folder for sft.jsonl and preference.jsonl; or a .jsonl file in which the tag
            "part" tells them apart.
        share: The first part's share of the instructions.
        seed: Of the split.
        format: The format of INPUT; detected from the file by default.
        quiet: Print no numbers.
    """
    from heedful.critic.data.split import InstructionSplit

    summary = InstructionSplit(input, share=share, seed=seed, format=format).write(output)
    return show("split", summary, output, broken=summary["unplaced"], quiet=quiet)
