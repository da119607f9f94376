"""Verifiers of what sets text apart: tables of a shape, marks around a part, bold, a postscript."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from heedful.core.errors import VerifierError
from heedful.verify.base import Finding, amount, quoted, verifier, worded
from heedful.verify.custom.counting import CountRange, within
from heedful.verify.custom.parts import Decision, Outcome, all_outcomes, decide, of_part
from heedful.verify.custom.phrases import folded
from heedful.verify.text.layout import Layout, unmarked
from heedful.verify.text.prepared import Response

if TYPE_CHECKING:
    from heedful.verify.text.prepared import Response

_SHOWN = 40
"""Characters of a part that a finding quotes."""
_LONGEST_POSTSCRIPT = 4
"""Lines. What starts further from the end is followed by more than a postscript."""

# --- tables -------------------------------------------------------------------------------------

_BAR = re.compile(r"(?<!\\)\|")
_HTML_TABLE = re.compile(r"<table", re.IGNORECASE)

_Table = list[list[str]]
_SHAPE = (
    "[ {columns} columns][ at most {most_columns} columns][ {rows} rows][ {bounds} rows]"
    "[ the columns {headers}]."
)


def tables(layout: Layout) -> list[_Table]:
    """Find the tables of Markdown, each as its rows of cells, the header first."""
    return [
        [_cells(line.text) for line in (block[0], *block[2:])]
        for block in layout.blocks_of("table")
    ]


def _cells(line: str) -> list[str]:
    bare = re.sub(r"(?<!\\)\|$", "", line.strip().removeprefix("|"))
    return [unmarked(cell).strip() for cell in _BAR.split(bare)]


@verifier(
    "heedful:table",
    describe=lambda if_any, **args: (
        ("Let any table have" if if_any else "Write a table with") + worded(_SHAPE, args)
    ),
)
def table(  # noqa: PLR0913 - the shape of a table
    response: Response,
    *,
    columns: int | None = None,
    most_columns: int | None = None,
    rows: int | None = None,
    headers: list[str] | None = None,
    at_least: int | None = None,
    at_most: int | None = None,
    if_any: bool = False,
) -> Finding:
    """There is a table of a shape, or each that there is has it."""
    if rows is not None:
        at_least = at_most = rows
    if {columns, most_columns, at_least, at_most} == {None} and not headers:
        raise VerifierError("no shape is given", hint="give columns, rows or headers")
    present = tables(response.layout)
    if not present:
        other = _HTML_TABLE.search(response.text) or "\t" in response.text
        maybe = other or response.text.count("|") > 1
        return decide(None if maybe else if_any, "no table of Markdown")
    outcomes = [
        all_outcomes(_fits(each, columns, most_columns, (at_least, at_most), headers or []))
        for each in present
    ]
    shapes = [
        f"{amount(len(each[0]), 'column')} and {amount(len(each) - 1, 'row')}" for each in present
    ]
    words = f"{amount(len(present), 'table')}: {'; '.join(shapes)} below the header"
    if if_any:
        return decide(all_outcomes(outcomes), words)
    return decide(True if True in outcomes else None if None in outcomes else False, words)


def _rows_within(number: int, at_least: int | None, at_most: int | None) -> Outcome:
    """Check the number of rows; the header, which is one of them, may not count."""
    if at_least == at_most == number - 1:
        return True  # below a header, so many rows are so many
    return within(CountRange(number - 1, number), at_least, at_most)


def _fits(
    table: _Table,
    columns: int | None,
    most_columns: int | None,
    rows: tuple[int | None, int | None],
    headers: list[str],
) -> list[Outcome]:
    outcomes: list[Outcome] = []
    widths = {len(row) for row in table}
    if columns is not None:
        outcomes.append(widths == {columns} if len(widths) == 1 or columns not in widths else None)
    if most_columns is not None:
        outcomes.append(within(CountRange(min(widths), max(widths)), None, most_columns))
    if rows != (None, None):
        outcomes.append(_rows_within(len(table), *rows))
    names = [folded(cell) for cell in table[0]]
    for header in map(folded, headers):
        inside = any(header in name for name in names)
        outcomes.append(True if header in names else None if inside else False)
    return outcomes


# --- marks around a part ------------------------------------------------------------------------

_LEADING = re.compile(
    r"(?:#{1,6}\s*|[-*+•]\s+|\d+[.)、]\s*|>\s?)*(?:(?:标题|题目|title)\s*[:：]\s*)?", re.IGNORECASE
)
_BOLD = re.compile(r"(?:(\*\*\*?|___?)(?=\S).*\S\1|<(b|strong)>.*</\2>)[:：]?", re.DOTALL)
_ITALIC = re.compile(
    r"(?:(\*|_)(?![*_])(?=\S).*(?<![*_\s])\1|(\*\*\*|___)(?=\S).*\S\2|<(i|em)>.*</\3>)[:：]?",
    re.DOTALL,
)


def _past_marks(text: str) -> str:
    """Drop the marks of a heading, an item or a quotation, and "Title:", at the start of a text."""
    leading = _LEADING.match(text)
    return text[leading.end() :] if leading else text


@of_part(
    "heedful:wrapped",
    describe=lambda marks, what, **_: f"Wrap {what} in '{marks[0]}' and '{marks[-1]}'.",
    written=True,
)
def wrapped(layout: Layout, *, marks: list[str]) -> Decision:
    """The text starts with one mark and ends with another."""
    if len(marks) != 2 or not all(marks):  # noqa: PLR2004 - a pair
        raise VerifierError(f"marks is {marks!r}", hint="give the opening and the closing one")
    opening, closing = marks
    text = _past_marks(layout.text.strip())
    reason = f"it is '{text[:_SHOWN]}'"
    for form in (text, unmarked(text).strip()):
        inner = form[len(opening) : -len(closing)]
        if form.startswith(opening) and form.endswith(closing) and inner.strip():
            # "<<A>> and <<B>>" are two, with something between them.
            apart = 0 <= inner.find(closing) < inner.rfind(opening) or (
                opening == closing and opening in inner
            )
            return (None if apart else True), reason
    return (None if 0 <= text.find(opening) < text.rfind(closing) else False), reason


Style = Literal["bold", "italic"]


@of_part("heedful:emphasis", describe="Write {what} in {style}.", written=True)
def emphasis(layout: Layout, *, style: Style) -> Decision:
    """The text is bold or italic from its first word to its last."""
    pattern, marks = (_BOLD, ("**", "__", "<")) if style == "bold" else (_ITALIC, ("*", "_", "<"))
    text = layout.text.strip()
    bare = _past_marks(text)
    reason = f"it is '{text[:_SHOWN]}'"
    if pattern.fullmatch(bare) or pattern.fullmatch(text):
        return True, reason
    heading = style == "bold" and text.startswith("#")
    return (None if heading or any(mark in bare for mark in marks) else False), reason


# --- postscripts --------------------------------------------------------------------------------

_POSTSCRIPT = re.compile(r"p\W{0,2}s\b|postscript|附言|又及|附[:：]", re.IGNORECASE)


@verifier("heedful:postscript", describe="End with a postscript that starts with '{marker}'.")
def postscript(response: Response, *, marker: str = "P.S.") -> Finding:
    """The response ends with a postscript."""
    lines = [unmarked(line).strip() for line in response.text.split("\n")]
    lines = [line for line in lines if line]
    wanted = folded(marker)
    starts = [at for at, line in enumerate(lines) if folded(line).startswith(wanted)]
    if starts and len(lines) - starts[-1] <= _LONGEST_POSTSCRIPT:
        # Of nothing but a postscript nobody can say what it is added to.
        return decide(True if starts[-1] else None, f"'{lines[starts[-1]][:_SHOWN]}'")
    if starts:
        return decide(None, f"'{marker}' starts line {starts[-1] + 1} of {len(lines)}")
    if wanted in folded(response.text) or any(map(_POSTSCRIPT.match, lines)):
        return decide(None, f"something like a postscript, but no line starts with '{marker}'")
    return Finding(met=False, found=f"no line starts with '{marker}'")


# --- headings -----------------------------------------------------------------------------------

_AROUND_HEADING = re.compile(r"^[\W\d_]+|[\W_]+$")


@verifier(
    "heedful:headed",
    describe="Write sections with the headings {phrases}[ of level {level}].",
)
def headed(response: Response, *, phrases: list[str], level: int | None = None) -> Finding:
    """Each of the phrases is a heading, maybe of a level."""
    headings = [each for each in response.layout.headings if each.level]
    marked = {_AROUND_HEADING.sub("", folded(each.text)): each.level for each in headings}
    text = folded(response.layout.plain)
    wanted = {phrase: _AROUND_HEADING.sub("", folded(phrase)) for phrase in phrases}
    absent = [phrase for phrase, form in wanted.items() if form not in text]
    other = [phrase for phrase, form in wanted.items() if marked.get(form, level) != level]
    unsure = [phrase for phrase, form in wanted.items() if form not in marked]
    if absent or (other and level):
        return Finding(met=False, found=f"not there: {quoted(absent or other)}")
    return decide(None if unsure else True, f"no heading: {quoted(unsure)}" if unsure else "all")


# --- the order of lists -------------------------------------------------------------------------

_CUTS = (
    re.compile(r"\W+"),
    re.compile(r"^\W*(?:(?:the|an?) )?"),
    re.compile(r"(?<![\W_])[\W_]*[:(,–-].*"),
)


_ORDER = ("in order", "in order by some readings only")


@verifier(
    "heedful:items",
    describe=lambda alphabetical, distinct: (
        f"List items{' alphabetically' * alphabetical}{' without duplicates' * distinct}."
    ),
)
def items(response: Response, *, alphabetical: bool = False, distinct: bool = False) -> Finding:
    """The items of each list are in alphabetical order, or none occurs twice."""
    lists = [
        [folded(unmarked(each.partition("\n")[0])) for each in items]
        for items in response.layout.lists
        if len(items) > 1
    ]
    again = any(len(set(items)) < len(items) for items in lists)
    # By some, articles count, or marks before the first letter, or what is said of an item.
    kinds = [[[cut.sub("", item) for item in items] for items in lists] for cut in _CUTS]
    ordered = {all(items == sorted(items) for items in kind) for kind in kinds}
    latin = all(re.match(r"\W*[a-z]", item) for items in lists for item in items)
    several = len(lists) > 1 and ordered != {True}  # of which one may be meant
    open_ = not lists or (alphabetical and (len(ordered) > 1 or not latin or several))
    right = not alphabetical or ordered == {True}
    outcome = False if distinct and again else None if open_ else right
    found = f"{'an' if again else 'no'} item twice"
    if alphabetical and not (distinct and again):
        found = _ORDER[len(ordered) - 1] if True in ordered else "not in order"
    return decide(outcome, f"{amount(len(lists), 'list')}, {found}")


# --- between paragraphs -------------------------------------------------------------------------

_SENTENCE_END = re.compile("[.!?。！？…][\"'”’」』）)*_]*$")


@verifier("heedful:separated", describe="Separate paragraphs with {mark} lines.")
def separated(response: Response, *, mark: str = "blank") -> Finding:
    """Paragraphs are parted by blank lines, or by lines that hold a mark and nothing else."""
    lines = [line.strip() for line in response.text.strip().split("\n")]
    if mark != "blank":
        return decide(*_parted_by(lines, mark))
    written = [line for line in lines if line]
    if len(written) < 2:  # noqa: PLR2004 - nothing to part
        return decide(None, "there is one line")
    blank = len(lines) - len(written)
    together = [pair for pair in pairwise(lines) if all(pair)]
    if not together:
        return Finding(met=True, found=amount(blank, "blank line"))
    ended = all(_SENTENCE_END.search(line) for line in written)
    return decide(False if ended and not blank else None, amount(blank, "blank line"))


def _parted_by(lines: list[str], mark: str) -> tuple[Outcome, str]:
    pieces: list[list[str]] = [[]]
    for line in lines:
        if line == mark:
            pieces.append([])
        elif line:
            pieces[-1].append(line)
    reason = amount(len(pieces) - 1, f"line of '{mark}'")
    if not any(unicodedata.normalize("NFKC", mark) in line for line in lines):
        return (False if sum(map(len, pieces)) > 1 else None), reason
    sure = len(pieces) > 1 and all(len(piece) == 1 for piece in pieces)
    return (True if sure else None), reason
