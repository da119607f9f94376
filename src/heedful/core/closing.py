"""Context managers that close something."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Closable(Protocol):
    def close(self) -> object: ...


@contextmanager
def closed_on_error(resource: _Closable) -> Iterator[None]:
    """Close a resource whose first use, in the ``with`` block, fails."""
    try:
        yield
    except BaseException:
        resource.close()
        raise


class Closing:
    """Base of things that a ``with`` block closes."""

    def close(self) -> None:
        """Close it; closing it again does nothing."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        """Return the thing itself."""
        return self

    def __exit__(self, *about: object) -> None:
        """Close it."""
        self.close()
