"""The verdicts of two sides that both of them decided."""

from __future__ import annotations

from heedful.core.nouns import Critique, Judgment, Status

_NONE = Judgment(status=Status.UNPARSED)
_BARE = {status: Judgment(status=status) for status in (Status.MET, Status.UNMET)}


def decided_by_both(
    first: Critique, second: Critique, length: int
) -> tuple[Critique, Critique] | None:
    """Take as undecided on both sides what only one of them decided, loose readings likewise.

    What doesn't apply on a side is settled there: the other side keeps its verdict, as each does in
    its own summary.
    """
    firsts, seconds = (
        critique.judgments[:length] + (_NONE,) * (length - len(critique.judgments))
        for critique in (first, second)
    )
    pairs = list(zip(firsts, seconds, strict=True))
    if all(
        (a.status.decided and b.status.decided and (a.loose is None) == (b.loose is None))
        or _does_not_apply(a, b)
        for a, b in pairs
    ):
        return None
    decided = [_both(a, b) for a, b in pairs]
    return (
        first.model_copy(update={"judgments": tuple(a for a, _ in decided)}),
        second.model_copy(update={"judgments": tuple(b for _, b in decided)}),
    )


def _does_not_apply(*judgments: Judgment) -> bool:
    """Check whether there is a side on which the constraint doesn't apply."""
    return any(judgment.status is Status.NOT_APPLICABLE for judgment in judgments)


def _both(first: Judgment, second: Judgment) -> tuple[Judgment, Judgment]:
    if _does_not_apply(first, second):
        return first, second
    if not (first.status.decided and second.status.decided):
        return _NONE, _NONE
    if first.loose is None or second.loose is None:
        return _BARE[first.status], _BARE[second.status]
    return first, second
