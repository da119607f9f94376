"""Markup that opens and closes: links, bold passages, code blocks, tags.

A response may open thousands of links and close none, as a policy that collapses does; all of this
takes time in proportion to its length.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from heedful.core.delimited import Ahead

if TYPE_CHECKING:
    from collections.abc import Callable


def _count_closed(
    pattern: re.Pattern[str], text: str, end: Callable[[re.Match[str]], int | None]
) -> int:
    """Count a pattern's matches; of those that only open something, the ones that have an end."""
    number = at = 0
    while match := pattern.search(text, at):
        closed = end(match) if match["opened"] else match.end()
        number += closed is not None
        at = match.end() if closed is None else closed
    return number


# --- Markdown -----------------------------------------------------------------------------------

_ADDRESS = re.compile(r"https?://[^\s)\]>，。）】]+")
_PIECE = re.compile(r"[^)\s]+\)?")
# In a piece that ends in ")": a link's target goes on to that end.
_ADDRESS_OR_TARGET = re.compile(rf"{_ADDRESS.pattern}|\]\((?!https?:)[^)\s].*")


def links(text: str) -> int:
    """Count addresses, and other targets of Markdown's links.

    >>> links("See [here](a.md), [there](https://a.b) and https://c.d")
    3
    """
    if "](" not in text:
        return len(_ADDRESS.findall(text))
    patterns = (_ADDRESS, _ADDRESS_OR_TARGET)
    return sum(len(patterns[each.endswith(")")].findall(each)) for each in _PIECE.findall(text))


_BOLD = re.compile(
    r"\*\*(?=\S)[^*\n]+\*\*|(?<!\w)__(?=\S)[^_\n]+__(?!\w)|<(?P<opened>b|strong)>(?=.)"
)
_BOLD_ENDS = {"b": re.compile(r"</b>|\n"), "strong": re.compile(r"</strong>|\n")}


def bold_passages(text: str) -> int:
    """Count passages of a line between two asterisks, two underscores or HTML's tags.

    >>> bold_passages("**Rain**, __snow__ and <b>hail</b>, but no **sun")
    3
    """
    ahead = {tag: Ahead(pattern, text) for tag, pattern in _BOLD_ENDS.items()}

    def end(opening: re.Match[str]) -> int | None:
        # At least one character stands between the tags, even of another tag.
        closing = ahead[opening["opened"]].after(opening.end() + 1)
        return closing.end() if closing and closing[0] != "\n" else None

    return _count_closed(_BOLD, text, end)


_MARK_BUT_LINK = re.compile(
    r"\*\*(?=\S)[^*\n]+\*\*|^(?:\s{0,3}#{1,6}\s+\S|[^\S\n]*(?:```|~~~)"
    r"|[^\S\n]*(?:\|\s*)?:?-{2,}+:?(?:\s*+\|\s*+:?-{2,}+:?)+\s*(?:\|\s*)?$)",
    re.MULTILINE,
)
_MARK = re.compile(rf"{_MARK_BUT_LINK.pattern}|(?P<opened>\[)(?=[^\]\n])", re.MULTILINE)
_LABEL_END, _TARGET_END = re.compile(r"[\]\n]"), re.compile(r"[)\n]")


def markdown_marks(text: str) -> int:
    r"""Count what nobody writes but in Markdown: headings, bold, fences, links, tables.

    >>> markdown_marks("# Rain\n[here](a.b) and [not here] **there**")
    3
    """
    if "](" not in text:
        return len(_MARK_BUT_LINK.findall(text))
    labels, targets = Ahead(_LABEL_END, text), Ahead(_TARGET_END, text)

    def end(opening: re.Match[str]) -> int | None:
        label = labels.after(opening.end())
        if label is None or not text.startswith("](", label.start()):
            return None
        start = label.end() + 1
        target = targets.after(start)
        if target is None or target[0] == "\n" or target.start() == start:
            return None
        return target.end()

    return _count_closed(_MARK, text, end)


# --- code blocks --------------------------------------------------------------------------------

_OPENING_FENCE = re.compile(r"(?:`{3,}+|~~~)[^\n`]*+(?P<complete>\n)?")
_FENCE = re.compile(r"```|~~~")
_FENCED = re.compile(r"(?:```|~~~)[^\n`]*+\n(?P<content>.*)(?:```|~~~)", re.DOTALL)


def code_blocks(text: str) -> list[str]:
    r"""List the contents of the code blocks, without the white space that ends them.

    >>> code_blocks("First:\n```json\n{}\n```\nThen:\n~~~\n[]\n~~~")
    ['{}', '[]']
    """
    blocks: list[str] = []
    if "```" not in text and "~~~" not in text:
        return blocks
    at = 0
    while opening := _OPENING_FENCE.search(text, at):
        at = opening.end()
        if opening["complete"]:
            closing = _FENCE.search(text, at)
            if closing is None:
                break
            blocks.append(text[at : closing.start()].rstrip())
            at = closing.end()
    return blocks


def code_block_alone(text: str) -> str | None:
    r"""Return the content of a code block that is the whole text, ``None`` where it is not.

    >>> code_block_alone("```json\n{}\n```"), code_block_alone("Here:\n```\n{}\n```")
    ('{}', None)
    """
    block = _FENCED.fullmatch(text)
    return block["content"].rstrip() if block else None


# --- tags ---------------------------------------------------------------------------------------

_OPENING = re.compile(r"<([\w:-]+)")
_CLOSING = re.compile(r"</(\w+)>")
_PREFIXED_CLOSING = re.compile(r"</([\w:-]+)>")
_TAG_NAME = re.compile(r"<\w")


def has_tag(text: str) -> bool:
    """Check whether there is something like a tag, opening or empty.

    >>> has_tag("a <br> b"), has_tag("a < b > c")
    (True, False)
    """
    return bool(_TAG_NAME.search(text, 0, max(text.rfind(">"), 0)))


def has_element(text: str, *, prefixed: bool = False) -> bool:
    """Check whether a tag is opened and closed, in any case of letters.

    Args:
        text: to be searched.
        prefixed: the names of tags may hold colons and hyphens, as in XML.

    >>> has_element("<p class=a>rain</P>"), has_element("</p><p>")
    (True, False)
    """
    if "</" not in text:
        return False
    lower = text.lower()
    pattern = _PREFIXED_CLOSING if prefixed else _CLOSING
    closings = {match[1]: match.start() for match in pattern.finditer(lower)}
    if not closings:
        return False
    sizes = sorted({len(name) for name in closings})
    end = -1
    for opening in _OPENING.finditer(lower):
        if end < opening.end():
            end = lower.find(">", opening.end())
            if end < 0:
                break
        # A longer name may be one of these with something behind it.
        name = opening[1]
        fitting = sizes[: bisect_right(sizes, len(name))]
        if any(closings.get(name[:size], -1) > end for size in fitting):
            return True
    return False
