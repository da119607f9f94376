"""Verifiers of how a response or a part of it begins and ends, and of what it is as a whole.

Phrases are compared as in :mod:`heedful.verify.custom.phrases`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from heedful.core import scripts
from heedful.verify.base import Finding, quoted, verifier
from heedful.verify.custom.counting import UNITS, CountRange, count_units, plural
from heedful.verify.custom.parts import Outcome, Part, Which, decide, judged, named, readings
from heedful.verify.custom.phrases import cased, folded
from heedful.verify.custom.structure import amounts, bounds, within
from heedful.verify.text.characters import emoji_at_end
from heedful.verify.text.layout import Layout, unmarked
from heedful.verify.text.prepared import Response

if TYPE_CHECKING:
    from collections.abc import Callable

    from heedful.verify.text.prepared import Response

    _Test = Callable[[Layout], tuple[Outcome, str]]

_PICTURE = rf"\s{scripts.PICTOGRAPHS}"
_PICTURES = re.compile(f"(?<![{_PICTURE}])[{_PICTURE}]++$")
_CITATIONS = re.compile(r"(?:\s?\[\d{1,3}\])+$")
_STOPS = "。！？…～.!?~\"'”’」)） "
_TOKEN = re.compile(r"[a-z0-9]+|[^\W_]")


def _describe_edge(
    edge: str, phrases: list[str], part: Part, which: Which, *, words: bool = False
) -> str:
    what = named(part, which)
    word = "the word " if words else ""
    return f"{edge} {what} with {word}{' or '.join(quoted([phrase]) for phrase in phrases)}."


@verifier(
    "heedful:starts_with",
    describe=lambda phrases, part, which, words: _describe_edge(
        "Start", phrases, part, which, words=words
    ),
)
def starts_with(
    response: Response,
    *,
    phrases: list[str],
    part: Part = "response",
    which: Which = "each",
    words: bool = False,
) -> Finding:
    """The response, or a part of it, starts with one of the phrases."""
    test = _of_words(_starting(phrases), phrases, 0) if words else _starting(phrases)
    return decide(*judged(response.layout, part, which, test))


@verifier(
    "heedful:does_not_start_with",
    describe=lambda phrases, part, which: _describe_edge("Do not start", phrases, part, which),
)
def does_not_start_with(
    response: Response, *, phrases: list[str], part: Part = "response", which: Which = "each"
) -> Finding:
    """The response, or a part of it, starts with none of the phrases."""
    return decide(*judged(response.layout, part, which, _not(_starting(phrases))))


@verifier(
    "heedful:ends_with",
    describe=lambda phrases, part, which, words: _describe_edge(
        "End", phrases, part, which, words=words
    ),
)
def ends_with(
    response: Response,
    *,
    phrases: list[str],
    part: Part = "response",
    which: Which = "each",
    words: bool = False,
) -> Finding:
    """The response, or a part of it, ends with one of the phrases; quotes after it do not count."""
    test = _of_words(_ending(phrases), phrases, -1) if words else _ending(phrases)
    return decide(*judged(response.layout, part, which, test))


@verifier(
    "heedful:does_not_end_with",
    describe=lambda phrases, part, which: _describe_edge("Do not end", phrases, part, which),
)
def does_not_end_with(
    response: Response, *, phrases: list[str], part: Part = "response", which: Which = "each"
) -> Finding:
    """The response, or a part of it, ends with none of the phrases."""
    return decide(*judged(response.layout, part, which, _not(_ending(phrases))))


def _describe_emoji_end(part: Part, which: Which) -> str:
    return f"End {named(part, which)} with an emoji."


@verifier("heedful:ends_with_emoji", describe=_describe_emoji_end)
def ends_with_emoji(
    response: Response, *, part: Part = "response", which: Which = "each"
) -> Finding:
    """The response, or a part of it, ends with an emoji, whichever."""

    def test(layout: Layout) -> tuple[Outcome, str]:
        text = layout.plain.strip()
        end = f"it ends with '{text[-20:]}'"
        outcome = emoji_at_end(text)
        if outcome is False and emoji_at_end(text.rstrip(_STOPS)) is not False:
            return None, end
        return outcome, end

    return decide(*judged(response.layout, part, which, test))


@verifier(
    "heedful:equals",
    describe=lambda phrases, part, which, words: (
        f"Let {named(part, which)} be {'the word ' if words else ''}"
        f"{' or '.join(quoted([phrase]) for phrase in phrases)}, and nothing else."
    ),
)
def equals(
    response: Response,
    *,
    phrases: list[str],
    part: Part = "response",
    which: Which = "each",
    words: bool = False,
) -> Finding:
    """The response, or a part of it, is one of the phrases; quotes around it do not count."""

    def test(layout: Layout) -> tuple[Outcome, str]:
        text = layout.text.strip()
        reason = f"it is '{text[:40]}{'…' if len(text) > 40 else ''}'"  # noqa: PLR2004 - a glimpse
        for phrase in phrases:
            write = _written_for(phrase)
            forms = {write(each).strip("\"' ") for each in (text, layout.plain)}
            if write(phrase).strip("\"' ") in forms:
                return True, reason
        alike = any(_tokens(text) == _tokens(phrase) for phrase in phrases if _tokens(phrase))
        # The line taken for the title may not be a title.
        alike |= part == "title" and any(
            folded(phrase) in folded(response.text) for phrase in phrases
        )
        sure = words and not any(_written_for(phrase) is cased for phrase in phrases)
        return (sure or None if alike else False), reason

    outcome, reason = judged(response.layout, part, which, test)
    if outcome is None and part == "line" and isinstance(which, int):
        # "Ann" below a letter is its last line if that is what the last line is to be.
        lines = readings(response.layout, part)[0]
        if abs(which) <= len(lines) and test(Layout(lines[which - (which > 0)]))[0]:
            outcome = True
    return decide(outcome, reason)


@verifier(
    "heedful:question",
    describe=lambda part, which: f"Let {named(part, which)} be a question.",
)
def question(response: Response, *, part: Part = "response", which: Which = "each") -> Finding:
    """The response, or a part of it, is a question, or several."""

    def test(layout: Layout) -> tuple[Outcome, str]:
        number = count_units(layout, "questions")
        marked = [re.search("[?？؟]", each[-3:]) for each in layout.sentence_readings[-1]]
        end = f"it ends with '{layout.text.strip()[-20:]}'"
        if not number or number.high == 0:
            return False, f"{end}, without a question"
        return (True if marked and all(marked) else None), end

    return decide(*judged(response.layout, part, which, test))


# --- tests of an edge ---------------------------------------------------------------------------


def _written_for(phrase: str) -> Callable[[str], str]:
    """Say how to write a text for the comparison with a phrase: "IT" is not "it"."""
    return cased if len(phrase) > 1 and phrase.isupper() and _ACRONYM.search(phrase) else folded


_ACRONYM = re.compile("[A-Z]{2}")


def _not(test: _Test) -> _Test:
    def negated(layout: Layout) -> tuple[Outcome, str]:
        outcome, reason = test(layout)
        return (None if outcome is None else not outcome), reason

    return negated


_WORD = re.compile(r"[^\W_]+(?:['’.&@-][^\W_]+)*")


def _of_words(test: _Test, phrases: list[str], edge: int) -> _Test:
    """Test phrases that are words: decided where the word at the edge is one or another."""
    enough = _enough(phrases)

    def words(layout: Layout) -> tuple[Outcome, str]:
        outcome, reason = test(layout)
        if outcome is False:
            return outcome, reason
        text = layout.plain.strip()
        for phrase in phrases:
            write = _written_for(phrase)
            written = _WORD.findall(write(text[:enough] if edge == 0 else text[-enough:]))
            sought = _WORD.findall(write(phrase))
            if (
                sought
                and (written[: len(sought)] if edge == 0 else written[-len(sought) :]) == sought
            ):
                return True, reason
            # A run of Chinese letters is more than a word; what stands at its edge decides.
            if scripts.HAN_CHARACTER.search(phrase) and (
                outcome or _at_edge(written, sought, edge)
            ):
                return True, reason
        return None, reason

    return words


def _at_edge(written: list[str], sought: list[str], edge: int) -> bool:
    if not written or len(sought) != 1:
        return False
    return written[0].startswith(sought[0]) if edge == 0 else written[-1].endswith(sought[0])


def _starting(phrases: list[str]) -> _Test:
    enough = _enough(phrases)

    def test(layout: Layout) -> tuple[Outcome, str]:
        start = f"it starts with '{layout.text.strip()[:20]}'"
        texts = [text.lstrip()[:enough] for text in (layout.text, layout.plain)]
        if any(
            _at_start(write(text), write(phrase))
            for phrase in phrases
            for write in (_written_for(phrase),)
            for text in texts
        ):
            return True, start
        plain = [folded(text) for text in texts]
        cores = (layout.core, unmarked(layout.core))
        further = [*(folded(text.lstrip()[:enough]) for text in cores), *plain]
        if any(_at_start(text, folded(phrase)) for text in further for phrase in phrases) or any(
            ((sought := _tokens(phrase)) and _tokens(text)[: len(sought)] == sought)
            or _goes_on(text, folded(phrase) or phrase)
            for text in further
            for phrase in phrases
        ):
            return None, f"{start}, then or nearly so with it"
        return False, start

    return test


def _ending(phrases: list[str]) -> _Test:
    enough = _enough(phrases)

    def test(layout: Layout) -> tuple[Outcome, str]:
        end = f"it ends with '{layout.text.strip()[-20:]}'"
        texts = [text.rstrip()[-enough:] for text in (layout.text, layout.plain)]
        if any(
            _at_end(text, write(phrase))
            for phrase in phrases
            for write in (_written_for(phrase),)
            for written in map(write, texts)
            for text in (written, written.rstrip("\"') "))
        ):
            return True, end
        plain = [folded(text) for text in texts]
        if any(
            (sought := _tokens(phrase)) and _tokens(text)[-len(sought) :] == sought
            for text in plain
            for phrase in phrases
        ) or any(
            _at_end(form, folded(phrase))
            for form in (
                _PICTURES.sub("", plain[0]),
                plain[0].rstrip(_STOPS),
                _CITATIONS.sub("", plain[0]),
            )
            for phrase in phrases
        ):
            return None, f"{end}, nearly so"
        return False, end

    return test


def _enough(phrases: list[str]) -> int:
    """Say how many characters of an edge hold any of the phrases, spaces and marks among them."""
    return 4 * max(map(len, phrases), default=0) + 100


@lru_cache(maxsize=512)
def _tokens(text: str) -> list[str]:
    """Take the words of a text, Chinese characters one by one, without all other signs."""
    return _TOKEN.findall(folded(text))


def _goes_on(text: str, phrase: str) -> bool:
    """Check whether a sign that is asked for stands there more often, as in "##" for "#"."""
    return text.startswith(phrase + phrase[-1]) and not phrase[-1].isalnum()


def _at_start(text: str, phrase: str) -> bool:
    if not phrase or not text.startswith(phrase) or _goes_on(text, phrase):
        return False
    return not (
        phrase[-1].isascii() and phrase[-1].isalnum() and re.match("[a-z0-9]", text[len(phrase) :])
    )


def _at_end(text: str, phrase: str) -> bool:
    if not phrase or not text.endswith(phrase):
        return False
    before = text[: -len(phrase)]
    return not (phrase[0].isascii() and phrase[0].isalnum() and re.search("[a-z0-9]$", before))


# --- at the end -----------------------------------------------------------------------------------

_LAST = {
    "hashtags": re.compile(r"(?:[#＃](?<!\w.)[^\s#＃]++\s*+)++$"),
    "emojis": re.compile(rf"[\s{scripts.PICTOGRAPHS}\u200d\ufe0f\U0001f3fb-\U0001f3ff]+$"),
}


@verifier(
    "heedful:at_end",
    describe=lambda unit, at_least, at_most: (
        f"End with {bounds(at_least, at_most)}"
        f" {UNITS[unit].one if at_most == 1 else plural(unit)}, and use none before."
    ),
)
def at_end(
    response: Response,
    *,
    unit: Literal["hashtags", "emojis"],
    at_least: int | None = None,
    at_most: int | None = None,
) -> Finding:
    """So many hashtags or emojis stand at the end of the response."""
    text = response.text.rstrip()
    last = _LAST[unit].search(text[-_LONGEST_END:])
    total = count_units(response.layout, unit) or CountRange(0, 0)
    here = count_units(Layout(last[0], titled=False), unit) if last else CountRange(0, 0)
    found = f"{amounts(here or total, unit)} at the end of {amounts(total, unit)}"
    if total.high < (at_least or 0):
        return Finding(met=False, found=found)
    return decide(within(total, at_least, at_most) if here == total else None, found)


_LONGEST_END = 1000
"""Characters."""
