"""The verifier of words that begin or end in some letters: adverbs in "ly", words with "b"."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from heedful.core.errors import VerifierError
from heedful.verify.base import Finding, quoted, verifier
from heedful.verify.custom.counting import CountRange
from heedful.verify.custom.parts import Outcome, Part, Which, decide, judged
from heedful.verify.custom.structure import bounds, in_part, within
from heedful.verify.text.tokens import EDGES, UNSPACED

if TYPE_CHECKING:
    from heedful.verify.text.layout import Layout
    from heedful.verify.text.prepared import Response

_LETTERS = re.compile(r"[^\W\d_]+")


def _describe_words_with(
    starts: list[str] | None,
    ends: list[str] | None,
    at_least: int | None,
    at_most: int | None,
    part: Part,
    which: Which,
) -> str:
    what = [f"begin with {quoted(starts)}"] if starts else []
    what += [f"end in {quoted(ends)}"] if ends else []
    number = "no" if at_most == 0 else bounds(at_least, at_most)
    return f"Use {number} words that {' and '.join(what)}{in_part(part, which)}."


@verifier("heedful:words_with", describe=_describe_words_with)
def words_with(
    response: Response,
    *,
    starts: list[str] | None = None,
    ends: list[str] | None = None,
    at_least: int | None = None,
    at_most: int | None = None,
    part: Part = "response",
    which: Which = "each",
) -> Finding:
    """There are enough words that begin or end in some letters, and not too many."""
    if not starts and not ends:
        raise VerifierError("no letters are given", hint="give starts or ends")
    required = bounds(at_least, at_most)

    def test(layout: Layout) -> tuple[Outcome, str]:
        if UNSPACED.search(layout.text):
            return None, "its script does not part words by spaces"
        counts = [
            _count(text, tuple(map(_bare, starts or [""])), tuple(map(_bare, ends or [""])))
            for text in {layout.plain, layout.body}
        ]
        count = CountRange(min(each.low for each in counts), max(each.high for each in counts))
        return within(count, at_least, at_most), f"{count} of its words, asked for {required}"

    return decide(*judged(response.layout, part, which, test))


def _bare(text: str) -> str:
    """Write letters small and without accents."""
    return "".join(filter(str.isalpha, unicodedata.normalize("NFD", text.casefold())))


def _count(text: str, starts: tuple[str, ...], ends: tuple[str, ...]) -> CountRange:
    """Count the words that fit, and those that may: compounds by their parts, the same twice."""

    def fits(word: str) -> bool:
        bare = _bare(word)
        return bare.startswith(starts) and bare.endswith(ends)

    sure: set[str] = set()
    possible = 0
    for piece in text.split():
        word = EDGES.sub("", piece)
        letters = _LETTERS.findall(word)
        if not any(map(fits, letters)) and not fits(word):
            continue
        possible += max(1, sum(map(fits, letters)))
        if word.isalpha() and word.isascii() and _bare(word) not in {*starts, *ends}:
            sure.add(word.casefold())
    return CountRange(len(sure), possible)
