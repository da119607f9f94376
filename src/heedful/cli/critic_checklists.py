"""``heedful critic checklists``."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import Annotated

from cyclopts import Parameter

from heedful.cli.running import FormatName, Outcome, Quiet, RequiredOutput, print_outcome


def checklists(
    input: Path,  # noqa: A002 - shown to users as INPUT
    /,
    *,
    output: RequiredOutput,
    prompt: str = "plain",
    format: FormatName = None,  # noqa: A002
    task: Annotated[str | None, Parameter(name=["--task", "-t"])] = None,
    quiet: Quiet = False,
) -> int:
    """Write each instruction once, with its checklist, to train a checklist generator on.

    Args:
        input: The file with the instructions and their checklists.
        output: Where the rows go: JSON lines with prompt and completion.
        prompt: plain (with types and priorities), rubric or if_critic, as for heedful checklist.
        format: The format of INPUT; detected from the file by default.
        task: Keep only this task's rows (AdvancedIF).
        quiet: Print no numbers.
    """
    from heedful.core.text import amount
    from heedful.critic import data as critic

    summary = critic.checklist_data(input, output=output, prompt=prompt, format=format, task=task)
    rows = summary["rows"]
    counts = [
        amount(rows["written"], "instruction"),
        f"{amount(rows['repeated'], 'row')} repeated one" if rows["repeated"] else "",
        f"{rows['conflicting']:,} had another checklist" if rows["conflicting"] else "",
        f"{rows['failed']:,} failed" if rows["failed"] else "",
    ]
    outcome = Outcome(
        view=lambda: ", ".join(filter(None, counts)),
        written=[output],
        problems=summary["problems"],
        failed=rows["failed"],
        complete=not rows["failed"],
    )
    return print_outcome(outcome, quiet=quiet)
