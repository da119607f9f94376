"""The meaning of a constraint's text and of a check, in terms that both share.

The text is read from its beginning to its end by the phrases of the compiler's grammar, wherever
they stand. What none of them tells must be a word that the grammar knows in constraints of the
check's kind; any other is unknown.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any
from unicodedata import category

from heedful.core import scripts
from heedful.verify.compiler.grammar import NormalizedText, shipped
from heedful.verify.compiler.numerals import number_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from heedful.core.nouns import Check

_NEGATING = ("shun", "shun_zh", "avoid", "no_zh", "not", "not_zh")
_EDGES = {
    "start": ("start", "start_zh", "start_noun_zh"),
    "end": ("end", "end_zh", "end_noun_zh"),
}
_SAYING = ("say", "say_zh", "shun", "shun_zh", "have", "have_zh", "held_zh", "holds")
"""Verbs of what is to occur."""

_OPEN = ("holds", "held_zh")
"""Verbs after which "three" may mean three or at least three."""

_COMPARING = {
    "at_least": ("at_least", "at_least_zh"),
    "at_most": ("at_most", "at_most_zh"),
    "more": ("more_zh",),
    "less": ("less_zh",),
    "exactly": ("exactly_zh",),
    "about": ("about", "about_zh"),
}
"""Phrases that say how the next number is meant, where it does not follow at once."""

_PLAIN = ("plain", "mention", "number", "exact", "limit", "holds")
_NUMBERS = {*_COMPARING, *_PLAIN}
_STRINGS = ("phrases", "keys", "headers", "letters", "marks", "marker", "text")
_VALUES = ("format", "language", "case", "style", "kind", "script")
_PHRASE = re.compile(r"<([a-z_]+)(?::[a-z_]+)?>")
_TERMINAL = re.compile(rf"[a-z][a-z'-]*|[{scripts.HAN}]+")
QUOTED = re.compile(r"“[^”]*”|\"[^\"]*\"|「[^」]*」|『[^』]*』|(?<!\w)[‘'][^’']*[’'](?!\w)")
_LETTER = rf"(?:(?![{scripts.HAN}])[^\W\d_])"
_WORD = re.compile(rf"{_LETTER}+(?:['’-]{_LETTER}+)*")
_EACH = re.compile(r"(?:each|every|per|apiece|both)(?![^\W_])|[每各]")
_LENGTH = re.compile(r"(?P<words>word count)(?![^\W_])|字数")
_ONLY_WORD = re.compile(r"(?:only|just|nothing else|solely)(?![^\W_])|只能?|仅能?|唯一")
_NOT = re.compile(
    r"(?:not|never|nor|neither|none|nothing|without|cannot|[a-z]+n['’]t)(?![^\W_])|[不勿莫别没未禁]"
)
"""Negations that no phrase of the grammar took in with the words that they belong to."""

_LONGEST_WORD = 8
_OR = re.compile(r"(?<![^\W_])(?:or|either)(?![^\W_])|或")


Bound = tuple[int | None, int | None]


@dataclass(slots=True)
class Meaning:
    """The meaning of a text or a check, in terms that both share.

    Attributes:
        bounds: lower and upper bounds; ``None`` for none.
        compared: how the next number is meant (of a text).
        plain: numbers without a word such as "at least" (of a text).
        values: arguments such as ``("unit", "words")``; alternatives where a word may mean several.
        strings: phrases, keys and the like, as written.
        negative: whether it forbids something.
        edges: ``start``, ``end``.
        unknown: words that nothing explains (of a text).
        each: whether it speaks of each of several (of a text, apart from parts).
        emoji: whether an emoji may be called so (of a check).
        or_: whether it offers a choice (of a text).
        only: whether it allows nothing else (of a text).
        says: whether it says that something is to occur, or not to (of a text).
        open: whether its verb leaves a plain number open (of a text).
        written: the text itself.
    """

    bounds: Counter[Bound] = field(default_factory=Counter)
    compared: str | None = None
    plain: Counter[int] = field(default_factory=Counter)
    values: list[frozenset[tuple[str, Any]]] = field(default_factory=list)
    strings: set[str] = field(default_factory=set)
    negative: bool = False
    edges: set[str] = field(default_factory=set)
    unknown: list[str] = field(default_factory=list)
    each: bool = False
    emoji: bool = False
    or_: bool = False
    only: bool = False
    says: bool = False
    open: bool = False
    written: str = ""


# --- what a check says ----------------------------------------------------------------------------


def of_check(check: Check) -> Meaning:
    """Return what a check says."""
    meaning = Meaning()
    args: Mapping[str, Any] = {k: v for k, v in check.args.items() if v is not None}
    low, high = args.get("at_least"), args.get("at_most")
    if check.id == "heedful:contains" and low == 1 and high is None:
        low = None  # its default
    forbids = high == 0 and not low
    if (low, high) != (None, None) and not forbids:
        meaning.bounds[low, high] += 1
    for name in ("rows", "columns"):
        if name in args:
            meaning.bounds[args[name], args[name]] += 1
    for name in _STRINGS:
        meaning.strings |= set(map(_same, _strings(args.get(name, ()))))
    values = [(name, args[name]) for name in (*_VALUES, "unit") if name in args]
    if args.get("part", "response") != "response":
        values += [("part", args["part"]), ("which", args.get("which", "each"))]
    meaning.values = [frozenset({value}) for value in values]
    forbids = forbids or check.id == "heedful:excludes"
    meaning.negative = forbids or "does_not" in check.id
    emoji = any(not any(map(str.isalnum, string)) for string in meaning.strings)
    meaning.emoji = emoji or check.id == "heedful:ends_with_emoji"
    meaning.edges = {
        edge for edge in _EDGES if f"{edge}s" in check.id or f"{edge}_with" in check.id
    }
    return meaning


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        return
    for each in value:
        yield from _strings(each)


# --- what a text says -----------------------------------------------------------------------------


def of_text(written: str, check: Check, required: Meaning) -> Meaning:
    """Read a text from its beginning to its end, the longest known phrase first."""
    text = NormalizedText(written)
    meaning = Meaning(written=written)
    vocabulary = _vocabulary(check.id)
    strings = sorted(filter(None, required.strings), key=len, reverse=True)
    at = 0
    while at < len(written):
        if written[at].isspace():
            at += 1
            continue
        end = _string(text, at, strings, meaning) or _phrase(text, at, required, meaning)
        if end is None:
            end = _plain(text, at, vocabulary, meaning)
        at = end
    return meaning


def _string(text: NormalizedText, at: int, strings: Iterable[str], meaning: Meaning) -> int | None:
    """Take in a quotation, or one of the check's phrases, at a position."""
    quoted = QUOTED.match(text.written, at)
    if quoted:
        meaning.strings.add(_same(quoted[0][1:-1]))
        return quoted.end()
    before = text.form[at - 1 : at]
    for string in strings:
        end = at + len(string)
        if _same(text.written[at:end]) != string:
            continue
        inside = any(
            a.isascii() and a.isalnum() and b.isascii() and b.isalnum()
            for a, b in ((before, string[0]), (string[-1], text.form[end : end + 1]))
            if a and b
        )
        if not inside:
            meaning.strings.add(string)
            return end
    return None


def _phrase(text: NormalizedText, at: int, required: Meaning, meaning: Meaning) -> int | None:
    """Take in a phrase of the grammar that tells something, at a position."""
    if _within_word(text.form, at):
        return None
    explained = {pair for value in required.values for pair in value}
    readings = [
        (end, name, dict(values))
        for name in _telling()
        for end, values in shipped().match(name, text, at)
        if end > at and not _within_word(text.form, end)
        if not QUOTED.search(text.written, at, end)  # a quotation is taken in by itself
    ]
    if not readings:
        return None
    fitting = [reading for reading in readings if _pairs(reading[2]) <= explained]
    end = max(end for end, _, _ in fitting or readings)
    longest = [(name, bound) for stop, name, bound in fitting or readings if stop == end]
    names = {name for name, _ in longest}
    meaning.negative = meaning.negative or bool(names & set(_NEGATING))
    meaning.only = meaning.only or bool(_ONLY_WORD.match(text.form, at))
    meaning.open = meaning.open or bool(names & set(_OPEN))
    meaning.says = meaning.says or bool(names & set(_SAYING))
    if names & {"passage", "passage_zh"}:
        meaning.values.append(frozenset({("part", "passage")}))
    meaning.edges |= {edge for edge, phrases in _EDGES.items() if names & set(phrases)}
    for compared, phrases in _COMPARING.items():
        if names & set(phrases):
            meaning.compared = compared
    for _, bound in longest:
        meaning.strings |= set(map(_same, _strings(bound.get("phrases", ()))))
    numbers = [bound for _, bound in longest if bound.keys() & _NUMBERS]
    if numbers:
        _take_number(numbers[0], meaning)
    # A word such as 英文 may be a unit or a language: one of its values has to be the check's.
    for keys in (("which",), ("unit", "part", *_VALUES)):
        group = {pair for _, bound in longest for pair in _pairs(bound) if pair[0] in keys}
        if group:
            meaning.values.append(frozenset(group))
    return end


def _pairs(bound: Mapping[str, Any]) -> set[tuple[str, Any]]:
    return {pair for pair in bound.items() if pair[0] in ("unit", "part", "which", *_VALUES)}


def _take_number(bound: Mapping[str, Any], meaning: Meaning) -> None:
    plain = next((bound[name] for name in _PLAIN if name in bound), None)
    if plain is not None and meaning.compared is not None:
        bound, plain, meaning.compared = {meaning.compared: plain}, None, None
    low, high = bound.get("at_least"), bound.get("at_most")
    if "more" in bound:
        low = bound["more"] + 1
    if "less" in bound:
        high = bound["less"] - 1
    if "exactly" in bound:
        low = high = bound["exactly"]
    if "about" in bound:
        low, high = around(bound["about"])
        if low == high:  # how far from it is still about it?
            meaning.unknown.append(f"about {low}")
    if high == 0 and not low:
        meaning.negative = True
    elif (low, high) != (None, None):
        meaning.bounds[low, high] += 1
    elif plain is not None:
        meaning.plain[plain] += 1


def _plain(text: NormalizedText, at: int, vocabulary: frozenset[str], meaning: Meaning) -> int:
    """Take in a bare number, or a word that the grammar knows or does not know."""
    form = text.form
    number = None if _within_word(form, at) else number_at(form, at)
    if number is not None and not _within_word(form, number[1]):
        _take_number({"number": number[0]}, meaning)
        return number[1]
    end = _small_word(form, at, meaning)
    if end is None:
        end = _known_word(form, at, vocabulary)
    if end is None:
        word = _WORD.match(form, at)
        end = word.end() if word else at + 1
        meaning.unknown.append(text.written[at:end])
    return end


def _small_word(form: str, at: int, meaning: Meaning) -> int | None:
    """Take in a word that says how the others are meant."""
    length = _LENGTH.match(form, at)
    if length:
        meaning.values.append(frozenset({("unit", "words" if length["words"] else "zi")}))
        return length.end()
    matches = [pattern.match(form, at) for pattern in (_EACH, _OR, _ONLY_WORD, _NOT)]
    each, choice, only, negated = map(bool, matches)
    meaning.negative = meaning.negative or (negated and not only)
    meaning.each = meaning.each or each
    meaning.or_ = meaning.or_ or choice
    meaning.only = meaning.only or only
    return next((match.end() for match in matches if match), None)


def _known_word(form: str, at: int, vocabulary: frozenset[str]) -> int | None:
    """Return where a known word, or a sign that isn't part of a word, ends."""
    if re.match(f"[{scripts.HAN}]", form[at]):
        lengths = range(min(_LONGEST_WORD, len(form) - at), 0, -1)
        return next((at + n for n in lengths if form[at : at + n] in vocabulary), None)
    word = _WORD.match(form, at)
    if word is None:
        # A digit here is a part of a number that isn't whole; an emoji is meant by itself.
        return None if form[at].isdigit() or category(form[at]) == "So" else at + 1
    return word.end() if word[0] in vocabulary else None


def _within_word(form: str, at: int) -> bool:
    """Tell whether a position lies within a word of Latin letters or a number."""
    beside = form[at - 1 : at + 1] if 0 < at < len(form) else ""
    return beside.isascii() and beside.isalnum()


def around(number: int) -> tuple[int, int]:
    """Return the bounds that about so many stands for, as in the compiler."""
    return math.ceil(number * 0.9), math.floor(number * 1.1)


def _same(text: str) -> str:
    return NormalizedText(text.strip()).form


@cache
def _source() -> dict[str, str]:
    """Read the grammar's phrases: their alternatives as one text."""
    from importlib import resources

    source = resources.files("heedful.verify.compiler").joinpath("grammar.txt")
    phrases: dict[str, str] = {}
    name = ""
    for line in source.read_text(encoding="utf-8").splitlines():
        bare = line.split("  #", 1)[0].rstrip()
        if not bare or bare.lstrip().startswith("#"):
            continue
        if bare[0].isspace():
            phrases[name] += f"\n{bare}"
        else:
            name = bare.rstrip(":").split()[-1]
            phrases.setdefault(name, "")
    return phrases


@cache
def _phrases() -> dict[str, str]:
    """Return the alternatives without what they bind."""
    return {name: re.sub("->.*", "", text) for name, text in _source().items()}


@cache
def _binding() -> tuple[str, ...]:
    """Name the phrases that bind arguments, themselves or by the phrases in them."""
    own = {name for name, text in _source().items() if re.search(r"-> *(?!of=)", text)}
    while True:
        more = {n for n, t in _phrases().items() if own & set(_PHRASE.findall(t))} - own
        if not more:
            return tuple(own)
        own |= more


@cache
def _telling() -> tuple[str, ...]:
    """Name the phrases of the grammar that bind arguments of checks, or tell something else."""
    named = [name for names in (*_EDGES.values(), *_COMPARING.values(), _SAYING) for name in names]
    binding = [name for name in _binding() if name not in shipped().rules]
    return tuple(
        dict.fromkeys((*binding, *named, *_NEGATING, *_OPEN, "ask", "passage", "passage_zh"))
    )


@cache
def _vocabulary(id_: str) -> frozenset[str]:
    """Collect the words that the grammar knows in constraints of one kind."""
    phrases = _phrases()
    pending = [rule for rule, of in shipped().rules.items() if of == id_]
    pending += ["subject", "subject_zh", "lead", "lead_zh", "also"]
    telling = {*_telling()} - {*_SAYING, "ask"}
    reached: set[str] = set()
    while pending:
        name = pending.pop()
        # The words of a phrase that tells something are known together, not one by one.
        if name not in reached and name in phrases and name not in telling:
            reached.add(name)
            pending += _PHRASE.findall(phrases[name])
    texts = (_PHRASE.sub(" ", phrases[name]).lower() for name in reached)
    return frozenset(word for text in texts for word in _TERMINAL.findall(text))
