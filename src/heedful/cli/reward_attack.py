"""``heedful reward attack``."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import islice
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import Annotated

from cyclopts import Parameter

from heedful.cli import judging
from heedful.cli.judging import JudgeFlags
from heedful.cli.reward import gate_names
from heedful.cli.running import DataFlags, Outcome, print_outcome


@Parameter(name="*", group="The attacks")
@dataclass(frozen=True, kw_only=True)
class AttackFlags:
    """What is attacked with.

    Attributes:
        samples: The first so many samples of INPUT.
        gates: The gates behind the judge: all, none, or names, with commas.
        seed: For random attacks.
    """

    samples: Annotated[int, Parameter(name=["--samples", "-n"])] = 10
    gates: str = "all"
    seed: int = 0


def attack(
    input: Path | None = None,  # noqa: A002 - shown to users as INPUT
    /,
    *,
    judge: Annotated[str, Parameter(name=["--judge", "-j"])],
    attacks: AttackFlags = AttackFlags(),
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    data: DataFlags = DataFlags(),  # noqa: B008 - immutable
    model_flags: JudgeFlags = JudgeFlags(),  # noqa: B008 - immutable
) -> int:
    """Try a catalogue of attacks on a judge: the share that passes, alone and behind the gates.

    Args:
        input: Samples with checklists and good responses, to attack with; by default three
            examples.
        judge: Who is attacked: rules, compiled, checklist (a model), or a plugin's; with commas, in
            turn.
        attacks: What is attacked with.
        output: A folder for the report: JSON, Markdown, HTML and the chart.
        data: How the input is read.
        model_flags: How a model is called.

    Returns:
        The exit code.
    """
    from heedful.engine.inputs import items, open_data
    from heedful.rewards import attacking

    chosen = attacking.examples()
    if input is not None:
        source = open_data(input, format=data.format, task=data.task)
        read = (item.value for item in items(source or ()) if item.problem is None)
        chosen = list(islice(filter(None, read), attacks.samples))
    result = asyncio.run(
        attacking.attack_judge(
            judging.make(judge, model_flags, scoring="strict", seed=attacks.seed),
            chosen,
            gates=gate_names(attacks.gates),
            seed=attacks.seed,
            concurrency=model_flags.max_concurrency,
        )
    )
    document = attacking.document(result)
    written = () if output is None else document.write(output, result, name="attacks")
    return print_outcome(Outcome(view=document.terminal, written=written))
