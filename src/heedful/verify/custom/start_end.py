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
from heedful.verify.custom.phrases import folded, written_for
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
            write = written_for(phrase)
            if write(phrase).strip("\"' ") in {
                write(each).strip("\"' ") for each in (text, layout.plain)
            }:
                return True, reason
        alike = any(_tokens(text) == _tokens(phrase) for phrase in phrases if _tokens(phrase))
        # The line taken for the title may not be a title.
        alike |= part == "title" and any(
            folded(phrase) in folded(response.text) for phrase in phrases
        )
        return (words or None if alike else False), reason

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
            write = written_for(phrase)
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
    enough, wanted = _enough(phrases), list(map(folded, phrases))

    def test(layout: Layout) -> tuple[Outcome, str]:
        start = f"it starts with '{layout.text.strip()[:20]}'"
        core = layout.core
        texts = (layout.text, layout.plain, core, unmarked(core))
        starts = [text.lstrip()[:enough] for text in texts]
        if any(
            _at_start(write(text), write(phrase))
            for phrase in phrases
            for write in (written_for(phrase),)
            for text in starts[:2]
        ):
            return True, start
        forms = list(map(folded, starts))
        near = any(
            _at_start(text, phrase) or _same_words(text, phrase, 0)
            for text in forms
            for phrase in wanted
        )
        return (None, f"{start}, then or nearly so with it") if near else (False, start)

    return test


def _ending(phrases: list[str]) -> _Test:
    enough, wanted = _enough(phrases), list(map(folded, phrases))

    def test(layout: Layout) -> tuple[Outcome, str]:
        end = f"it ends with '{layout.text.strip()[-20:]}'"
        ends = [text.rstrip()[-enough:] for text in (layout.text, layout.plain)]
        if any(
            _at_end(text, write(phrase))
            for phrase in phrases
            for write in (written_for(phrase),)
            for written in map(write, ends)
            for text in (written, written.rstrip("\"') "))
        ):
            return True, end
        forms = list(map(folded, ends))
        others = (_PICTURES.sub("", forms[0]), forms[0].rstrip(_STOPS))
        near = any(_at_end(text, phrase) for text in others for phrase in wanted) or any(
            _same_words(text, phrase, -1) for text in forms for phrase in wanted
        )
        return (None, f"{end}, nearly so") if near else (False, end)

    return test


def _enough(phrases: list[str]) -> int:
    """Say how many characters of an edge hold any of the phrases, spaces and marks among them."""
    return 4 * max(map(len, phrases), default=0) + 100


@lru_cache(maxsize=512)
def _tokens(text: str) -> list[str]:
    """Take the words of a text, Chinese characters one by one, without all other signs."""
    return _TOKEN.findall(folded(text))


def _same_words(text: str, phrase: str, edge: int) -> bool:
    """Check whether a text has the words of a phrase at an edge, whatever signs are among them."""
    sought, words = _tokens(phrase), _tokens(text)
    return bool(sought) and (words[-len(sought) :] if edge else words[: len(sought)]) == sought


def _at_start(text: str, phrase: str) -> bool:
    if not phrase or not text.startswith(phrase):
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
