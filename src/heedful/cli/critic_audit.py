"""``heedful critic audit``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import Annotated, Literal

from cyclopts import Parameter

from heedful.cli.rows import show
from heedful.cli.running import FormatName, Output, Quiet  # noqa: TC001 - cyclopts reads annotations at run time
from heedful.core.errors import UsageError


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DrawFlags:
    """Which samples are chosen.

    Attributes:
        of: What is checked: critiques, or checklists.
        samples: How many are chosen.
        seed: Of the random choice.
    """

    of: Literal["critiques", "checklists"] = "critiques"
    samples: int = 70
    seed: int = 42


def audit(
    input: Path,  # noqa: A002 - shown to users as INPUT
    /,
    *,
    output: Output = None,
    filled: Annotated[bool, Parameter(negative="")] = False,
    draw: DrawFlags = DrawFlags(),
    format: FormatName = None,  # noqa: A002
    quiet: Quiet = False,
) -> int:
    """Choose samples for a person to check, or read the answers.

    Args:
        input: The samples; with --filled, the audit that was filled in.
        output: Where they go, .csv or .jsonl; with --filled, the accuracies as JSON.
        filled: Read INPUT back.
        draw: Which samples are chosen.
        format: The format of the samples; detected from the file by default.
        quiet: Print no numbers.
    """
    from heedful.critic.data import audit as drawing
    from heedful.critic.data.audit import read_back
    from heedful.data.formats.base import write_json
    from heedful.jobs.results import check_folder

    if filled:
        if output is not None:
            check_folder(output, [input])
        result = read_back(input)
        if output is not None:
            write_json(output, result)
        return show("audit", result, output, broken=0, quiet=quiet)
    if output is None:
        hint = "name one with -o audit.csv; --filled reads an audit back"
        raise UsageError("there is no file to write to", hint=hint)
    drawn = drawing.draw(
        input, output, subject=draw.of, samples=draw.samples, seed=draw.seed, format=format
    )
    return show("draw", drawn, output, broken=drawn["unusable"], quiet=quiet)
