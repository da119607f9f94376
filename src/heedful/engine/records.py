"""What a run's store takes and gives: rows as they come, what became of them, what was bought."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Entry"]


class Input(NamedTuple):
    """One row of the input, to be stored.

    Attributes:
        position: place in the input, from 0.
        line: line in the input file, from 1.
        id: the row's id; ``None`` where it could not be read.
        value: what the work is given, as JSON.
        problem: why the row cannot be worked on.
    """

    position: int
    line: int
    id: str | None
    value: str | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of a run, as stored.

    Attributes:
        position: place in the input, from 0.
        line: line in the input file, from 1.
        id: the row's id, ``None`` where it could not be read.
        input: what the work was given, as JSON.
        problem: why the row could not be worked on.
        output: what the work returned, as JSON; ``None`` where it is not done or failed.
        failure: why the work failed.
    """

    position: int
    line: int
    id: str | None
    input: str | None
    problem: str | None
    output: str | None
    failure: str | None


class Purchase(NamedTuple):
    """What a call cost, or the sum over the calls of one buyer to one model.

    Attributes:
        buyer: who asked.
        asked: the model that was asked, by the name it was asked under.
        answered: the model that answered, by the server's name for it.
        calls: replies that were paid for, those without an answer among them.
        again: how many of them asked again for what an earlier answer had left out.
        uncounted: how many of them came without a count of their tokens.
        prompt_tokens: tokens sent in the calls that were counted, those below among them.
        cached_tokens: how many of them the provider had cached.
        completion_tokens: tokens generated, reasoning among them.
    """

    buyer: str
    asked: str
    answered: str
    calls: int = 1
    again: int = 0
    uncounted: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0

    def plus(self, other: Purchase) -> Purchase:
        """Add up two purchases of the same buyer from the same model."""
        return Purchase(*self[:3], *map(int.__add__, self[3:], other[3:]))
