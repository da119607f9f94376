"""Finding the choice that a solution settles on: a letter, or the words of a choice.

Nothing here knows the gold answer, so a solution cannot be read in its favour.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from heedful.bench.grading.answers import stated_answer
from heedful.bench.grading.boxes import boxed, last_boxed

if TYPE_CHECKING:
    from collections.abc import Mapping

_LEAD = (
    r"[\s*_:：=\"'“「(（\[【$\\{]{0,12}(?:(?:text|mathbf|mathrm|textbf|boxed)\{){0,3}"
    r"[*(（\[【]{0,4}"
)
_END = r"(?![\w'’])"
_STOP = r"(?=[)）\]】}*_\"'”」$\s]{0,12}(?:[.。,，;；:：!！]|$|\n))"
_WORD = r"(?:answer|ans\.?|option|choice|selection|one|letter|pick)"
_ANSWER = r"(?:réponse|respuesta(?:\ correcta)?|resposta|risposta|antwort|ответ|答え|정답|답)"
_PHRASES = (
    # Each puts the letter into the group L; stronger kinds of statement come first.
    (
        rf"\b(?:final|correct|best|right|most\ likely)?\s*{_WORD}"
        rf"(?:\s+(?:to|for|among|of|from)\ [^.\n]{{1,120}}?)?\s*"
        rf"[*_\"']*(?:is|are|would\ be|should\ be|must\ be|will\ be|:|：|=|[-–—])\s*"
        rf"(?:therefore|thus|clearly|indeed|likely|most\ likely|probably|but|it['’]?\ ?i?s)?\s*"
        rf"(?:{_WORD}|letter)?\s*{_LEAD}(?:L{_END}|@{_STOP})"
    ),
    rf"{_ANSWER}\s*(?:est|ist|es|é|è|는|은|は|[:：=])\s*{_LEAD}L(?![A-Za-z])",
    (
        rf"(?:答案|答(?=\s?[:：])|正确答案|正确选项|最佳答案|正确的选项|正确的是)[】\]]?\s*(?:应该|应当|应)?\s*(?:而?是|为|选|:|：)*"
        rf"\s*(?:选项)?{_LEAD}L(?![A-Za-z])"
    ),
    rf"(?:故选|应选|因此选|所以选|应该选择|应选择|我选择|我选|选择|选)\s*(?:选项)?{_LEAD}L(?![A-Za-z])",
    rf"\b(?:choose|pick|select|go\ with|opt\ for)\s+(?:{_WORD}\s+)?{_LEAD}L{_END}",
    (
        rf"(?<!\w){_LEAD}L{_END}(?:[)）\]】}}*_.:\"'”」$]*)\s*(?:[^.\n]{{0,160}}?)\s*"
        rf"\b(?:is|must\ be|has\ to\ be|would\ be|seems|looks)\s+(?:therefore\s+|thus\s+)?"
        rf"(?:the\s+)?(?:(?:most|only|best)\s+)?(?:correct|right|true|best|accurate"
        rf"|appropriate|answer)"
        rf"(?:\s+(?:answer|option|choice))?\b"
    ),
    rf"(?<!\w){_LEAD}L[)）\]]*\s*[:：]?\s*(?:right|true|correct|yes|✓|✔|√|✅|it\ is)(?!\w)",
    (
        rf"(?:选项)?(?<![A-Za-z]){_LEAD}L(?![A-Za-z])(?:[)）\]】}}*.．]*)\s*(?:选?项)?\s*(?:是|为)?"
        rf"(?:正确|对)的?(?:答案|选项)?"
    ),
    rf"[;；]\s*{_LEAD}L(?:[)）\]】}}*]*\s+is)?{_STOP}",
    (
        rf"(?:(?:∴|→|⇒|=>)|\b(?:correct|so|thus|hence|therefore|no|but|it\ is|it['’]s|must\ be"
        rf"|would\ be|would\ say|leaves|leaving|is|option|choice|letter))"
        rf"[,:：]?\s*(?:it\ is\s+|it['’]s\s+)?(?:the\s+)?(?:{_WORD}\s+)?{_LEAD}L{_STOP}"
    ),
    rf"(?:而是|只能是|只有|是)\s*{_LEAD}L{_STOP}",
    rf"\bonly\s+{_LEAD}L{_END}[)）\]]?\s+(?:fits|works|matches|remains|holds|is\ left)\b",
    rf"(?<!\w){_LEAD}L{_END}[)）\]]?\s+(?:remains|is\ left)\b",
    r"(?:^|\n)[^(（\[【\n]*[(（\[【]L[)）\]】]\s*[.。]?\s*$",
)
_ALONE = rf"(?:^|\n|[?？]\s)\s{{0,6}}{_LEAD}L(?:[)）\]】}}*_.。:$\\\s]{{0,12}})(?=$|\n)"
_OPENS = rf"^\s*(?:{_WORD}\s*)?{_LEAD}L(?:[)）\]】}}*_.。:：,$\\]|\s*$|\s*[-–—])"
_BRACKETED = r"[(（\[【]\s*L\s*[)）\]】]"
_JOINED = re.compile(
    r"[)）\]】}*]*\s*(?:,|and\b|or\b|&|/|和|或|、)\s*(?:and\b|or\b)?\s*[(（\[]*(?P<letter>[A-Z])(?![\w'])"
)
_NEGATED = re.compile(
    r"\b(?:not|never|isn['’]t|cannot|incorrect|wrong|neither)\b|不是|不选|错误", re.IGNORECASE
)
_COMMA = r"(?:\s*[,，、/]\s*(?:(?:and|or|nor|和|或)\s*)?|\s*(?:and|or|nor|和|或)\s*)"
_SEVERAL = rf"[(（\[]*L[)）\]]*(?:{_COMMA}[(（\[]*L[)）\]]*){{0,9}}"
_DENIALS = (
    (
        rf"(?:\bnot|n['’]t|\bnever|\bcannot\ be|\bneither|\brather\ than|\binstead\ of|\bover"
        rf"|\bnone\ of|\bexcept|\beliminat(?:e|es|ed|ing)|\bexclud(?:e|es|ed|ing)"
        rf"|\brul(?:e|es|ed|ing)\ out"
        rf"|不是|不选|而非|排除)\s*(?:be\s+|the\s+)?(?:(?:answer|option|choice)s?\s+)?{_SEVERAL}{_END}"
    ),
    r"\bwould\ be\s+L\s+(?:if|were|had)\b[^.;,\n]{0,80}",
    (
        rf"(?<!\w){_SEVERAL}\s*[.．、]?\s*(?:选项)?(?:\s*(?:is|are|was|were|would\ be|must\ be)\s+"
        rf"(?:both\s+|all\s+|clearly\s+)?(?:not\b|wrong|incorrect|false|ruled\ out|out\b"
        rf"|impossible)"
        rf"[^.;,\n]{{0,80}}|\s*(?:isn['’]t|aren['’]t|can(?:not|['’]t)\ be)\b[^.;,\n]{{0,80}}"
        rf"|\s*[:：]?\s*(?:wrong|incorrect|false|no|✗|✘|×|❌)(?!\w)|(?:都|均)?(?:错误|不对|不正确|错))"
    ),
)
"""Phrases that say that choices are not the answer."""

_EXPLAINED = re.compile(
    r"\n\s{0,9}[*_#]{0,4}(?:Explanation|Reason(?:ing|s)?|Rationale|Because|Justification|解析|理由|解释)(?![a-z])",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(r"\b(?:suppose|assume|assuming)\b[^.\n;]{0,200}[.;]", re.IGNORECASE)
_QUESTION = r"(?<!\w)L[)）\]]*\s*[?？]$"
_SENTENCE = re.compile(r"(?<=[.。\n?？])")
_RETRACTED = re.compile(r"\b(?:wait|correction|actually|no,)|不对|错了", re.IGNORECASE)
_WRAPPED = re.compile(r"\\(?:text|mathbf|mathrm|textbf|mathit|textit|rm|bf)\b\s*")
_WIDE_LETTERS = {ord("Ａ") + place: chr(ord("A") + place) for place in range(26)}
_MARKED = re.compile(r"<answer>\s*([^<]{1,200}?)\s*</answer>|####[ \t]*([^\n]{1,200})")


def choice_letter(text: str, choices: Mapping[str, str]) -> str | None:
    """Return the label of the choice that a text settles on, or ``None`` where it names none.

    Looked for in turn: the last box; a sentence that states the answer, in English or Chinese
    (the last one counts); a line with nothing but a label. After a box that names no label only a
    later statement counts. A label that is denied or only asked for doesn't count. An answer in the
    words of a choice isn't a label: see :func:`choice_of_words`. Where the labels are ``1`` to
    ``4``, letters in their order are understood.
    """
    labels = _labels(choices)
    text = text.translate(_WIDE_LETTERS)
    explained = _EXPLAINED.search(text)
    if explained:
        label = _only(_WRAPPED.sub("", text[: explained.start()]), labels)
        if label is not None:
            return label
    text = _affirmed(_SUPPOSED.sub("", text), labels)
    label = _only(_WRAPPED.sub("", text), labels)
    if label is not None:
        return label
    boxes = [box for box in boxed(text) if box[2]]
    if not boxes:
        marked = [match[1] or match[2] for match in _MARKED.finditer(text)]
        return (_only(marked[-1], labels) if marked else None) or _stated(text, labels)
    box = last_boxed(text) or ""
    return (
        _only(_WRAPPED.sub("", box), labels)
        or _stated(box, labels)
        or _stated(text[boxes[-1][1] :], labels)
    )


def choice_of_words(text: str, choices: Mapping[str, str]) -> str | None:
    """Return the label of the one choice that an answer gives in words instead of by its label."""
    key = _key(last_boxed(text) or stated_answer(text) or text)
    same = [label for label, words in choices.items() if key and _key(words) == key]
    return same[0] if len(same) == 1 else None


def _affirmed(text: str, labels: Mapping[str, str]) -> str:
    """Leave out what says that some choices are wrong, and questions whether one is right."""
    asked = _compiled(_QUESTION, labels)
    if "?" in text or "？" in text:
        text = "".join(
            "" if asked.search(sentence) else sentence for sentence in _SENTENCE.split(text)
        )
    for denial in _DENIALS:
        text = _compiled(denial, labels).sub(" ", text)
    return text


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
    pattern = pattern.replace("L", f"(?-i:{letters})").replace("@", f"(?P<any>{letters})")
    return re.compile(pattern.replace(r"\ ", " "), re.IGNORECASE)


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
            place = _place(match)
            statement = text[match.start() : match.start(place)]
            if not _NEGATED.search(statement) and not _NEGATED.search(match.group()):
                labelled = match
        if labelled is None:
            continue
        place = _place(labelled)
        rest = text[labelled.end(place) :]
        if _several(rest, labels):
            return None
        retraction = _RETRACTED.search(rest)
        instead = _stated(rest[retraction.start() :], labels) if retraction else None
        return instead or labels[labelled[place].upper()]
    return None


def _place(match: re.Match[str]) -> str:
    """Return the name of the group that holds the label."""
    return "any" if match.groupdict().get("any") else "letter"


def _key(text: str) -> str:
    """Reduce a text to its words, so that case and punctuation do not matter."""
    text = _WRAPPED.sub("", text).casefold()
    return " ".join(re.findall(r"[\w./%°+-]*\w|[^\W\d_]", text))
