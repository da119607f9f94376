"""Finding the final answer in a solution's text: the last box, a letter, a number.

Nothing here knows the gold answer, so a solution cannot be read in its favour.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from heedful.core.delimited import delimited

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from heedful.core.delimited import Passage

_LONGEST_TAIL = 80
"""Characters of a formula at the end of a sentence."""

_BOX = re.compile(r"\\(?:boxed|fbox)\s*")
_JOINT = re.compile(
    r"""(?:[\s,;.$&]|\\(?:quad|qquad)(?![a-zA-Z])|\\[,;:()\[\]]|(?:and|or)(?![a-zA-Z])|[或和、，]
    |\\(?:text|mathrm)\{[^{}]*(?:\b(?:and|or)\b|,|[或和])[^{}]*\}|[a-zA-Z](?:_\{?\w+\}?)?\s*=)*+""",
    re.VERBOSE,
)
"""Text that may stand between boxes or formulas that hold one answer in pieces."""

_NUMBER = re.compile(
    r"""(?<![A-Za-z0-9_.^])[-−]?(?:\\?\$\s*)?[-−]?
    (?:\d{1,3}(?:(?:,|\{,\})\d{3})+(?!\d)|\d+,\d\d?(?![\d,])|\d+)?(?:(?<=\d)\.\d+|(?<!\d)\.\d+)?
    (?<=\d)(?:\s*/\s*\d+(?!\d|\.\d))?(?:\s*\\?%)?""",
    re.VERBOSE,
)
_MATH = {"$$": "$$", r"\[": r"\]", "$": "$", r"\(": r"\)"}
_PROSE = re.compile(r"(?<![\\a-zA-Z])[a-zA-Z]{2,}[ ,]+[a-zA-Z]+[ ,]")
_STATED = re.compile(
    r"""(?:final\ answer|answer|answer\ to\ [^.:\n]{1,80}|答案)\**\s*
    (?:is\s*:?|为|是|:|：|=)[\s*]*(?P<answer>[^\n]+)""",
    re.IGNORECASE | re.VERBOSE,
)
_FINAL = re.compile(
    r"final answer is:?\s*(?P<answer>\$[^$\n]*\d[^$\n]*\$[^\n]*|-?\d[^\n]*)", re.IGNORECASE
)
_MARKED = re.compile(r"<answer>\s*(?P<marked>.*?)\s*</answer>|####\s*(?P<answer>[^\n]+)", re.DOTALL)
_SENTENCE_END = re.compile(r"[.!！](?=\s|$|\*)|[。\n]|(?<=\$\$)\s+(?=[A-Z])|(?<=\\\])\s+(?=[A-Z])")
_NAMED = re.compile(r"[\s$)\\\]]*(?:is|are|equals)\b")
_SENTENCE_WORDS = 6
_VALUE = re.compile(r"[\d=<>]|\\[a-z]")
_LEADING = re.compile(r"(?:[ *$`\"']|\.(?!\d))+")
_PARAGRAPHS = re.compile(r"\n\s*\n")
_INTRODUCED = re.compile(
    r"""(?:=|\b(?:is|are|was|were|be|equals?|only|so|gives?|get|makes?|made|earns?|costs?|pays?|takes?
    |spends?|needs?|has|have|had|left|total\ of|sum\ of)\b|[为是得有共剩])\s*:?\s*
    (?:(?!and\b|or\b)[a-zA-Z]+\s+){0,2}$""",
    re.IGNORECASE | re.VERBOSE,
)
_TAIL = re.compile(r"(?:=|\b(?:is|are|equals)\b|[为是])(?P<tail>[^=\n]*)$")
_FORMULA_WORDS = re.compile(
    r"(?:sqrt|pi|and|or|sin|cos|tan|log|ln|exp|[a-zA-Z])(?![a-zA-Z])|[^a-zA-Z]+"
)

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
    return [_plain_number(number) for number in matches if number]


def _plain_number(number: str) -> str:
    return re.sub(r"[\s\\$]", "", number).replace("−", "-")


def final_answer(text: str) -> str | None:
    """Return the answer that a solution of an open problem ends on.

    In turn: the last box, after ``####`` (as GSM8K ends) or between tags, after ``the answer is``,
    the formula or number on which the last sentence settles. ``None`` where there is none of them.

    >>> final_answer("So she pays $1,200 in all."), final_answer("The largest $n$ is 34.")
    ('1,200', '34')
    """
    box = last_boxed(text)
    if box is not None:
        *_, (_, end, _) = boxed(text)
        final = _FINAL.search(text, end)
        return _core(final["answer"]) if final else box
    marked = list(_MARKED.finditer(text))
    if marked:
        return (marked[-1]["marked"] or marked[-1]["answer"] or "").strip()
    stated = list(_STATED.finditer(text))
    if stated:
        answer = stated[-1]["answer"]
        while inner := _STATED.search(answer):
            answer = inner["answer"]
        return _core(answer)
    for passage in (_PARAGRAPHS.split(text.strip())[-1], text):
        for sentence in reversed(_sentences(passage)):
            conclusion = _conclusion(sentence)
            if conclusion is not None:
                return conclusion
    return None


def _sentences(text: str) -> list[str]:
    """Split a text at full stops and line ends that aren't in a formula."""
    inside = [range(each.start, _end(text, each)) for each in _formulas(text)]
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    ends = [end for end in ends if not any(end in place for place in inside)]
    sentences = [text[start:end] for start, end in pairwise([0, *ends, len(text)])]
    return [sentence for sentence in sentences if sentence.strip()]


def _formulas(text: str) -> list[Passage]:
    """Return the formulas of a text; what stands between two sums of dollars isn't one."""
    return [each for each in delimited(text, _MATH) if not _PROSE.search(each.content + " ")]


def _end(text: str, formula: Passage) -> int:
    return text.index(formula.content, formula.start) + len(formula.content)


def _conclusion(sentence: str) -> str | None:
    """Return the formula or number that a sentence settles on, else the last of them."""
    formulas = _formulas(sentence)
    masked = list(sentence)
    for each in formulas:
        end = _end(sentence, each)
        masked[each.start : end] = "\N{OBJECT REPLACEMENT CHARACTER}" * (end - each.start)
    plain = "".join(masked)
    numbers_at = [match for match in _NUMBER.finditer(plain) if match.group()]
    values = [each for each in formulas if _VALUE.search(each.content)] or (
        [] if numbers_at else formulas
    )
    after = _end(sentence, values[-1]) if values else 0
    settled = [
        match
        for match in numbers_at
        if match.start() >= after and _INTRODUCED.search(plain[: match.start()].rstrip(" $\\"))
    ]
    if values and not settled:
        return _joined(sentence, values[::-1], from_end=True)
    tail = _TAIL.search(sentence.rstrip(" .。*"))
    if tail and _is_formula(tail["tail"]):
        return tail["tail"].strip(" $*\\")
    last = settled or numbers_at
    return _plain_number(last[-1].group()) if last else None


def _is_formula(text: str) -> bool:
    """Check whether a text without marks is mathematics and no words, with a digit in it."""
    usual = len(text) <= _LONGEST_TAIL and "$" not in text and re.search(r"\d", text) is not None
    return usual and re.fullmatch(rf"(?:{_FORMULA_WORDS.pattern})+", text) is not None


def _joined(text: str, formulas: Sequence[Passage], *, from_end: bool) -> str:
    """Return the first of some formulas, with those that only ``and`` separates from it."""
    pieces = [formulas[0]]
    for formula in formulas[1:]:
        left, right = (formula, pieces[-1]) if from_end else (pieces[-1], formula)
        if not _JOINT.fullmatch(text[_end(text, left) : right.start]):
            break
        pieces.append(formula)
    contents = [piece.content.strip() for piece in pieces]
    return ", ".join(reversed(contents) if from_end else contents)


def _core(stated: str) -> str:
    """Cut a stated answer to its formulas, else to its first sentence."""
    formulas = _formulas(stated)
    if formulas and formulas[0].start <= len("approximately "):
        named = _NAMED.match(stated[_end(stated, formulas[0]) :])
        conclusion = _conclusion(_sentences(stated)[0]) if named else None
        return conclusion or _joined(stated, formulas, from_end=False)
    end = _SENTENCE_END.search(stated)
    core = (stated[: end.start()] if end else stated).rstrip(" *.$`\"'")
    if len(core.split()) >= _SENTENCE_WORDS and len(numbers(core)) == 1:
        return numbers(core)[0]
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
