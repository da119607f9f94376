"""The limits of a server: samples at a time, samples and bytes of a request, and time."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from heedful.core.errors import UsageError
from heedful.core.text import amount
from heedful.rewards.server.errors import RefusedError

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
        deadline: seconds after which a request is answered with what there is.
        grace: seconds to answer what was accepted, once the server is stopping.
    """

    capacity: int = 8192
    batch: int = 4096
    body: int = 32 * 2**20
    deadline: float = 150.0
    grace: float = 30.0

    def __post_init__(self) -> None:
        """Refuse limits that let nothing through.

        Raises:
            UsageError: a limit is not above 0, or a batch could exceed the capacity.
        """
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 < value < math.inf:
                raise UsageError(f"the limit {field.name} is {value}", hint="give more than 0")
        if self.batch > self.capacity:
            raise UsageError(
                f"a batch of {self.batch:,} would never fit into a capacity of {self.capacity:,}",
                hint="give a capacity of at least one batch",
            )


class Admission:
    """Counts the samples in work.

    A server that accepted everything would answer ever later, until its clients timed out and
    tried again; one that refuses at once stays quick.

    Attributes:
        capacity: how many there may be.
        held: how many there are.
    """

    def __init__(self, capacity: int) -> None:
        """Start with none."""
        self.capacity = capacity
        self.held = 0
        self._seconds: float | None = None

    def enter(self, samples: int) -> None:
        """Accept samples.

        Raises:
            RefusedError: the server is full; ``Retry-After`` says when to try again.
        """
        if self.held + samples > self.capacity:
            wait = self._wait(samples)
            raise RefusedError(
                429,
                f"{amount(self.held, 'sample')} of at most {self.capacity:,} are being judged",
                hint=f"send this again after {wait} s",
                headers={"Retry-After": str(wait)},
            )
        self.held += samples

    def leave(self, seconds: float | None = None, samples: int = 1) -> None:
        """Release samples.

        Args:
            seconds: how long they took; ``None`` where they were not judged.
            samples: how many they are.
        """
        self.held -= samples
        if seconds is not None:
            before = seconds if self._seconds is None else self._seconds
            self._seconds = before + RECENT * (seconds - before)

    def _wait(self, samples: int) -> int:
        """Estimate when there is room, by Little's law: held samples leave at held / seconds."""
        too_many = min(self.held + samples - self.capacity, self.held)
        seconds = (self._seconds or 1.0) * too_many / max(self.held, 1)
        return max(1, min(LONGEST_WAIT_S, math.ceil(seconds)))
