"""``heedful reward compute``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 - cyclopts reads annotations at run time
from typing import Annotated

from cyclopts import Parameter

from heedful.cli.running import DataFlags, Outcome, Output, print_outcome


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ComputeFlags:
    """The protocols that are compared.

    Attributes:
        per_call: Constraints in a call of the protocol between whole checklists and single
            constraints.
        reasoning: Tokens that a reasoning judge thinks in a call; 0 leaves such judges out.
        explain: Ask for an explanation before each verdict.
        prompt: The judge's prompt.
    """

    per_call: int = 3
    reasoning: int = 1000
    explain: Annotated[bool, Parameter(negative="--no-explain")] = True
    prompt: str = "plain"


def compute(
    input: Path,  # noqa: A002 - shown to users as INPUT
    /,
    *,
    parameters: Annotated[float, Parameter(name=["--parameters", "-p"])],
    protocols: ComputeFlags = ComputeFlags(),
    output: Output = None,
    data: DataFlags = DataFlags(),  # noqa: B008 - immutable
) -> int:
    """Estimate the compute of judging by protocol, without a call.

    Args:
        input: Responses with their checklists.
        parameters: Billions of parameters of the judge; of a mixture of experts, the active ones.
        protocols: The protocols that are compared.
        output: A folder for the table: JSON, Markdown and HTML.
        data: How the input is read.

    Returns:
        The exit code.
    """
    from heedful.engine.inputs import items, open_data
    from heedful.judges import prompts
    from heedful.rewards import compute as computing

    source = open_data(input, format=data.format, task=data.task)
    samples = (item.value for item in items(source or ()) if item.problem is None)
    sizes = dict.fromkeys([None, protocols.per_call, 1])
    result = computing.judging_compute(
        filter(None, samples),
        prompts.make(protocols.prompt, explain=protocols.explain),
        parameters=parameters * 1e9,
        per_call=list(sizes),
        reasoning=protocols.reasoning,
    )
    document = computing.document(result)
    written = () if output is None else document.write(output, result, name="compute")
    return print_outcome(Outcome(view=document.terminal, written=written))
