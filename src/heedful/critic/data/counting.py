"""Counting for a constraint: the units that its text names, in a part of the response.

This is the one place that knows what can be counted. A constraint is decided by its own check or,
where it limits no amount (a phrase, a format, a language), by the one that its text compiles to; of
any other one the units are counted that its text names.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from heedful import verify
from heedful.core.errors import VerifierError
from heedful.judges.prompts import block_layout as layout
from heedful.verify.compiler.compile import compile_constraint
from heedful.verify.ifeval.multiif import count_sentences

if TYPE_CHECKING:
    from collections.abc import Callable

    from heedful.core.nouns import Constraint
    from heedful.verify import Finding

_NUMBER = re.compile(
    r"[0-9０-９一二两三四五六七八九十百千]"
    r"|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty"
    r"|forty|fifty|sixty|hundreds?|thousands?|dozens?|single|half|couple)\b",
    re.IGNORECASE,
)
_ITEM = re.compile(
    r"^[ \t]*(?:[-*+•·]\s|\(?\d{1,3}[.)、）]|[（(]?[一二三四五六七八九十]{1,3}[、）)])",
    re.MULTILINE,
)


class _Unit(NamedTuple):
    """Something that can be counted."""

    named: re.Pattern[str]
    count: Callable[[str], int]
    en: str
    zh: str


def _lines(text: str) -> int:
    return sum(1 for line in text.splitlines() if line.strip())


_UNITS = (
    _Unit(
        re.compile(r"\bwords?\b|[字词]", re.IGNORECASE),
        verify.count_words,
        "words",
        "字（不计标点）",
    ),
    _Unit(
        re.compile(r"\b(?:characters?|letters?)\b|字", re.IGNORECASE),
        lambda text: len("".join(text.split())),
        "characters without white space",
        "个字符（计标点，不计空白）",
    ),
    _Unit(
        re.compile(r"\bcharacters?\b", re.IGNORECASE),
        lambda text: len(text.strip()),
        "characters with white space",
        "个字符（计标点和空白）",
    ),
    _Unit(
        re.compile(r"\bsentences?\b|句", re.IGNORECASE),
        lambda text: count_sentences(verify.Response(text)),
        "sentences",
        "句",
    ),
    _Unit(
        re.compile(r"\bparagraphs?\b|段", re.IGNORECASE),
        lambda text: len(verify.Response(text).paragraphs),
        "paragraphs between blank lines",
        "段（以空行分隔）",
    ),
    _Unit(
        re.compile(r"\b(?:lines?|verses?)\b|行", re.IGNORECASE),
        _lines,
        "lines that are not blank",
        "行（不计空行）",
    ),
    _Unit(
        re.compile(
            r"\b(?:items?|bullets?|points?|steps?|tips|reasons|examples|suggestions)\b|[条项点]",
            re.IGNORECASE,
        ),
        lambda text: len(_ITEM.findall(text)),
        "list items",
        "个列表项",
    ),
)


def measurable(constraint: Constraint) -> bool:
    """Tell whether the text of a constraint may limit an amount that can be counted.

    It does if it has a number and names a unit; that it limits something is for a model to say.

    >>> from heedful.core.nouns import Constraint
    >>> [measurable(Constraint(text=text)) for text in ("Use 50 words.", "不少于三段", "Be 20.")]
    [True, True, False]
    """
    text = constraint.text
    return bool(_NUMBER.search(text)) and any(unit.named.search(text) for unit in _UNITS)


def measure(segment: str, constraint: Constraint) -> str | None:
    """Count in a part of a response what a constraint speaks of.

    >>> from heedful.core.nouns import Constraint
    >>> measure("One, two. Three!", Constraint(text="At most 3 words in a single sentence."))
    '3 words, 2 sentences'

    Args:
        segment: the part.
        constraint: names the units.

    Returns:
        The counts in words, in the constraint's language; ``None`` where it names nothing that
        can be counted, or the segment is in a script in which it cannot.
    """
    chinese = layout.language_of(constraint.text) == "zh"
    counts = []
    for unit in _UNITS:
        if unit.named.search(constraint.text):
            try:
                number = unit.count(segment)
            except VerifierError:
                continue
            counts.append(f"{number}{unit.zh}" if chinese else f"{number} {unit.en}")
    return ("，" if chinese else ", ").join(counts) or None


def decide(response: str, constraint: Constraint) -> Finding | None:
    """Decide a constraint by code, where code can see all of it.

    By its own check, or by the one that its text compiles to. Limits on an amount are left to
    :func:`measure`: to which part of the response they apply is for a model to say.
    """
    check = constraint.check
    if check is None and not measurable(constraint):
        check = compile_constraint(constraint.text).check
    if check is None:
        return None
    try:
        return verify.check(check, verify.Response(response))
    except VerifierError:
        return None
