"""Calls that share a long beginning: the first goes ahead, and the rest find it in a cache.

A provider caches a prompt's beginning once it has answered, and servers keep it where it was
computed. Calls that begin alike and start at the same time each compute it. And a server with few
places drops what another row's call overwrites, so a row keeps to one call at a time as long as
other rows use the rest.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from heedful.engine.runner import together
from heedful.models.pricing import estimate_tokens
from heedful.models.turns import with_shared_prefix

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from heedful.core.nouns import Message

__all__ = ["fan_out"]

T = TypeVar("T")

SHARED_TOKENS = 256
"""Shared tokens, roughly, for which others wait; ours. Providers cache from 1,024 on, servers of
one's own from a block of 16."""


@dataclass
class Room:
    """How many calls there is room for."""

    limit: int  # calls in flight at most
    active: int = 0  # calls in flight, of those that share a beginning with others

    @property
    def free(self) -> bool:
        """Whether another call would find room."""
        return self.active < self.limit


_room: ContextVar[Room | None] = ContextVar("heedful_room", default=None)


@contextmanager
def first_ahead(concurrency: int) -> Iterator[None]:
    """Let the first call of a group go ahead inside: for runs, where no row is waited for."""
    token = _room.set(Room(concurrency))
    try:
        yield
    finally:
        _room.reset(token)


async def fan_out(
    prompts: Sequence[Sequence[Message]], call: Callable[[int, Sequence[Message]], Awaitable[T]]
) -> list[T]:
    """Make calls whose prompts belong together.

    They are made side by side. But inside a run, where all begin with the same long text, the first
    goes ahead, and of the rest as many side by side as other rows leave room for. The shared text
    is marked, for providers that cache only what is marked.
    """

    async def start(place: int, prompt: Sequence[Message]) -> T:
        return await call(place, prompt)

    room = _room.get()
    if room is not None:
        marked, shared = with_shared_prefix(prompts)
        if estimate_tokens(shared) >= SHARED_TOKENS:
            return await _after_the_first(marked, call, room)
    return await together(start(place, prompt) for place, prompt in enumerate(prompts))


async def _after_the_first(
    prompts: Sequence[Sequence[Message]],
    call: Callable[[int, Sequence[Message]], Awaitable[T]],
    room: Room,
) -> list[T]:
    """Make the first call, then the rest, as far as there is room side by side."""
    results: dict[int, T] = {}
    left = iter(range(len(prompts)))

    async def take_turns(place: int | None, others: asyncio.TaskGroup) -> None:
        try:
            while place is not None:
                results[place] = await call(place, prompts[place])
                place = next(left, None)
                while room.free and (another := next(left, None)) is not None:
                    room.active += 1
                    others.create_task(take_turns(another, others))
        finally:
            room.active -= 1

    room.active += 1
    try:
        async with asyncio.TaskGroup() as others:
            await take_turns(next(left), others)
    except BaseExceptionGroup as group:
        raise _only(group) from None
    return [results[place] for place in range(len(prompts))]


def _only(error: BaseException) -> BaseException:
    """Return the error that a group of errors begins with."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
