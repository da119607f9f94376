"""The verdicts of two sides that both of them decided."""

from __future__ import annotations

from heedful.core.nouns import Critique, Judgment, Status

_LEFT_OUT = Judgment(status=Status.NOT_APPLICABLE)
_NONE = Judgment(status=Status.UNPARSED)
_BARE = {status: Judgment(status=status) for status in (Status.MET, Status.UNMET)}


def decided_by_both(
    first: Critique, second: Critique, length: int
) -> tuple[Critique, Critique] | None:
    """Leave out on both sides what only one of them decided, loose readings likewise.

    What doesn't apply on a side is settled there: the other side keeps its verdict, as each does in
    its own summary.
    """
    firsts, seconds = (
        critique.judgments[:length] + (_NONE,) * (length - len(critique.judgments))
        for critique in (first, second)
    )
    pairs = list(zip(firsts, seconds, strict=True))
    decided = [_both(a, b) for a, b in pairs]
    if decided == pairs:
        return None
    return (
        first.model_copy(update={"judgments": tuple(a for a, _ in decided)}),
        second.model_copy(update={"judgments": tuple(b for _, b in decided)}),
    )


def _both(first: Judgment, second: Judgment) -> tuple[Judgment, Judgment]:
    if Status.NOT_APPLICABLE in (first.status, second.status):
        return first, second
    if not (first.status.decided and second.status.decided):
        return _LEFT_OUT, _LEFT_OUT
    if (first.loose is None) != (second.loose is None):
        return _BARE[first.status], _BARE[second.status]
    return first, second
