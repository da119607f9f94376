"""``heedful reward attack``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from heedful.cli import judging
from heedful.cli.judging import JudgeFlags
from heedful.cli.reward import gate_names
from heedful.cli.running import DataFlags, Outcome, Output, RunFlags, carry_out
from heedful.core.text import amount

if TYPE_CHECKING:
    from heedful.core.nouns import Sample


@Parameter(name="*", group="The attacks")
@dataclass(frozen=True, kw_only=True)
class AttackFlags:
    """The attacks to try.

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
    output: Output = None,
    data: DataFlags = DataFlags(),  # noqa: B008 - immutable
    model_flags: JudgeFlags = JudgeFlags(),  # noqa: B008 - immutable
    flags: RunFlags = RunFlags(),  # noqa: B008 - immutable
) -> int:
    """Try a catalogue of attacks on a judge: the share that passes, alone and behind the gates.

    Args:
        input: Samples with checklists and good responses, to attack with; by default three
            examples.
        judge: Who is attacked: rules, compiled, checklist (a model), or a plugin's; with commas, in
            turn.
        attacks: What is attacked with.
        output: A folder for the report: JSON, Markdown, HTML and the chart. Default: the run's.
        data: How the input is read.
        model_flags: How a model is called.
        flags: How the job is run.

    Returns:
        The exit code.
    """
    from heedful.rewards import attacking
    from heedful.rewards.gates import enabled

    chosen, unread = _samples(input, data, attacks.samples)
    who = judging.make(judge, model_flags, scoring="strict", seed=attacks.seed)
    run = flags.run or attacking.run_name(who, chosen, attacks.seed)
    gates = gate_names(attacks.gates)
    enabled(gates)

    def outcome(result: dict[str, Any]) -> Outcome:
        document = attacking.document(result)
        undecided = sum(each["alone"]["undecided"] for each in result["kinds"].values())
        again = f": --retry-failed requests them again (run {run})" if model_flags.model else ""
        return Outcome(
            view=document.terminal,
            written=document.write(output or run, result, name="attacks"),
            resumed=result["resumed"],
            hints=[
                *([f"{amount(unread, 'row')} of {input} cannot be read"] if unread else ()),
                *([f"{amount(undecided, 'attempt')} undecided{again}"] if undecided else ()),
            ],
            complete=not (undecided or unread),
        )

    return carry_out(
        partial(attacking.attack_judge, who, chosen, gates=gates, seed=attacks.seed),
        flags,
        run=run,
        models=model_flags.model,
        concurrency=model_flags.max_concurrency,
        outcome=outcome,
        output=run,
    )


def _samples(path: Path | None, data: DataFlags, most: int | None) -> tuple[list[Sample], int]:
    """Read the first samples of a file, or take the examples; count what cannot be read."""
    from heedful.engine.inputs import items, open_data
    from heedful.rewards.attacking import examples

    if path is None:
        return examples(), 0
    source = open_data(path, format=data.format, task=data.task)
    read = list(islice(items(source or ()), most))
    samples = [item.value for item in read if item.value is not None]
    return samples, len(read) - len(samples)
