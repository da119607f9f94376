"""Wires: each the contract of one prompt with a judge.

``read`` turns what a file recorded of a judge into judgments, by the wire that the recording names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.wires import advancedif, cfbench, if_critic, native, sysbench
from heedful.wires.base import Wire, undecided

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.schema import Constraint, Judgment, Recording

__all__ = ["Wire", "read"]

_TEXTS: dict[str, Wire] = {
    "advancedif": advancedif,
    "cfbench": cfbench,
    "if_critic": if_critic,
}
_VERDICTS = {"native": native.parse, "sysbench": sysbench.parse}


def read(recording: Recording, constraints: Sequence[Constraint]) -> list[Judgment]:
    """Read a recording: one judgment for each constraint, ``unparsed`` where it has no verdict.

    Data counts before text: SysBench's text is only the reason for its verdicts.
    """
    if recording.verdicts is not None and recording.wire in _VERDICTS:
        return _VERDICTS[recording.wire](recording.verdicts, constraints)
    if recording.text is not None and recording.wire in _TEXTS:
        return _TEXTS[recording.wire].parse(recording.text, constraints)
    if recording.wire not in _TEXTS and recording.wire not in _VERDICTS:
        return undecided(constraints, f"no wire {recording.wire!r} is known")
    return undecided(constraints, str(recording.declared.get("error", "nothing was recorded")))
