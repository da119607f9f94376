"""What a wire is, and what the parsers share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from heedful.schema import Constraint, Judgment, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Wire", "undecided", "unix_lines"]


class Wire(Protocol):
    """One prompt contract with a judge."""

    def parse(self, text: str, constraints: Sequence[Constraint], /) -> list[Judgment]:
        """Read a judge's reply: one judgment for each constraint, in order.

        Where the reply holds no single verdict for a constraint, its judgment is ``unparsed`` and
        the explanation says why. A parser never guesses and never raises.
        """
        ...


def undecided(constraints: Sequence[Constraint], reason: str) -> list[Judgment]:
    """Say of every constraint that the reply does not parse, and why."""
    return [Judgment(status=Status.UNPARSED, explanation=reason) for _ in constraints]


def unix_lines(text: str) -> str:
    r"""Write all line ends as ``\n``."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
