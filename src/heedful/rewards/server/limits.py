"""The limits of a server: samples and bytes, at a time and of a request, and time."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from heedful.core.errors import UsageError
from heedful.core.text import amount
from heedful.rewards.server.errors import RefusedError

if TYPE_CHECKING:
    import asyncio

MIB = 2**20

FULL = 429
"""The status of what is refused since there is no room for it now."""

LONGEST_WAIT_S = 60

RECENT = 0.05
"""The weight of one sample in the running mean of the time that samples take."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of a server.

    Attributes:
        capacity: samples in work at a time; requests beyond them are refused.
        batch: samples in one request.
        body: bytes of one request.
        bodies: bytes of all requests of which anything is in work.
        deadline: seconds after which a request is answered with what there is.
        grace: seconds to answer what was accepted, once the server is stopping.
    """

    capacity: int = 8192
    batch: int = 4096
    body: int = 32 * 2**20
    bodies: int = 256 * 2**20
    deadline: float = 150.0
    grace: float = 30.0

    def __post_init__(self) -> None:
        """Refuse limits that let nothing through."""
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 < value < math.inf:
                raise UsageError(f"the limit {field.name} is {value}", hint="give more than 0")
        if self.batch > self.capacity:
            raise UsageError(
                f"a batch of {self.batch:,} would never fit into a capacity of {self.capacity:,}",
                hint="give a capacity of at least one batch",
            )
        if self.body > self.bodies:
            raise UsageError(
                f"a request of {self.body / MIB:g} MiB would never fit into the "
                f"{self.bodies / MIB:g} MiB for all requests",
                hint="allow at least as much for all as for one",
            )


class Admission:
    """Counts the samples in work, and the bytes of the requests that they are from.

    A server that accepted everything would answer ever later, until its clients timed out and
    tried again; one that refuses at once stays quick.

    Attributes:
        capacity: how many there may be.
        held: how many there are.
        bodies: how many bytes there may be.
        bytes: how many there are.
    """

    def __init__(self, capacity: int, bodies: int) -> None:
        """Start with none."""
        self.capacity = capacity
        self.bodies = bodies
        self.held = 0
        self.bytes = 0
        self._seconds: float | None = None

    def enter(self, samples: int) -> None:
        """Accept samples."""
        if self.held + samples > self.capacity:
            raise self._full(
                f"{amount(self.held, 'sample')} of at most {self.capacity:,} are being judged",
                self._wait(samples),
            )
        self.held += samples

    def take(self, size: int) -> None:
        """Accept bytes."""
        if self.bytes + size > self.bodies:
            raise self._full(
                f"requests of {self.bytes / MIB:.1f} MiB are being answered, at most "
                f"{self.bodies / MIB:g} MiB at a time",
                self._wait(1),
            )
        self.bytes += size

    def _full(self, what: str, wait: int) -> RefusedError:
        hint, headers = f"send this again after {wait} s", {"Retry-After": str(wait)}
        return RefusedError(FULL, what, hint=hint, headers=headers)

    def leave(self, seconds: float | None = None, samples: int = 1) -> None:
        """Release samples."""
        self.held -= samples
        if seconds is not None:
            before = seconds if self._seconds is None else self._seconds
            self._seconds = before + RECENT * (seconds - before)

    def _wait(self, samples: int) -> int:
        """Estimate when there is room, by Little's law: held samples leave at held / seconds."""
        too_many = min(self.held + samples - self.capacity, self.held)
        seconds = (self._seconds or 1.0) * too_many / max(self.held, 1)
        return max(1, min(LONGEST_WAIT_S, math.ceil(seconds)))


class Body:
    """The bytes of a request's body, which count while anything made of it is in work."""

    def __init__(self, admission: Admission) -> None:
        """Begin with none, used by the request alone."""
        self._admission = admission
        self._size = 0
        self._users = 1

    def take(self, size: int) -> None:
        """Accept that there are this many bytes, or more than before."""
        if size > self._size:
            self._admission.take(size - self._size)
            self._size = size

    def used_by(self, task: asyncio.Task[Any]) -> None:
        """Count the bytes until a task is done too."""
        self._users += 1
        task.add_done_callback(self.leave)

    def leave(self, _: object = None) -> None:
        """Count them no longer for one of those who used them."""
        self._users -= 1
        if not self._users:
            self._admission.bytes -= self._size
