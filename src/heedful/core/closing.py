"""Things to close at the end of a ``with`` block."""

from __future__ import annotations

from typing import Self

__all__ = ["Closing"]


class Closing:
    """Something that a ``with`` block closes at its end, however it ends."""

    def close(self) -> None:
        """Close it; closing it again does nothing."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        """Return the thing itself."""
        return self

    def __exit__(self, *about: object) -> None:
        """Close it."""
        self.close()
