"""The verdicts of two sides that both of them decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.core.nouns import Critique, Judgment, Status
from heedful.metrics.outcomes import NOT_APPLICABLE, UNDECIDED

if TYPE_CHECKING:
    from collections.abc import Sequence

_NONE = Judgment(status=Status.UNPARSED)
_BARE = {status: Judgment(status=status) for status in (Status.MET, Status.UNMET)}


def decided_by_both(
    first: Critique, second: Critique, length: int
) -> tuple[Critique, Critique] | None:
    """Take as undecided on both sides what only one of them decided, loose readings likewise.

    Returns:
        The critiques so changed; ``None`` where there is nothing to change.
    """
    firsts, seconds = (
        critique.judgments[:length] + (_NONE,) * (length - len(critique.judgments))
        for critique in (first, second)
    )
    pairs = list(zip(firsts, seconds, strict=True))
    if all(
        (a.status.decided and b.status.decided and (a.loose is None) == (b.loose is None))
        or _neither_applies(a, b)
        for a, b in pairs
    ):
        return None
    decided = [_both(a, b) for a, b in pairs]
    return (
        first.model_copy(update={"judgments": tuple(a for a, _ in decided)}),
        second.model_copy(update={"judgments": tuple(b for _, b in decided)}),
    )


def shared_states(first: Sequence[int], second: Sequence[int]) -> tuple[list[int], list[int]]:
    """Take as undecided what applies on the other side only; what applies on neither stays so."""
    pairs = [
        (a, b) if a == b else (_or_undecided(a), _or_undecided(b))
        for a, b in zip(first, second, strict=True)
    ]
    return [a for a, _ in pairs], [b for _, b in pairs]


def _or_undecided(state: int) -> int:
    return UNDECIDED if state == NOT_APPLICABLE else state


def _neither_applies(first: Judgment, second: Judgment) -> bool:
    return first.status is second.status is Status.NOT_APPLICABLE


def _both(first: Judgment, second: Judgment) -> tuple[Judgment, Judgment]:
    if _neither_applies(first, second):
        return first, second
    if not (first.status.decided and second.status.decided):
        return _NONE, _NONE
    if first.loose is None or second.loose is None:
        return _BARE[first.status], _BARE[second.status]
    return first, second
