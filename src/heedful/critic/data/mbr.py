"""The text that is most like the others (minimum Bayes risk)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.core.errors import UsageError
from heedful.critic.data.matching import ratios

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Similarities = Callable[[Sequence[str]], list[list[float]]]

__all__ = ["pick"]

SIMILARITIES = ("ratio", "quick_ratio", "edit")
"""difflib's ``ratio`` and ``quick_ratio``, and ``edit``: one minus the edit distance of insertions
and deletions divided by the sum of the lengths."""


def pick(texts: Sequence[str], similarity: str = "ratio") -> int:
    """Choose the text with the highest mean similarity to all texts, itself included.

    As in IF-Critic's public pair code, which compares ``SequenceMatcher(None, text, other)``; its
    paper (arXiv 2511.01014) calls it minimum Bayes risk. ``ratio`` is not symmetric, so the order
    counts.

    Args:
        texts: at least one.
        similarity: one of :data:`SIMILARITIES`.

    Returns:
        Its position; of several equals the first.

    Raises:
        UsageError: the texts are empty, or the similarity is unknown.
    """
    if similarity not in SIMILARITIES:
        hint = f"use one of {', '.join(SIMILARITIES)}"
        raise UsageError(f"no such similarity: {similarity!r}", hint=hint)
    if not texts:
        raise UsageError("there is no text to choose", hint="give at least one")
    scores = [_sum(row) for row in _SIMILARITIES[similarity](texts)]
    return scores.index(max(scores))


def _quick_ratios(texts: Sequence[str]) -> list[list[float]]:
    """Compare by the letters that texts share, whatever their order, each counted once a text."""
    import numpy as np

    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
    letters, codes = np.unique(points, return_inverse=True)
    owners = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    number = max(len(letters), 1)
    counts = np.bincount(owners * number + codes, minlength=len(texts) * number)
    table = counts.reshape(len(texts), number)
    shared = [np.minimum(row, table).sum(axis=1).tolist() for row in table]
    return [
        [_share(n, text, other) for n, other in zip(row, texts, strict=True)]
        for row, text in zip(shared, texts, strict=True)
    ]


def _edits(texts: Sequence[str]) -> list[list[float]]:
    return [[_share(_common(text, other), text, other) for other in texts] for text in texts]


def _common(left: str, right: str) -> int:
    """Compute the length of the longest common subsequence of two texts."""
    places: dict[str, int] = {}
    for at, letter in enumerate(right):
        places[letter] = places.get(letter, 0) | 1 << at
    everywhere = row = (1 << len(right)) - 1
    for letter in left:
        matches = row & places.get(letter, 0)
        row = (row + matches | row - matches) & everywhere
    return len(right) - row.bit_count()


def _share(matches: int, left: str, right: str) -> float:
    """Compute what difflib calls the ratio of matches; two empty texts are the same."""
    length = len(left) + len(right)
    return 2.0 * matches / length if length else 1.0


def _sum(values: Iterable[float]) -> float:
    """Add from left to right."""
    total = 0.0
    for value in values:
        total += value
    return total


_SIMILARITIES: dict[str, Similarities] = {
    "ratio": ratios,
    "quick_ratio": _quick_ratios,
    "edit": _edits,
}
