"""Inputs that change while they are read."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from heedful.core.errors import InputError
from heedful.core.text import amount

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from heedful.engine.inputs import Fingerprint
    from heedful.engine.store import Store

TRUSTED = "trusted_rows"
"""Key under which the store counts the first rows that are known to be the input's."""


@contextmanager
def unchanged(files: Sequence[Fingerprint], store: Store) -> Iterator[int | None]:
    """Hold that the inputs are the same at the end of a session as at its beginning.

    This holds however it ends: rows of a session that could not check are compared in the next.
    """
    before = store.count()
    changed: list[Fingerprint] = []
    try:
        yield (store.meta(TRUSTED) or 0) if files else None
    finally:
        changed.extend(file for file in files if not file.unchanged())
        if files and not changed:
            store.set_meta(TRUSTED, store.count())
    if changed:
        read = store.count() - before
        raise InputError(
            f"the input changed while it was read; the {amount(read, 'row')} read since then may "
            "be missing some, or be a mixture, so the run is not finished",
            where=str(changed[0].path),
            hint="put the file back and give the same command again: no answer is paid for twice; "
            "or name another --run for the file as it is now",
        )
