"""Responses that say the same again and again: loops, and few words."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

COMPRESSED = 0.1
"""A text that zlib makes smaller than this share says the same again and again. Of 9,085 real
responses those below were read: all had run into a loop."""

COMPRESSIBLE_FROM = 400
"""Characters from which on that is looked at: zlib's own overhead counts in shorter texts."""

REPEATED = 0.7
REPEATS = 5
"""A sentence that makes up this share of a text and stands in it this often is a repetition."""

FEW_FROM = 12
"""Letters from which on a text of two different ones is a repetition."""

WORDS_FROM, WORDS_TO = 8, 100
"""Words between which a text with a quarter as many different ones is a repetition."""

RUN = 5
"""Words in a row that are one run."""

RUNS_FROM = 60
REPEATED_RUNS = 0.7
"""A text of this many words, of whose runs this share stood in it before, is a repetition."""

MAY_REPEAT = re.compile(
    r"\brepeat|\btimes\b|\bover and over|\bagain and again|重复|[一二三四五六七八九十百千\d][次遍]",
    re.IGNORECASE,
)
_HAS_REFRAINS = re.compile(
    r"\bsongs?\b|\brap|\blyric|\bpoem|\bpoetry|\bchant|\bhtml|\bhymn|歌|诗", re.IGNORECASE
)
_SENTENCE = re.compile(r"[^\n.!?。！？]+")


def repetition(text: str, last_turn: str) -> str | None:
    """Find a text that says the same again and again, which wasn't asked for."""
    text = " ".join(text.split())
    if len(text) >= COMPRESSIBLE_FROM:
        data = text.encode("utf-8", "surrogatepass")
        share = len(zlib.compress(data)) / len(data)
        if share < COMPRESSED:
            return f"it repeats itself: it compresses to {share:.1%}"
    if MAY_REPEAT.search(last_turn):
        return None
    sentences = Counter(" ".join(match[0].split()).casefold() for match in _SENTENCE.finditer(text))
    words = text.casefold().split()
    letters = re.sub(r"\W+", "", text.casefold())
    few = len(letters) >= FEW_FROM and len({*letters}) <= 2  # noqa: PLR2004 - ha, ha, ha
    if _seen_before(words) >= REPEATED_RUNS and not _HAS_REFRAINS.search(last_turn):
        return f"most runs of {RUN} words stand in it twice: {text[:40]!r}"
    if few or _few_words(words):
        return f"it says the same again and again: {text[:40]!r}"
    sentence, times = max(
        sentences.items(), key=lambda item: len(item[0]) * item[1], default=("", 0)
    )
    if times >= REPEATS and len(sentence) * times >= REPEATED * len(text):
        return f"it repeats {sentence[:40]!r} {times:,} times"
    return None


def _few_words(words: Sequence[str]) -> bool:
    """Tell whether a quarter of the words, or one word half of the time, is all that there is."""
    if WORDS_FROM <= len(words) <= WORDS_TO and 4 * len({*words}) <= len(words):
        return True
    bare = (re.sub(r"\W+", "", word) for word in words)
    most = max(Counter(word for word in bare if len(word) > 1).values(), default=0)
    return len(words) >= WORDS_FROM and 2 * most >= len(words)


def _seen_before(words: Sequence[str]) -> float:
    """Return the share of runs of words that an earlier part of the text has already."""
    if len(words) < RUNS_FROM:
        return 0.0
    runs = [tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1)]
    return 1 - len({*runs}) / len(runs)
