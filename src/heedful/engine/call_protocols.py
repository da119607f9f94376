"""The part of a store that the cache of calls needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from heedful.engine.records import UsageRecord
    from heedful.models.base import Completion


class CallStore(Protocol):
    """The part of a store that a cache of calls uses."""

    def call(self, key: bytes) -> str | None:
        """Return the answer stored under a key."""
        ...

    def add_call(self, key: bytes, value: str, usage: UsageRecord) -> None:
        """Store the answer to a call, and its usage."""
        ...

    def add_usage(self, usage: UsageRecord) -> None:
        """Record the usage of a call."""
        ...

    def flush_soon(self) -> None:
        """Commit what is pending, as soon as nothing else is due."""
        ...

    def meta(self, key: str) -> Any:
        """Return what was stored under a key."""
        ...

    def set_meta(self, key: str, value: Any) -> None:
        """Store a JSON value under a key."""
        ...


@runtime_checkable
class Claims(Protocol):
    """Says of calls whether another process makes them."""

    async def claim(self, key: bytes, caller: str, requested: str) -> Completion | None:
        """Return an answer that is stored or that another process gets; ``None``: make the call."""
        ...

    def unclaim(self, key: bytes, reason: str | None) -> None:
        """Say that there will be no answer to a claimed call."""
        ...
