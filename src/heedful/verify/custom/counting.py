"""Counting what users ask for: each unit with its narrowest and its widest reading.

"At most 100 words" leaves open whether *don't* is one word and whether the title counts. So a unit
is counted under every reading that people use, and a bound is decided only where all of them agree.
Units that have one reading, such as commas, are counted once.

字 is what Chinese users mean by it: each Chinese character and punctuation mark, and each run of
Latin letters or digits, counts one, as in word processors. Narrower readings leave punctuation,
Markdown's marks, title and headings out; the widest counts every character that isn't a space.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from heedful.verify import markup
from heedful.verify.custom import lengths
from heedful.verify.custom.verse import classical, verse_readings
from heedful.verify.text import characters as signs
from heedful.verify.text.lines import FENCE
from heedful.verify.text.numbers import numbers, phone_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from heedful.verify.custom.units import Unit
    from heedful.verify.text.layout import Layout


class CountRange(NamedTuple):
    """Number of units under the narrowest and under the widest reading."""

    low: int
    high: int

    def __str__(self) -> str:
        """Write it, as one number where the readings agree."""
        return str(self.low) if self.low == self.high else f"{self.low} to {self.high}"


def count_units(layout: Layout, unit: Unit) -> CountRange | None:
    """Count a unit in a text; ``None`` where the text has no such unit, as Chinese has no words.

    >>> from heedful.verify.text.layout import Layout
    >>> count_units(Layout("Don't stop."), "words")
    CountRange(low=2, high=3)
    >>> count_units(Layout("你好，world！"), "zi")
    CountRange(low=3, high=9)
    """
    readings = _READINGS[unit](layout)
    return CountRange(min(readings), max(readings)) if readings else None


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
_DASHES = re.compile(r"[\s|:]*-[\s|:-]*")
_HIDDEN_TABLE = re.compile(r"\| ?---|\t")
_QUESTION = re.compile(
    r"[吗呢么嘛][。！!.…~～\s”\"]*$|什么|怎么|怎样|如何|为何|哪|谁|多少|是否|是不是|难道|岂"
    r"|^\W*(?:who|whose|what|when|where|why|which|how|is|are|was|were|do|does|did|have|has|can|could"
    r"|will|would|shall|should|may|might)\b",
    re.IGNORECASE,
)
_MAYBE_MARK = re.compile(
    r"^[^\S\n]*(?:[-*+]|\d+\.)\s+\S|^[^\S\n]*>|`[^`\n]+`|(?<![\w*])\*(?=\S)[^*\n]+\*"
    r"|^[^\S\n]*(?:-{3,}|\*{3,})\s*$",
    re.MULTILINE,
)


def _sizes(readings: Sequence[Sequence[str]]) -> list[int]:
    return [len(each) for each in readings]


def _sentences(layout: Layout) -> list[int]:
    """Sentences; in a poem 句 may mean its verses, with commas between them."""
    poem = classical(layout)
    return [*_sizes(layout.sentence_readings), *([] if poem is None else [poem])]


def _paragraphs(layout: Layout) -> list[int]:
    # A text of lists and headings alone still is something that may be called a paragraph.
    gaps = len(_HTML_GAP.findall(layout.text))
    tagged = len(_HTML_PARAGRAPH.findall(layout.text)) + gaps + bool(gaps)
    sizes = [*_sizes(layout.paragraph_readings), *([tagged] if tagged else [])]
    return [max(size, 1) for size in sizes]


_HTML_PARAGRAPH = re.compile(r"<p\b", re.IGNORECASE)
_HTML_GAP = re.compile(r"<br\b[^<>]*>\s*<br\b", re.IGNORECASE)


def _lines(layout: Layout) -> list[int]:
    """Lines; blank ones may count, and those that end in another way than with a line feed."""
    text = layout.text.strip()
    breaks = len(_HTML_BREAK.findall(text)) if "<" in text else 0
    return [*_sizes(layout.written_lines), text.count("\n") + 1, len(text.splitlines()) + breaks]


_HTML_BREAK = re.compile("<br *(?:/ *)?>", re.IGNORECASE)


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


def _markdown_bullets(layout: Layout) -> list[int]:
    """Marked items; a bullet such as • isn't Markdown."""
    bullets = (each.text.lstrip() for each in layout.lines if each.kind == "bullet")
    return [*_bullets(layout), sum(1 for text in bullets if text[0] in "-*+")]


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
    """Tables of Markdown and HTML; rows without a line of dashes, or tabs, may be one."""
    html = layout.text.lower().count("<table")
    runs: list[list[str]] = [[]]
    for line in layout.lines:
        if line.kind == "table" or (line.kind != "code" and line.text.count("|") > 1):
            runs[-1].append(line.text)
        elif runs[-1]:
            runs.append([])
    sure = sum(1 for run in runs if any(_DASHES.fullmatch(line) for line in run[1:2]))
    maybe = sum(1 for run in runs if len(run) > 1)
    hidden = not maybe and not html and bool(_HIDDEN_TABLE.search(layout.text))
    return [sure + html, max(maybe, sure) + html + int(hidden)]


def _markdown_tables(layout: Layout) -> list[int]:
    """Tables as above; those of HTML may not count."""
    low, high = _tables(layout)
    return [low - layout.text.lower().count("<table"), high]


def _code_blocks(layout: Layout) -> list[int]:
    """Blocks between fences; indented lines, and those of HTML, may be some."""
    fences = sum(1 for line in layout.lines if FENCE.match(line.text))
    return [fences // 2, (fences + 1) // 2 + len(_OTHER_CODE.findall(layout.text))]


_OTHER_CODE = re.compile(r"(?:\A|\n[^\S\n]*\n)(?: {4}|\t)[^\S\n]*\S|<pre\b", re.IGNORECASE)


def _points(layout: Layout) -> list[int]:
    """Count the outermost items of a list; without a list, any line or clause may be a point."""
    outermost = layout.items("bullet", "number")[0]
    kinds = [_sizes(layout.items(kind)[:1])[0] for kind in ("bullet", "number")]
    numerals = len(_NUMERAL.findall(layout.text))
    if len(outermost) > 1 and len(outermost) in kinds:
        lists = _lists(layout)
        several = lists if len(lists) > 1 else []
        return [len(outermost), *several, *([numerals] if numerals > 1 else [])]
    clauses = len(re.findall(r"[^\s,，、;；.。!！?？:：|]+", layout.text))
    return [min(numerals, 1), clauses, len(outermost)]


def _lists(layout: Layout) -> list[int]:
    """Count the outermost items of each list, where numbers start again or text parts bullets."""
    marked = [line for line in layout.lines if line.kind in {"bullet", "number"}]
    depth = min(line.depth for line in marked)
    outermost = {id(line) for line in marked if line.depth == depth}
    sizes, last, apart = [0], 0, False
    for line in layout.lines:
        if id(line) in outermost:
            digits = _FIRST_NUMBER.match(line.text) if line.kind == "number" else None
            number = int(digits[1]) if digits else 0
            if sizes[-1] and (number <= last if digits else apart):
                sizes.append(0)
            sizes[-1] += 1
            last, apart = number, False
        elif line.kind in {"prose", "heading", "table"} and not line.text[0].isspace():
            apart = True
    return sizes


_FIRST_NUMBER = re.compile(r"\D{0,20}(\d{1,3})")


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


def _markdown(layout: Layout) -> list[int]:
    sure = markup.markdown_marks(layout.text)
    return [sure, sure + len(_MAYBE_MARK.findall(layout.text))]


_READINGS: dict[Unit, Callable[[Layout], list[int]]] = {
    "words": lengths.words,
    "zi": lengths.zi,
    "zi_without_punctuation": lengths.zi_without_punctuation,
    "zi_with_punctuation": lengths.zi_with_punctuation,
    "han_characters": lengths.han_characters,
    "characters": lengths.characters,
    "characters_with_spaces": lengths.characters_with_spaces,
    "characters_without_spaces": lengths.characters_without_spaces,
    "letters": lengths.letters,
    "sentences": _sentences,
    "verses": lambda layout: _sizes(verse_readings(layout)),
    "sentences_or_verses": lambda layout: [*_sentences(layout), *_sizes(verse_readings(layout))],
    "paragraphs": _paragraphs,
    "lines": _lines,
    "bullet_points": _bullets,
    "markdown_bullet_points": _markdown_bullets,
    "numbered_items": _numbered,
    "list_items": _items,
    "headings": _headings,
    "subheadings": lambda layout: _sizes(layout.subheading_readings),
    "tables": _tables,
    "markdown_tables": _markdown_tables,
    "code_blocks": _code_blocks,
    "emojis": signs.emojis,
    "bold_passages": lambda layout: markup.bold_passages(layout.text),
    "bold_words": lambda layout: markup.bold_words(layout.text),
    "links": lambda layout: [markup.links(layout.text), markup.possible_links(layout.text)],
    "hashtags": signs.hashtags,
    "questions": _questions,
    "points": _points,
    "stanzas": lambda layout: _sizes(layout.stanza_readings),
    "placeholders": signs.placeholders,
    "highlighted_passages": signs.highlights,
    "capital_words": signs.capital_words,
    "english_words": signs.english_words,
    "digits": signs.digits,
    "spaces": lambda layout: [layout.text.count(" ") + layout.text.count("\u3000")],
    "markdown_marks": _markdown,
    "punctuation_marks": signs.punctuation,
    "commas": signs.commas,
    "full_stops": signs.full_stops,
    "colons": signs.colons,
    "semicolons": signs.semicolons,
    "question_marks": signs.question_marks,
    "exclamation_marks": signs.exclamation_marks,
    "quotation_marks": signs.quotation_marks,
    "brackets": signs.brackets,
    "parentheses": signs.parentheses,
    "dashes": signs.dashes,
    "ellipses": signs.ellipses,
    "numbers": numbers,
    "numbers_or_digits": lambda layout: [*numbers(layout), *signs.digits(layout)],
    "hyphens": signs.hyphens,
    "any_dashes": signs.any_dashes,
    "apostrophes": signs.apostrophes,
    "contractions": signs.contractions,
    "asterisks": signs.asterisks,
    "different_emojis": signs.different_emojis,
    "blank_lines": lambda layout: [len(re.findall(r"\n[^\S\n]*(?=\n)", layout.text.strip()))],
    "italic_passages": signs.italics,
    "capital_letters": lambda layout: [sum(map(str.isupper, layout.plain))],
    "level_1_headings": signs.headings_of_level[1],
    "level_2_headings": signs.headings_of_level[2],
    "level_3_headings": signs.headings_of_level[3],
    "email_addresses": lambda layout: markup.email_addresses(layout.text),
    "phone_numbers": phone_numbers,
}
