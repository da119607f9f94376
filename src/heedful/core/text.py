"""Small helpers for text: words that messages share, line ends, blanks, and what may be shown."""

from __future__ import annotations

import math
import re
import unicodedata

SMALL = 0.001

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Controls that a terminal obeys, and those that turn the direction of what follows."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Beginnings of what a spreadsheet computes; the wide signs count too in East Asian versions."""

_MARKDOWN = re.compile(r"[\\`*_\[\]<>|~]")

_UNSEEN = frozenset("\u115f\u1160\u2800\u3164\uffa0\ufffc")
"""Characters that show nothing: Hangul's fillers, the empty braille pattern, an object's place."""


def amount(number: int, noun: str, plural: str = "") -> str:
    """Name a number of things.

    >>> amount(1, "row"), amount(2_000, "row"), amount(2, "criterion", "criteria")
    ('1 row', '2,000 rows', '2 criteria')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def dollars(paid: float) -> str:
    """Write a sum of money, the small ones so that they are not 0.

    >>> dollars(1234.5), dollars(0.0123), dollars(0.000042), dollars(0)
    ('$1,234.5000', '$0.0123', '$0.000042', '$0.0000')
    """
    places = 1 - math.floor(math.log10(paid)) if 0 < paid < SMALL else 4
    return f"${paid:,.{places}f}"


def unix_lines(text: str) -> str:
    r"""Write all line ends as ``\n``."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def is_blank(text: str) -> bool:
    r"""Tell whether a text shows nothing: at most white space and invisible characters.

    Controls, format characters (such as the zero-width space) and marks without a character to
    stand on count as invisible.

    >>> is_blank(" \u200b\ufeff\n"), is_blank(".")
    (True, False)
    """
    return all(unicodedata.category(char)[0] in "ZCM" or char in _UNSEEN for char in text)


def one_line(text: str, most: int) -> str:
    r"""Write the beginning of a text in one line, without signs that a terminal obeys.

    >>> one_line("a\n\x1b[31mb  c", 100), one_line("abcdef", 3)
    ('a [31mb c', 'abc…')
    """
    words = "".join(
        char if unicodedata.category(char)[0] != "C" else " " for char in text[: 4 * most]
    ).split()
    line = " ".join(words)
    cut = len(line) > most or len(text) > 4 * most
    return f"{line[:most].rstrip()}…" if cut else line


def printable(text: str) -> str:
    r"""Replace what a terminal would obey rather than show; line ends and tabs stay.

    >>> printable("red: \x1b[31m\n").encode("ascii", "namereplace")
    b'red: \\N{REPLACEMENT CHARACTER}[31m\n'
    """
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def markdown_cell(text: str) -> str:
    r"""Keep text from being read as Markdown or HTML, or as the end of a cell; in one line.

    >>> print(markdown_cell("a | *b*"))
    a \| \*b\*
    """
    return " ".join(_MARKDOWN.sub(r"\\\g<0>", printable(text)).split())


def spreadsheet_cell(value: object) -> str:
    """Write a cell of CSV so that a spreadsheet takes no text for a formula, and CSV can hold it.

    >>> spreadsheet_cell("=1+1"), spreadsheet_cell(-1), spreadsheet_cell(None)
    ("'=1+1", '-1', '')
    """
    text = "" if value is None else str(value).replace("\0", "\N{SYMBOL FOR NULL}")
    return f"'{text}" if isinstance(value, str) and text.startswith(_FORMULA) else text


def common_prefix(left: str, right: str) -> int:
    """Count the characters with which two texts begin alike, by bisection.

    >>> common_prefix("abcd", "abx"), common_prefix("a", "b")
    (2, 0)
    """
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
