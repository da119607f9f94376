"""The text that is most like the others (minimum Bayes risk)."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from heedful.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

SIMILARITIES = ("ratio", "quick_ratio")
"""Methods of difflib's ``SequenceMatcher``."""


def refuse_unknown(similarity: str) -> None:
    """Refuse a similarity that there is none of."""
    if similarity not in SIMILARITIES:
        hint = f"use one of {', '.join(SIMILARITIES)}"
        raise UsageError(f"no such similarity: {similarity!r}", hint=hint)


def pick(texts: Sequence[str], similarity: str = "ratio") -> int:
    """Choose the text with the highest mean similarity to all texts, itself included.

    As in IF-Critic's public pair code, which compares ``SequenceMatcher(None, text, other)``; its
    paper (arXiv 2511.01014) calls it minimum Bayes risk. ``ratio`` is not symmetric, so the order
    counts.
    """
    refuse_unknown(similarity)
    if not texts:
        raise UsageError("there is no text to choose", hint="give at least one")
    scores = [0.0] * len(texts)
    matcher = SequenceMatcher(None)
    for other in texts:
        matcher.set_seq2(other)  # what difflib keeps of the second text serves all first ones
        for at, text in enumerate(texts):
            if text == other:
                scores[at] += 1.0
            else:
                matcher.set_seq1(text)
                scores[at] += getattr(matcher, similarity)()
    return scores.index(max(scores))
