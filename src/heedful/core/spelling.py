"""Names of fields that are probably misspelled, and the field that was meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["meant"]

_ALIKE = 0.82
"""Similarity of a keyword and a field, by difflib's ratio, that counts as a typing error.

``lables`` and ``labels`` are (0.83), ``idx`` and ``id`` are not (0.8).
"""

_LONGER = 2
"""Characters that a misspelling may have more than the field: ``response_id`` is another thing."""


def meant(name: str, known: Iterable[str], others: Mapping[str, str]) -> str | None:
    """Name the field that a keyword was probably meant for.

    Args:
        name: the keyword, which isn't a field.
        known: the fields.
        others: other words for a field, with the field.
    """
    from difflib import get_close_matches

    if name in others:
        return others[name]
    folded = name.casefold()
    likely = [
        field
        for field in known
        if (field[0] == folded[:1] or folded in (field[1:], field[1] + field[0] + field[2:]))
        and len(folded) - len(field) <= _LONGER
        and not any(char.isdigit() for char in folded)
    ]
    return next(iter(get_close_matches(folded, likely, 1, _ALIKE)), None)
