"""Whether a check says what the text of a constraint says, as far as code can tell.

A model may propose a check for a text that the grammar does not cover. Whatever the model says of
its proposal, the words of the text and the arguments of the check must account for each other:
every number, quoted phrase, unit, part, negation and every other word of the text must be in the
check or be a word that the grammar knows in constraints of that kind, and nothing may be in the
check that isn't in the text. So a proposal that drops, adds or weakens anything is refused.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from heedful.core import scripts
from heedful.core.nouns import Check
from heedful.verify.compiler.grammar import NormalizedText, shipped
from heedful.verify.compiler.numerals import number_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["difference"]

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
_STRINGS = ("phrases", "keys", "headers", "letters", "marks", "marker")
_VALUES = ("format", "language", "case", "style")
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

_SHORT = 30
"""A length up to this may be meant of a passage such as a slogan, as in the compiler."""

_SOME = (1, None)
"""Bounds of what is to be there at all, which no number needs to say."""

_LENGTHS = ("words", "zi", "han_characters", "characters", "letters")

_PHRASE = re.compile(r"<([a-z_]+)(?::[a-z_]+)?>")
_TERMINAL = re.compile(rf"[a-z][a-z'-]*|[{scripts.HAN}]+")
_QUOTED = re.compile(r"“[^”]*”|\"[^\"]*\"|「[^」]*」|『[^』]*』|(?<!\w)[‘'][^’']*[’'](?!\w)")
_LETTER = rf"(?:(?![{scripts.HAN}])[^\W\d_])"
_WORD = re.compile(rf"{_LETTER}+(?:['’-]{_LETTER}+)*")
_EACH = re.compile(r"(?:each|every|per|apiece|both)(?![^\W_])|[每各]")
_LENGTH = re.compile(r"(?P<words>word count)(?![^\W_])|字数")
_ONLY_WORD = re.compile(r"(?:only|just|nothing else|solely)(?![^\W_])|只能?|仅能?|唯一")
_OR = re.compile(r"(?<![^\W_])(?:or|either)(?![^\W_])|或")


_Bound = tuple[int | None, int | None]


@dataclass(slots=True)
class _Meaning:
    """What a text or a check says, in terms that both share.

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
    """

    bounds: Counter[_Bound] = field(default_factory=Counter)
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


def difference(text: str, check: Check) -> str | None:
    """Say what keeps a text and a check from meaning the same; ``None`` where code sees nothing.

    Args:
        text: of the constraint.
        check: proposed for it, of heedful's own verifiers.
    """
    checks = list(_flat(check))
    asked = _of_check(checks)
    said = _of_text(text, checks, asked)
    return next(_differences(said, asked, checks), None)


def _differences(said: _Meaning, asked: _Meaning, checks: list[Check]) -> Iterator[str]:
    if said.unknown:
        yield f"the check leaves out {', '.join(map(repr, said.unknown))}"
    missing = said.strings ^ asked.strings
    if missing:
        yield f"only one of text and check has {', '.join(map(repr, sorted(missing)))}"
    if said.negative != asked.negative:
        yield "only one of text and check forbids something"
    if said.edges != asked.edges:
        yield "text and check differ on whether a beginning or an end is meant"
    yield from _number_differences(said, asked)
    yield from _value_differences(said, asked)
    if said.only and not {check.id for check in checks} <= _ONLY:
        yield "the text allows nothing else"
    if not said.says and any(check.id.startswith("heedful:contains") for check in checks):
        yield "the text does not say that something is to occur"
    if said.says and any(check.id == "heedful:equals" for check in checks):
        yield "the text says that something is to occur, not that there is nothing else"
    short = any(
        check.args.get("unit") in _LENGTHS
        and (check.args.get("at_most") or _SHORT + 1) <= _SHORT
        and check.args.get("part", "response") == "response"
        for check in checks
    )
    if short:
        yield "so short a length may be meant of a part"
    parts = any(key == "part" for value in asked.values for key, _ in value)
    if said.each and not parts and any(check.id == "heedful:count" for check in checks):
        yield "the text speaks of each of several, the check of the whole"
    several = any(check.id == "heedful:contains_any" for check in checks)
    if said.or_ != several and not (said.or_ and said.negative):  # no "a" or "b": neither
        yield "only one of text and check offers a choice"


def _number_differences(said: _Meaning, asked: _Meaning) -> Iterator[str]:
    lengths = any(("unit", unit) in value for value in asked.values for unit in _LENGTHS)
    left = Counter(asked.bounds)
    for bound in said.bounds.elements():
        if not left[bound]:
            yield f"the text's bounds {_written(bound)} are not the check's"
        left[bound] -= 1
    for number in said.plain.elements():
        if number == len(asked.strings) or (number == 1 and not asked.bounds):
            continue  # "these two words", "an emoji"
        same = [(number, number), *([_around(number)] if lengths else [])]
        bound = next((bound for bound in same if left[bound]), None)
        if bound is None:
            yield f"the text's number {number} is not the check's"
            continue
        left[bound] -= 1
        if said.open:
            yield f"the text leaves open whether more than {number} are welcome"
    for bound in +left:
        if bound != _SOME or said.plain:
            yield f"the check's bounds {_written(bound)} are not the text's"


def _value_differences(said: _Meaning, asked: _Meaning) -> Iterator[str]:
    has = {pair for value in asked.values for pair in value}
    explained = set(has)
    for key, value in has:
        if key == "part" and value in _PART_UNITS:
            explained |= {("unit", _PART_UNITS[value])}
    if asked.emoji:
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


# --- what a check says ----------------------------------------------------------------------------


def _flat(check: Check) -> Iterator[Check]:
    if check.id != "heedful:all":
        yield check
        return
    for inner in check.args.get("checks", ()):
        yield from _flat(Check.model_validate(inner))


def _of_check(checks: Iterable[Check]) -> _Meaning:
    meaning = _Meaning()
    for check in checks:
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
        meaning.values += [frozenset({value}) for value in values]
        forbids = forbids or check.id in ("heedful:excludes", "heedful:no_repetition")
        meaning.negative = meaning.negative or forbids or "does_not" in check.id
        emoji = any(not any(map(str.isalnum, string)) for string in meaning.strings)
        meaning.emoji = meaning.emoji or emoji or check.id == "heedful:ends_with_emoji"
        for edge in _EDGES:
            if f"{edge}s" in check.id or f"{edge}_with" in check.id:
                meaning.edges.add(edge)
    return meaning


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        return
    for each in value:
        yield from _strings(each)


# --- what a text says -----------------------------------------------------------------------------


def _of_text(written: str, checks: Iterable[Check], asked: _Meaning) -> _Meaning:
    """Read a text from its beginning to its end, the longest known phrase first."""
    text = NormalizedText(written)
    meaning = _Meaning()
    vocabulary = frozenset[str]().union(*(_vocabulary(check.id) for check in checks))
    strings = sorted(filter(None, asked.strings), key=len, reverse=True)
    at = 0
    while at < len(written):
        end = _string(text, at, strings, meaning) or _phrase(text, at, asked, meaning)
        if end is None:
            end = _plain(text, at, vocabulary, meaning)
        at = end
    return meaning


def _string(
    text: NormalizedText, at: int, strings: Iterable[str], meaning: _Meaning
) -> int | None:
    """Take in a quotation, or one of the check's phrases, at a position."""
    quoted = _QUOTED.match(text.written, at)
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


def _phrase(
    text: NormalizedText, at: int, asked: _Meaning, meaning: _Meaning
) -> int | None:
    """Take in a phrase of the grammar that tells something, at a position.

    It is the longest one that the check accounts for; if it accounts for none, the longest.
    """
    if _within_word(text.form, at):
        return None
    explained = {pair for value in asked.values for pair in value}
    readings = [
        (end, name, dict(values))
        for name in _telling()
        for end, values in shipped().match(name, text, at)
        if text.form[at:end].strip() and not _within_word(text.form, end)
    ]
    if not readings:
        return None
    fitting = [reading for reading in readings if _pairs(reading[2]) <= explained]
    end = max(end for end, _, _ in fitting or readings)
    longest = [(name, bound) for stop, name, bound in fitting or readings if stop == end]
    names = {name for name, _ in longest}
    meaning.negative = meaning.negative or bool(names & set(_NEGATING))
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


def _take_number(bound: Mapping[str, Any], meaning: _Meaning) -> None:
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
        low, high = _around(bound["about"])
    if high == 0 and not low:
        meaning.negative = True
    elif (low, high) != (None, None):
        meaning.bounds[low, high] += 1
    elif plain is not None:
        meaning.plain[plain] += 1


def _plain(
    text: NormalizedText, at: int, vocabulary: frozenset[str], meaning: _Meaning
) -> int:
    """Take in a bare number, or a word that the grammar knows or does not know."""
    form = text.form
    number = None if _within_word(form, at) else number_at(form, at)
    if number is not None and not _within_word(form, number[1]):
        _take_number({"number": number[0]}, meaning)
        return number[1]
    length = _LENGTH.match(form, at)
    if length:
        meaning.values.append(frozenset({("unit", "words" if length["words"] else "zi")}))
        return length.end()
    each = _EACH.match(form, at)
    meaning.each = meaning.each or bool(each)
    only = _ONLY_WORD.match(form, at)
    meaning.only = meaning.only or bool(only)
    choice = _OR.match(form, at)
    meaning.or_ = meaning.or_ or bool(choice)
    word = each or choice or only
    if word is not None:
        return word.end()
    if re.match(f"[{scripts.HAN}]", form[at]):
        for length in range(min(8, len(form) - at), 0, -1):
            if form[at : at + length] in vocabulary:
                return at + length
        meaning.unknown.append(text.written[at])
        return at + 1
    word = _WORD.match(form, at)
    if word is None:
        if form[at].isdigit():  # a part of a number that is not whole
            meaning.unknown.append(form[at])
        return at + 1
    if word[0] not in vocabulary:
        meaning.unknown.append(text.written[at : word.end()])
    return word.end()


def _within_word(form: str, at: int) -> bool:
    """Tell whether a position lies within a word of Latin letters or a number."""
    beside = form[at - 1 : at + 1] if 0 < at < len(form) else ""
    return beside.isascii() and beside.isalnum()


def _around(number: int) -> tuple[int, int]:
    return math.ceil(number * 0.9), math.floor(number * 1.1)


def _same(text: str) -> str:
    return NormalizedText(text.strip()).form


def _written(bound: tuple[int | None, int | None]) -> str:
    return " to ".join("…" if number is None else str(number) for number in bound)


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
    return tuple(dict.fromkeys((*binding, *named, *_NEGATING, *_OPEN, "ask", "passage", "passage_zh")))


@cache
def _vocabulary(id_: str) -> frozenset[str]:
    """Collect the words that the grammar knows in constraints of one kind."""
    phrases = _phrases()
    pending = [rule for rule, of in shipped().rules.items() if of == id_]
    pending += ["subject", "subject_zh", "lead", "lead_zh", "also"]
    reached: set[str] = set()
    while pending:
        name = pending.pop()
        if name not in reached and name in phrases:
            reached.add(name)
            pending += _PHRASE.findall(phrases[name])
    texts = (_PHRASE.sub(" ", phrases[name]).lower() for name in reached)
    return frozenset(word for text in texts for word in _TERMINAL.findall(text))
