"""What is bought already: the answers of an earlier run, and the calls in batches under way."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from heedful.core.errors import RunError
from heedful.core.text import amount
from heedful.engine.postponed import OPEN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heedful.engine.options import RunOptions
    from heedful.engine.store import Store

__all__: list[str] = []


@contextmanager
def reused_run(options: RunOptions) -> Iterator[Store | None]:
    """Open the run whose answers are taken, if there is one."""
    reuse = options.get("reuse")
    if reuse is None:
        yield None
        return
    from heedful.engine.reader import Reader

    with Reader(Path(reuse)) as earlier:
        if waiting := len(in_batches(earlier)):
            raise RunError(
                f"{amount(waiting, 'request')} of it in batches would be paid for twice",
                where=str(reuse),
                hint="fetch them first: re-run the command that submitted them",
            )
        yield earlier


def in_batches(store: Store) -> set[bytes]:
    """Return the keys of the calls that were submitted in batches and have no answer yet."""
    if not store.meta(OPEN):
        return set()
    return {key for (key,) in store.query("SELECT key FROM batch_requests WHERE answered = 0")}
