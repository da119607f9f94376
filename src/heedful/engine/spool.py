"""A batch of calls that is being filled: its requests, in a file, and who asked for each."""

from __future__ import annotations

import os
import secrets
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, NamedTuple

from heedful.engine.records import UsageRecord
from heedful.models.base import Usage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from heedful.models.base import Model
    from heedful.models.batches.base import BatchService

__all__: list[str] = []


class BatchCall(NamedTuple):
    """One request of a batch: the call's key, and who made it."""

    key: bytes
    caller: str
    reask: int

    def billed(self, requested: str, model: str, usage: Usage | None) -> UsageRecord:
        """Book what a reply was billed; ``None`` where the provider doesn't say."""
        counted = usage or Usage()
        return UsageRecord(
            self.caller,
            requested,
            model,
            tier="batch",
            reasks=self.reask,
            uncounted=int(usage is None),
            prompt_tokens=counted.prompt_tokens,
            cached_tokens=counted.cached_tokens,
            completion_tokens=counted.completion_tokens,
        )


@dataclass
class Spool:
    """A batch that is being filled."""

    model: Model
    service: BatchService
    tag: str = field(default_factory=lambda: secrets.token_hex(8))
    file: IO[bytes] = field(default_factory=tempfile.TemporaryFile)
    calls: list[BatchCall] = field(default_factory=list)
    size: int = 0
    dollars: float = 0.0

    @contextmanager
    def requests(self) -> Iterator[BinaryIO]:
        """Open the file from its beginning; whoever sends it may close what this gives."""
        self.file.flush()
        with os.fdopen(os.dup(self.file.fileno()), "rb") as copy:
            copy.seek(0)
            yield copy
