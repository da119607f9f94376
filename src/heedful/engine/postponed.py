"""Work on a row that is left until a batch has been answered, and where a run notes batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heedful.engine.store import Store

__all__: list[str] = []


OPEN = "batches"
"""Key under which a store holds the batches that have not been fetched."""


class Postponed(BaseException):
    """Ends the work on a row until the answer that it needs is there.

    It isn't an error, so nothing on the way may handle it.
    """


def in_batches(store: Store) -> set[bytes]:
    """Return the keys of the calls that were submitted in batches and have no answer yet."""
    if not store.meta(OPEN):
        return set()
    return {key for (key,) in store.query("SELECT key FROM batch_requests WHERE answered = 0")}
