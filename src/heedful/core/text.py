"""Small helpers for text: words that messages share, line ends, blanks."""

from __future__ import annotations

import unicodedata

__all__ = ["amount", "dollars", "is_blank", "one_line", "unix_lines"]

SMALL = 0.001

_UNSEEN = frozenset("\u115f\u1160\u2800\u3164\uffa0\ufffc")
"""Characters that show nothing: Hangul's fillers, the empty braille pattern, an object's place."""


def amount(number: int, noun: str, plural: str = "") -> str:
    """Name a number of things.

    >>> amount(1, "row"), amount(2_000, "row"), amount(2, "criterion", "criteria")
    ('1 row', '2,000 rows', '2 criteria')

    Args:
        number: how many.
        noun: what one of them is called.
        plural: the plural; by default the noun with an s.
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def dollars(paid: float) -> str:
    """Write a sum of money, the small ones so that they are not 0.

    >>> dollars(1234.5), dollars(0.0123), dollars(0.000042), dollars(0)
    ('$1,234.5000', '$0.0123', '$0.000042', '$0.0000')
    """
    return f"${paid:.2g}" if 0 < paid < SMALL else f"${paid:,.4f}"


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

    Args:
        text: any text, of any length.
        most: characters that are shown.
    """
    words = "".join(
        char if unicodedata.category(char)[0] != "C" else " " for char in text[: 4 * most]
    ).split()
    line = " ".join(words)
    cut = len(line) > most or len(text) > 4 * most
    return f"{line[:most].rstrip()}…" if cut else line
