"""The text that is most like the others (minimum Bayes risk)."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from heedful.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    scores = [0.0] * len(texts)
    matcher = SequenceMatcher(None)
    for other in texts:
        matcher.set_seq2(other)  # what difflib keeps of the second text serves all first ones
        for at, text in enumerate(texts):
            if text == other:
                scores[at] += 1.0
            elif similarity == "edit":
                scores[at] += 2.0 * _common(text, other) / (len(text) + len(other))
            else:
                matcher.set_seq1(text)
                scores[at] += getattr(matcher, similarity)()
    return scores.index(max(scores))


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
