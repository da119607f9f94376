"""Verifiers of letters, and of what texts begin with: a capital, a number, an emoji; acrostics.

Marks of Markdown don't count. Where a quotation mark, a number or a bullet stands before the first
letter, it isn't decided.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Literal

from heedful.core import scripts
from heedful.core.errors import VerifierError
from heedful.verify.base import Finding, quoted, verifier
from heedful.verify.custom.parts import Outcome, Part, Which, decide, judged, named, readings
from heedful.verify.custom.phrases import folded
from heedful.verify.custom.structure import bounds, in_part
from heedful.verify.text.characters import emoji_at_start
from heedful.verify.text.layout import Layout, unmarked
from heedful.verify.text.numbers import may_be_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from heedful.verify.text.prepared import Response

    _Test = Callable[[Layout], tuple[Outcome, str]]

_GLIMPSE = 20
_CHANCE = 2
"""Letters of an acrostic. More hardly come about by chance, whatever is taken for a line."""
_FIRST_WORDS = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def _first(text: str) -> str:
    """Return the first sign of a text as a reader sees it, without marks and accents."""
    return unmarked(text).strip()[:1]


def _bare(letter: str) -> str:
    return unicodedata.normalize("NFD", letter)[:1].casefold()


_LIST_MARK = re.compile(r"\s*(?:[-+>#•]|\*\s|\d+[.)、])")


def _past_title(layout: Layout, part: Part, test: _Test) -> _Test:
    """Test the whole response also without a title and an opening remark."""
    if part != "response" or layout.core == layout.text:
        return test

    def both(layout: Layout) -> tuple[Outcome, str]:
        outcome, reason = test(layout)
        return (outcome if test(Layout(layout.core))[0] is outcome else None), reason

    return both


# --- a letter -------------------------------------------------------------------------------------


@verifier(
    "heedful:starts_with_letter",
    describe=lambda letters, part, which: (
        f"Start {named(part, which)} with the letter {' or '.join(quoted([x]) for x in letters)}."
    ),
)
def starts_with_letter(
    response: Response, *, letters: list[str], part: Part = "response", which: Which = "each"
) -> Finding:
    """The response, or a part of it, starts with one of the letters, large or small."""

    def test(layout: Layout) -> tuple[Outcome, str]:
        return _letter_first(layout.text, letters)

    return decide(*judged(response.layout, part, which, _past_title(response.layout, part, test)))


def _letter_first(text: str, letters: list[str]) -> tuple[Outcome, str]:
    plain = unmarked(text).strip()
    reason = f"it starts with '{plain[:_GLIMPSE]}'"
    wanted = {letter.casefold() for letter in letters}
    if plain[:1].isalpha():
        if plain[0].casefold() in wanted:
            return (None if _LIST_MARK.match(text) else True), reason
        return (None if _bare(plain[0]) in wanted else False), reason
    letter = next(filter(str.isalpha, plain), "")
    return (None if not letter or _bare(letter) in wanted else False), reason


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


# --- a kind of sign -------------------------------------------------------------------------------

Kind = Literal["capital", "number", "emoji", "heading"]
_KINDS: dict[Kind, str] = {
    "capital": "a capital letter",
    "number": "a number",
    "emoji": "an emoji",
    "heading": "a heading",
}


@verifier(
    "heedful:starts_with_kind",
    describe=lambda kind, part, which: f"Start {named(part, which)} with {_KINDS[kind]}.",
)
def starts_with_kind(
    response: Response, *, kind: Kind, part: Part = "response", which: Which = "each"
) -> Finding:
    """The response, or a part of it, starts with a capital letter, a number or an emoji."""
    if kind == "heading":
        return decide(*_heading_first(response.layout))

    def test(layout: Layout) -> tuple[Outcome, str]:
        plain = unmarked(layout.text).strip()
        outcome = _of_kind(plain, kind)
        marked = kind != "number" and _LIST_MARK.match(layout.text)
        return (None if outcome and marked else outcome), f"it starts with '{plain[:_GLIMPSE]}'"

    if kind == "number" and part == "paragraph" and which == "each":
        return decide(*_numbered_paragraphs(response.layout, test))
    return decide(*judged(response.layout, part, which, _past_title(response.layout, part, test)))


def _heading_first(layout: Layout) -> tuple[Outcome, str]:
    first = next(line for line in layout.lines if line.kind != "blank")
    reason = f"it starts with '{first.text.strip()[:_GLIMPSE]}'"
    if first.kind == "heading":
        return True, reason
    return (None if layout.title_line or len(first.text) <= _SHORT_LINE else False), reason


_SHORT_LINE = 60
"""Characters. A shorter line may be a heading that no mark shows."""


def _of_kind(text: str, kind: Kind) -> Outcome:
    first = text[:1]
    if kind == "emoji":
        return emoji_at_start(text)
    if kind == "number":
        if first.isascii() and first.isdigit():
            return True
        return None if may_be_number(text) else False
    if first.isupper() or first.islower():
        return first.isupper()
    return None


def _numbered_paragraphs(layout: Layout, test: _Test) -> tuple[Outcome, str]:
    """Test paragraphs whose numbers may make a list of them, which some readings leave out."""
    outcomes = [
        [test(Layout(text)) for text in texts] for texts in readings(layout, "paragraph") if texts
    ]
    agreed = {_joined([outcome for outcome, _ in each]) for each in outcomes}
    reason = next((reason for each in outcomes for outcome, reason in each if not outcome), "")
    return (agreed.pop() if len(agreed) == 1 else None), reason or "all start with a number"


def _joined(outcomes: list[Outcome]) -> Outcome:
    return False if False in outcomes else None if None in outcomes else True


# --- acrostics ------------------------------------------------------------------------------------


@verifier(
    "heedful:acrostic",
    describe=lambda text, part: f"Let the first letters of {named(part, 'each')} spell '{text}'.",
)
def acrostic(response: Response, *, text: str, part: Part = "line") -> Finding:
    """The first letters of the parts spell a text, in order."""
    wanted = [_bare(sign) for sign in folded(text) if sign.isalnum()]
    parts: tuple[Part, ...] = (part,)
    if part in {"sentence", "verse"} and scripts.HAN_CHARACTER.search(response.text):
        parts = ("sentence", "verse", "line")
    spelt = {
        "".join(_initials(texts)) for each in parts for texts in readings(response.layout, each)
    }
    sought = "".join(wanted)
    reason = f"they spell '{min(spelt, key=len)[:_GLIMPSE]}'"
    if spelt == {sought} or (len(sought) > _CHANCE and sought in spelt):
        return Finding(met=True, found=reason)
    # A title, a number or a name below may stand among them; or the words spell it.
    others: tuple[Part, ...] = ("line", "sentence", "paragraph")
    near = any(
        sought in "".join(_initials(texts, past_signs=past_signs))
        for each in dict.fromkeys((*parts, *others))
        for texts in [*readings(response.layout, each), _FIRST_WORDS.findall(response.text)]
        for past_signs in (False, True)
    )
    return decide(None if near else False, reason)


def _initials(texts: list[str], *, past_signs: bool = False) -> list[str]:
    """Take the first signs of texts; past numbers and other signs, the first letters."""
    firsts = []
    for text in texts:
        plain = unmarked(text).strip()
        if past_signs:
            firsts.append(_bare(next(filter(str.isalpha, plain), "")))
        else:
            firsts.append(_bare(_first(plain)))
    return firsts


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
