"""Errors as clients get them, for a whole request or for one of its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core.errors import HeedfulError

if TYPE_CHECKING:
    from collections.abc import Mapping


class RefusedError(HeedfulError):
    """A request is refused as a whole.

    Attributes:
        status: the status of HTTP.
        headers: headers that belong to it.
    """

    def __init__(
        self,
        status: int,
        what: str,
        *,
        where: str = "",
        hint: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Take the status and the reason."""
        super().__init__(what, where=where, hint=hint)
        self.status = status
        self.headers = dict(headers or {})


def error_payload(error: HeedfulError) -> dict[str, Any]:
    """Lay out an error for a response body: what is wrong, where, and the hint."""
    return {"what": error.what, "where": error.where, "hint": error.hint}
