"""Multi-IF's verifiers where they differ from IFEval's: counting and punctuation by language.

Source: He et al. 2024, *Multi-IF: Benchmarking LLMs on Multi-Turn and Multilingual Instructions
Following* (arXiv 2410.15553), and its public code, whose verdicts faithful scoring gives. The ids
are IFEval's after ``multiif:``; all other ids of Multi-IF are IFEval's own.

The published code asks langdetect, unseeded, which counter to use. Faithful scoring does so with
a seed; strict scoring goes by the script that the response is written in, which is certain.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import regex

from heedful.core import scripts
from heedful.core.errors import VerifierError
from heedful.verify.base import Finding, Relation, compare, none, verifier
from heedful.verify.ifeval.content import nth_paragraph_first_word as ifeval_first_word
from heedful.verify.text.words import CJK, THAI, thai_sentences, thai_words, without_marks

if TYPE_CHECKING:
    from heedful.verify.text.prepared import Response

__all__ = ["count_sentences", "count_words", "written_in"]

Writing = Literal["cjk", "thai", "indic", "other"]
"""Writing system of a text: Chinese or Japanese, Thai, a script with a danda, or another."""

_WRITINGS: dict[str | None, Writing] = {
    "zh": "cjk", "zh-cn": "cjk", "zh-tw": "cjk", "ja": "cjk", "th": "thai", "hi": "indic",
}  # fmt: skip
_RUN = re.compile(r"\w+")
_LETTER = re.compile(r"[^\W\d_]")
_INDIC = re.compile(f"[{scripts.DEVANAGARI_TO_GURMUKHI}]")


def written_in(response: Response) -> Writing:
    """Say how to count a response; Chinese characters are compared with words, not letters."""
    if response.faithful is not None:
        return _WRITINGS.get(response.language, "other")
    text = response.text
    if text.isascii():
        return "other"
    characters = len(CJK.findall(text))
    if characters and characters >= len(_RUN.findall(without_marks(CJK.sub(" ", text)))):
        return "cjk"
    half = (len(_LETTER.findall(text)) - characters) / 2
    if _letters_of(THAI, text) > half:
        return "thai"
    return "indic" if _letters_of(_INDIC, text) > half else "other"


def _letters_of(script: re.Pattern[str], text: str) -> int:
    return len(_LETTER.findall("".join(script.findall(text))))


# --- words --------------------------------------------------------------------------------------

EMOJI = regex.compile(r"(?=[\p{Emoji}--[0-9#*]]|[0-9#*]\ufe0f?\u20e3)\X", regex.V1)
"""One emoji as a reader sees it: a family, a flag."""

_CHARACTER = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
_SIGNS = str.maketrans(
    dict.fromkeys("\\.!?．/_,{}<>:;$%^&*(+\"'—！，。？、`~@#￥…（）：；《》“”)[]»〔〕-「」")
)


def count_words(response: Response) -> int:
    """Count the words of a response as Multi-IF does.

    Chinese and Japanese: characters, emoji, and the words in other scripts. Thai: words of the
    dictionary. Else: runs of letters, digits and underscores.
    """
    text, writing = response.text, written_in(response)
    faithful = response.faithful is not None
    if writing == "thai":
        words = thai_words(text)
        return len(words) if faithful else sum(map(_is_word, words))
    if writing != "cjk":
        return len(response.words) if faithful else len(_RUN.findall(without_marks(text)))
    if faithful:
        text = text.translate(_SIGNS)
    emoji, text = len(EMOJI.findall(text)), EMOJI.sub("" if faithful else " ", text)
    pattern = _CHARACTER if faithful else CJK
    others = pattern.sub(" ", text)
    runs = others.split() if faithful else _RUN.findall(without_marks(others))
    return emoji + len(pattern.findall(text)) + len(runs)


def _is_word(token: str) -> bool:
    return any(map(str.isalnum, token))


# --- sentences ----------------------------------------------------------------------------------

_CJK_CLAUSE = re.compile(r"[^!?。.！？．\n]+")
_CJK_END = re.compile(r"[。．｡！？!?]+|(?:(?<![\d.])|(?<=\d\.))\.++(?=\s|$)")
_INDIC_END = re.compile(r"[।॥!?]+")


def count_sentences(response: Response) -> int:
    """Count the sentences of a response as Multi-IF does.

    Chinese and Japanese: up to a full stop, question or exclamation mark, or the end of the line.
    Hindi: up to a danda, question or exclamation mark. Thai: by PyThaiNLP's model, line by line.
    Else: as English, see :attr:`heedful.verify.Response.sentences`. A piece without a letter is
    no sentence.
    """
    text, writing = response.text, written_in(response)
    faithful = response.faithful is not None
    if writing == "thai":
        pieces = [piece for line in text.splitlines() for piece in thai_sentences(line)]
    elif writing == "cjk" and faithful:
        pieces = [p for line in text.splitlines() for p in _CJK_CLAUSE.findall(line.strip())]
    elif writing == "cjk":
        pieces = [piece for line in text.splitlines() for piece in _CJK_END.split(line)]
    elif writing == "indic":
        pattern = re.compile(r"(?<=[।!?])\s*") if faithful else _INDIC_END
        pieces = [piece for piece in pattern.split(text) if piece.strip()]
    else:
        return len(response.sentences)
    return len(pieces) if faithful else sum(1 for piece in pieces if _LETTER.search(piece))


# --- the verifiers ------------------------------------------------------------------------------


@verifier("multiif:length_constraints:number_words")
def number_words(response: Response, *, num_words: int, relation: Relation) -> Finding:
    """Write {relation} {num_words} words."""
    return compare(count_words(response), relation, num_words, "word")


@verifier("multiif:length_constraints:number_sentences")
def number_sentences(response: Response, *, num_sentences: int, relation: Relation) -> Finding:
    """Write {relation} {num_sentences} sentences."""
    return compare(count_sentences(response), relation, num_sentences, "sentence")


@verifier(
    "multiif:length_constraints:nth_paragraph_first_word",
    describe=(
        "Write exactly {num_paragraphs} paragraphs, separated by blank lines; "
        "start paragraph {nth_paragraph} with the word '{first_word}'."
    ),
)
def nth_paragraph_first_word(
    response: Response, *, num_paragraphs: int, nth_paragraph: int, first_word: str
) -> Finding:
    """The response has the given number of paragraphs; the nth starts with the given words."""
    expected = first_word.strip().lower()
    if response.faithful is None and not expected:
        raise VerifierError("first_word is blank: it can be met by any response, or by none")
    paragraphs = [piece.strip() for piece in response.paragraphs]
    there = len(paragraphs) == num_paragraphs and 0 < nth_paragraph <= num_paragraphs
    if response.faithful is not None or not there:
        return ifeval_first_word(
            response,
            num_paragraphs=num_paragraphs,
            nth_paragraph=nth_paragraph,
            first_word=first_word,
        )
    start = paragraphs[nth_paragraph - 1].lstrip("'\"“”‘’„「『«").lower()
    rest = start[len(expected) :]
    met = start.startswith(expected) and (_unspaced(expected[-1]) or not _goes_on(rest[:1]))
    beginning = " ".join(start[: max(len(expected), 20)].split())
    return Finding(met=met, found=f"paragraph {nth_paragraph} starts with '{beginning}'")


def _unspaced(char: str) -> bool:
    return bool(CJK.match(char) or THAI.match(char))


def _goes_on(char: str) -> bool:
    """Say whether a character after a word belongs to it: a letter, a mark, a hyphen."""
    return char.isalnum() or char in {"-", "‐", "‑", "_"} or without_marks(char) != char


_QUOTES = ('""', "“”", "「」")
_MORE_QUOTES = ("『』", "«»", "„“", "„”", "””", "＂＂")


@verifier("multiif:startend:quotation")
def quotation(response: Response) -> Finding:
    """Wrap the whole response in double quotation marks."""
    text = response.text.strip()
    pairs = _QUOTES if response.faithful is not None else (*_QUOTES, *_MORE_QUOTES)
    met = len(text) > 1 and text[0] + text[-1] in pairs
    return Finding(met=met, found=f"it {'is' if met else 'is not'} in double quotation marks")


_COMMA = re.compile("[,，﹐،]")


@verifier("multiif:punctuation:no_comma")
def no_comma(response: Response) -> Finding:
    """Use no commas."""
    text, faithful = response.text, response.faithful is not None
    return none(text.count(",") if faithful else len(_COMMA.findall(text)), "comma")
