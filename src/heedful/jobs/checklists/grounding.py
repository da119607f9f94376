"""Whether a check says what the text of a constraint says, as far as code can tell.

A model may propose a check for a text that the grammar does not cover. Whatever the model says of
its proposal, the words of the text and the arguments of the check must account for each other:
every number, quoted phrase, unit, part, negation and every other word of the text must be in the
check or be a word that the grammar knows in constraints of that kind, and nothing may be in the
check that isn't in the text. So a proposal that drops, adds or weakens anything is refused.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from heedful.core.nouns import Check
from heedful.jobs.checklists.meanings import QUOTED, around, of_check, of_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heedful.jobs.checklists.meanings import Meaning

ALL = "heedful:all"

_DIVIDING = re.compile(r"[,，;；、。]|\.\s|\s(?:and|but)\s|(?:并且?|且|而且|同时)")
_MOST_DIVISIONS = 10
"""Places of a text at which it may be divided; bounds the work."""

_PART_UNITS = {
    "paragraph": "paragraphs",
    "sentence": "sentences",
    "line": "lines",
    "list_item": "bullet_points",
    "heading": "headings",
    "stanza": "stanzas",
}
_ONLY = {f"heedful:{name}" for name in ("equals", "json", "language", "case", "format")}
"""Verifiers of constraints that allow nothing else."""

_NAMED = {
    f"heedful:{name}": re.compile(words, re.IGNORECASE)
    for name, words in {
        "json": "json",
        "table": r"\btables?\b|表",
        "letters": r"\bletters?\b|字母",
        "headed": r"\b(?:sub)?head(?:ing|er|ed)|\bsections?\b|标题",
        "postscript": r"\bpostscript\b|\bp\.? ?s\b|附言",
        "ends_with_emoji": "emoji|emoticon|表情",
        "question": r"\bquestions?\b|问句|提问",
    }.items()
}
"""Words without which a text isn't about what a verifier decides."""

_LITERAL = frozenset(f"heedful:{name}" for name in ("contains", "contains_any", "excludes"))
_NAMES_WORDS = re.compile(
    r"\b(?:key)?(?:word|term|phrase|string|name|symbol|letter|character)s?\b|[词字句]|短语|名",
    re.IGNORECASE,
)
"""Words by which a phrase without quotes is meant word for word."""

_SHORT = 30
"""A length up to this may be meant of a passage such as a slogan, as in the compiler."""

_SOME = (1, None)
"""Bounds of what is to be there at all, which no number needs to say."""

_LENGTHS = ("words", "zi", "han_characters", "characters", "letters")


def difference(text: str, check: Check) -> str | None:
    """Say what keeps a text and a check from meaning the same; ``None`` where code sees nothing."""
    if check.id != ALL:
        required = of_check(check)
        return next(_differences(of_text(text, check, required), required, check), None)
    checks = [Check.model_validate(each) for each in check.args["checks"]]
    parts = [each.args.get("part", "response") for each in checks]
    if any(before != "response" == after for before, after in pairwise(parts)):
        return "a later part of the text may be about the part that an earlier one names"
    for pieces in _divisions(text, len(checks)):
        if not any(difference(*pair) for pair in zip(pieces, checks, strict=True)):
            return None
    return f"the text isn't {len(checks)} constraints, one for each check, in this order"


def _divisions(text: str, count: int) -> Iterator[list[str]]:
    """Divide a text at punctuation and conjunctions outside of quotes, in every way."""
    shielded = QUOTED.sub(lambda match: "_" * len(match[0]), text)
    ends = [match.start() for match in _DIVIDING.finditer(shielded)][:_MOST_DIVISIONS]
    for chosen in combinations(ends, count - 1):
        yield [text[start:end] for start, end in pairwise((0, *chosen, len(text)))]


def _differences(said: Meaning, required: Meaning, check: Check) -> Iterator[str]:
    if said.unknown:
        yield f"the check leaves out {', '.join(map(repr, said.unknown))}"
    missing = said.strings ^ required.strings
    if missing:
        yield f"only one of text and check has {', '.join(map(repr, sorted(missing)))}"
    if said.negative != required.negative:
        yield "only one of text and check forbids something"
    if said.edges != required.edges:
        yield "text and check differ on whether a beginning or an end is meant"
    yield from _number_differences(said, required)
    yield from _value_differences(said, required)
    yield from _kind_differences(said, check)
    if said.each and check.id == "heedful:count" and "part" not in check.args:
        yield "the text speaks of each of several, the check of the whole"
    several = check.id == "heedful:contains_any"
    if said.or_ != several and not (said.or_ and said.negative):  # no "a" or "b": neither
        yield "only one of text and check offers a choice"


def _kind_differences(said: Meaning, check: Check) -> Iterator[str]:
    if said.only and check.id not in _ONLY:
        yield "the text allows nothing else"
    if not said.says and check.id.startswith("heedful:contains"):
        yield "the text does not say that something is to occur"
    if said.says and check.id == "heedful:equals":
        yield "the text says that something is to occur, not that there is nothing else"
    if check.id in _LITERAL and not _NAMES_WORDS.search(said.written):
        quoted = " ".join(QUOTED.findall(said.written)).casefold()
        for phrase in check.args.get("phrases", ()):
            if phrase[:1].isalpha() and phrase.casefold() not in quoted:
                yield f"{phrase!r} isn't a quotation and may be said in other words"
    most, part = check.args.get("at_most"), check.args.get("part", "response")
    short = most is not None and most <= _SHORT and part == "response"
    if short and check.args.get("unit") in _LENGTHS:
        yield "so short a length may be meant of a part"
    if check.id in _NAMED and not _NAMED[check.id].search(said.written):
        yield f"the text does not name what {check.id} is about"


def _number_differences(said: Meaning, required: Meaning) -> Iterator[str]:
    lengths = any(("unit", unit) in value for value in required.values for unit in _LENGTHS)
    left = Counter(required.bounds)
    for bound in said.bounds.elements():
        if not left[bound]:
            yield f"the text's bounds {_written(bound)} are not the check's"
        left[bound] -= 1
    for number in said.plain.elements():
        if number == len(required.strings) or (number == 1 and not required.bounds):
            continue  # "these two words", "an emoji"
        same = [(number, number), *([around(number)] if lengths else [])]
        own = next((bound for bound in same if left[bound]), None)
        if own is None:
            yield f"the text's number {number} is not the check's"
            continue
        left[own] -= 1
        if said.open:
            yield f"the text leaves open whether more than {number} are welcome"
    for bound in +left:
        if bound != _SOME or said.plain:
            yield f"the check's bounds {_written(bound)} are not the text's"


def _value_differences(said: Meaning, required: Meaning) -> Iterator[str]:
    has = {pair for value in required.values for pair in value}
    explained = set(has)
    for key, value in has:
        if key == "part" and value in _PART_UNITS:
            explained |= {("unit", _PART_UNITS[value])}
    if required.emoji:
        explained |= {("unit", "emojis")}
    for alternatives in said.values:
        if not alternatives & explained:
            key, value = min(alternatives, key=repr)
            yield f"the check leaves out the {key} {value!r}"
    spoken = {pair for value in said.values for pair in value}
    parts = {_PART_UNITS.get(value) for key, value in spoken if key == "part"}
    for key, value in has:
        if (key, value) in spoken or (key == "unit" and value in parts):
            continue
        # A part comes with "each"; a passage need not be named, and code is careful with it.
        if (key, value) in (("which", "each"), ("part", "passage")):
            continue
        yield f"the text does not say the {key} {value!r}"


def _written(bound: tuple[int | None, int | None]) -> str:
    return " to ".join("…" if number is None else str(number) for number in bound)
