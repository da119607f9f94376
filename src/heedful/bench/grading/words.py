"""Answers in words: recognised, and compared as words."""

from __future__ import annotations

import re

from heedful.bench.grading.latex import key

PHRASE_WORDS = 3
"""So many words say something that may also be said in others."""

PHRASE_RUN = 25
"""So many letters without a space are words whose spaces were lost."""

CIRCLED = "①-⑳"
"""Numbers of statements, which aren't the numbers themselves."""

TEXT_RUN = 4
"""So many letters in a row are a word and no product of variables."""

_COMMAND = re.compile(r"\\(?:begin|end)\s*\{[a-z]+\}|\\[a-zA-Z]+")
_RUN = re.compile(r"[a-zA-Z]+")
STATEMENT = re.compile(f"[{CIRCLED}]")
_FUNCTION = re.compile(
    r"(?:arc)?(?:sin|cos|tan|cot|sec|csc)h?|log|ln|exp|lim|max|min|sup|inf|det|gcd|lcm|mod|dim|ker"
)
_VERDICT = re.compile(
    r"(?P<word>yes|no|true|false)(?:$|[.,;:!]|\s+[-–])"
    r"|(?P<chinese>是|否|不是|对|正确|不对|错|错误)(?:的)?(?:$|[.,;:!])",
    re.IGNORECASE,
)
_CHINESE_VERDICTS = {"是": "yes", "否": "no", "不是": "no", "对": "true", "正确": "true"}
_ARTICLE = re.compile(r"\b(?:[Tt]he|a|an|is|are|[Ii]t|[Tt]here|[Aa]nswer|of)\b")
_OPENING_ARTICLE = re.compile(r"^An?\b(?=\s+[a-z])")
_ONLY_WORDS = re.compile(r"[^\W\d_]*(?:[\s.,;:!?'\"’-]++[^\W\d_]*+)*+")
_MINUS = re.compile(r"(?:^|(?<=\s))-(?=[^\W\d_])|^-\s*")
_LONG_WORD = re.compile(r"(?<!\\)\b[^\W\d_]{2,}")  # one letter alone is a name: point A is not a

_SAME = (
    # Of each pair the second is what the first is taken for.
    (
        re.compile(
            r"(?:(?:the)?(?:equation|system|there|it)?(?:is|are|has|have))?no(?:real)?"
            r"(?:solutions?|roots?)(?:exists?)?|(?:原?方程组?|不等式组?)?(?:无|没有)(?:实数)?[解根]"
        ),
        "none",
    ),
    (
        re.compile(
            r"(?:thesystemis)?inconsistent|\\?emptyset|\\?\{\\?\}|(?:the)?emptyset|none|空集"
        ),
        "none",
    ),
    (
        re.compile(
            r"(?:thelimit)?(?:itis|is)?(?:doesnotexist|dne|undefined|notdefined)|(?:极限)?不存在|(?:无|没有)意义"
        ),
        "undefined",
    ),
    (re.compile(r"(?:\+|positive|plus)?\\?inf(?:ty|inity)|正?无穷大?"), "infinity"),
    (re.compile(r"(?:-|negative|minus)\\?inf(?:ty|inity)|负无穷大?"), "-infinity"),
    (
        re.compile(
            r"(?:there(?:is|are))?infinitelymany(?:solutions?)?|(?:有?无数|有?无穷多)个?组?解?"
        ),
        "infinitely many",
    ),
)


def is_text(text: str) -> bool:
    """Check whether a tidied answer has words in it, and not just letters for variables."""
    runs = [_FUNCTION.sub("", run.casefold()) for run in _RUN.findall(_COMMAND.sub(" ", text))]
    return any(len(run) >= TEXT_RUN for run in runs) or bool(STATEMENT.search(text))


def is_phrase(text: str) -> bool:
    """Check whether a tidied answer is several words, whose meaning code does not compare."""
    words = [run for run in _RUN.findall(_COMMAND.sub(" ", text)) if len(run) > 1]
    return is_text(text) and (
        len(words) >= PHRASE_WORDS or any(len(word) >= PHRASE_RUN for word in words)
    )


def verdict_word(text: str) -> str | None:
    """Return the yes, no, true or false that an answer is, or that it begins with."""
    match = _VERDICT.match(text.strip())
    if match and match["chinese"]:
        return _CHINESE_VERDICTS.get(match["chinese"], "false")
    return match["word"].casefold() if match else None


def same_words(gold: str, answer: str) -> bool | None:
    """Check whether two answers say the same in words; ``None`` where that does not settle it.

    Case, articles, punctuation and spaces do not count; ``no solution`` has many names.
    """
    first, second = _canonical(gold), _canonical(answer)
    if first == second and first:
        return True
    special = {"none", "undefined", "infinity", "-infinity", "infinitely many"}
    if first in special or second in special:
        other = answer if first in special else gold
        return False if {first, second} <= special or not is_text(other) else None
    return None


def _canonical(text: str) -> str:
    """Reduce an answer in words to them; beside numbers and formulas only the words' case goes."""
    spaceless = re.sub(r"[\s.,;:!'\"]", "", text.casefold())
    for pattern, name in _SAME:
        if pattern.fullmatch(spaceless):
            return name
    if not is_text(text):
        return ""
    text = _MINUS.sub("minus ", text.strip())
    text = _ARTICLE.sub(" ", _OPENING_ARTICLE.sub(" ", text))
    if _ONLY_WORDS.fullmatch(text):
        return "".join(_LONG_WORD.sub(_lower, re.sub(r"[^\w\s]", " ", text)).split())
    return key(_LONG_WORD.sub(_lower, text))


def _lower(match: re.Match[str]) -> str:
    return match.group().casefold()
