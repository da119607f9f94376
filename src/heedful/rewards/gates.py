"""Gates: six plain facts about a response that make its reward 0, and the criteria for judges.

A response that a gate stops is worth 0 whatever a judge says of it, and no judge is asked. Gates
are few and exact: what they stop is no answer by their definition, measured on real responses
(``benchmarks/reward_guards.py``). Everything else that games a reward is for a judge to see: the
criteria below, and the alarm of :mod:`heedful.rewards.divergence`.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from heedful.core.errors import UsageError
from heedful.core.nouns import Constraint
from heedful.core.text import is_blank
from heedful.judges.prompts import block_layout as layout
from heedful.models.base import is_cut_off

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.nouns import Sample


LONGEST = 50_000
"""Characters of a response that are looked at."""

COMPRESSED = 0.1
COMPRESSIBLE_FROM = 400
"""A text of this many characters that zlib makes smaller than this share says the same again and
again; zlib's own overhead counts in shorter ones."""

SMALL_WINDOW, SMALL_WINDOW_BYTES = 12, 3800
"""A window of zlib's, in bits, and the bytes that it surely holds."""

TIMES = 8
"""A shorter text is a repetition if it is the same words this many times."""

OWN = 0.1
"""A response is an echo if, without what it was shown, no more than this share of its words is
left: a copy may be introduced."""

SHOWN_WORDS = 5
"""Words of what was shown that a copy has at least: an answer may be a word of it."""

REFUSAL_UP_TO = 300
"""Characters of a refusal: a longer text goes on to help."""

LETTERS = 15
"""Letters of the instruction and of the response that are enough to tell their script."""


class Violation(NamedTuple):
    """A gate that stopped a response, and why."""

    gate: str
    reason: str


# --- texts --------------------------------------------------------------------------------------

CONTROLS = r"<\|[^<>|]*\|>|</?s>|<(?:eos|bos|pad|unk)>|<(?:start|end)_of_turn>|\[/?INST\]"
"""A special token of the common chat templates."""

_UNSEEN = re.compile(rf"{CONTROLS}|<｜[^<>｜]*｜>|<!--(?:-?>|.*?(?:-->|\Z))", re.DOTALL)
_FENCE_LINE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})(?:[ \t]*[\w+#.-]+)?[ \t]*$", re.MULTILINE)
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_]+")


def visible(text: str) -> str:
    """Return what a reader sees of an answer: no control tokens of chats and no comments."""
    return _UNSEEN.sub("", text)


def shows_nothing(text: str) -> bool:
    r"""Tell whether an answer is empty once what no reader sees is taken away.

    >>> shows_nothing("```\n```<|im_end|>"), shows_nothing("<!-- a -->1")
    (True, False)
    """
    return is_blank(_FENCE_LINE.sub("", visible(text)))


def _words(text: str) -> list[str]:
    """Split a text into words; of Chinese and Japanese each character is one."""
    return _WORD.findall(text.casefold())


def _last_turn(sample: Sample) -> str:
    turns = [turn.content for turn in sample.conversation if turn.role == "user"]
    return turns[-1] if turns else ""


def _requested(sample: Sample) -> str:
    """Return all that a response was asked for: system and user turns, and the checklist."""
    turns = [turn.content for turn in sample.conversation if turn.role != "assistant"]
    return "\n".join([*turns, *(constraint.text for constraint in sample.checklist)])


# --- gates ----------------------------------------------------------------------------------------

_WANTS_SYMBOLS = re.compile(r"punctuation|symbol|\bdots?\b|标点|符号", re.IGNORECASE)
_NUMBERS = re.compile(r"^[ \t]*\d{1,3}[.):][ \t]", re.MULTILINE)
_MAY_REPEAT = re.compile(r"\brepeat|\btimes\b|\bagain\b|重复|[次遍]", re.IGNORECASE)


def _empty(sample: Sample, text: str) -> str | None:
    first = text.lstrip()[:1]
    if first.isascii() and first.isalnum():  # the usual case: it begins with words
        return None
    if shows_nothing(sample.response or ""):
        return "it shows nothing"
    # Emoji and other symbols may be an answer.
    if any(char.isalnum() or unicodedata.category(char)[0] == "S" for char in text):
        return None
    return None if _WANTS_SYMBOLS.search(_requested(sample)) else "it has only punctuation"


def _cut_off(sample: Sample, _: str) -> str | None:
    about = sample.model_extra or {}
    completion = about.get("completion")
    known = completion if isinstance(completion, dict) else about
    reason = known.get("finish_reason")
    return f"the model's answer was cut off ({reason})" if is_cut_off(reason) else None


def _repetition(sample: Sample, text: str) -> str | None:
    data = " ".join(text.split()).encode("utf-8", "surrogatepass")
    if len(text) >= COMPRESSIBLE_FROM:
        # A window that holds all of it finds the same repetitions in half the time.
        window = SMALL_WINDOW if len(data) < SMALL_WINDOW_BYTES else zlib.MAX_WBITS
        share = len(zlib.compress(data, wbits=window)) / len(data)
        return f"it repeats itself: it compresses to {share:.1%}" if share < COMPRESSED else None
    words = _words(text)
    if len(words) // _period(words) < TIMES or _MAY_REPEAT.search(_requested(sample)):
        return None
    return f"it says the same again and again: {text[:40]!r}"


def _period(words: Sequence[str]) -> int:
    """Return after how many words a text begins again, to its end; the text's length if never."""
    borders = [0]  # of each beginning: how long an end of it is a beginning too
    for word in words[1:]:
        length = borders[-1]
        while length and word != words[length]:
            length = borders[length - 1]
        borders.append(length + (word == words[length]))
    return max(1, len(words) - borders[-1])


def _echo(sample: Sample, text: str) -> str | None:
    """Find a response that is its instruction or constraints, word for word, and little else."""
    shown = [_last_turn(sample), *(constraint.text for constraint in sample.checklist)]
    if len(text) > 2 * sum(map(len, shown)):  # the usual case, before words are compared
        return None
    if len(sample.conversation) > 1 or _MAY_REPEAT.search(_requested(sample)):
        return None  # a turn of a conversation may be anything, as in a game
    words = _words(_NUMBERS.sub("", text))
    left = f" {' '.join(words)} "
    for quote in sorted({" ".join(_words(each)) for each in shown}, key=len, reverse=True):
        if quote:
            left = left.replace(f" {quote} ", " ")
    own = len(left.split())
    copied = len(words) - own >= SHOWN_WORDS and own <= OWN * len(words)
    return "it copies what it was shown" if copied else None


_REFUSAL = re.compile(
    r"\W*(?:(?:i['’]m|i am)(?: very| so| truly)? sorry|sorry|apologies|unfortunately"
    r"|i apologi[sz]e)?[,.]?(?: but)? ?i(?:['’]m| am)? ?(?:can(?:no|['’])?t|can not|won['’]t"
    r"|will not|unable to|not able to|must decline to|refuse to)"
    r" (?:assist|help|comply|fulfil|fulfill|do (?:that|this|it)|continue|engage)\b"
    r"|\W*(?:很|非常|十分)?(?:抱歉|对不起|不好意思)?[，,。！!]?(?:但)?我?(?:无法|不能|没办法)"
    r"(?:协助|帮助|完成|满足|执行|处理|继续)",
    re.IGNORECASE,
)
_SPEAKS_OF_REFUSING = re.compile(
    r"\brefus|\bdeclin|\breject|\bapolog|\bsorry\b|\bscope\b|拒绝|婉拒|抱歉|道歉|无法|不能",
    re.IGNORECASE,
)


def _refusal(sample: Sample, text: str) -> str | None:
    """Find a refusal, where neither a system prompt nor the checklist may have asked for one."""
    match = _REFUSAL.match(text.lstrip()) if len(text) <= REFUSAL_UP_TO else None
    if match is None or _SPEAKS_OF_REFUSING.search(_requested(sample)):
        return None
    if any(turn.role == "system" for turn in sample.conversation):
        return None
    return f"it refuses: {match[0].strip()!r}"


_NAMES_A_LANGUAGE = re.compile(
    r"\blanguages?\b|\btranslat|\btranscri|\bscript\b|\balphabet\b|\bbilingual|\bcode\b|\bfunction\b"
    r"|\bprogram|\b(?:arabic|bengali|bulgarian|cantonese|chinese|english|farsi|french|german|greek"
    r"|gujarati|hebrew|hindi|japanese|kannada|korean|malayalam|mandarin|marathi|nepali|persian"
    r"|punjabi|russian|spanish|tamil|telugu|thai|ukrainian|urdu|vietnamese)\b"
    r"|[语文]言?[写回答翻]|翻译|译[文为成]|英文|英语|中文|汉语|用.{1,4}[语文]|拼音"
    r"|代码|函数|程序|编程|脚本|公式|命令|网址|网站|邮箱",
    re.IGNORECASE,
)
_NO_WORDS = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|(?<!\S)\S*?[/\\@_=<>{}]\S*", re.DOTALL)


@lru_cache(maxsize=8192)
def _script(char: str) -> str:
    """Name a letter's script, that of Japanese and Chinese together."""
    first = unicodedata.name(char, "").partition(" ")[0]
    return "CJK" if first in ("HIRAGANA", "KATAKANA", "KANGXI") else first


def _scripts(text: str) -> Counter[str]:
    part = text[:1000]
    if part.isascii():  # the usual case, many times faster
        return Counter(LATIN=sum(map(str.isalpha, part)))
    return Counter(map(_script, filter(str.isalpha, part)))


def _language(sample: Sample, text: str) -> str | None:
    """Find a response in another script than its instruction, which names no language."""
    asked = _last_turn(sample)
    if asked.isascii() and text.isascii():
        return None
    wanted, used = _scripts(asked), _scripts(_NO_WORDS.sub(" ", text[:4000]))
    if wanted.total() < LETTERS or used.total() < LETTERS:
        return None
    (script, count), (other, _) = wanted.most_common(1)[0], used.most_common(1)[0]
    if count < 0.8 * wanted.total() or used[script] > 0.1 * used.total():
        return None
    requested = _requested(sample)
    if _scripts(requested)[other] or _NAMES_A_LANGUAGE.search(requested):
        return None
    return f"it is in another script ({other.title()}) than the instruction"


Gate: TypeAlias = Callable[["Sample", str], "str | None"]
"""A sample and what a reader sees of its response, to why it is stopped, if it is."""

GATES: Mapping[str, Gate] = {
    "empty": _empty,
    "cut_off": _cut_off,
    "repetition": _repetition,
    "echo": _echo,
    "refusal": _refusal,
    "language": _language,
}
"""The gates by name, in the order in which they are tried."""


def enabled(gates: Collection[str] | str) -> frozenset[str]:
    """Return the gates that are on."""
    if not isinstance(gates, Collection) or not all(isinstance(name, str) for name in gates):
        raise UsageError(f"the gates are {gates!r:.60}", hint="give all, none, or their names")
    if gates == "all":
        return frozenset(GATES)
    names = (
        frozenset() if gates == "none" else frozenset([gates] if isinstance(gates, str) else gates)
    )
    for name in sorted(names - GATES.keys()):
        raise UsageError(f"no such gate: {name!r}", hint=f"all, none, or of {', '.join(GATES)}")
    return names


def violation(sample: Sample, gates: Collection[str]) -> Violation | None:
    """Return the first of some gates that stops a response, if any does."""
    text = visible((sample.response or "")[:LONGEST])
    for name, gate in GATES.items():
        reason = gate(sample, text) if name in gates else None
        if reason:
            return Violation(name, reason)
    return None


# --- guards --------------------------------------------------------------------------------------
#
# RIFL (arXiv 2511.10507) found that a policy learns to praise itself and to stop early, and adds
# two criteria to every checklist. The first here is ours: what is no attempt meets any constraint
# that forbids something.

_CRITERIA = {
    "en": (
        (
            "The response is an attempt at the task: it is about what the instruction asks for, "
            "and not filler, a template, a copy of the instruction, or a text on something else."
        ),
        (
            "The response only answers: it holds no evaluation of itself, such as a claim or a "
            "list that says that it meets the requirements, and no verdicts."
        ),
        "The response is complete: it is not cut off and does not stop before it is finished.",
    ),
    "zh": (
        "回复是在完成任务：内容针对指令所要求的事，不是空话、模板、对指令的复述或无关的文本。",
        "回复只作答：其中没有对自身的评价，例如声称或逐条列出自己满足了要求，也没有判定结论。",
        "回复是完整的：没有被截断，也没有在完成之前停止。",
    ),
}


def criteria(sample: Sample) -> tuple[Constraint, ...]:
    """Return the criteria as constraints, in the language of the checklist."""
    words = "\n".join(constraint.text for constraint in sample.checklist)
    texts = _CRITERIA["zh" if layout.language_of(words) == "zh" else "en"]
    return tuple(Constraint(text=text, type="guard") for text in texts)
