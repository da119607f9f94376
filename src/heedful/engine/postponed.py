"""Work on a row that is left until a batch has been answered, and where a run notes batches."""

from __future__ import annotations

__all__: list[str] = []


OPEN = "batches"
"""Key under which a store holds the batches that have not been fetched."""


class Postponed(BaseException):
    """Ends the work on a row until the answer that it needs is there.

    It isn't an error, so nothing on the way may handle it.
    """
