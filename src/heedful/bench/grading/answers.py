"""Finding the final answer in a solution's text: the last box, a letter, a number.

Nothing here knows the gold answer, so a solution cannot be read in its favour.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from heedful.core.delimited import delimited

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_BOX = re.compile(r"\\(?:boxed|fbox)\s*")
_JOINT = re.compile(r"[\s,;.$&]*+(?:and|or|或|和)?[\s,;$\\()\[\]]*")
"""Text that may stand between boxes that hold one answer in pieces."""

_NUMBER = re.compile(
    r"""(?<![\w.])-?(?:\\?\$\s*)?-?
    (?:\d{1,3}(?:(?:,|\{,\})\d{3})+(?!\d)|\d+)?(?:(?<=\d)\.\d+|(?<!\d)\.\d+)?
    (?<=\d)(?:\s*/\s*\d+(?![\d.]))?(?:\s*\\?%)?""",
    re.VERBOSE,
)
_MATH = {"$$": "$$", r"\[": r"\]", "$": "$", r"\(": r"\)"}
_STATED = re.compile(
    r"""(?:final\ answer|answer|answer\ to\ [^.:\n]{1,80}|答案)\s*
    (?:is\s*:?|为|是|:|：|=)[\s*]*(?P<answer>[^\n]+)""",
    re.IGNORECASE | re.VERBOSE,
)
_HASHES = re.compile(r"####\s*(?P<answer>[^\n]+)")
_SENTENCE_END = re.compile(r"[.。!！](?=\s|$|\*)")
_LEADING = re.compile(r"(?:[ *$`\"']|\.(?!\d))+")
_PARAGRAPHS = re.compile(r"\n\s*\n")

_LEAD = r"[\s*_:：=\"'“「(（\[【$\\{]*(?:(?:text|mathbf|mathrm|textbf|boxed)\{)*[(（\[【*]*"
_END = r"(?![\w'’])"
_WORD = r"(?:answer|option|choice|selection)"
_PHRASES = (
    # Each puts the letter into the group L; stronger kinds of statement come first.
    (
        rf"\b(?:final|correct|best|right|most\ likely)?\s*{_WORD}"
        rf"(?:\s+(?:to|for|among|of|from)\ [^.\n]{{1,120}}?)?\s*"
        rf"(?:is|are|would\ be|should\ be|must\ be|will\ be|:|：|=)\s*"
        rf"(?:therefore|thus|clearly|indeed|likely|most\ likely|probably)?\s*"
        rf"(?:{_WORD}|letter)?\s*{_LEAD}L{_END}"
    ),
    (
        rf"(?:答案|正确答案|正确选项|最佳答案|正确的选项|正确的是)\s*(?:应该|应当|应)?\s*(?:是|为|选|:|：)*"
        rf"\s*(?:选项)?{_LEAD}L(?![A-Za-z])"
    ),
    rf"(?:故选|应选|因此选|所以选|应该选择|应选择|我选择|我选|选择|选)\s*(?:选项)?{_LEAD}L(?![A-Za-z])",
    rf"\b(?:choose|pick|select|go\ with|opt\ for)\s+(?:{_WORD}\s+)?{_LEAD}L{_END}",
    (
        rf"{_LEAD}L(?:[)）\]】}}*_.:\"'”」$]*)\s*(?:[^.\n]{{0,160}}?)\s*\bis\s+(?:therefore\s+|thus\s+)?"
        rf"(?:the\s+)?(?:(?:most|only|best)\s+)?(?:correct|right|best|accurate|appropriate)"
        rf"(?:\s+(?:answer|option|choice))?\b"
    ),
    rf"(?:选项)?{_LEAD}L(?:[)）\]】}}*]*)\s*(?:选项)?\s*(?:是|为)?(?:正确|对)的?(?:答案|选项)?",
)
_ALONE = rf"(?:^|\n)\s*{_LEAD}L(?:[)）\]】}}*_.。:$\\\s]*)(?=$|\n)"
_OPENS = rf"^\s*(?:{_WORD}\s*)?{_LEAD}L(?:[)）\]】}}*_.。:：,$\\]|\s*$|\s*[-–—])"
_BRACKETED = r"[(（\[【]\s*L\s*[)）\]】]"
_JOINED = re.compile(
    r"[)）\]】}*]*\s*(?:,|and\b|or\b|&|/|和|或)\s*[(（\[]*(?P<letter>[A-Z])(?![\w'])"
)
_NEGATED = re.compile(
    r"\b(?:not|never|isn['’]t|cannot|incorrect|wrong|neither)\b|不是|不选|错误", re.IGNORECASE
)
_WRAPPED = re.compile(r"\\(?:text|mathbf|mathrm|textbf|mathit|textit|rm|bf)\b\s*")


def boxed(text: str) -> Iterator[tuple[int, int, str]]:
    r"""Give each ``\boxed{…}`` or ``\fbox{…}``: where it starts and ends, and what it holds.

    Braces are balanced; ``\{`` and ``\}`` do not count. A box that never closes is left out, and
    so are boxes inside a box.
    """
    at = 0
    while match := _BOX.search(text, at):
        at = match.end()
        if at < len(text) and text[at] != "{":  # \boxed 5
            word = re.match(r"[^\s{}$.,;]+", text[at:])
            if word:
                yield match.start(), at + word.end(), word.group()
            continue
        end = _closing(text, at)
        if end is not None:
            yield match.start(), end + 1, text[at + 1 : end].strip()
            at = end + 1


def _closing(text: str, opening: int) -> int | None:
    """Return the place of the brace that closes the one at ``opening``."""
    depth = 0
    place = opening
    while place < len(text):
        character = text[place]
        if character == "\\":
            place += 1
        elif character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if not depth:
                return place
        place += 1
    return None


def last_boxed(text: str) -> str | None:
    r"""Return what the last box holds, or ``None`` where there is no box.

    Boxes with nothing but ``and``, ``or`` or a comma between them are one answer in pieces and are
    joined by commas: ``\boxed{3} and \boxed{7}`` is ``3, 7``. Empty boxes are passed over.
    """
    boxes = [box for box in boxed(text) if box[2]]
    if not boxes:
        return None
    pieces = [boxes[-1]]
    for box in reversed(boxes[:-1]):
        if not _JOINT.fullmatch(text[box[1] : pieces[0][0]]):
            break
        pieces.insert(0, box)
    contents = list(dict.fromkeys(piece[2] for piece in pieces))
    return ", ".join(contents)


def numbers(text: str) -> list[str]:
    """Return the numbers of a text as they are written: ``1,200``, ``-3.5``, ``3/4``, ``62.5%``."""
    matches = (match.group() for match in _NUMBER.finditer(text))
    return [re.sub(r"[\s\\$]", "", number) for number in matches if number]


def final_number(text: str) -> str | None:
    """Return the last number of a text.

    >>> final_number("So she pays $1,200 in all.")
    '1,200'
    """
    every = numbers(text)
    return every[-1] if every else None


def final_answer(text: str) -> str | None:
    """Return the answer that a solution of an open problem ends on.

    In turn: the last box, after ``####`` (as GSM8K ends), after ``the answer is``, the last
    formula of the last paragraph, the last number. ``None`` where there is none of them.
    """
    box = last_boxed(text)
    if box is not None:
        return box
    hashes = list(_HASHES.finditer(text))
    if hashes:
        return hashes[-1]["answer"].strip()
    stated = list(_STATED.finditer(text))
    if stated:
        return _core(stated[-1]["answer"])
    last = _PARAGRAPHS.split(text.strip())[-1]
    formulas = [formula.content for formula in delimited(last, _MATH)]
    if formulas:
        return formulas[-1].strip()
    return final_number(last) or final_number(text)


def _core(stated: str) -> str:
    """Cut a stated answer to its formula, else to its first sentence."""
    formula = next(delimited(stated, _MATH), None)
    if formula and formula.start <= len("approximately "):
        return formula.content.strip()
    end = _SENTENCE_END.search(stated)
    core = (stated[: end.start()] if end else stated).rstrip(" *.$`\"'")
    opening = _LEADING.match(core)
    return core[opening.end() :] if opening else core


def choice_letter(text: str, choices: Mapping[str, str]) -> str | None:
    """Return the label of the choice that a text settles on, or ``None`` where it names none.

    Looked for in turn: the last box; a sentence that states the answer, in English or Chinese
    (the last one counts); a line with nothing but a label. After a box that names no label only a
    later statement counts. An answer in the words of a choice isn't a label: see
    :func:`choice_of_words`. Where the labels are ``1`` to ``4``, letters in their order are
    understood.

    Args:
        text: a bare label (``B``, ``(b)``) or a whole solution.
        choices: the labels and what they stand for, in order; the texts may be empty.
    """
    labels = _labels(choices)
    label = _only(_WRAPPED.sub("", text), labels)
    if label is not None:
        return label
    boxes = [box for box in boxed(text) if box[2]]
    if not boxes:
        return _stated(text, labels)
    box = last_boxed(text) or ""
    return (
        _only(_WRAPPED.sub("", box), labels)
        or _stated(box, labels)
        or _stated(text[boxes[-1][1] :], labels)
    )


def choice_of_words(text: str, choices: Mapping[str, str]) -> str | None:
    """Return the label of the one choice that an answer gives in words instead of by its label.

    Args:
        text: an answer or a whole solution; of this, the box or the stated answer is compared.
        choices: the labels and what they stand for.
    """
    stated = [match["answer"] for match in _STATED.finditer(text)]
    key = _key(last_boxed(text) or (_core(stated[-1]) if stated else text))
    same = [label for label, words in choices.items() if key and _key(words) == key]
    return same[0] if len(same) == 1 else None


def _labels(choices: Mapping[str, str]) -> dict[str, str]:
    """Map what may stand for a choice to its label: the labels, and their counterparts."""
    own = {label.upper(): label for label in choices}
    if all(label.isdigit() for label in own):
        letters = {chr(ord("A") + place): label for place, label in enumerate(choices)}
        return letters | own
    return own


def _compiled(pattern: str, labels: Mapping[str, str]) -> re.Pattern[str]:
    letters = "|".join(map(re.escape, sorted(labels, key=len, reverse=True)))
    # The label itself in its own case only, or the article "a" would be an answer.
    return re.compile(
        pattern.replace(r"\ ", " ").replace("L", f"(?P<letter>(?-i:{letters}))", 1),
        re.IGNORECASE,
    )


def _only(text: str, labels: Mapping[str, str]) -> str | None:
    """Read a short text that is a label, or a label with its choice."""
    stripped = text.strip(" \t\n()[]{}（）【】*$.。:：,\\\"'`")
    if stripped.upper() in labels:
        return labels[stripped.upper()]
    opening = _compiled(_OPENS, labels).match(text)
    if opening is None or "\n" in text.strip() or last_boxed(text) is not None:
        return None
    rest = text[opening.end("letter") :]
    if _several(rest, labels) or _compiled(_BRACKETED, labels).search(rest):
        return None
    return labels[opening["letter"].upper()]


def _several(rest: str, labels: Mapping[str, str]) -> bool:
    """Check whether another label follows, as in ``A and C``; ``rest`` follows the first."""
    other = _JOINED.match(rest)
    return other is not None and other["letter"] in labels


def _stated(text: str, labels: Mapping[str, str]) -> str | None:
    """Return the label that the last statement of the strongest kind names."""
    for phrase in (*_PHRASES, _ALONE):
        labelled = None
        for match in _compiled(phrase, labels).finditer(text):
            statement = text[match.start() : match.start("letter")]
            if not _NEGATED.search(statement) and not _NEGATED.search(match.group()):
                labelled = match
        if labelled is None:
            continue
        if _several(text[labelled.end("letter") :], labels):
            return None
        return labels[labelled["letter"].upper()]
    return None


def _key(text: str) -> str:
    """Reduce a text to its words, so that case and punctuation do not matter."""
    text = _WRAPPED.sub("", text).casefold()
    return " ".join(re.findall(r"[\w./%°+-]*\w|[^\W\d_]", text))
