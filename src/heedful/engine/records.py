"""Records of a run's store: rows as they are read, their outputs, and the usage of calls."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Entry"]

LOST = "lost"
"""The tier of calls that were lost with the worker that made them."""

CACHE_WRITE = "cache_write"
"""The tier of tokens put into a provider's cache, which are other calls' prompt tokens."""


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


class Entry(NamedTuple):
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


class UsageRecord(NamedTuple):
    """Usage of a call, or the sum over the calls of one caller to one model.

    Attributes:
        caller: the part of the job that made the call, such as a judge, by its name.
        requested: the model that was requested, by the user's name for it.
        model: the model that answered, by the server's name for it.
        tier: ``batch`` for calls through a provider's batch endpoint, at half the price; ``lost``
            for calls that were lost with the worker that made them, at a cost that nobody knows;
            ``cache_write`` for the tokens of other calls' prompts that the provider put into its
            cache.
        calls: replies that were paid for, including those without an answer.
        reasks: how many of them requested again what an earlier answer had left out.
        uncounted: how many of them came without a count of their tokens.
        prompt_tokens: tokens sent in the calls that were counted, including cached ones.
        cached_tokens: how many of them the provider had cached.
        completion_tokens: tokens generated, including reasoning.
    """

    caller: str
    requested: str
    model: str
    tier: str = ""
    calls: int = 1
    reasks: int = 0
    uncounted: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0

    def plus(self, other: UsageRecord) -> UsageRecord:
        """Add up two records of the same caller, model and tier."""
        return UsageRecord(*self.who, *map(int.__add__, self[4:], other[4:]))

    @property
    def who(self) -> tuple[str, str, str, str]:
        """Key under which usage is summed: caller, requested and answering model, tier."""
        return self[:4]


class Digests:
    """Which digests may have been seen: two megabytes that say no at once, and yes if in doubt.

    Nearly all calls are new, and looking each up in the file would cost as much as storing it.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._bits = bytearray(1 << 21)

    def add(self, digest: bytes) -> None:
        """Take note of one."""
        place = int.from_bytes(digest[:3])
        self._bits[place >> 3] |= 1 << (place & 7)

    def __contains__(self, digest: bytes) -> bool:
        """Whether it may have been added."""
        place = int.from_bytes(digest[:3])
        return bool(self._bits[place >> 3] >> (place & 7) & 1)
