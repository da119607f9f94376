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
from heedful.core.errors import VerifierError
from heedful.verify.base import Finding, quoted, verifier
from heedful.verify.custom.counting import CountRange
from heedful.verify.custom.parts import Outcome, Part, Which, decide, judged
from heedful.verify.custom.structure import bounds, in_part, within
from heedful.verify.text.chinese import LETTERS, stands_alone
from heedful.verify.text.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Callable

    from heedful.verify.text.layout import Layout
    from heedful.verify.text.prepared import Response

    _Test = Callable[[Layout], tuple[Outcome, str]]

_FOLD = str.maketrans(
    dict.fromkeys("“”„‟「」『』", '"')
    | dict.fromkeys("‘’‚`", "'")
    | {"。": ".", "、": ",", "～": "~", "–": "-", "—": " - "}
    | dict.fromkeys("\u00ad\u200b\u2060\ufeff")  # marks that nobody sees
)
_ELLIPSIS = re.compile(r"\.{3,}")
_LATIN = "a-z0-9ß-öø-ɏ"
_LETTER = re.compile(f"[{_LATIN}]")
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


@lru_cache(maxsize=512)
def _skeleton(text: str) -> str:
    """Reduce a text to its letters, digits and symbols: punctuation and spaces go."""
    return "".join(sign for sign in folded(text) if unicodedata.category(sign)[0] not in "PZCM")


class _Patterns(NamedTuple):
    """The patterns of a phrase: where it surely is, and where it may be."""

    sure: re.Pattern[str]
    maybe: re.Pattern[str]


def _sure_places(text: str, phrase: str, longest_inside: int) -> list[int]:
    """Find where a phrase surely starts."""
    matches = _patterns(phrase).sure.finditer(text)
    if len(phrase) > longest_inside or not _CHINESE.fullmatch(phrase):
        return [match.start() for match in matches]
    return [match.start() for match in matches if stands_alone(text, *match.span())]


@lru_cache(maxsize=4096)
def _patterns(phrase: str) -> _Patterns:
    """Make the patterns of a phrase, folded but for its capitals: as it stands, and inflected."""
    letter = f"(?i:[{_LATIN}])"
    before = f"(?<!{letter})" if re.match(letter, phrase) else ""
    after = f"(?!{letter})" if re.search(f"{letter}$", phrase) else ""
    inflected = f"(?i:{_INFLECTED})" if re.search("[a-zA-Z]$", phrase) else ""
    core = re.escape(phrase)
    # Within a compound such as "cat-like", "i.e." or "cat_1" a word may or may not be there.
    alone = (
        rf"(?<!{letter}-)(?<![a-zA-Z]\.)(?<![#@_])" if before else "",
        rf"(?!-{letter})(?!\.[a-zA-Z])(?!_)" if after else "",
    )
    if phrase[:1].isdigit():
        # "000" isn't a number in "5,000", and "5" none in "1.5"; it may be one in "4,5".
        before += r"(?<!\d)(?<!\d\.)" + (r"(?<!\d,)" if _THOUSANDS.match(phrase) else "")
        alone = (alone[0] + r"(?<!\d[,:/])", alone[1])
    if phrase[-1:].isdigit():
        # "Python 3.11" may be "Python 3", though 3.11 isn't 3.
        named = re.search("[^\\W\\d_]", phrase) is not None
        after += r"(?!\d)(?!,\d{3}(?!\d))" + r"(?!\.\d)" * (not named)
        alone = (alone[0], alone[1] + r"(?![,:/]\d)" + r"(?!\.\d)" * named)
    return _Patterns(
        re.compile(f"{before}{alone[0]}{core}{after}{alone[1]}"),
        re.compile(f"{before}{core}{inflected}{after}"),
    )


_THOUSANDS = re.compile(r"\d{3}(?!\d)")
_CHINESE = re.compile(f"[{LETTERS}]+")


_ACCENT = re.compile("[\u0300-\u036f]")
_COMPOUND = re.compile(rf"-(?<=[{_LATIN}]-)(?=[{_LATIN}])")


@lru_cache(maxsize=512)
def _spellings(text: str) -> tuple[str, str]:
    """Write a text with its compounds apart and as one word, and without accents."""
    if not text.isascii():
        text = _ACCENT.sub("", unicodedata.normalize("NFD", text))
    if "-" not in text:
        return text, text
    return _COMPOUND.sub(" ", text), _COMPOUND.sub("", text)


def _other_spellings(text: str, phrase: str) -> int:
    """Count a phrase in other spellings: "plus-size" for "plus size", "email" for "e-mail"."""
    apart, joined = _spellings(phrase)
    counts = [
        len(_patterns(form).maybe.findall(spelling))
        for spelling in dict.fromkeys(_spellings(text))
        for form in {apart, joined, joined.replace(" ", "")}
        if (spelling is not text or form != phrase) and form in spelling
    ]
    return max(counts, default=0)


class _Doubt(NamedTuple):
    """Where an occurrence of a phrase may be something else."""

    longest_inside: int
    shortest_inside: int
    names: bool


_PRESENT = _Doubt(longest_inside=2, shortest_inside=2, names=False)
_ABSENT = _Doubt(longest_inside=3, shortest_inside=2, names=False)
_NAMED = _Doubt(longest_inside=3, shortest_inside=1, names=True)


def occurrences(layout: Layout, phrase: str, doubt: _Doubt = _PRESENT) -> CountRange:
    """Count a phrase: as it stands, and in the widest reading (inflected, other punctuation).

    Of a hyphen alone, one within a word surely counts; a dash, a minus or a bullet may. May, in
    "it may rain", isn't surely the month.

    >>> from heedful.verify.text.layout import Layout
    >>> occurrences(Layout("Rain, and rains."), "rain")
    CountRange(low=1, high=2)
    """
    wanted = folded(phrase)
    if wanted == "-":
        return CountRange(*(len(each.findall(layout.text)) for each in (_HYPHEN, _DASH)))
    if not wanted:
        return CountRange(layout.text.count(phrase), layout.text.count(phrase))
    write = cased if doubt.names or " " not in wanted else folded
    exact = write(phrase)
    write = folded if exact == wanted else cased  # what has no capitals may begin a sentence
    longest = doubt.longest_inside if len(wanted) >= doubt.shortest_inside else 0
    low, high = [0], [0]
    for text in dict.fromkeys((layout.text, layout.plain)):
        if wanted in folded(text):  # of many phrases few are, and a pattern takes long to be made
            sure = len(_sure_places(write(text), exact, longest))
            low.append(sure - len(_NUMERO.findall(text)) if wanted == "no" else sure)
            high.append(len(_patterns(wanted).maybe.findall(folded(text))))
        if _LETTER.search(wanted):
            high.append(_other_spellings(folded(text), wanted))
    bones = "" if wanted.isascii() else _skeleton(phrase)
    if len(bones) > 1 and not bones.isascii():
        high.append(_skeleton(layout.text).count(bones))
    # Marks may stand inside of the phrase, or belong to it: what either text has is there.
    return CountRange(max(low), max(*low, *high))


def _describe_contains(
    phrases: list[str],
    at_least: int | None,
    at_most: int | None,
    part: Part,
    which: Which,
) -> str:
    times = "" if (at_least, at_most) == (1, None) else f" {bounds(at_least, at_most)} times"
    return f"Use {quoted(phrases)}{times}{in_part(part, which)}."


@verifier("heedful:contains", describe=_describe_contains)
def contains(
    response: Response,
    *,
    phrases: list[str],
    at_least: int | None = 1,
    at_most: int | None = None,
    part: Part = "response",
    which: Which = "each",
) -> Finding:
    """Each of the phrases occurs often enough, and not too often, as a whole word."""
    required = bounds(at_least, at_most)

    def test(layout: Layout) -> tuple[Outcome, str]:
        outcome: Outcome = True
        lacking = []
        for phrase in phrases:
            count = occurrences(layout, phrase)
            kept = within(count, at_least, at_most)
            if kept:
                continue
            if kept is False:
                outcome = False
            elif outcome:
                outcome = None
            lacking.append(f"'{phrase}' occurs {count} times, asked for {required}")
        return outcome, "; ".join(
            lacking
        ) or f"{quoted(phrases)} as often as asked for ({required})"

    return decide(*judged(response.layout, part, which, test))


@verifier(
    "heedful:excludes",
    describe=lambda phrases, part, which: f"Do not use {quoted(phrases)}{in_part(part, which)}.",
)
def excludes(
    response: Response,
    *,
    phrases: list[str],
    part: Part = "response",
    which: Which = "each",
) -> Finding:
    """None of the phrases occurs as a whole word."""

    def test(layout: Layout) -> tuple[Outcome, str]:
        unused = f"{quoted(phrases)} not used"
        return _any_used(layout, phrases, _ABSENT, wanted=False, unused=unused)

    return decide(*judged(response.layout, part, which, test))


def _number(at_least: int, at_most: int | None) -> str:
    return "at least one" if (at_least, at_most) == (1, None) else bounds(at_least, at_most)


@verifier(
    "heedful:contains_any",
    describe=lambda phrases, at_least, at_most, part, which: (
        f"Use {_number(at_least, at_most)} of {quoted(phrases)}{in_part(part, which)}."
    ),
)
def contains_any(
    response: Response,
    *,
    phrases: list[str],
    at_least: int = 1,
    at_most: int | None = None,
    part: Part = "response",
    which: Which = "each",
) -> Finding:
    """At least one of the phrases occurs, or so many of them."""

    def test(layout: Layout) -> tuple[Outcome, str]:
        counts = [occurrences(layout, phrase, _PRESENT) for phrase in phrases]
        used = [phrase for phrase, count in zip(phrases, counts, strict=True) if count.low]
        maybe = sum(1 for count in counts if count.high)
        reason = f"used: {quoted(used)}" if used else f"none of {quoted(phrases)} surely used"
        return within(CountRange(len(used), maybe), at_least, at_most), reason

    return decide(*judged(response.layout, part, which, test))


def _describe_mention(phrases: list[str]) -> str:
    return f"Mention {quoted(phrases)}, maybe in other words."


@verifier("heedful:mentions", describe=_describe_mention)
def mentions(response: Response, *, phrases: list[str]) -> Finding:
    """One of the names of a topic occurs."""
    outcome, reason = _any_used(
        response.layout, phrases, _NAMED, wanted=True, unused="not by that name"
    )
    return decide(outcome or None, reason)


@verifier(
    "heedful:does_not_mention",
    describe=lambda phrases: f"Do not mention {quoted(phrases)}, not even in other words.",
)
def does_not_mention(response: Response, *, phrases: list[str]) -> Finding:
    """None of the names of a topic occurs; where one does, this is unmet."""
    outcome, reason = _any_used(
        response.layout, phrases, _NAMED, wanted=False, unused="not by that name"
    )
    return decide(None if outcome is not False else False, reason)


def _any_used(
    layout: Layout, phrases: list[str], doubt: _Doubt, *, wanted: bool, unused: str
) -> tuple[Outcome, str]:
    """Decide whether any of the phrases occurs, where that is wanted or not."""
    ranges = {phrase: occurrences(layout, phrase, doubt) for phrase in phrases}
    used = [phrase for phrase, number in ranges.items() if number.low]
    maybe = [phrase for phrase, number in ranges.items() if number.high]
    if used:
        return wanted, f"used: {quoted(used)}"
    if maybe:
        return None, f"used in another form: {quoted(maybe)}"
    return not wanted, unused


_NUMERO = re.compile(r"(?<!\w)No\.(?=\s*\S)")
_HYPHEN = re.compile(r"(?<=\w)[-‐‑](?=\w)")
_DASH = re.compile("[-‐‑‒–—―−]")


_FIRST_WORDS = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def _bare(letter: str) -> str:
    return unicodedata.normalize("NFD", letter)[:1].casefold()


def _describe_words(
    letters: list[str] | None, at_least: int | None, at_most: int | None, *, capitals: bool
) -> str:
    limits = (at_least, at_most) != (None, None)
    what = [f"start with {' or '.join(quoted([x]) for x in letters)}"] if letters else []
    what += ["start with a capital letter"] if capitals else []
    what += [f"have {bounds(at_least, at_most)} letters"] if limits else []
    return f"Let each word {' and '.join(what)}."


@verifier(
    "heedful:each_word",
    describe=_describe_words,
)
def each_word(
    response: Response,
    *,
    letters: list[str] | None = None,
    at_least: int | None = None,
    at_most: int | None = None,
    capitals: bool = False,
) -> Finding:
    """Each word starts with one of the letters or a capital, or has so many letters."""
    if letters is None and at_least is None and at_most is None and not capitals:
        raise VerifierError("nothing is asked of the words", hint="give letters or a bound")
    least, most = at_least or 0, float("inf") if at_most is None else at_most
    wanted = {letter.casefold() for letter in letters or ()}
    if re.search(f"[{scripts.UNSPACED}]", response.text):
        return decide(None, "its script does not part words by spaces")

    def fits(word: str) -> Outcome:
        sizes = [sum(map(str.isalpha, part)) for part in re.split("['’-]", word)]
        longest, whole = max(sizes), sum(sizes)
        if not longest:
            return None
        starts = not wanted or word[0].casefold() in wanted
        if capitals and word[0].islower():
            return False
        if not starts or whole < least or longest > most:
            return None if _bare(word[0]) in wanted and not starts else False
        parts = word.split("-")
        apart = wanted and any(part[:1].casefold() not in wanted for part in parts)
        apart = apart or (capitals and not all(part[:1].isupper() for part in parts))
        sure = word.isalpha() or (not apart and min(sizes) >= least and whole <= most)
        return True if sure and not any(map(str.isdigit, word)) else None

    def test(text: str) -> tuple[Outcome, str]:
        outcomes = {
            word: fits(word)
            for word in _FIRST_WORDS.findall(text)
            if wanted or capitals or any(map(str.isalpha, word))
        }
        for outcome in (False, None):
            if wrong := [word for word, each in outcomes.items() if each is outcome]:
                return outcome, f"not so: {quoted(wrong[:5])}"
        return (True if outcomes else None), f"all {len(outcomes)} different words"

    layout = response.layout
    outcomes = [test(text) for text in dict.fromkeys((layout.plain, layout.body))]
    agreed = len({outcome for outcome, _ in outcomes}) == 1
    return decide(outcomes[0][0] if agreed else None, outcomes[0][1])


# --- letters ------------------------------------------------------------------------------------


def _describe_letters(
    letters: list[str], at_least: int | None, at_most: int | None, part: Part, which: Which
) -> str:
    noun = "letter" if len(letters) == 1 else "letters"
    where = in_part(part, which)
    if at_most == 0:
        return f"Do not use the {noun} {quoted(letters)}{where}."
    return f"Use the {noun} {quoted(letters)} {bounds(at_least, at_most)} times{where}."


@verifier("heedful:letters", describe=_describe_letters)
def letters(
    response: Response,
    *,
    letters: list[str],
    at_least: int | None = None,
    at_most: int | None = None,
    part: Part = "response",
    which: Which = "each",
) -> Finding:
    """Each of the letters occurs often enough, and not too often, large or small, in any word."""
    required = bounds(at_least, at_most)
    most = float("inf") if at_most is None else at_most

    def test(layout: Layout) -> tuple[Outcome, str]:
        outcomes: set[Outcome] = set()
        reasons = []
        for letter in letters:
            # With an accent it may be another letter: decomposed, it is the letter and a mark.
            counts = [
                unicodedata.normalize(form, text).lower().count(letter.lower())
                for text in (layout.text, layout.body)
                for form in ("NFC", "NFD")
            ]
            fits = {(at_least or 0) <= number <= most for number in counts}
            outcomes.add(fits.pop() if len(fits) == 1 else None)
            span = dict.fromkeys(map(str, sorted(counts)))
            reasons.append(f"the letter '{letter}' occurs {' to '.join(span)} times")
        outcome = False if False in outcomes else None if None in outcomes else True
        return outcome, f"{'; '.join(reasons)}, asked for {required}"

    return decide(*judged(response.layout, part, which, test))
