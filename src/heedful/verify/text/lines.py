"""Lines of a response and their kinds: headings, list items, rows of a table, code, prose.

CommonMark's parser finds the blocks, once for a response; what it takes for prose is looked through
for the lists that people write without Markdown ("• a", "1、", "①").
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LineKind = Literal[
    "blank", "heading", "bullet", "number", "table", "rule", "code", "aside", "prose"
]

FENCES = ("```", "~~~")
_RULE = re.compile(r"\s*(?:-{3,}|\*{3,}|_{3,}|={3,}|(?:[-*_]\s+){2,}[-*_])\s*")
_BULLET = re.compile(r"(\s*)[-*+•·●○▪◦‣]\s+\S|(\s*)[•●▪◦‣]\S")
_NUMBER = re.compile(r"(\s*)(?:\*\*)?(?:\(?\d{1,3}[.)、．）](?!\d)|（\d{1,3}）|[①-⑳])")
# A picture, a comment, an address, a footnote, tags, or nothing that could be read out: beside a
# text rather than of it.
_ASIDE = re.compile(
    r"\s*(?:!\[[^\]\n]*\]\([^)\n]*\)|<!--.*|<img\b[^>]*>|<?(?:https?://|www\.)\S+"
    r"|\[\^?\d{1,3}\][\s:].*|[©®].*|&nbsp;|(?:#[^\W\d][\w-]*+\s*+)+|(?![`|])[\W_]+)\s*"
)
_ADDRESSED = ("http://", "https://", "www.")
# Lines of which CommonMark makes something; most texts have none.
_MARKDOWN = re.compile(r"^[^\S\n]*(?:#{1,6}\s|```|~~~|=+\s*$|-+\s*$)|\|", re.MULTILINE)
# Lines that many take for headings although no mark says so.
_HEADLIKE = re.compile(
    r"\s*(?:\d{1,3}[.)、]\s*)?(?:\*{2,3}[^*]+(?:\*[^*]+\*[^*]*)?\*{2,3}[:：]?|__[^_]+__[:：]?|\*[^*\s][^*]*\*"
    r"|【[^】]+】[:：]?|(?:第[一二三四五六七八九十\d]+[章节部分篇步]+|[一二三四五六七八九十]+、).{0,40})\s*"
    r"|\s*(?:(?:>|[-*+])\s*)?#(?:#{1,5}[^#\s].*|[^#\s][^#]*)|\s*(?:>|[-*+])\s*#{1,6}\s.*|\s*<h[1-6]\b.*"
)
_NUMERALS = frozenset("第一二三四五六七八九十")


class LayoutLine(NamedTuple):
    """One line; its depth is a list item's indent in columns, or a heading's level from 1.

    That of code and of tables is the place of their block's first line. A ``head`` is a heading, or
    looks like one although no mark says so.
    """

    text: str
    kind: LineKind
    depth: int = 0
    head: bool = False


def kinds(text: str) -> list[LayoutLine]:
    """Say of what kind each line of a text is."""
    texts = text.split("\n")
    lines: list[LayoutLine | None] = [None] * len(texts)
    if _MARKDOWN.search(text):
        parser, tokens = _parser(), list["Token"]()
        parser.block.parse(text.replace("\r\n", "\n"), parser, {}, tokens)
        for token in tokens:
            _mark(token, texts, lines)
    return [line or _written(text) for line, text in zip(lines, texts, strict=True)]


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # Indented lines and HTML are prose to a reader of the text, and a footnote is a line of it.
    disabled = ["code", "html_block", "reference", "blockquote"]
    return MarkdownIt("commonmark").enable("table").disable(disabled)


def _mark(token: Token, texts: list[str], lines: list[LayoutLine | None]) -> None:
    """Note the kind of the lines that a block covers."""
    start, end = token.map or (0, 0)
    if token.type in {"fence", "table_open"}:
        kind: LineKind = "code" if token.type == "fence" else "table"
        lines[start:end] = [LayoutLine(text, kind, start) for text in texts[start:end]]
    elif token.type == "heading_open" and "#" in token.markup:
        if texts[start].strip("# \t"):
            lines[start] = LayoutLine(texts[start], "heading", int(token.tag[1]), head=True)
    elif token.type == "heading_open":
        lines[end - 1] = LayoutLine(texts[end - 1], "rule")
        if end - start == 2:  # noqa: PLR2004 - and its line
            lines[start] = LayoutLine(texts[start], "heading", int(token.tag[1]), head=True)


def _written(text: str) -> LayoutLine:
    """Say of what kind a line is that no block of Markdown explains."""
    if not text or text.isspace():
        return LayoutLine(text, "blank")
    if text[0].isalpha() and text[0] not in _NUMERALS and not text.startswith(_ADDRESSED):
        return LayoutLine(text, "prose")
    if _RULE.fullmatch(text):
        return LayoutLine(text, "rule")
    head = bool(_HEADLIKE.fullmatch(text))
    if bullet := _BULLET.match(text):
        depth = len((bullet[1] or bullet[2] or "").expandtabs(4))
        return LayoutLine(text, "bullet", depth, head)
    if number := _NUMBER.match(text):
        return LayoutLine(text, "number", len(number[1].expandtabs(4)), head)
    return LayoutLine(text, "aside" if _ASIDE.fullmatch(text) else "prose", head=head)
