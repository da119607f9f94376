"""Verifiers of words and phrases for users' own constraints: there, or absent.

Full-width and half-width signs, kinds of quotes, Markdown's marks and case make no difference.
Where a phrase occurs only in another form (inflected, or with other punctuation) it is not decided.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from heedful.core import scripts
from heedful.verify.base import Finding, bounds, quoted, verifier
from heedful.verify.custom.counting import CountRange, within
from heedful.verify.custom.parts import Decision, all_outcomes, decide, of_part
from heedful.verify.text.layout import unmarked
from heedful.verify.text.words import UNSPACED

if TYPE_CHECKING:
    from collections.abc import Callable

    from heedful.verify.text.layout import Layout
    from heedful.verify.text.prepared import Response

_FOLD = str.maketrans(
    dict.fromkeys("“”„‟「」『』", '"')
    | dict.fromkeys("‘’‚`", "'")
    | {"。": ".", "、": ",", "～": "~", "–": "-", "—": " - "}
    | dict.fromkeys("\u00ad\u200b\u2060\ufeff")  # marks that nobody sees
)
_ELLIPSIS = re.compile(r"\.{3,}")
_LATIN = "a-z0-9ß-öø-ɏ"
_INFLECTED = r"(?:e?s|e?d|ing|ly|er|'s)?"


@lru_cache(maxsize=512)
def folded(text: str) -> str:
    """Write a text so that spellings which no reader tells apart are the same."""
    return cased(text).casefold()


@lru_cache(maxsize=512)
def cased(text: str) -> str:
    """Write a text as :func:`folded` does, but keep its capitals."""
    if text.isascii():
        return " ".join(_ELLIPSIS.sub("…", text.replace("`", "'")).split())
    text = _ELLIPSIS.sub("…", unicodedata.normalize("NFKC", text)).translate(_FOLD)
    return re.sub(r"\s+", " ", text).strip()


def written_for(phrase: str) -> Callable[[str], str]:
    """Say how to write a text for the comparison with a phrase: "IT" is not "it"."""
    return cased if phrase.isupper() and re.search("[A-Z]{2}", phrase) else folded


class _Patterns(NamedTuple):
    """The patterns of a phrase: where it surely is, and where it may be."""

    sure: re.Pattern[str]
    maybe: re.Pattern[str]


_OTHER_LETTER = re.compile(rf"[^\W\d_{_LATIN}A-Z{scripts.HAN}]")
"""Of scripts in which a phrase may be the beginning, or the end, of another word."""


@lru_cache(maxsize=4096)
def _patterns(phrase: str) -> _Patterns:
    """Make the patterns of a folded phrase: as it stands, and inflected."""
    core, letter, other = re.escape(phrase), f"(?i:[{_LATIN}])", _OTHER_LETTER.pattern
    before = f"(?<!{letter})" if re.match(letter, phrase) else ""
    after = f"(?!{letter})" if re.search(f"{letter}$", phrase) else ""
    inflected = _INFLECTED if re.search("[a-z]$", phrase) else ""
    # Within a compound such as "cat-like", "i.e." or "cat_1" a word may or may not be there.
    left = rf"(?<!{letter}-)(?<![a-zA-Z]\.)(?<![#@_])" if before else ""
    right = rf"(?!-{letter})(?!\.[a-zA-Z])(?!_)" if after else ""
    if _OTHER_LETTER.match(phrase):
        left = f"(?<!{other})"
    if _OTHER_LETTER.match(phrase[-1:]):
        right = f"(?!{other})"
    if phrase[:1].isdigit():
        before += r"(?<!\d)(?<!\d\.)"  # "5" isn't a number in "1.5"; it may be one in "4,5"
        left += r"(?<!\d[,:/])"
    if phrase[-1:].isdigit():
        # "Python 3.11" may be "Python 3", though 3.11 isn't 3.
        named = re.search(r"[^\W\d_]", phrase) is not None
        after += r"(?!\d)(?!,\d{3}(?!\d))" + r"(?!\.\d)" * (not named)
        right += r"(?![,:/]\d)" + r"(?!\.\d)" * named
    return _Patterns(
        re.compile(f"{before}{left}{core}{after}{right}"),
        re.compile(f"{before}{core}{inflected}{after}"),
    )


_GAP = re.compile("(?<=[a-z])[- ](?=[a-z])")
"""In compounds, which some write as one word: "plus size", "e-mail"."""


def occurrences(layout: Layout, phrase: str, *, names: bool = False) -> CountRange:
    """Count a phrase: as it stands, and in the widest reading (inflected, in compounds).

    Of a topic's name, May is not surely the may of "it may rain".

    >>> from heedful.verify.text.layout import Layout
    >>> occurrences(Layout("Rain, and rains."), "rain")
    CountRange(low=1, high=2)
    """
    wanted = folded(phrase)
    low, high = [0], [0] if wanted else [layout.text.count(phrase)]
    for text in dict.fromkeys((layout.text, layout.plain)):
        form = folded(text)
        if wanted in form:  # of many phrases few are, and a pattern takes long to be made
            exact = cased if names and phrase[:1].isupper() else written_for(phrase)
            low.append(len(_patterns(exact(phrase)).sure.findall(exact(text))))
            high.append(len(_patterns(wanted).maybe.findall(form)))
        elif _GAP.search(wanted):
            high.append(_GAP.sub("", form).count(_GAP.sub("", wanted)))
    # Marks may stand inside of the phrase, or belong to it: what either text has is there.
    return CountRange(max(low) if layout.whole else 0, max(*low, *high))


@of_part("heedful:contains", describe="Use {phrases}[ {bounds} times]{where}.")
def contains(
    layout: Layout, *, phrases: list[str], at_least: int | None = 1, at_most: int | None = None
) -> Decision:
    """Each of the phrases occurs often enough, and not too often, as a whole word."""
    required = bounds(at_least, at_most)
    counts = {phrase: occurrences(layout, phrase) for phrase in phrases}
    outcomes = [within(count, at_least, at_most) for count in counts.values()]
    lacking = [
        f"'{phrase}' occurs {count} times"
        for (phrase, count), outcome in zip(counts.items(), outcomes, strict=True)
        if not outcome
    ]
    found = "; ".join(lacking) or f"{quoted(phrases)} often enough"
    return all_outcomes(outcomes), f"{found}, asked for {required}"


@of_part("heedful:excludes")
def excludes(layout: Layout, *, phrases: list[str]) -> Decision:
    """Do not use {phrases}{where}."""
    counts = {phrase: occurrences(layout, phrase) for phrase in phrases}
    used = [phrase for phrase, count in counts.items() if count.low]
    maybe = [phrase for phrase, count in counts.items() if count.high]
    if used or maybe:
        form = "" if used else " in another form"
        return (False if used else None), f"used{form}: {quoted(used or maybe)}"
    return True, f"{quoted(phrases)} not used"


@of_part("heedful:contains_any", describe="Use[ {bounds}] one or more of {phrases}{where}.")
def contains_any(
    layout: Layout, *, phrases: list[str], at_least: int = 1, at_most: int | None = None
) -> Decision:
    """At least one of the phrases occurs, or so many of them."""
    counts = [occurrences(layout, phrase) for phrase in phrases]
    used = [phrase for phrase, count in zip(phrases, counts, strict=True) if count.low]
    maybe = sum(1 for count in counts if count.high)
    reason = f"used: {quoted(used)}" if used else f"none of {quoted(phrases)} surely used"
    return within(CountRange(len(used), maybe), at_least, at_most), reason


def _naming(id_: str, wording: str, *, met: bool) -> None:
    """Register the verifier of a topic: of its names one decides, and none leaves it open."""

    @verifier(id_, describe=wording)
    def verify(response: Response, *, phrases: list[str]) -> Finding:
        used = _names(response.layout, phrases)
        found = f"used: {quoted(used)}" if used else "not by that name"
        return decide(met if used else None, found)


_naming("heedful:mentions", "Mention {phrases}, maybe in other words.", met=True)
_naming("heedful:does_not_mention", "Do not mention {phrases} in any words.", met=False)


def _names(layout: Layout, phrases: list[str]) -> list[str]:
    """Find the names of a topic that surely occur."""
    return [each for each in phrases if occurrences(layout, each, names=True).low]


_FIRST_WORDS = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


@of_part("heedful:each_word")
def each_word(layout: Layout) -> Decision:
    """Start each word{where} with a capital letter."""
    if UNSPACED.search(layout.text):
        return None, "its script does not part words by spaces"
    words = dict.fromkeys(_FIRST_WORDS.findall(unmarked(layout.prose)))
    small = [word for word in words if word[0].islower()]
    # Of a compound only the first part must have one.
    open_ = [word for word in words if not all(part[:1].isupper() for part in word.split("-"))]
    if small or open_ or not words:
        return (False if small else None), f"not so: {quoted((small or open_)[:5])}"
    return True, f"all {len(words)} different words"


# --- letters ------------------------------------------------------------------------------------


@of_part("heedful:letters", describe="Use {letters}[ {bounds} times]{where}, in any word.")
def letters(
    layout: Layout, *, letters: list[str], at_least: int | None = None, at_most: int | None = None
) -> Decision:
    """Each of the letters occurs often enough, and not too often, large or small, in any word."""
    ranges = []
    for letter in letters:
        # With an accent it may be another letter: decomposed, it is the letter and a mark.
        counts = [
            unicodedata.normalize(form, text).lower().count(letter.lower())
            for text in (layout.text, layout.body)
            for form in ("NFC", "NFD")
        ]
        ranges.append(CountRange(min(counts), max(counts)))
    found = (
        f"'{letter}' occurs {each} times" for letter, each in zip(letters, ranges, strict=True)
    )
    outcome = all_outcomes(within(each, at_least, at_most) for each in ranges)
    return outcome, f"{'; '.join(found)}, asked for {bounds(at_least, at_most)}"
