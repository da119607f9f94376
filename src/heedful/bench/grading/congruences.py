r"""Congruences: ``x \equiv 3 \pmod 7`` and ``x \equiv 10 \pmod 7`` are the same residues."""

from __future__ import annotations

import re

_CONGRUENCE = re.compile(
    r"(?P<name>[a-zA-Z])\s*\\equiv(?![a-z])\s*(?P<residues>-?\d+(?:\s*,\s*(?:or\s)?-?\d+|\s+or\s+-?\d+)*)"
    r"\s*\\[bp]?mod\s*\{?(?P<modulus>\d{1,9})\}?"
)


def same_residues(gold: str, answer: str) -> bool | None:
    """Compare two tidied congruences of one letter; ``None`` where one of them is none."""
    first, second = _CONGRUENCE.fullmatch(gold), _CONGRUENCE.fullmatch(answer)
    if first is None or second is None or first["name"] != second["name"]:
        return None
    ours, theirs = map(_residues, (first, second))
    return ours == theirs if ours and theirs else None


def _residues(match: re.Match[str]) -> tuple[int, frozenset[int]] | None:
    """Return the modulus, and the residues as the smallest numbers; ``None`` for modulus 0."""
    modulus = int(match["modulus"])
    if not modulus:
        return None
    return modulus, frozenset(int(n) % modulus for n in re.findall(r"-?\d+", match["residues"]))
