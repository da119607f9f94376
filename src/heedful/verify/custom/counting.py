"""Counts that users ask for, and their verifier: a unit has a narrowest and a widest reading.

"At most 100 words" leaves open whether *don't* is one word and whether the title counts. So a unit
is counted under every reading that people use, and a bound is decided only where all of them agree.
Units that have one reading, such as commas, are counted once.

字 is what Chinese users mean by it: each Chinese character and punctuation mark, and each run of
Latin letters or digits, counts one, as in word processors. Narrower readings leave punctuation,
Markdown's marks, title and headings out; the widest counts every character that isn't a space.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from heedful.core import scripts
from heedful.verify.base import Finding, bounds, verifier
from heedful.verify.custom.parts import Decision, decide, of_part
from heedful.verify.text import characters as signs
from heedful.verify.text.layout import is_closed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from heedful.verify.text.layout import Layout
    from heedful.verify.text.prepared import Response


class CountRange(NamedTuple):
    """Number of units under the narrowest and under the widest reading."""

    low: int
    high: int

    def __str__(self) -> str:
        """Write it, as one number where the readings agree."""
        return str(self.low) if self.low == self.high else f"{self.low} to {self.high}"


def within(count: CountRange, at_least: int | None, at_most: int | None) -> bool | None:
    """Check bounds under each reading of a count; ``None`` where the readings disagree."""
    least, most = at_least or 0, float("inf") if at_most is None else at_most
    if count.high < least or count.low > most:
        return False
    return True if count.low >= least and count.high <= most else None


def count_units(layout: Layout, unit: Unit) -> CountRange | None:
    """Count a unit in a text; ``None`` where the text has no such unit, as Chinese has no words.

    >>> from heedful.verify.text.layout import Layout
    >>> count_units(Layout("Don't stop."), "words")
    CountRange(low=2, high=3)
    >>> count_units(Layout("你好，world！"), "zi")
    CountRange(low=3, high=9)
    """
    readings = UNITS[unit].readings(layout)
    return CountRange(min(readings) if layout.whole else 0, max(readings)) if readings else None


# --- structure ----------------------------------------------------------------------------------

_NUMERAL = re.compile(
    r"^(?:[^\S\n]|[#*])*+(?:第?[一二三四五六七八九十\d]+(?:[、.．)）章节步点条]|[^\S\n][-–—:][^\S\n])|[(（][一二三四五六七八九十\d]+[)）]|[①-⑳])",
    re.MULTILINE,
)
_OTHER_NUMERAL = re.compile(
    r"^(?:[^\S\n]|[#*>])*+"
    r"(?:[ivx]{1,5}[.)]|\d{1,2}[:：]|(?:step|point|item|tip|no\.?)[^\S\n]\d{1,2}\b)",
    re.MULTILINE | re.IGNORECASE,
)
_QUESTION = re.compile(
    r"[吗呢么嘛][。！!.…~～\s”\"]*$|什么|怎么|怎样|如何|为何|哪|谁|多少|是否|是不是|难道|岂"
    r"|^\W*(?:who|whose|what|when|where|why|which|how|is|are|was|were|do|does|did|have|has|can|could"
    r"|will|would|shall|should|may|might)\b",
    re.IGNORECASE,
)


def _sizes(readings: Sequence[Sequence[str]]) -> list[int]:
    return [len(each) for each in readings]


def _paragraphs(layout: Layout) -> list[int]:
    # A text of lists and headings alone still is something that may be called a paragraph.
    # Between HTML's tags, each tag starts or parts one.
    tags = layout.text.lower().count("<p>")
    tagged = [tags, tags + 1] if tags else []
    return [max(size, 1) for size in _sizes(layout.paragraph_readings)] + tagged


def _lines(layout: Layout) -> list[int]:
    """Lines; blank ones may count, and those that end in another way than with a line feed."""
    text = layout.text.strip()
    return [*_sizes(layout.written_lines), text.count("\n") + 1, len(text.splitlines())]


def _bullets(layout: Layout) -> list[int]:
    """Marked items; many call numbered ones bullet points too, and lines with other signs."""
    bullets = _sizes(layout.items("bullet"))
    most = max(bullets) + max(_sizes(layout.items("number"))) + _other_bullets(layout)
    return [*bullets, most]


def _other_bullets(layout: Layout) -> int:
    """Count the items of HTML, and the lines that start with a sign that may be a bullet."""
    lines = (line.text for line in layout.lines if line.kind == "prose")
    return sum(max(bool(_BULLET.match(line)), len(_HTML_ITEM.findall(line))) for line in lines)


_BULLET = re.compile(
    r"\s*(?:(?:>\s*)+(?:[-*+•]|\d{1,3}[.)])\s|[-+](?=[^\W\d])|[‐-―−∙⋅⦁‧﹣＊－→⇒»›※■-◿☀-➿⟡-⟿⬀-⯿・\ue000-\uf8ff\U0001f000-\U0001faff][\ufe0e\ufe0f]?\s*\S"
    r"|⁃|[¤§¶]\s+\S|&(?:bull|middot|#8226|#x2022);|\*(?![\s*])[^*]*$)",
    re.IGNORECASE,
)
_HTML_ITEM = re.compile(r"<li\b", re.IGNORECASE)


def _numbered(layout: Layout) -> list[int]:
    """Items with Arabic numerals; headings and lines with other numerals may be meant as well."""
    numbered = _sizes(layout.items("number"))
    most = [len(each.findall(layout.text)) for each in (_NUMERAL, _OTHER_NUMERAL)]
    return [*numbered, max(*numbered, *most)]


def _items(layout: Layout) -> list[int]:
    """Items; of a list that has bullets and numbers, either kind alone may be meant."""
    bullets, numbered = _sizes(layout.items("bullet")), _numbered(layout)
    readings = [*_sizes(layout.items("bullet", "number")), *bullets, *numbered]
    if others := _other_bullets(layout):
        return [*readings, max(readings) + others]
    return [size for size in readings if size] if max(bullets) or min(numbered) else readings


def _headings(layout: Layout) -> list[int]:
    """Headings; a title above others may not count."""
    below = [size for size in _sizes(layout.subheading_readings) if size]
    return [*_sizes(layout.heading_readings), *below]


def _tables(layout: Layout) -> list[int]:
    """Tables of Markdown; those of HTML, and rows without a line of dashes, may be some."""
    sure = len(layout.blocks_of("table"))
    rows = [line.kind != "code" and line.text.count("|") > 1 for line in layout.lines]
    maybe = max(sure, int(any(map(all, pairwise(rows)))))
    return [sure, maybe + layout.text.lower().count("<table")]


def _code_blocks(layout: Layout) -> list[int]:
    """Blocks between fences; one that nothing closes may be some."""
    blocks = layout.blocks_of("code")
    return [sum(map(is_closed, blocks)), len(blocks)]


def _points(layout: Layout) -> list[int]:
    """Count the outermost items of a list; without a list, any line or clause may be a point."""
    outermost = layout.items("bullet", "number")[0]
    kinds = [_sizes(layout.items(kind)[:1])[0] for kind in ("bullet", "number")]
    numerals = len(_NUMERAL.findall(layout.text))
    if len(outermost) > 1 and len(outermost) in kinds:
        return [len(outermost), *_sizes(layout.lists), *([numerals] if numerals > 1 else [])]
    clauses = len(re.findall(r"[^\s,，、;；:.。!！?？:：|]+", layout.text))
    return [min(numerals, 1), clauses, len(outermost)]


def _questions(layout: Layout) -> list[int]:
    """Sentences that end in a question mark; those that sound like a question may count."""
    ended = sound = 0
    for sentence in layout.sentence_readings[-1]:
        if re.search("[?？؟]", sentence[-3:]):
            ended += 1
        elif _QUESTION.search(sentence):
            sound += 1
    items = layout.items("bullet", "number")[-1]
    unmarked = sum(1 for item in items if not re.search("[?？؟]", item))
    marks = len(re.findall("[?？؟]+", layout.plain))
    return [ended, max(marks, ended + sound) + unmarked]


_TOKEN = re.compile(r"\w\S*")  # without the signs before it, which make no difference to a count
_RUN = re.compile(r"\w+")
_HAN = f"{scripts.HAN}々〇"
_HAN_CHARACTER = re.compile(f"[{_HAN}]")
_UNSPACED = re.compile(f"[{scripts.UNSPACED}々〇]")
_WIDE = re.compile(f"[{_HAN}{scripts.KANA}\u3000-\u303f\uff00-\uff65“”‘’…—·]")
_SPACED_LETTER = rf"[^\W{scripts.KANA}{_HAN}]"
_LATIN_RUN = re.compile(rf"{_SPACED_LETTER}+(?:[.,'’:/@_-]{_SPACED_LETTER}+)*")
_LIST_MARKER = re.compile(
    r"^(?:[^\S\n]|[#>*+_•·●○▪◦‣-])*+(?:[(（\[【]?(?:\d{1,3}(?:\.\d{1,3}){0,2}|[ivx]{1,4}|[a-z]"
    r"|[ⅰ-ⅿ]|[一二三四五六七八九十]{1,3})(?:[)、．）\]】]|[.:：-](?!\w))"
    r"|\d{1,3}(?:\.\d{1,3}){1,2}(?=\s)|\d\ufe0f?\u20e3|[①-⓿❶-➓]|\d{1,3}\.(?=[^\W\d]))",
    re.MULTILINE | re.IGNORECASE,
)
_MOST_UNSPACED = 0.1
"""Of all letters: with more from scripts that do not part words, a count of words says nothing."""


def words(layout: Layout) -> list[int]:
    """Count words; parts of "don't", title, headings and the numbers of lists may not count."""
    text = layout.text
    if not text.isascii():
        letters = sum(map(str.isalpha, text))
        if len(_UNSPACED.findall(text)) > _MOST_UNSPACED * letters:
            return []
    return [len(_RUN.findall(text)), *map(_tokens, {layout.plain, *_bodies(layout)})]


def _tokens(text: str) -> int:
    """Count what white space separates, signs alone left out."""
    return len(_TOKEN.findall(text))


def _zi(text: str) -> int:
    """Count as a Chinese word processor does: wide characters one by one, other runs as one."""
    rest, wide = _WIDE.subn(" ", text)
    return wide + len(rest.split())


def _zi_bare(text: str) -> int:
    """Count Chinese characters, and runs of letters and digits, without punctuation."""
    rest, characters = _HAN_CHARACTER.subn(" ", text)
    return characters + len(_LATIN_RUN.findall(rest))


def _bodies(layout: Layout) -> list[str]:
    """Take the text that every reader counts, with the markers of its lists and without."""
    return [layout.body, _LIST_MARKER.sub("", layout.body)]


def _characters(*texts: str) -> list[int]:
    """Count characters as readers see them, and as Unicode does."""
    return [count(text) for text in texts for count in (signs.graphemes, len)]


def characters(layout: Layout) -> list[int]:
    """Count characters; spaces, Markdown's marks and the markers of lists may not count."""
    return _characters(layout.text, *map(signs.unspaced, (layout.text, *_bodies(layout))))


def characters_with_spaces(layout: Layout) -> list[int]:
    """Count characters; the spaces around the text may not count."""
    return _characters(layout.text, layout.text.strip())


def characters_without_spaces(layout: Layout) -> list[int]:
    """Count the characters that aren't white space."""
    return _characters(signs.unspaced(layout.text))


def zi(layout: Layout) -> list[int]:
    """Count 字; punctuation, Markdown's marks, title and the markers of lists may not count."""
    bare = map(_zi_bare, _bodies(layout))
    return [_zi(layout.text), *bare, len(signs.unspaced(layout.text))]


def zi_without_punctuation(layout: Layout) -> list[int]:
    """Count 字 without punctuation."""
    return [_zi_bare(text) for text in (layout.text, *_bodies(layout))]


def zi_with_punctuation(layout: Layout) -> list[int]:
    """Count 字 with punctuation: runs of letters as one, or each of their letters."""
    texts = (layout.text, *_bodies(layout))
    return [count for text in texts for count in (_zi(text), len(signs.unspaced(text)))]


def han_characters(layout: Layout) -> list[int]:
    """Count Chinese characters."""
    return [len(_HAN_CHARACTER.findall(text)) for text in (layout.text, *_bodies(layout))]


def letters(layout: Layout) -> list[int]:
    """Count letters, without the vowel signs that some scripts write as marks."""
    return [sum(map(str.isalpha, text)) for text in (layout.text, layout.body)]


# --- all of them --------------------------------------------------------------------------------


class CountedUnit(NamedTuple):
    """A unit: its names (``word/s``, ``dash|dashes``), and its counts by all readings."""

    names: str
    readings: Callable[[Layout], list[int]]

    @property
    def one(self) -> str:
        """Its name in English, for one."""
        return self.names.partition("|")[0].replace("/s", "")

    @property
    def several(self) -> str:
        """Its name in English, for many."""
        return self.names.rpartition("|")[2].replace("/", "")


UNITS: dict[str, CountedUnit] = {
    "words": CountedUnit("word/s", words),
    "zi": CountedUnit("字", zi),
    "zi_without_punctuation": CountedUnit("字 without punctuation", zi_without_punctuation),
    "zi_with_punctuation": CountedUnit("字 with punctuation", zi_with_punctuation),
    "han_characters": CountedUnit("Chinese character/s", han_characters),
    "characters": CountedUnit("character/s", characters),
    "characters_with_spaces": CountedUnit("character/s with spaces", characters_with_spaces),
    "characters_without_spaces": CountedUnit(
        "character/s without spaces", characters_without_spaces
    ),
    "letters": CountedUnit("letter/s", letters),
    "sentences": CountedUnit("sentence/s", lambda layout: _sizes(layout.sentence_readings)),
    "paragraphs": CountedUnit("paragraph/s", _paragraphs),
    "lines": CountedUnit("line/s", _lines),
    "bullet_points": CountedUnit("bullet point/s", _bullets),
    "numbered_items": CountedUnit("numbered item/s", _numbered),
    "list_items": CountedUnit("list item/s", _items),
    "headings": CountedUnit("heading/s", _headings),
    "subheadings": CountedUnit("subheading/s", lambda layout: _sizes(layout.subheading_readings)),
    "tables": CountedUnit("table/s", _tables),
    "code_blocks": CountedUnit("code block/s", _code_blocks),
    "emojis": CountedUnit("emoji/s", signs.emojis),
    "bold_passages": CountedUnit("bold passage/s", signs.bold_passages),
    "links": CountedUnit("link/s", signs.links),
    "hashtags": CountedUnit("hashtag/s", signs.hashtags),
    "questions": CountedUnit("question/s", _questions),
    "points": CountedUnit("point/s", _points),
    "stanzas": CountedUnit("stanza/s", lambda layout: _sizes(layout.stanza_readings)),
    "placeholders": CountedUnit("placeholder/s", signs.placeholders),
    "highlighted_passages": CountedUnit("highlighted passage/s", signs.highlights),
    "capital_words": CountedUnit("word/s in capitals", signs.capital_words),
    "english_words": CountedUnit("English word/s", signs.english_words),
    "digits": CountedUnit("digit/s", signs.digits),
    "markdown_marks": CountedUnit("Markdown mark/s", signs.markdown_marks),
    "punctuation_marks": CountedUnit("punctuation mark/s", signs.punctuation),
    "commas": CountedUnit("comma/s", signs.commas),
    "full_stops": CountedUnit("full stop/s", signs.full_stops),
    "colons": CountedUnit("colon/s", signs.colons),
    "semicolons": CountedUnit("semicolon/s", signs.semicolons),
    "question_marks": CountedUnit("question mark/s", signs.question_marks),
    "exclamation_marks": CountedUnit("exclamation mark/s", signs.exclamation_marks),
    "quotation_marks": CountedUnit("quotation mark/s", signs.quotation_marks),
    "parentheses": CountedUnit("parenthesis|parentheses", signs.parentheses),
    "brackets": CountedUnit("bracket/s", signs.brackets),
    "dashes": CountedUnit("dash|dashes", signs.dashes),
    "ellipses": CountedUnit("ellipsis|ellipses", signs.ellipses),
    "numbers": CountedUnit("number/s", signs.numbers),
    "numbers_or_digits": CountedUnit(
        "number/s or digit/s",
        lambda layout: [*signs.numbers(layout), *signs.digits(layout)],
    ),
    "contractions": CountedUnit("contraction/s", signs.contractions),
    "different_emojis": CountedUnit("different emoji/s", signs.different_emojis),
    "italic_passages": CountedUnit("passage/s in italics", signs.italics),
    "heading_levels": CountedUnit("heading level/s", signs.heading_levels),
    **{
        f"level_{level}_headings": CountedUnit(
            f"heading/s of level {level}",
            signs.headings(level),
        )
        for level in range(1, 7)
    },
}
"""The units that can be counted."""

if TYPE_CHECKING:
    Unit = str
else:
    Unit = Literal[tuple(UNITS)]
    """A key of ``UNITS``; any other is refused where a check's arguments are validated."""


def amounts(count: CountRange, unit: Unit) -> str:
    """Name a number of a unit, as a range where readings differ."""
    return f"{count} {UNITS[unit].one if count == (1, 1) else UNITS[unit].several}"


# --- the verifiers -------------------------------------------------------------------------------


def _describe_count(
    unit: Unit, at_least: int | None, at_most: int | None, where: str, **_: str
) -> str:
    if at_most == 0:
        return f"Write no {UNITS[unit].several}{where}."
    number = at_most if at_most is not None else at_least
    noun = UNITS[unit].one if number == 1 else UNITS[unit].several
    return f"Write {bounds(at_least, at_most)} {noun}{where}."


@of_part("heedful:count", describe=_describe_count)
def count(
    layout: Layout, *, unit: Unit, at_least: int | None = None, at_most: int | None = None
) -> Decision:
    """There are enough of a unit, and not too many."""
    required = bounds(at_least, at_most)
    count = count_units(layout, unit)
    if count is None:
        return None, "its script does not part words by spaces"
    outcome = within(count, at_least, at_most)
    if outcome is None and unit == "lines" and layout.has_lines_alone:
        # Its first line may be a title to some, but not if so many lines are asked for.
        most = CountRange(count.high, count.high)
        if within(most, at_least, at_most):
            outcome, count = True, most
    return outcome, f"{amounts(count, unit)}, asked for {required}"


_MOST_BESIDE = 2
"""Lines around a list that still is all of a response: what leads to it, and a closing remark."""
_ONE_THING = re.compile(r"[^\n、/，,；;]{1,40}")


@verifier(
    "heedful:listed",
    describe=lambda at_least, at_most, kind: (
        f"List {bounds(at_least, at_most)} {kind or 'things'}."
    ),
)
def listed(
    response: Response, *, at_least: int | None = None, at_most: int | None = None, kind: str = ""
) -> Finding:
    """The response is one list, which has so many items; any other isn't decided.

    If the items are to be of a kind, only a number that is wrong is decided.
    """
    layout = response.layout
    lists = layout.lists
    items = lists[0] if len(lists) == 1 else []
    beside = len(layout.written_lines[0]) - sum(item.count("\n") + 1 for item in items)
    if len(items) < 2 or beside > _MOST_BESIDE:  # noqa: PLR2004 - a list
        return decide(None, "what is listed isn't one list alone")
    outcome = within(CountRange(len(items), len(items)), at_least, at_most)
    if outcome and kind:
        return decide(None, f"{len(items)} items, perhaps not {kind}")
    few = len(items) < (at_least or 0)
    if few and not all(map(_ONE_THING.fullmatch, items)):
        return decide(None, f"{len(items)} items, perhaps groups of things")
    return decide(outcome, f"{len(items)} items")
