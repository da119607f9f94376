"""``heedful critic checklists``."""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import Annotated

from cyclopts import Parameter

from heedful.cli.running import INCOMPLETE, PROBLEMS_SHOWN


def checklists(
    input: Path,  # noqa: A002 - shown to users as INPUT
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    prompt: str = "plain",
    format: Annotated[str | None, Parameter(name=["--format", "-f"])] = None,  # noqa: A002
    task: Annotated[str | None, Parameter(name=["--task", "-t"])] = None,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")] = False,
) -> int:
    """Write each instruction once, with its checklist, to train a checklist generator on.

    Args:
        input: The file with the instructions and their checklists.
        output: Where the rows go: JSON lines with prompt and completion.
        prompt: plain (with types and priorities) or if_critic, as for heedful checklist.
        format: The format of INPUT; detected from the file by default.
        task: Keep only this task's rows (AdvancedIF).
        quiet: Print no numbers.

    Returns:
        The exit code.
    """
    from heedful.core.text import amount
    from heedful.critic import data as critic

    found = critic.checklist_data(input, output=output, prompt=prompt, format=format, task=task)
    rows = found["rows"]
    if not quiet:
        said = [
            amount(rows["written"], "instruction"),
            f"{amount(rows['repeated'], 'row')} repeated one" if rows["repeated"] else "",
            f"{rows['conflicting']:,} had another checklist" if rows["conflicting"] else "",
            f"{rows['failed']:,} failed" if rows["failed"] else "",
        ]
        sys.stdout.write(f"{', '.join(filter(None, said))}\n→ {output}\n")
        for problem in found["problems"][:PROBLEMS_SHOWN]:
            sys.stderr.write(f"line {problem['line']}: {problem['id']}: {problem['problem']}\n")
        if rows["failed"] > PROBLEMS_SHOWN:
            sys.stderr.write(f"… and {rows['failed'] - PROBLEMS_SHOWN:,} more rows\n")
    return INCOMPLETE if rows["failed"] else 0
