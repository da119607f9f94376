"""Finding the choice that a solution settles on: a letter, or the words of a choice.

Nothing here knows the gold answer, so a solution cannot be read in its favour.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from heedful.bench.grading import latex
from heedful.bench.grading.answers import stated_answer
from heedful.bench.grading.passages import boxed, last_boxed, sentences

if TYPE_CHECKING:
    from collections.abc import Mapping

_LEAD = (
    r"[\s*_:：=\"'“「(（\[【$\\{]{0,12}(?:(?:text|mathbf|mathrm|textbf|boxed)\{){0,3}"
    r"[*(（\[【]{0,4}"
)
_END = r"(?![\w'’])"
_STOP = r"(?=[)）\]】}*_\"'”」$\s]{0,12}(?:[.。,，;；:：!！]|$|\n))"
_WORD = r"(?:answer|ans\.?|option|choice|selection|letter|pick)"
_PHRASES = (
    # Each puts the label into L, or into @ in any case; stronger kinds of statement come first.
    (
        rf"\b{_WORD}(?:\s+(?:to|for|among|of|from)\ [^.\n]{{1,120}}?)?\s*"
        rf"[*_\"']*(?:is|are|would\ be|should\ be|must\ be|will\ be|:|：|=|[-–—])\s*"
        rf"(?:therefore|thus|likely|most\ likely)?\s*"
        rf"(?:{_WORD})?\s*{_LEAD}(?:L{_END}|@{_STOP})"
    ),
    (
        rf"(?:(?:正确|最佳)?答案|答(?=\s?[:：])|正确的?选项|正确的是)[】\]]?\s*(?:应该|应当|应)?\s*(?:而?是|为|选|:|：)*"
        rf"\s*(?:选项)?{_LEAD}L(?![A-Za-z])"
    ),
    rf"(?:应?选择?)\s*(?:选项)?{_LEAD}L(?![A-Za-z])",
    rf"\b(?:choose|pick|select|go\ with|opt\ for)\s+(?:{_WORD}\s+)?{_LEAD}L{_END}",
    (
        rf"(?<!\w){_LEAD}L{_END}(?:[)）\]】}}*_.:\"'”」$]*)\s*(?:[^.\n]{{0,160}}?)\s*"
        rf"\b(?:is|must\ be|would\ be)\s+(?:the\s+)?(?:(?:most|only|best)\s+)?"
        rf"(?:correct|right|true|best|accurate|appropriate|answer)\b"
    ),
    rf"(?:(?:∴|→|⇒|=>)|\b(?:so|thus|hence|therefore|is|option|choice))[,:：]?\s*(?:the\s+)?{_LEAD}L{_STOP}",
)
_ALONE = rf"(?:^|\n|[?？]\s)\s{{0,6}}{_LEAD}L(?:[)）\]】}}*_.。:$\\\s]{{0,12}})(?=$|\n)"
_OPENS = rf"^\s*(?:{_WORD}\s*)?{_LEAD}L(?:[)）\]】}}*_.。:：,$\\]|\s*$|\s*[-–—])"
_LAST = r"(?<!\w)[(（\[【]L[)）\]】](?=[^(（\[【\n]*\s*$)"
_JOINED = re.compile(
    r"[)）\]】}*]*\s*(?:,|and\b|or\b|&|/|和|或|、)\s*(?:and\b|or\b)?\s*[(（\[]*(?P<letter>[A-Z])(?![\w'])"
)
_WRAPPED = re.compile(r"\\(?:text|mathbf|mathrm|textbf|mathit|textit|rm|bf)\b\s*")
_WIDE_LETTERS = {ord("Ａ") + place: chr(ord("A") + place) for place in range(26)}
_MARKED = re.compile(r"<answer>\s*([^<]{1,200}?)\s*</answer>|####[ \t]*([^\n]{1,200})")


def choice_letter(text: str, choices: Mapping[str, str]) -> str | None:
    """Return the label of the choice that a text settles on, or ``None`` where it names none.

    Looked for in turn: the last box; a sentence that states the answer, in English or Chinese
    (the last one counts); a line with nothing but a label. After a box that names no label only a
    later statement counts. Where the labels are ``1`` to ``4``, letters in their order are
    understood.
    """
    labels = _labels(choices)
    text = text.translate(_WIDE_LETTERS)
    label = _only(_WRAPPED.sub("", text), labels)
    if label is not None:
        return label
    boxes = list(boxed(text))
    if not boxes:
        marked = [match[1] or match[2] for match in _MARKED.finditer(text)]
        return (_only(marked[-1], labels) if marked else None) or _stated(text, labels)
    box = last_boxed(text) or ""
    return (
        _only(_WRAPPED.sub("", box), labels)
        or _stated(box, labels)
        or _stated(text[boxes[-1].end :], labels)
    )


def choice_of_words(text: str, choices: Mapping[str, str]) -> str | None:
    """Return the label of the one choice that an answer gives in words instead of by its label."""
    keys = {label: _key(words) for label, words in choices.items()}
    said = last_boxed(text) or stated_answer(text)
    *_, last = ["", *sentences(text)]
    for answer in (said or text, last):
        key = _key(answer)
        same = [label for label, words in keys.items() if words == key != ""]
        if len(same) == 1:
            return same[0]
    ending = f" {_key(said if said and last_boxed(text) else last)} "
    named = [label for label, words in keys.items() if words and f" {words} " in ending]
    if len(named) != 1:
        return None
    words = keys[named[0]].split()
    several = len(words) > 1 or words in (ending.split()[:1], ending.split()[-1:])
    return named[0] if several else None


def _labels(choices: Mapping[str, str]) -> dict[str, str]:
    """Map what may stand for a choice to its label: the labels, and their counterparts."""
    own = {label.upper(): label for label in choices}
    if all(label.isdigit() for label in own):
        letters = {chr(ord("A") + place): label for place, label in enumerate(choices)}
        return letters | own
    return own


def _compiled(pattern: str, labels: Mapping[str, str]) -> re.Pattern[str]:
    letters = "|".join(map(re.escape, sorted(labels, key=len, reverse=True)))
    # The label in its own case only, or the article "a" would be an answer; another where marked @.
    pattern = pattern.replace("L", f"(?P<letter>(?-i:{letters}))", 1)
    pattern = pattern.replace("@", f"(?P<any>{letters})")
    return re.compile(pattern.replace(r"\ ", " "), re.IGNORECASE)


def _only(text: str, labels: Mapping[str, str]) -> str | None:
    """Read a short text that is a label, or a label with its choice."""
    stripped = text.strip(" \t\n()[]{}（）【】*$.。:：,\\\"'`")
    if stripped.upper() in labels:
        return labels[stripped.upper()]
    opening = _compiled(_OPENS, labels).match(text)
    if opening is None or "\n" in text.strip() or last_boxed(text) is not None:
        return None
    several = _several(text[opening.end("letter") :], labels)
    return None if several else labels[opening["letter"].upper()]


def _several(rest: str, labels: Mapping[str, str]) -> bool:
    """Check whether another label follows, as in ``A and C``; ``rest`` follows the first."""
    other = _JOINED.match(rest)
    return other is not None and other["letter"] in labels


def _stated(text: str, labels: Mapping[str, str]) -> str | None:
    """Return the label that the last statement of the strongest kind names."""
    for phrase in (*_PHRASES, _ALONE, _LAST):
        *_, labelled = [None, *_compiled(phrase, labels).finditer(text)]
        if labelled is not None:
            place = "any" if labelled.groupdict().get("any") else "letter"
            several = _several(text[labelled.end(place) :], labels)
            return None if several else labels[labelled[place].upper()]
    return None


def _key(text: str) -> str:
    """Reduce a text to its words, so that case and punctuation do not matter."""
    text = _WRAPPED.sub("", latex.tidy(text)).casefold()
    return " ".join(re.findall(r"[\w./%°+-]*\w|[^\W\d_]", text))
