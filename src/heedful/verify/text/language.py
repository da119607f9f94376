"""Language detection: langdetect's algorithm and profiles, but faster.

``langdetect`` (a port of Nakatani Shuyo's language-detection, 2010) is a naive Bayes classifier
over character 1- to 3-grams. It samples n-grams at random until one language is almost certain,
seven times over, and averages. This does the same arithmetic on the same profiles in the same
order, so the answers are those of ``langdetect`` with ``DetectorFactory.seed = 0``; it only reads
the profiles without expanding them, and finds the n-grams of a word once, not once per occurrence.
What needn't reproduce ``langdetect`` is told by the same profiles without sampling.
"""

from __future__ import annotations

import functools
import operator
import random
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

_SEED = 0
_TRIALS = 7
_SMOOTHING = 0.5
_SMOOTHING_WIDTH = 0.05
_SMOOTHING_SCALE = 10_000
_CERTAIN = 0.99999
_MOST_SAMPLES = 1000
_CHECK_EVERY = 5
_LEAST_PROBABILITY = 0.1
_LONGEST_TEXT = 10_000
_LONGEST_SEARCHED = 40_000
"""Characters of a text in which addresses are looked for."""
_TOLD_BY = 1000
"""Characters that tell whether a text is in capitals."""
_MOST_WORDS = 100
"""Words of a text that are looked at where nothing is sampled."""

# Compiled on first use: their long repetitions take milliseconds.
_URL = r"https?://[-_.?&~;+=/#0-9A-Za-z]{1,2076}"
_MAIL = r"[-_.0-9A-Za-z]{1,64}@[-_0-9A-Za-z]{1,255}[-_.0-9A-Za-z]{1,255}"
_SPACES = re.compile(" {2,}")
_LATIN = re.compile("[A-z]")
_NOT_LATIN = re.compile("[\u0300-\u1dff\u1f00-\U0010ffff]")  # 1E00-1EFF is Latin too


def language_of(text: str) -> str | None:
    """Detect the language of a text, as an ISO 639-1 code (``zh-cn`` and ``zh-tw`` for Chinese).

    ``"unknown"`` where no language reaches a probability of 0.1, ``None`` where the text holds no
    n-gram of any language.
    """
    profiles = _profiles()
    grams = profiles.grams(_clean(text))
    if not grams:
        return None
    rng = random.Random(_SEED)
    trials = [profiles.trial(grams, rng) / _TRIALS for _ in range(_TRIALS)]
    mean = functools.reduce(operator.add, trials)
    best = int(mean.argmax())
    return profiles.languages[best] if mean[best] > _LEAST_PROBABILITY else "unknown"


def likeliest_language(text: str) -> str | None:
    """Detect the language by all n-grams of a hundred different words, from all over the text.

    Quicker than :func:`language_of`, and right more often where words are repeated or in capitals.
    ``None`` where the text holds no n-gram of any language.
    """
    begin = text[:_TOLD_BY]
    if 2 * sum(map(str.isupper, begin)) > sum(map(str.isalpha, begin)):
        text = text.lower()  # the profiles know little of words in capitals
    return _profiles().likeliest(_clean(text))


class _Profiles:
    """langdetect's profiles: for each language, how often it uses each n-gram."""

    def __init__(self) -> None:
        import json
        from pathlib import Path

        import numpy as np
        from langdetect.detector_factory import PROFILES_DIRECTORY

        self.languages: list[str] = []
        counts: list[dict[str, int]] = []
        totals: list[list[int]] = []
        # In the order of their names: a folder's own order differs between machines.
        for path in sorted(Path(PROFILES_DIRECTORY).iterdir()):
            if path.is_file() and not path.name.startswith("."):
                profile = json.loads(path.read_text(encoding="utf-8"))
                self.languages.append(profile["name"])
                counts.append(profile["freq"])
                totals.append(profile["n_words"])
        self._counts = [each.get for each in counts]
        self._totals = np.array(totals)
        self._known: set[str] = set().union(*counts) - {" "}
        self._rows: dict[str, NDArray[np.float64]] = {}
        self._normal = _Normal()
        self._grams_of_word = functools.lru_cache(maxsize=1 << 15)(self._find_grams)
        self._evidence_of_word = functools.lru_cache(maxsize=1 << 14)(self._evidence)

    def grams(self, text: str) -> list[str]:
        """List the n-grams of a text that some profile knows, in order, repeats included."""
        text = text.translate(self._normal)
        *words, last = text.split(" ")
        grams: list[str] = []
        for word in words:
            if word:
                grams += self._grams_of_word(word)
        if last:
            grams += self._find_grams(last, end="")
        return grams

    def _find_grams(self, word: str, end: str = " ") -> list[str]:
        """List the n-grams of a word, which starts with a space; after two capitals, none."""
        known = self._known
        if any(map(str.isupper, word[1:])):
            return [gram for gram in _grams_past_capitals(word, end) if gram in known]
        padded = f"\0 {word}{end}"  # no n-gram holds the first of these
        return [
            gram
            for at in range(2, len(padded))
            for gram in (padded[at], padded[at - 1 : at + 1], padded[at - 2 : at + 1])
            if gram in known
        ]

    def likeliest(self, text: str) -> str | None:
        """Return the language in which a text's n-grams are likeliest."""
        import numpy as np

        words = list(dict.fromkeys(text.split(" ")))
        chosen = " ".join(words[:: len(words) // _MOST_WORDS + 1])
        words = chosen.translate(self._normal).split(" ")
        evidence = [found for word in words if (found := self._evidence_of_word(word)) is not None]
        if not evidence:
            return None
        return self.languages[int(np.add.reduce(evidence).argmax())]

    def _evidence(self, word: str) -> NDArray[np.float64] | None:
        """Add up the log-probabilities of a word's n-grams, in each language."""
        import numpy as np

        grams = self._find_grams(word) if word else []
        if not grams:
            return None
        shares = np.array([self._rows[g] if g in self._rows else self._row(g) for g in grams])
        added: NDArray[np.float64] = np.log(shares + _SMOOTHING / _SMOOTHING_SCALE).sum(axis=0)
        return added

    def trial(self, grams: list[str], rng: random.Random) -> NDArray[np.float64]:
        """Sample n-grams until one language is almost certain; return all probabilities."""
        import numpy as np

        probabilities = np.full(len(self.languages), 1.0 / len(self.languages))
        smoothing = _SMOOTHING + rng.gauss(0.0, 1.0) * _SMOOTHING_WIDTH
        # An array, and the outputs given: numpy spends most of its time on making arrays of these.
        weights = np.full_like(probabilities, smoothing / _SMOOTHING_SCALE)
        factors = np.empty_like(probabilities)
        number, getrandbits = len(grams), rng.getrandbits
        bits = number.bit_length()
        for turn in range(_MOST_SAMPLES + 1):
            # As random.choice does, at a third of its cost.
            place = getrandbits(bits)
            while place >= number:
                place = getrandbits(bits)
            gram = grams[place]
            row = self._rows.get(gram)
            np.add(weights, self._row(gram) if row is None else row, factors)
            np.multiply(probabilities, factors, probabilities)
            if turn % _CHECK_EVERY == 0:
                # Python's sum, not numpy's, adds in the order that langdetect does.
                values = probabilities.tolist()
                total = sum(values)
                np.divide(probabilities, total, probabilities)
                if max(values) / total > _CERTAIN:
                    break
        return probabilities

    def _row(self, gram: str) -> NDArray[np.float64]:
        """Work out the share of an n-gram among those of its length, in each language."""
        import numpy as np

        counts = np.array([count(gram, 0) for count in self._counts])
        row: NDArray[np.float64] = counts / self._totals[:, len(gram) - 1]
        self._rows[gram] = row
        return row


def _grams_past_capitals(word: str, end: str) -> Iterator[str]:
    window = previous = " "
    shouted = False
    for char in word + end:
        window = (window + char)[-3:]
        shouted = char.isupper() and (shouted or previous.isupper())
        previous = char
        if not shouted:
            for size in range(1, len(window) + 1):
                yield window[-size:]


class _Normal(dict[int, str]):
    """langdetect's normal form of each character, for ``str.translate``; filled as met."""

    def __init__(self) -> None:
        from langdetect.utils.ngram import NGram

        self._normalize = NGram.normalize

    def __missing__(self, code: int) -> str:
        char: str = self._normalize(chr(code))
        self[code] = char
        return char


_profiles = functools.cache(_Profiles)


def _clean(text: str) -> str:
    """Drop addresses, runs of spaces, all past the first 10,000 characters, and stray Latin."""
    text = text[:_LONGEST_SEARCHED]
    if "http" in text:
        text = re.sub(_URL, " ", text)
    if "@" in text:
        text = re.sub(_MAIL, " ", text)
    if text.isascii():  # nothing to compose, no other script
        return _SPACES.sub(" ", text[:_LONGEST_TEXT])
    from langdetect.utils.ngram import NGram

    text = _SPACES.sub(" ", NGram.normalize_vi(text)[:_LONGEST_TEXT])
    if 2 * len(_LATIN.findall(text)) < len(_NOT_LATIN.findall(text)):
        text = _LATIN.sub("", text)
    return text
