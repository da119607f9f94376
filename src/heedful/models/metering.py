"""Booking what a reply without an answer costs: servers bill for those too.

A model returns a completion with its usage, or raises; what was billed on the way is reported
here, at once, so that it is in the books even if the call is never answered.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from heedful.models.base import Usage

__all__ = ["METER"]


class Meter(Protocol):
    """Receiver of usage that a call is billed beside its completion."""

    def charge(self, model: str, usage: Usage) -> None:
        """Book a reply without an answer."""
        ...

    def lose(self) -> None:
        """Book a call that was lost with the worker that made it: nobody knows what it cost."""
        ...

    async def affordable(self) -> None:
        """Wait until another attempt at the call fits into what may be spent."""
        ...


METER: ContextVar[Meter | None] = ContextVar("heedful_meter", default=None)
"""Usage of the current call; unset where nothing records it."""


def charge(model: str, usage: Usage) -> None:
    """Record the usage of a reply without an answer, where usage is recorded."""
    meter = METER.get()
    if meter is not None and usage.prompt_tokens + usage.completion_tokens:
        meter.charge(model, usage)


async def affordable() -> None:
    """Wait until another attempt at the call that is under way fits into what may be spent."""
    meter = METER.get()
    if meter is not None:
        await meter.affordable()
