"""Usual misspellings in constraints, none of which is another word."""

from __future__ import annotations

import re

from heedful.verify.compiler.numerals import number_at

_MISSPELLED = """
at least: atleast | exactly: exatly exatcly exacly excatly exaclty exactely extactly
sentence: sentance sentense sentece setence | sentences: sentances sentenses senteces setences
paragraph: paragaph paragrah pargraph parapgraph paragrpah
paragraphs: paragaphs paragrahs pargraphs parapgraphs paragrpahs
response: reponse respone responce repsonse resposne | answer: anwser asnwer awnser
character: charachter charater caracter | characters: charachters charaters caracters
begin: beggin | beginning: begining beggining | maximum: maxium maximun maxmimum
minimum: minimun minumum miminum | bullet: bullit bulet | bullets: bullits bulets
exclamation: exclaimation exlamation exclamaton
contain: contian conatin | contains: contians conatins | include: inculde inlcude incldue
includes: inculdes inlcudes incldues | language: langauge languge lanugage
lowercase: lowecase lowercse | uppercase: upercase uppercse | title: tilte
heading: headding | headings: headdings | hashtag: hastag | hashtags: hastags
emoji: emoj | emojis: emojies | question: quesiton qustion | separate: seperate
separated: seperated | words: wrods | word: wrod | exceed: excede exceded | numbered: numberd
always: allways alwasy | between: beetween betwen | format: fromat | italic: itallic
keyword: keywrod | keywords: keywrods | punctuation: punctuaton puncuation
write: wrtie wirte | reply: repy | approximately: aproximately approximatly approxmately
"""
_CORRECT = {
    wrong: right.strip()
    for entry in re.split(r"[|\n]", _MISSPELLED)
    if entry.strip()
    for right, _, wrongs in [entry.partition(":")]
    for wrong in wrongs.split()
}
_COMPARED = "|".join(rf"(?<=\b{word} )" for word in ("more", "less", "fewer", "longer", "shorter"))
_WRONG = re.compile(rf"\b(?:{'|'.join(_CORRECT)}|(?:{_COMPARED})then(?= ))\b", re.IGNORECASE)
_CORRECT["then"] = "than"
_QUOTED = re.compile(r"[\"“「‘`](?:[^\"”」’`]*)[\"”」’`]|(?<!\w)'[^']*'(?!\w)")

_NAMED = re.compile(
    r"(?:words?|terms?|keywords?|names?|keys?|fields?|spell(?:ing)?|mentions?|[,:、]) ?\Z",
    re.IGNORECASE,
)
"""What stands so may be meant letter by letter."""


def corrected(text: str) -> str:
    """Correct usual misspellings outside of quotation marks.

    >>> corrected('Use atleast two paragrahs, and the word "sentance".')
    'Use at least two paragraphs, and the word "sentance".'
    >>> corrected("Write no more then five words.")
    'Write no more than five words.'
    """
    if not _WRONG.search(text):
        return text
    quoted = [match.span() for match in _QUOTED.finditer(text)]

    def correct(match: re.Match[str]) -> str:
        inside = any(start <= match.start() < end for start, end in quoted) or _NAMED.search(
            text, 0, match.start()
        )
        if match[0].lower() == "then" and number_at(text.lower(), match.end() + 1) is None:
            return match[0]  # "write more, then stop" is right
        capital = match[0][0].isupper() and not match.start()
        right = _CORRECT[match[0].lower()]
        return match[0] if inside else right.capitalize() if capital else right

    return _WRONG.sub(correct, text)
