"""Statements in a solution beside its answer: under which circumstances, for what purpose, a check.

``The maximum is 9, when x = 3.`` settles on 9, and ``40 hours to earn $600`` on 40 hours. A
circumstance is left out only where a value stands before it.
"""

from __future__ import annotations

import re

from heedful.bench.grading.spoken import in_words

_VALUE = re.compile(r"\d|\\[a-z]|π|√")
_NO_WORDS = re.compile(
    r"(?<=[\w$)])[ .…]{1,9}[(（]\d{1,2}[)）]\s{0,9}$"  # the number of an equation
    r"|\$?\\(?:blacksquare|square|qed)(?![a-zA-Z])\$?|■|□|\[asy\][\s\S]{0,9000}?\[/asy\]"
)
_THOUGHT = "</think>"
_CALCULATED = re.compile(r"<<[^<>\n]{0,200}>>")
_ROOT = re.compile(r"根号(?=\s{0,3}[\d(（a-z])")
_CHECK = re.compile(
    r"""(?:^|(?<=[.!。\n$]))[\s*#_]{0,9}(?:(?:let\ (?:us|me)\ )?
    (?:check(?:ing)?|verify|verification|verifying)
    |(?:substitut|plugg)ing\ (?:\w+\ ){0,3}back|to\ (?:check|verify)|(?:经?检验|验证|验算))
    (?![a-z])[\s\S]{0,2000}""",
    re.IGNORECASE | re.VERBOSE,
)
_CONCLUDES = re.compile(r"\b(?:so|thus|hence|therefore|answer)\b|所以|因此|答案|故", re.IGNORECASE)
_EXTREME = r"(?:max(?:imum|imal)?|min(?:imum|imal)?|largest|smallest|greatest|least|highest|lowest)"
_VERB = (
    r"(?:earn|reach|get|buy|make|pay|read|finish|complete|cover|save|raise|win|travel"
    r"|experience|fill|break|write|arrange|choose|select|form|express|distribute|have)"
)
_TRAILING = (
    re.compile(
        r"""[,;]?\ (?:(?:and|which|it|this)\ ){0,2}(?:is\ )?
        (?:occurs|occurring|attained|achieved|reached|obtained|with\ equality|equality\ holds)
        \ (?:only\ )?(?:when|at|if|for|iff)\b""",
        re.VERBOSE | re.IGNORECASE,
    ),
    re.compile(r",? (?:when|where|at|for)(?: and only when)? \$?\\?\(?[a-zA-Z](?:\s?=|_)"),
    re.compile(
        r",\s(?:(?:who|whose)\b|which\sis\s\d[\d.]{0,9}\\?%)|,?\s(?:since|because)\b"
        r"|,\sas\s(?:shown|seen|found|computed|calculated|derived|required|expected|desired|stated)\b"
    ),
    re.compile(
        r",\s(?:which\s(?:is|are|was)\s\S{1,20}|\\?\$?\d\S{0,19})\s(?:[a-z]+\s)?(?:more|less|fewer|[a-z]+er)\sthan\b"
    ),
    re.compile(r"\sby\s[a-z]+ing\s(?!.*(?:\bis\b|=|\bgets?\b))"),
    re.compile(
        r",\swhich\s(?:is|are|was)\s(?:[a-z]+\s)?(?:twice|half|double|triple|thrice|\w+\stimes)\b"
        r"|,?\s(?:and|which)\s(?:substitut|plugg|check|verify|test)ing\b"
        r"[^.]{0,120}\b(?:checks?|holds?|true|works?|satisf\w+|confirms?|expected)\b"
    ),
    re.compile(r"(?<=[\w%])\sthan\s(?!(?:\S+\s){0,12}(?:is\b|are\b|=|equals\b|\S*:))"),
    re.compile(
        r",?\s(?:(?:rounded|correct|accurate)\s)?to\s(?:the\snearest\b(?!.*\bis\b)|\d\s(?:decimal|d\.?p|significant|s\.?f))"
    ),
    re.compile(r"\sfrom\s(?:the|his|her|their|its|an?)\s\\?\$?\d"),
    re.compile(
        r"(?<=\d)(?<![./]\d)(?<![./]\d\d)\s(?:out\s)?of\s(?:the|his|her|their|its|these|those|all)\s\\?\$?\d"
    ),
    re.compile(r"\s(?:for|to|among|between)\s(?:each|all)\s(?:of\s)?(?:the\s)?\d"),
    re.compile(r"\swhen\s(?:\S{1,20}\sis\s)?divided\sby\s\S{1,20}\W{0,3}$"),
    re.compile(r"[，；]\s?其中"),
    re.compile(r"[，；]\s?比[^，。]{1,20}?\d[^，。]{0,8}(?=[。.]?\s?$)"),
    re.compile(rf"\sto\s(?!get\s(?:\$|\\[(\[]|[a-z]\s?=)){_VERB}\b"),
    re.compile(r"\s(?:for|by|among|between|from|over|in)\s(?:the\s|all\s)?\d+\s[a-z]+\W{0,3}$"),
    re.compile(r"\s(?:for|by|over)\sthe\s\d+\s"),
    re.compile(r"\sby\sthe\send\sof\b|\sfor\swhich\b"),
    re.compile(r",?\sfor\s(?:all|every|any|each)\s(?:\$?\\?\(?[a-zA-Z])"),
    re.compile(r"\s(?:ranging\s)?from\s[^\s,]{1,30}\s(?:to|through)\s[^\s,]{1,30}\W{0,3}$"),
    re.compile(
        r"\sin\s(?:the\s[a-z]+\s(?:of\s)?)?\$(?!\\text|[^$]{0,40}\\text)[^$]{0,60}[\^a-zA-Z][^$]{0,60}\$\W{0,3}$"
    ),
    re.compile(r"\sat\s\\?\$?\d[\d.]{0,9}\s?(?:each|per\b|km/h|mph|[ap]\.?m\b)(?!.*\d)"),
    re.compile(
        r"，?(?:此时|占|当且仅当|当[^，。]{1,40}时(?:取到|取得|成立|等号成立)?\W{0,3}$|才能|才可以|(?<=元)买)"
    ),
)
_EXTREMES = re.compile(rf"\b{_EXTREME}\b[^.]{{0,60}}?(?:is|of|be)\b|最[大小]值", re.IGNORECASE)
_NEEDS_EXTREME = 1
_LEADING = re.compile(
    r"^\W{0,6}(?:(?i:so|thus|then|therefore|hence),? )?"
    r"(?i:(?:after|before|by) [a-z]+ing|to [a-z]{2,})\b"
    r"[^,.]{1,60}?(?:, |\s(?=(?:s?he|they|it|we|there)\s(?:is|are|has|have|was|were|will)\b))"
    r"|(?:当且仅当|当)[^，。]{1,60}?时[，,]?|在\s?\$?[a-z]\s?=[^，。处]{1,30}处|^.{1,60}?其中(?=\d)"
)
_SUBJECT = re.compile(
    r"(?:so|thus|hence|therefore)?\W{0,6}(?P<value>\\?\$?-?\d[\d,./]{0,30}%?)\sis\s(?:the|how|what)\b",
    re.IGNORECASE,
)
_SUM = r"-?\d[\d.,/]{0,20}"
_PARALLEL = re.compile(
    rf"(?P<verb>为|是|有|行|得|用|需|要|花)\s?(?:每(?:小时|分钟|秒|天|[个人只]))?(?P<first>{_SUM})[^\d，。；、]{{0,6}}[，；、]\s?"
    rf"[^\d，。；]{{1,16}}?(?P=verb)\s?(?:每(?:小时|分钟|秒|天|[个人只]))?(?P<second>{_SUM})[^\d，。；]{{0,6}}[。.]?\W{{0,3}}$"
)
_SO = re.compile(
    r"[,;]\s(?:and\s)?(?:so|thus|hence|therefore)\b(?!\sthat|\son)[,\s]+|[，；,]\s?(?:所以|因此|因而|从而|故)"
)
_RELATIVE = re.compile(
    r",\s(?:who|whose|which)\b[^,.;]{1,80},"
    r"(?=\s(?:is|are|was|were|has|have|had|will|gets?|pays?|needs?)\b)"
)
_EXTRANEOUS = (
    r"(?:舍|不合|不符|增根"
    r"|(?:which\s(?:is|we)\s)?(?:reject|extraneous|discard|not\svalid|invalid|impossible))"
)
_REJECTED = re.compile(
    rf"(?:[或,，、]|\b(?:or|and)\b)?\s{{0,3}}\$?(?:[a-z](?:_?\d)?\s?=\s?)?[-−]?[\w./√]{{1,20}}\$?\s{{0,3}}"
    rf"[(（]\s?{_EXTRANEOUS}[^()（）]{{0,60}}[)）](?:\s?[或,，、]|\s(?:or|and)\b)?",
    re.IGNORECASE,
)
_OPEN = (
    re.compile(
        r"\b(?:reject|discard|disregard|exclude|rule\sout|throw\sout|ignore)(?:s|ed|ing)?\b|\bextraneous\b|舍去|不合题意|增根",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:except|other\sthan|excluding|apart\sfrom)\b|除了?[^，。]{1,20}(?:以外|之外|外)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:is|are|equals?)\s(?:[^.;,]{{1,30}}=\s?)?\$?{_SUM}\$?[^\d,.;]{{0,20}},?\s(?:and|while|whereas)\s(?:the|its|his|her|their|\w+['’]s)\s"
        rf"[a-z -]{{1,40}}\s(?:is|are|equals?)\s\$?{_SUM}(?![\w^+*/-]|\s?=)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?P<verb>has|had|gets?|got|pays?|paid|earns?|earned|costs?|scored|ate|read|weighs)\s\$?{_SUM}"
        rf"[^\d.;]{{0,30}}\s(?:and|while|whereas|but)\s(?:[A-Z]\w+|s?he|the\s[a-z]+)\s(?P=verb)\s\$?{_SUM}"
        r"(?!\s(?:more|less|fewer)\b)[^\d.,;]{0,25}\W{0,3}$"
    ),
    re.compile(r"\bor\s(?:perhaps|maybe|possibly)\b", re.IGNORECASE),
    re.compile(r"\d\s?[种个组对条][^，。]{0,12}[，:：]\s?(?:它们|分别|即)[^，。]{0,6}[是为有]"),
    re.compile(
        r"\b(?:there\sare|has|have)\s"
        r"(?:(?:exactly\s)?\$?\d+\$?|(?:only|just)\s(?:\d+|two|three|four|five|six))\s[^.;]{0,80}(?:,?\snamely|:|,(?=\s\$?[a-z]\s?=))\s",
        re.IGNORECASE,
    ),
    re.compile(r"^[^，。]{0,16}比[^，。]{1,20}?\d[^，。]{0,8}[，；][^，。]{0,30}\d"),
)
_REPLY = re.compile(r"\W{0,3}答\s?[:：，]")
_CLAUSES = re.compile("[，；]")
_LATER_PART = re.compile(
    r"\W{0,9}(?:case\s[2-9]|part\s\(?[b-h2-9]\)?|\(?[b-h]\)|情况[二三四]|[（(][2-9][)）])(?!\w)",
    re.IGNORECASE,
)
_FIRST_PART = re.compile(
    r"(?:^|\n)\W{0,9}(?:case\s1|part\s\(?[a1]\)?|\(?a\)|情况一|[（(]1[)）])(?!\w)", re.IGNORECASE
)
_ALL_BUT = re.compile(
    r"\b(?:all|any|every|each)\sreal\s(?:numbers?|values?)[^.;]{0,40}?\s(?:except|other\sthan|but|besides|excluding)\s"
    r"(?:for\s|when\s|if\s|where\s)?(?P<values>[^;]{1,80})",
    re.IGNORECASE,
)
_NAME = re.compile(r"\$?\s?[a-zA-Z]\s?(?:=|\bis\b)\s?")
_YES_OR_NO = re.compile(
    r"\W{0,20}(?:so,?\s)?(?P<word>yes|no)(?:,?\s(?:because|since)\b|,\s(?:it|they|there|this|that|we|he|she|you)\b"
    r"(?!.*(?:[=\\$]|(?:['’]s|\b(?:is|are|was|were|equals?|has|have|needs?|gets?|costs?|takes?))\s\W?\d)))",
    re.IGNORECASE,
)
_REASONED = re.compile(
    r"\W{0,9}(?:(?:since|as|because)\b|由于|因为|∵).{1,200}?[,，]\s?(?P<then>[^,，]*)$",
    re.IGNORECASE,
)
_IS = re.compile(r"\b(?:is|are)\s$|[为是]$")
_AND = re.compile(r"\s?,\s?(?:and\s|or\s)?|\s(?:and|or)\s")
_WORD = re.compile(r"(?<![a-zA-Z\\])[a-zA-Z]{2,}|[\u4e00-\u9fff]")
_QUESTION = re.compile(
    r"\W{0,9}(?:is|are|was|could|can|does|do|would|should)\b[^?？]{0,300}[?？]\W{0,9}$",
    re.IGNORECASE,
)
_REFUTED = re.compile(r"\b(?:absurd|contradiction)\b|矛盾", re.IGNORECASE)
_NONE = re.compile(r"\bno\b|\bexist|无", re.IGNORECASE)
_EXCLAIMED = re.compile(r"(?<=[a-z] )(?P<number>\d{2,20})!\s{0,3}$")
_CONTRAST = re.compile("[不而]")
_LEFT = re.compile(
    rf"{_SUM}[^\d，。；、]{{0,6}}(?<![后时])[，；]\s?(?:还|则)?[剩余][下余]?\s?{_SUM}[^\d，。；]{{0,6}}[。.]?\s?$"
)


def as_concluded(text: str) -> str:
    """Leave out thoughts between tags, a calculator's annotations, and a check at the end."""
    before, tag, after = text.rpartition(_THOUGHT)
    text = after if tag and after.strip() else before + after
    text = _ROOT.sub("√", _CALCULATED.sub("", _NO_WORDS.sub("", text)))
    check = _CHECK.search(text)
    if check and _VALUE.search(text[: check.start()]) and not _CONCLUDES.search(check.group()):
        return text[: check.start()]
    return text


def without_circumstances(sentence: str) -> str:
    """Leave out what a sentence says after its value: when, for what, in which time.

    >>> without_circumstances("The maximum is 9, when x = 3.")
    'The maximum is 9'
    """
    sentence = _EXCLAIMED.sub(r"\g<number>", sentence)
    subject = _SUBJECT.match(sentence)
    if subject:
        return subject["value"]
    rest = _LEADING.sub("", sentence)
    sentence = rest if _VALUE.search(rest) else sentence
    extreme = _EXTREMES.search(sentence)
    for place, pattern in enumerate(_TRAILING):
        found = pattern.search(sentence)
        if found is None or not _VALUE.search(sentence[: found.start()]):
            continue
        if place != _NEEDS_EXTREME or extreme:
            sentence = sentence[: found.start()]
    return sentence


def concluded(sentence: str) -> str:
    """Cut a sentence to its last clause after ``so``, without the values that it rejects.

    >>> concluded("Alice is 12, so Bob, who is 3 years older, is 15.")
    'Bob, is 15.'
    """
    for clause in reversed(list(_SO.finditer(sentence))):
        if _VALUE.search(sentence[clause.end() :]):
            sentence = sentence[clause.end() :]
            break
    kept = _REJECTED.sub("", _RELATIVE.sub(",", sentence))
    return kept if _VALUE.search(kept) else sentence


def leaves_open(sentence: str, text: str = "") -> bool:
    """Check whether a sentence may answer the question, but doesn't say with which value.

    It rejects a value, has values of several things, or is the second of several parts.
    """
    if any(pattern.search(sentence) for pattern in _OPEN):
        return True
    answered = _CLAUSES.split(sentence) if _REPLY.match(sentence) else []
    if sum(bool(re.search(r"\d", clause)) for clause in answered) > 1:
        return True
    return bool(_LATER_PART.match(sentence) and _FIRST_PART.search(text))


def all_but(sentence: str) -> str | None:
    r"""Write ``all real numbers except 2`` as ``\mathbb{R} \setminus \{2\}``."""
    match = _ALL_BUT.search(sentence)
    if match is None:
        return None
    values = [_NAME.sub("", each).strip(" $.") for each in _AND.split(match["values"])]
    plain = all(values) and not any(_WORD.search(value) for value in values)
    return rf"\mathbb{{R}} \setminus \{{{', '.join(values)}\}}" if plain else None


def is_no_claim(sentence: str) -> bool:
    """Check for a question, and for what a sentence leads to absurdity."""
    refuted = _REFUTED.search(sentence) and not _NONE.search(sentence)
    return bool(_QUESTION.match(sentence) or refuted)


def several_values(sentence: str) -> str | None:
    """Return the two values of a sentence side by side, all numbers but some, or yes or no."""
    verdict = _YES_OR_NO.match(sentence)
    if verdict:
        return verdict["word"]
    reasoned = _REASONED.match(sentence)
    if reasoned and not _VALUE.search(reasoned["then"]):
        words = in_words(reasoned["then"], _IS)
        if words:
            return words
    without = all_but(sentence)
    if without is not None:
        return without
    left = _LEFT.search(sentence)
    if left:
        return left.group().strip(" 。.")
    parallel = _PARALLEL.search(sentence)
    if parallel is None or _CONTRAST.search(parallel.group()):
        return None
    return f"{parallel['first']}, {parallel['second']}"
