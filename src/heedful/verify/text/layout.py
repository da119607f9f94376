"""Layout of a response: one tree of its blocks, on which all checks of users' constraints count.

People disagree on what a paragraph or a list item is, so most of these questions have several
answers, from a narrow reading to a wide one. :mod:`heedful.verify.custom.counting` and
:mod:`heedful.verify.custom.parts` decide only what comes out the same under all of them.
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from itertools import groupby, islice, takewhile
from typing import TYPE_CHECKING, Literal, NamedTuple

from heedful.verify.text.framing import (
    FIRST_LINES,
    LAST_LINES,
    closings,
    greetings,
    is_remark,
    remarks,
)
from heedful.verify.text.lines import FENCES, LayoutLine, LineKind, kinds
from heedful.verify.text.stops import STOPS, readings

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_REMARKS = 2
_LONGEST_TITLE = 60
"""Characters. A longer first line is a sentence, whatever it ends in."""

_NAMED_TITLE = re.compile(r"^\s*(?:标题|题目|title|subject)\s*[:：]\s*(?=\S)", re.IGNORECASE)
_MARKED_TITLE = re.compile(r"\s*[《<]{1,2}[^》>]+[》>]{1,2}\s*$")
_LONGEST_LABEL = 30
_SENTENCE_ENDS = STOPS | set('”』」"')
_ENDS = STOPS | set('；;，,、：:”"』」)）]】~～')

# A response may be one long run of a sign. What only begins like a mark or a link is
# matched too and put back, so that it is not read again from each of its lines or brackets.
_MARKS = re.compile(
    r"^(?:\s{0,3}#{1,6}\s*|\s*>\s?|\s*[-*+]\s+(?=\S)|\s*(?:```|~~~).*$"
    r"|\s*(?:-{3,}|\*{3,}|_{3,}|={3,})\s*$"
    r"|\s*(?:\|\s*)?:?-++:?(?:\s*+\|\s*+:?-++:?)+\s*(?:\|\s*)?$"
    r"|(?P<unmarked>\s{16,}(?=\s{4})))",
    re.MULTILINE,
)
_MAY_BE_MARKED = re.compile(r"[#*_`>|~\[]|^[^\S\n]*[-+=]", re.MULTILINE)
_INLINE = re.compile(
    r"\*{1,3}|~~|`+|(?<!\w)_{1,2}(?=\S)|(?<=\S)_{1,2}(?!\w)|(?<=\s)\|(?=\s|$)|^\|", re.MULTILINE
)
_LINK = re.compile(r"!?\[(?P<text>[^\]\n]*+)(?:\](?:\([^)\n]*+(?P<end>\))?)?)?")
_ITEM_MARK = re.compile(r"^\s*(?:[-*+•·●○▪◦‣]\s*|(?:\*\*)?[(（]?\d{1,3}[.)、．）]\s*|[①-⑳]\s*)")
_NUMBER = re.compile(r"\D{0,20}(\d{1,3})")
_SPAN = re.compile(r"(`{1,2})[^`\n]+\1")
_ESCAPED = re.compile(r"\\[!-/:-@\[-`{-~]")
_OBJECT = "\ufffc"
"""Stands for a span: the sign for something that isn't text."""

_Block = list[LayoutLine]


def unmarked(text: str) -> str:
    r"""Take Markdown's marks away: what a reader of the rendered text sees, list numbers included.

    >>> unmarked("## Rain\n- it is **wet**, see [here](http://a.b)")
    'Rain\nit is wet, see here'
    """
    if not _MAY_BE_MARKED.search(text):
        return text
    text = _MARKS.sub(lambda mark: mark["unmarked"] or "", text)
    if "](" in text:
        text = _LINK.sub(lambda link: link["text" if link["end"] else 0], text)
    return _INLINE.sub("", text)


class Heading(NamedTuple):
    """A heading: its place, its text, and its level; 0 where no mark says that it is one."""

    at: int
    text: str
    level: int


class Layout:
    """A response's lines and what they make up, each worked out on first use.

    Where it is ``titled``, its first lines may be a title or a remark, and no part of the text.
    Where it isn't the ``whole`` that is asked about, any part of it may be.
    """

    def __init__(self, text: str, *, titled: bool = True, whole: bool = True) -> None:
        self.text = text
        self.titled = titled
        self.whole = whole

    @cached_property
    def lines(self) -> list[LayoutLine]:
        """All lines, with their kinds."""
        return kinds(self.text)

    @cached_property
    def plain(self) -> str:
        """The text without Markdown's marks."""
        return unmarked(self.text)

    @cached_property
    def prose(self) -> str:
        """The text without code blocks; spans of code and escaped signs are replaced by a sign.

        Source: CommonMark 0.31, 4.5, 6.1 and 2.4.
        """
        text = self.text
        if any(fence in text for fence in FENCES):
            text = "\n".join("" if line.kind == "code" else line.text for line in self.lines)
        return _ESCAPED.sub(_OBJECT, _SPAN.sub(_OBJECT, text))

    @cached_property
    def body(self) -> str:
        """The text that every reader counts: without title, headings, code and remarks."""
        beside = self._trimmings | self._remarks
        counted = [
            line.text
            for at, line in enumerate(self.lines)
            if not (line.head or line.kind in {"code", "rule"} or at in beside)
        ]
        return self.plain if len(counted) == len(self.lines) else unmarked("\n".join(counted))

    @cached_property
    def core(self) -> str:
        """The text without a title and an opening remark such as "Sure, here it is:"."""
        rest = (line.text for at, line in enumerate(self.lines) if at not in self._trimmings)
        return "\n".join(rest)

    @property
    def body_readings(self) -> list[list[str]]:
        """The text without its title; a title that no mark shows may be part of it."""
        title = self.title_line
        unmarked_title = title is not None and not title.lstrip().startswith("#")
        return [[self.core], [self.body], *([[self.text]] if unmarked_title else [])]

    # --- code and tables ----------------------------------------------------------------------

    def blocks_of(self, kind: Literal["code", "table"]) -> list[_Block]:
        """The blocks of code, or the tables."""
        if not any(sign in self.text for sign in (FENCES if kind == "code" else "|")):
            return []
        runs = groupby((each for each in self.lines if each.kind == kind), lambda line: line.depth)
        return [list(run) for _, run in runs]

    @cached_property
    def document(self) -> str:
        """The content of a code block that is all of the text, or else the text."""
        block = self._only_block
        return self.text.strip() if block is None else _join(block[1:-1]).strip()

    @property
    def _only_block(self) -> _Block | None:
        blocks = self.blocks_of("code")
        others = any(line.kind not in {"code", "blank"} for line in self.lines)
        return None if others or len(blocks) != 1 or not is_closed(blocks[0]) else blocks[0]

    @cached_property
    def unfenced(self) -> tuple[str, bool] | None:
        r"""The text without the fences of blocks of Markdown, and whether one such block is all.

        >>> Layout("```markdown\n- a\n```").unfenced, Layout("```\na\n```").unfenced
        (('- a', True), None)
        """
        blocks = [
            block
            for block in self.blocks_of("code")
            if block[0].text.strip("`~ \t\r").lower() in {"markdown", "md"}
        ]
        if not blocks:
            return None
        fences = {block[0].depth for block in blocks}
        fences |= {block[0].depth + len(block) - 1 for block in blocks if is_closed(block)}
        rest = (line.text for at, line in enumerate(self.lines) if at not in fences)
        return "\n".join(rest), self._only_block is not None

    # --- what frames the text -----------------------------------------------------------------

    @cached_property
    def title(self) -> str | None:
        """The title: the first heading if nothing but a remark stands before it, or the first line.

        The first line is taken where it is short and does not end as a sentence does.
        """
        if self.title_line is None:
            return None
        return _NAMED_TITLE.sub("", unmarked(self.title_line).strip())

    @cached_property
    def title_line(self) -> str | None:
        """The title as it is written, with Markdown's marks."""
        below = self._written[self._opening_remarks :]
        return self.lines[below[0]].text if below and self._is_title(below[0]) else None

    @cached_property
    def _opening_remarks(self) -> int:
        """The number of written lines that only lead to the text: "Sure, here it is:"."""
        remarks = takewhile(lambda at: is_remark(self.lines[at].text), self._written[:-1])
        return sum(1 for _ in islice(remarks, _MOST_REMARKS))

    @cached_property
    def _written(self) -> list[int]:
        """The positions of the lines that are not blank."""
        return [at for at, line in enumerate(self.lines) if line.kind not in {"blank", "rule"}]

    @cached_property
    def _trimmings(self) -> frozenset[int]:
        """The positions of a title and of an opening remark that stand before the text itself."""
        if not self.titled:
            return frozenset()
        rest = self._written[:-1]
        remarks = self._opening_remarks
        titles = takewhile(self._is_title, rest[remarks : max(remarks + 1, 2)])
        return frozenset([*rest[:remarks], *titles])

    @cached_property
    def _remarks(self) -> frozenset[int]:
        """The positions of closing remarks such as "(40 words)"."""
        number = remarks([self.lines[at].text for at in self._written]) if self.titled else 0
        return frozenset(self._written[len(self._written) - number :])

    @cached_property
    def _framing(self) -> frozenset[int]:
        """The positions of what may be no part of the text: also a greeting, a signature."""
        places = self._written
        if not self.titled or len(places) < 2:  # noqa: PLR2004 - a text and what frames it
            return frozenset()
        opening = len(self._trimmings)
        start = opening + greetings(self._edge(opening, opening + FIRST_LINES))
        end = closings(self._edge(len(places) - LAST_LINES, len(places)))
        around = {*places[:start], *places[len(places) - end :]}
        return frozenset(around if len(around) < len(places) else self._trimmings)

    def _edge(self, start: int, stop: int) -> list[str]:
        return [self.lines[at].text for at in self._written[max(start, 0) : stop]]

    def _is_title(self, at: int) -> bool:
        line = self.lines[at]
        if line.kind == "heading" or _shows_title(line.text):
            return True
        bare = unmarked(line.text).strip()
        return (
            line.kind == "prose"
            and len(self._written) > 1
            and 0 < len(bare) <= _LONGEST_TITLE
            and (bare[-1] not in _ENDS or line.head)
        )

    # --- paragraphs ---------------------------------------------------------------------------

    @cached_property
    def blocks(self) -> list[_Block]:
        """The blocks between blank lines and rules; without blank lines, each line is a block."""
        blocks = self._separated
        return [[line] for line in blocks[0]] if len(blocks) == 1 else blocks

    @cached_property
    def _separated(self) -> list[_Block]:
        runs = groupby(self.lines, lambda line: line.kind in {"blank", "rule"})
        return [list(run) for between, run in runs if not between]

    @cached_property
    def paragraph_readings(self) -> list[list[str]]:
        """The paragraphs: as blocks and as lines, each with and without title, headings, lists.

        What frames the text, such as a greeting, may count or not.
        """
        heads = frozenset(at for at, line in enumerate(self.lines) if line.head)
        below = self._without(self.blocks, self._trimmings)
        headless = self._without(self.blocks, heads | self._trimmings)
        bare = self._without(self.blocks, heads | self._framing)
        readings = [self.blocks, below, headless, bare, _under_labels(headless)]
        if not {line.kind for line in self.lines} <= {"prose", "blank"}:
            readings.append([block for block in map(_prose, below) if block])
        if len(self.blocks) < len(self._written):
            readings += [[[line] for block in each for line in block] for each in readings[:4]]
        # Most texts have nothing to leave out, so that most readings are one.
        distinct = {id(each): each for each in readings}.values()
        return _distinct([_join(block) for block in blocks] for blocks in distinct)

    def _without(self, blocks: list[_Block], positions: frozenset[int]) -> list[_Block]:
        """Leave lines out, and blocks that hold nothing else."""
        if not positions:
            return blocks
        left_out = {id(self.lines[at]) for at in positions}
        rest = [[line for line in block if id(line) not in left_out] for block in blocks]
        return [block for block in rest if block]

    @cached_property
    def stanza_readings(self) -> list[list[str]]:
        """The stanzas: what blank lines and rules part, all and without title and headings."""
        blocks = self._separated
        first = self.lines[min(self._trimmings)] if self._trimmings else None
        bare = [
            [line for line in block if not line.head and line.kind != "aside"]
            for block in self._without(blocks, self._framing - self._trimmings)
            if len(block) > 1 or block[0] is not first
        ]
        readings = [blocks, [block for block in bare if block]]
        if len(blocks) > 1 and len(blocks[0]) == len(blocks[1]) + 1:
            readings.append([blocks[0][1:], *blocks[1:]])
        return _distinct([_join(block) for block in each] for each in readings)

    # --- lists --------------------------------------------------------------------------------

    def items(self, *kinds: LineKind) -> list[list[str]]:
        """The list items of some kinds: the outermost alone, and all."""
        marked = [line for line in self.lines if line.kind in kinds]
        outermost = min((line.depth for line in marked), default=0)
        items = [(line.depth, _ITEM_MARK.sub("", line.text)) for line in marked]
        outer = [text for depth, text in items if depth == outermost]
        return _distinct([outer, [text for _, text in items]])

    @cached_property
    def lists(self) -> list[list[str]]:
        """The outermost items of each list, with the lines that go on below them.

        A list ends where numbers start again, or where text parts bullets.
        """
        marked = (line.depth for line in self.lines if line.kind in {"bullet", "number"})
        outermost = min(marked, default=0)
        lists: list[list[_Block]] = []
        ended = apart = True
        last = 0
        for line in self.lines:
            if line.kind in {"bullet", "number"} and line.depth == outermost:
                digits = _NUMBER.match(line.text) if line.kind == "number" else None
                number = int(digits[1]) if digits else 0
                if not lists or (number <= last if digits else apart):
                    lists.append([])
                lists[-1].append([line._replace(text=_ITEM_MARK.sub("", line.text))])
                last, apart = number, False
            elif line.kind == "blank":
                ended = True
                continue
            else:
                indented = line.text[:1].isspace()
                if lists and (not ended or indented):
                    lists[-1][-1].append(line)
                apart |= line.kind in {"prose", "heading", "table"} and not indented
            ended = False
        return [[_join(item) for item in items] for items in lists]

    @property
    def item_readings(self) -> list[list[str]]:
        """The list items: the marked lines alone, and with the lines that go on below them."""
        whole = [item for items in self.lists for item in items]
        return _distinct([*self.items("bullet", "number"), whole])

    # --- headings and sections ----------------------------------------------------------------

    @cached_property
    def headings(self) -> list[Heading]:
        """The headings: those that are marked, the lines that look like some, and a title."""
        titles = self._trimmings.difference(self._written[: self._opening_remarks])
        return [
            Heading(at, unmarked(line.text).strip(), line.depth if line.kind == "heading" else 0)
            for at, line in enumerate(self.lines)
            if line.head or at in titles
        ]

    @cached_property
    def heading_readings(self) -> list[list[str]]:
        """The headings: those that are marked, and with them the lines that look like some."""
        marked = [each.text for each in self.headings if each.level]
        return _distinct([marked, [each.text for each in self.headings]])

    @cached_property
    def subheading_readings(self) -> list[list[str]]:
        """The headings below the title, which is a first heading above all others in level."""
        levels = [each.level for each in self.headings if each.level]
        titled = self.title_line is not None and all(level > levels[0] for level in levels[1:])
        below = [reading[titled:] for reading in self.heading_readings]
        # Without marks, the first line in bold may be the title or not.
        return _distinct(below if levels else [*self.heading_readings, *below])

    @cached_property
    def section_readings(self) -> list[list[str]]:
        """The texts under the headings: of the outermost ones, and of each by itself."""
        heads = [each for each in self.headings if each.level]
        heads = heads or [each for each in self.headings if self.lines[each.at].head]
        if len(heads) > 1 and all(each.level > heads[0].level for each in heads[1:]):
            heads = heads[1:]  # below the title
        outermost = min((each.level for each in heads), default=0)
        outer = [each.at for each in heads if each.level == outermost]
        return _distinct([self._between(outer), self._between([each.at for each in heads])])

    def _between(self, places: list[int]) -> list[str]:
        """Take the texts that stand below some lines, each up to the next of them."""
        ends = [*places[1:], len(self.lines)]
        return [_join(self.lines[at + 1 : end]) for at, end in zip(places, ends, strict=False)]

    @property
    def is_divided(self) -> bool:
        """Whether it may be several texts side by side: under headings, numbers, or rules."""
        numbered = [line for line in self.lines if line.kind == "number" and not line.depth]
        ruled = any(line.kind == "rule" for line in self.lines)
        return ruled or len(numbered) > 1 or max(map(len, self.subheading_readings)) > 1

    # --- lines and sentences ------------------------------------------------------------------

    @cached_property
    def written_lines(self) -> list[list[str]]:
        """The lines that are not blank: all; without a title and the like; without tags, fences."""
        beside = frozenset(
            at
            for at in self._written
            if self.lines[at].kind == "aside" or self.lines[at].text.lstrip().startswith(FENCES)
        )
        first = frozenset(self._written[: bool(self._trimmings)])
        left_out = [frozenset[int](), first, self._trimmings, self._framing]
        return _distinct(
            [self.lines[at].text for at in self._written if at not in gone | others]
            for others in (frozenset[int](), beside)
            for gone in left_out
        )

    @property
    def has_lines_alone(self) -> bool:
        """Whether all lines are plain: no blank ones, marks, remarks, signatures."""
        return self._framing <= self._trimmings and all(
            line.kind == "prose" and not _shows_title(line.text) and not is_remark(line.text)
            for line in self.lines
        )

    @cached_property
    def sentence_readings(self) -> list[list[str]]:
        """The sentences: those of the text itself by each reading, and with headings too.

        The widest reading is the last.
        """
        narrow, wide = readings(self.body)
        if self.plain != self.body:
            wide = readings(self.plain)[1]
        return _distinct([narrow, wide])


def is_closed(block: _Block) -> bool:
    """Check whether a code block ends with a fence of its own."""
    fence = block[0].text.strip()[:3]
    return (
        len(block) > 1 and not block[-1].text.strip(f"{fence[0]} \t\r") and fence in block[-1].text
    )


def _shows_title(line: str) -> bool:
    """Check whether a line says that it is a title: "Title: Rain", 《雨》."""
    return bool(_NAMED_TITLE.match(line) or _MARKED_TITLE.match(line))


def _join(block: _Block) -> str:
    return block[0].text if len(block) == 1 else "\n".join([line.text for line in block])


def _prose(block: _Block) -> _Block:
    """A block's lines if any of them is prose: a list belongs to the paragraph before it."""
    lines = [line for line in block if not line.head]
    return lines if any(line.kind == "prose" for line in lines) else []


def _under_labels(blocks: list[_Block]) -> list[_Block]:
    """Join a short line that ends as no sentence does, "Step one", with the block after it."""
    joined: list[_Block] = []
    label: _Block = []
    for block in blocks:
        label += block
        if len(block) > 1 or not _is_label(block[0].text):
            joined.append(label)
            label = []
    return [*joined, label] if label else joined


@lru_cache(maxsize=1024)
def _is_label(text: str) -> bool:
    bare = unmarked(text).strip()
    return 0 < len(bare) <= _LONGEST_LABEL and bare[-1] not in _SENTENCE_ENDS


def _distinct(readings: Iterable[list[str]]) -> list[list[str]]:
    """Keep each reading once."""
    return [list(each) for each in dict.fromkeys(map(tuple, readings))]
