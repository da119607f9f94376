"""Wires: each the contract of one prompt with a judge.

``make`` gives a wire by its name. ``read`` turns what a file recorded of a judge into judgments,
by the wire that the recording names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.errors import UsageError
from heedful.wires import advancedif, cfbench, if_critic, native, plain, structured, sysbench
from heedful.wires.advancedif import AdvancedIF
from heedful.wires.base import Wire, undecided
from heedful.wires.cfbench import CFBench
from heedful.wires.fence import unfence
from heedful.wires.if_critic import IFCritic
from heedful.wires.plain import Plain
from heedful.wires.prompt import custom
from heedful.wires.structured import Structured

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from heedful.schema import Constraint, Judgment, Recording

__all__ = [
    "NAMES",
    "AdvancedIF",
    "CFBench",
    "IFCritic",
    "Plain",
    "Structured",
    "Wire",
    "make",
    "read",
    "unfence",
]

NAMES = ("plain", "structured", "structured_object", "if_critic", "advancedif", "cfbench")
"""What :func:`make` knows."""

_TEXTS: dict[str, Callable[[str, Sequence[Constraint]], list[Judgment]]] = {
    "advancedif": advancedif.parse,
    "cfbench": cfbench.parse,
    "if_critic": if_critic.parse,
    "plain": plain.parse,
    "structured": structured.parse,
}
_VERDICTS = {"native": native.parse, "sysbench": sysbench.parse}


def make(name: str, *, explain: bool = True, prompt: Path | None = None) -> Wire:
    """Make a wire.

    Args:
        name: one of :data:`NAMES`. ``structured`` holds the model to a JSON schema;
            ``structured_object`` only to a JSON object, for servers that know no schemas.
        explain: ask for explanations. The published formats are as they are: ``if_critic`` and
            ``advancedif`` always explain, ``cfbench`` never does.
        prompt: a file whose text replaces the wire's prompt.

    Raises:
        UsageError: no wire has this name, it cannot leave explanations out, or the file is no
            prompt.
    """
    if not explain and name in ("if_critic", "advancedif"):
        mend = "use plain or structured for verdicts only"
        raise UsageError(f"the wire {name} always explains its verdicts", mend=mend)
    text = None if prompt is None else custom(prompt)
    match name:
        case "plain":
            return Plain(explain=explain, prompt=text)
        case "structured" | "structured_object":
            return Structured(explain=explain, schema=name == "structured", prompt=text)
        case "if_critic":
            return IFCritic(prompt=text)
        case "advancedif":
            return AdvancedIF(prompt=text)
        case "cfbench":
            return CFBench(prompt=text)
    raise UsageError(f"no wire is called {name!r}", mend=f"use one of {', '.join(NAMES)}")


def read(recording: Recording, constraints: Sequence[Constraint]) -> list[Judgment]:
    """Read a recording: one judgment for each constraint, ``unparsed`` where it has no verdict.

    Data counts before text: SysBench's text is only the reason for its verdicts.
    """
    if recording.verdicts is not None and recording.wire in _VERDICTS:
        return _VERDICTS[recording.wire](recording.verdicts, constraints)
    if recording.text is not None and recording.wire in _TEXTS:
        return _TEXTS[recording.wire](recording.text, constraints)
    if recording.wire not in _TEXTS and recording.wire not in _VERDICTS:
        return undecided(constraints, f"no wire {recording.wire!r} is known")
    return undecided(constraints, str(recording.declared.get("error", "nothing was recorded")))
