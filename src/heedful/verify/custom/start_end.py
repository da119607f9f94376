"""Verifiers of how a response or a part of it begins and ends, and of what it is as a whole.

Phrases are compared as in :mod:`heedful.verify.custom.phrases`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from heedful.core import scripts
from heedful.verify.base import Finding, bounds, quoted, verifier
from heedful.verify.custom.counting import UNITS, CountRange, amounts, count_units, within
from heedful.verify.custom.parts import Decision, Outcome, decide, of_part
from heedful.verify.custom.phrases import folded, written_for
from heedful.verify.text.characters import emoji_at_end
from heedful.verify.text.layout import Layout, unmarked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.verify.base import Wording
    from heedful.verify.text.prepared import Response

_PICTURE = rf"\s{scripts.PICTOGRAPHS}"
_PICTURES = re.compile(f"(?<![{_PICTURE}])[{_PICTURE}]++$")
_STOPS = "。！？…～.!?~\"'”’」)） "
_TOKEN = re.compile(r"[a-z0-9]+|[^\W_]")


def _any_of(phrases: list[str], *, words: bool = False) -> str:
    return ("the word " if words else "") + " or ".join(quoted([phrase]) for phrase in phrases)


def _edge(verb: str) -> Wording:
    return lambda phrases, what, words=False, **_: (
        f"{verb} {what} with {_any_of(phrases, words=words)}."
    )


@of_part("heedful:starts_with", describe=_edge("Start"))
def starts_with(layout: Layout, *, phrases: list[str], words: bool = False) -> Decision:
    """The text starts with one of the phrases."""
    outcome, reason = _starting(layout, phrases)
    return (_with_words(layout, phrases, 0, outcome) if words else outcome), reason


@of_part("heedful:does_not_start_with", describe=_edge("Do not start"))
def does_not_start_with(layout: Layout, *, phrases: list[str]) -> Decision:
    """The text starts with none of the phrases."""
    return _not(_starting(layout, phrases))


@of_part("heedful:ends_with", describe=_edge("End"))
def ends_with(layout: Layout, *, phrases: list[str], words: bool = False) -> Decision:
    """The text ends with one of the phrases; quotes after it do not count."""
    outcome, reason = _ending(layout, phrases)
    return (_with_words(layout, phrases, -1, outcome) if words else outcome), reason


@of_part("heedful:does_not_end_with", describe=_edge("Do not end"))
def does_not_end_with(layout: Layout, *, phrases: list[str]) -> Decision:
    """The text ends with none of the phrases."""
    return _not(_ending(layout, phrases))


@of_part("heedful:ends_with_emoji")
def ends_with_emoji(layout: Layout) -> Decision:
    """End {what} with an emoji."""
    text = layout.plain.strip()
    end = f"it ends with '{text[-20:]}'"
    outcome = emoji_at_end(text)
    if outcome is False and emoji_at_end(text.rstrip(_STOPS)) is not False:
        return None, end
    return outcome, end


@of_part(
    "heedful:equals",
    describe=lambda phrases, what, words=False, **_: (
        f"Let {what} be {_any_of(phrases, words=words)}, and nothing else."
    ),
)
def equals(layout: Layout, *, phrases: list[str], words: bool = False) -> Decision:
    """The text is one of the phrases; quotes around it do not count."""
    text = layout.text.strip()
    reason = f"it is '{text[:40]}{'…' if len(text) > 40 else ''}'"  # noqa: PLR2004 - a glimpse
    for phrase in phrases:
        write = written_for(phrase)
        forms = {write(each).strip("\"' ") for each in (text, layout.plain)}
        if write(phrase).strip("\"' ") in forms:
            return True, reason
    alike = any(_tokens(text) == _tokens(phrase) for phrase in phrases if _tokens(phrase))
    return (words or None if alike else False), reason


@of_part("heedful:question")
def question(layout: Layout) -> Decision:
    """Let {what} be a question."""
    number = count_units(layout, "questions")
    marked = [re.search("[?？؟]", each[-3:]) for each in layout.sentence_readings[-1]]
    end = f"it ends with '{layout.text.strip()[-20:]}'"
    if not number or number.high == 0:
        return False, f"{end}, without a question"
    return (True if marked and all(marked) else None), end


@of_part("heedful:capital_start")
def capital_start(layout: Layout) -> Decision:
    """Start {what} with a capital letter."""
    text = layout.plain.lstrip("\"'“‘«¿¡([ \n\t")
    first = text[:1]
    outcome = first.isupper() if first.isupper() or first.islower() else None
    return outcome, f"it starts with '{text[:20]}'"


# --- tests of an edge ---------------------------------------------------------------------------


def _not(decision: Decision) -> Decision:
    outcome, reason = decision
    return (None if outcome is None else not outcome), reason


_WORD = re.compile(r"[^\W_]+(?:['’.&@-][^\W_]+)*")


def _with_words(layout: Layout, phrases: list[str], edge: int, outcome: Outcome) -> Outcome:
    """Decide on phrases that are words: by the words at the edge, whatever signs are around."""
    text, enough = layout.plain.strip(), _enough(phrases)
    text = text[-enough:] if edge else text[:enough]
    for phrase in phrases:
        write = written_for(phrase)
        there: Sequence[str] = _WORD.findall(write(text))
        sought: Sequence[str] = _WORD.findall(write(phrase))
        if scripts.HAN_CHARACTER.search(phrase):  # a run of Chinese letters is more than a word
            there, sought = "".join(there), "".join(sought)
        if sought and _at_edge(there, sought, edge):
            return True
    return outcome and None


def _at_edge(items: Sequence[str], sought: Sequence[str], edge: int) -> bool:
    return items[-len(sought) :] == sought if edge else items[: len(sought)] == sought


def _starting(layout: Layout, phrases: list[str]) -> Decision:
    enough, core = _enough(phrases), layout.core
    texts = (layout.text, layout.plain, core, unmarked(core))
    starts = [text.lstrip()[:enough] for text in texts]
    found = f"it starts with '{layout.text.strip()[:20]}'"
    return _decided(starts[:2], starts, phrases, 0), found


def _ending(layout: Layout, phrases: list[str]) -> Decision:
    enough = _enough(phrases)
    ends = [text.rstrip()[-enough:] for text in (layout.text, layout.plain)]
    sure = [form for end in ends for form in (end, end.rstrip("\"'”’」』)） "))]
    maybe = [*ends, _PICTURES.sub("", ends[0]), ends[0].rstrip(_STOPS)]
    found = f"it ends with '{layout.text.strip()[-20:]}'"
    return _decided(sure, maybe, phrases, -1), found


def _decided(sure: list[str], maybe: list[str], phrases: list[str], edge: int) -> Outcome:
    """Decide whether a phrase is at an edge: of these texts surely, of those maybe."""
    for phrase in phrases:
        write = written_for(phrase)
        if any(_has_at(write(text), write(phrase), edge) for text in sure):
            return True
    near = any(
        _has_at(text, phrase, edge) or _same_words(text, phrase, edge)
        for text in map(folded, maybe)
        for phrase in map(folded, phrases)
    )
    return None if near else False


def _enough(phrases: list[str]) -> int:
    """Say how many characters of an edge hold any of the phrases, spaces and marks among them."""
    return 4 * max(map(len, phrases), default=0) + 100


@lru_cache(maxsize=512)
def _tokens(text: str) -> list[str]:
    """Take the words of a text, Chinese characters one by one, without all other signs."""
    return _TOKEN.findall(folded(text))


def _same_words(text: str, phrase: str, edge: int) -> bool:
    """Check whether a text has the words of a phrase at an edge, whatever signs are among them."""
    sought = _tokens(phrase)
    return bool(sought) and _at_edge(_tokens(text), sought, edge)


def _has_at(text: str, phrase: str, edge: int) -> bool:
    """Check whether a text has a phrase at an edge, as a whole word."""
    if not phrase or not (text.endswith(phrase) if edge else text.startswith(phrase)):
        return False
    inner, beside = phrase[0 if edge else -1], text[: -len(phrase)] if edge else text[len(phrase) :]
    goes_on = re.search("[a-z0-9]$", beside) if edge else re.match("[a-z0-9]", beside)
    return not (inner.isascii() and inner.isalnum() and goes_on)


# --- at the end -----------------------------------------------------------------------------------

_LAST = {
    "hashtags": re.compile(r"(?:[#＃](?<!\w.)[^\s#＃]++\s*+)++$"),
    "emojis": re.compile(rf"[\s{scripts.PICTOGRAPHS}\u200d\ufe0f\U0001f3fb-\U0001f3ff]+$"),
}


@verifier(
    "heedful:at_end",
    describe=lambda unit, at_least, at_most: (
        f"End with {bounds(at_least, at_most)}"
        f" {UNITS[unit].one if at_most == 1 else UNITS[unit].several}, and use none before."
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
