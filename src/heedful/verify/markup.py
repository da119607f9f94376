"""Markup that opens and closes: links, bold passages, code blocks, tags.

A response may open thousands of links and close none, as a policy that collapses does; all of this
takes time in proportion to its length.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from heedful.verify.text.lines import without_code

if TYPE_CHECKING:
    from collections.abc import Container


# --- Markdown -----------------------------------------------------------------------------------

_ADDRESS = re.compile(r"(?i:https?|ftp)://[^\s)\]>，。）】]+")
_PIECE = re.compile(r"[^)\s]+\)?")
# In a piece that ends in ")": a link's target goes on to that end.
_ADDRESS_OR_TARGET = re.compile(rf"{_ADDRESS.pattern}|\]\((?!https?:)[^)\s].*")
_IMAGE = re.compile(r"!\[[^\]\n]{0,200}\]\(")
_ADDRESS_AS_LABEL = re.compile(r"\[(?:https?://|www\.)[^\]\s]{0,1000}\]\(")
_DOMAINS = "ai app cn co com de dev edu eu fr gov info io jp me net org tv uk us xyz"
# What some call a link although it isn't one that can be followed as it stands.
_POSSIBLE = re.compile(
    rf"(?<![\w@/.-])(?:[\w-]{{1,63}}\.){{1,4}}(?:{'|'.join(_DOMAINS.split())})(?!\w)"
    r"|(?<!\S)www\.\S|(?<![\w-])mailto:|[\w.-]{1,64}@[\w-]{1,63}\.|\]\[|\]\(\)|\]\([^\S\n]|^\[[^\]\n]{1,99}\]:"
    r"|<a\s|(?<![:/\w])//\w",
    re.MULTILINE | re.IGNORECASE,
)


def _targets(text: str) -> int:
    if "](" not in text:
        return len(_ADDRESS.findall(text))
    patterns = (_ADDRESS, _ADDRESS_OR_TARGET)
    return sum(len(patterns[each.endswith(")")].findall(each)) for each in _PIECE.findall(text))


def links(text: str) -> int:
    """Count addresses, and other targets of Markdown's links, but for those of images."""
    number = _targets(text)
    if "](" in text:
        number -= len(_IMAGE.findall(text)) + len(_ADDRESS_AS_LABEL.findall(text))
    return max(number, 0)


def possible_links(text: str) -> int:
    """Count what may be a link: also images, domains, mail addresses and links of HTML."""
    return _targets(text) + len(_POSSIBLE.findall(text))


_NAMES_OF_CODE = "init|main|name|call|str|repr|file|doc|all|new|del|len|iter|next|enter|exit|dict"
_BOLD_TEXT = re.compile(
    r"(?<![A-Za-z0-9])\*\*(?=[^\s*])[^*\n]+(?<!\s)\*\*(?![A-Za-z0-9])"
    rf"|(?<!\w)__(?!\s|(?:{_NAMES_OF_CODE})__)[^_\n]+(?<!\s)__(?!\w)"
)
_MAYBE_BOLD_TEXT = re.compile(r"\*\*(?=\S)(?:[^*\n]|\*(?!\*))++\*\*|(?<!\w)__(?=\S)[^_\n]+__(?!\w)")
_BOLD_TAG = re.compile(r"<(?:b|strong)>(?=[^<\n])")


def bold_passages(text: str) -> list[int]:
    """Count bold passages of a line outside of code: those that surely are, and that may be."""
    if "**" not in text and "__" not in text and "<" not in text:
        return [0, 0]
    text = without_code(text)
    sure, maybe = (len(each.findall(text)) for each in (_BOLD_TEXT, _MAYBE_BOLD_TEXT))
    tagged = len(_BOLD_TAG.findall(text))
    return [sure + tagged, max(sure, maybe) + tagged]


_MARK = re.compile(
    r"\*\*(?=\S)[^*\n]+\*\*|^(?:\s{0,3}#{1,6}\s+\S|[^\S\n]*(?:```|~~~)"
    r"|[^\S\n]*(?:\|\s*)?:?-{2,}+:?(?:\s*+\|\s*+:?-{2,}+:?)+\s*(?:\|\s*)?$)"
    r"|\[[^\[\]\n]++\]\([^()\n]+\)",
    re.MULTILINE,
)


def markdown_marks(text: str) -> int:
    """Count what nobody writes but in Markdown: headings, bold, fences, links, tables."""
    return len(_MARK.findall(text))


# --- code blocks --------------------------------------------------------------------------------

_OPENING_FENCE = re.compile(r"(?:`{3,}+|~~~)[^\n`]*+(?P<complete>\n)?")
_FENCE = re.compile(r"```|~~~")
_FENCED = re.compile(r"(?:```|~~~)[^\n`]*+\n(?P<content>.*)(?:```|~~~)", re.DOTALL)


def code_blocks(text: str) -> list[str]:
    """List the contents of the code blocks, without the white space that ends them."""
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
    """Return the content of a code block that is the whole text, ``None`` where it is not."""
    block = _FENCED.fullmatch(text)
    return block["content"].rstrip() if block else None


# --- tags ---------------------------------------------------------------------------------------

_OPENING = re.compile(r"<(\w+)")
_CLOSING = re.compile(r"</(\w+)>")
_TAG_NAME = re.compile(r"<\w")


def has_tag(text: str) -> bool:
    """Check whether there is something like a tag, opening or empty."""
    return bool(_TAG_NAME.search(text, 0, max(text.rfind(">"), 0)))


def has_element(text: str, names: Container[str]) -> bool:
    """Check whether one of some tags is opened and closed, in any case of letters."""
    if "</" not in text:
        return False
    lower = text.lower()
    closings = {match[1]: match.start() for match in _CLOSING.finditer(lower) if match[1] in names}
    end = -1
    for opening in _OPENING.finditer(lower) if closings else ():
        if end < opening.end():
            end = lower.find(">", opening.end())
            if end < 0:
                break
        if closings.get(opening[1], -1) > end:
            return True
    return False


def xml_fault(text: str) -> str | None:
    """Say why a text isn't a well-formed document of XML, or ``None`` where it is."""
    from xml.parsers import expat

    parser = expat.ParserCreate()

    def refuse(*_: object) -> None:
        raise ValueError(
            "it declares a type of its own"
        )  # whose entities could grow without bounds

    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(text.encode("utf-8", "surrogatepass"), True)  # noqa: FBT003 - takes no name
    except (expat.ExpatError, ValueError) as error:
        return str(error)
    return None
