"""The passages of a response that verdicts speak of, and their marks in its text.

An explanation that quotes marks the quotation. One of code that counted marks what it counted, as
far as a plain search for it comes to the same number.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from heedful.core.delimited import delimited
from heedful.core.nouns import Status
from heedful.reporting.html.environment import said

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from markupsafe import Markup

    from heedful.core.nouns import Judgment


LONG = 20_000
"""Characters of a text that are shown until somebody asks for all."""

SHORTEST = 4
"""Characters of a quotation: a shorter one is found anywhere."""

QUOTES_LOOKED_AT = 20

AROUND = 140
"""Characters around a passage that an excerpt shows."""

_QUOTATION_MARKS = {"“": "”", '"': '"', "「": "」", "『": "』", "`": "`", "‘": "’"}

_COUNTED = re.compile(r"^(\d[\d,]*)(?: to (\d[\d,]*))? ([a-z -]+?)s?, asked for (at most)?")
_CODE_QUOTES = re.compile(r"'((?:[^'\n]|(?<=\w)'(?=\w)){1,300})'")

_COUNTABLE = {
    "comma": r"[,，、]|،",
    "exclamation mark": r"[!！]",
    "question mark": r"[?？؟]",
    "question": r"[^.!?。！？\n]+[?？؟]",
    "sentence": r"[^\s.!?。！？][^.!?。！？\n]*(?:[.!?。！？]+[\"'”’)]*|(?=\n|$))",
    "heading": r"^#{1,6} .*$",
    "bullet point": r"^[^\S\n]*[-*+•] .*$",
    "list item": r"^[^\S\n]*(?:[-*+•]|\d+[.)]) .*$",
    "paragraph": r"(?:^.*\S.*$\n?)+",
    "bold passage": r"\*\*[^*\n]+\*\*",
    "word in capital": r"\b[A-Z]{2,}\b",
    "emoji": "[\U0001f300-\U0001faff☀-➿]",
    "digit": r"\d",
    "placeholder": r"\[[^\]\n]+\]",
}
"""What code counts and a plain search finds too."""


class Span(NamedTuple):
    """A part of a text."""

    start: int  # where it begins
    end: int  # where it ends
    number: int  # of the constraint that it belongs to, from 1


def quotes(explanation: str) -> list[str]:
    """Return what an explanation has in quotation marks, in any script's, if it is long enough."""
    texts = (each.content for each in delimited(explanation, _QUOTATION_MARKS))
    return list(islice((text for text in texts if len(text) >= SHORTEST), QUOTES_LOOKED_AT))


def spans(text: str, parts: Iterable[tuple[int, str]]) -> list[Span]:
    """Find parts in a text, each where it stands first and no earlier one does."""
    taken: list[Span] = []
    for number, part in parts:
        start = text.find(part) if part else -1
        while start >= 0:
            span = Span(start, start + len(part), number)
            if _is_free(span, taken):
                taken.append(span)
                break
            start = text.find(part, start + 1)
    return sorted(taken)


def passages(response: str, judgments: Mapping[int, Judgment]) -> list[Span]:
    """Find what judgments, by the number of their constraint, speak of; the unmet ones first."""
    taken: list[Span] = []
    order = sorted(judgments, key=lambda number: judgments[number].status is not Status.UNMET)
    for number in order:
        explanation = judgments[number].explanation
        by_code = judgments[number].votes is None and _COUNTED.match(explanation)
        found = list(_counted(response, explanation)) if by_code else []
        if not found:
            parts = quotes(explanation) or _CODE_QUOTES.findall(explanation)
            found = [span[:2] for span in spans(response, [(number, part) for part in parts])]
        for start, end in found[:QUOTES_LOOKED_AT]:
            if _is_free(span := Span(start, end, number), taken):
                taken.append(span)
    return sorted(taken)


def _counted(text: str, explanation: str) -> Iterator[tuple[int, int]]:
    """Find what was counted: all of it, or of too many those beyond the bound."""
    counted = _COUNTED.match(explanation)
    pattern = _COUNTABLE.get(counted[3].replace("words in", "word in")) if counted else None
    if counted is None or pattern is None:
        return
    found = [match.span() for match in re.finditer(pattern, text, re.MULTILINE)]
    low = int(counted[1].replace(",", ""))
    high = int((counted[2] or counted[1]).replace(",", ""))
    if low <= len(found) <= high:
        most = re.match(r"(\d+)", explanation[counted.end() :].strip()) if counted[4] else None
        yield from found[int(most[1]) :] if most and int(most[1]) < len(found) else found


def _is_free(span: Span, taken: Iterable[Span]) -> bool:
    return all(span.end <= other.start or other.end <= span.start for other in taken)


def marked(text: str, spans: Sequence[Span], limit: int | None = LONG) -> Markup:
    """Make a text safe to show, with its marks."""
    from markupsafe import Markup

    parts: list[Markup] = []
    end = 0
    for span in spans:
        if limit is not None and span.end > limit:
            break
        parts.append(said(text[end : span.start]))
        part = said(text[span.start : span.end])
        parts.append(Markup('<mark class="of" data-of="{}">{}</mark>').format(span.number, part))
        end = span.end
    parts.append(said(text[end:], None if limit is None else max(0, limit - end)))
    return Markup().join(parts)


def excerpt(text: str, found: Sequence[Span]) -> Markup:
    """Show the first passage with what is around it; without one, how a text begins."""
    from markupsafe import Markup

    first = found[0] if found else Span(0, 0, 0)
    start, end = max(0, first.start - AROUND), min(len(text), max(first.end, first.start) + AROUND)
    end = min(end, start + 4 * AROUND)
    within = [
        Span(span.start - start, min(span.end, end) - start, span.number)
        for span in found
        if start <= span.start < end
    ]
    before, after = Markup("…") if start else "", Markup("…") if end < len(text) else ""
    return Markup("{}{}{}").format(before, marked(text[start:end], within, None), after)


WORDS_COMPARED = 4000
"""Words of a text that is compared word by word: the time grows with their square."""


def differences(first: str, second: str) -> tuple[Markup, Markup] | None:
    """Mark the words that only one of two texts has; nothing where too few are shared or too many.

    >>> [str(side) for side in differences("a red hat", "a blue hat")]
    ['a <del>red</del> hat', 'a <ins>blue</ins> hat']
    """
    from difflib import SequenceMatcher

    from markupsafe import Markup

    sides = [_WORDS.findall(text) for text in (first, second)]
    if max(map(len, sides)) > WORDS_COMPARED:
        return None
    matcher: SequenceMatcher[str] = SequenceMatcher(None, sides[0], sides[1], autojunk=False)
    if matcher.ratio() < FEWEST_SHARED:
        return None
    shown: tuple[list[Markup], list[Markup]] = ([], [])
    for kind, *ends in matcher.get_opcodes():
        for side, (start, end), tag in ((0, ends[:2], "del"), (1, ends[2:], "ins")):
            text = said("".join(sides[side][start:end]))
            changed = kind != "equal" and start < end
            marked_up = Markup("<{0}>{1}</{0}>").format(Markup(tag), text)  # noqa: S704 - ours
            shown[side].append(marked_up if changed else text)
    return Markup().join(shown[0]), Markup().join(shown[1])


FEWEST_SHARED = 0.3
"""Share of words that texts have in common for their differences to be worth a look."""

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
