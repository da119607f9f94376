"""IFEvalG's sentences in faithful scoring: its code has rules of its own, beside NLTK's Punkt.

Source: the public code (allenai/open-instruct at 14146d7), whose five verifiers of sentences all
use these.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from heedful.verify.text.english import splitter
from heedful.verify.text.tokens import bare_words, treebank_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from heedful.verify.text.prepared import Response

_INSIDE, _BOUNDARY = "\ue000", "\ue001"
"""Stand for a full stop inside of a sentence, and for the end of one."""

_BEGINNINGS = (
    r"Mr|Mrs|Ms|Dr|Prof|Capt|Cpt|Lt|Wherever"
    r"|(?:He|She|It|They|Their|Our|We|But|However|That|This)\s"
)
_RULES: list[tuple[str, str | Callable[[re.Match[str]], str]]] = [
    (r"(Mr|St|Mrs|Ms|Dr)\.", rf"\1{_INSIDE}"),
    (r"\.(com|net|org|io|gov|edu|me)", rf"{_INSIDE}\1"),
    (r"([0-9])\.([0-9])", rf"\1{_INSIDE}\2"),
    (r"\.{2,}", lambda dots: _INSIDE * len(dots[0]) + _BOUNDARY),
    (r"Ph\.D\.", f"Ph{_INSIDE}D{_INSIDE}"),
    (r"\s([A-Za-z])\. ", rf" \1{_INSIDE} "),
    (rf"([A-Z]\.[A-Z]\.(?:[A-Z]\.)?) ({_BEGINNINGS})", rf"\1{_BOUNDARY} \2"),
    (r"([A-Za-z])\.([A-Za-z])\.([A-Za-z])\.", rf"\1{_INSIDE}\2{_INSIDE}\3{_INSIDE}"),
    (r"([A-Za-z])\.([A-Za-z])\.", rf"\1{_INSIDE}\2{_INSIDE}"),
    (rf" (Inc|Ltd|Jr|Sr|Co)\. ({_BEGINNINGS})", rf" \1{_BOUNDARY} \2"),
    (r" (Inc|Ltd|Jr|Sr|Co)\.", rf" \1{_INSIDE}"),
    (r" ([A-Za-z])\.", rf" \1{_INSIDE}"),
    (r"\.”", "”."),
    (r'\."', '".'),
    (r'!"', '"!'),
    (r'\?"', '"?'),
    (r"[.?!]", rf"\g<0>{_BOUNDARY}"),
]
_COMPILED_RULES = [(re.compile(pattern), replacement) for pattern, replacement in _RULES]


def split_by_rules(text: str) -> list[str]:
    """Split English text into sentences by the rules that IFEvalG's code has beside Punkt's.

    Each rule is applied to what the one before it has left.
    """
    text = f" {text}  ".replace("\n", " ")
    for pattern, replacement in _COMPILED_RULES:
        text = pattern.sub(replacement, text)
    *pieces, last = map(str.strip, text.replace(_INSIDE, ".").split(_BOUNDARY))
    return [*pieces, last] if last else pieces


def sentences(response: Response, text: str | None = None) -> list[str]:
    """Split a response, or a part of it, into sentences; by rules where scoring is faithful."""
    if response.faithful is not None:
        return split_by_rules(response.text if text is None else text)
    return response.sentences if text is None else splitter().split(text)


def words_of(response: Response, sentence: str) -> list[str]:
    """Cut a sentence into words: as readers do, or faithfully, as NLTK does."""
    if response.faithful is None:
        return bare_words(sentence)
    return treebank_words(splitter().split(sentence))
