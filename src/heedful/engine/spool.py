"""A batch of calls that is being filled: its requests, in a file, and who asked for each."""

from __future__ import annotations

import os
import secrets
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, NamedTuple

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
