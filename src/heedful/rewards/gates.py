"""Gates and guards: plain signs that a response games its reward, found by code alone.

A response that a gate stops is worth 0 whatever a judge says of it, and no judge is asked. Each
gate has been measured on real responses (``benchmarks/reward_guards.py``). What an instruction asks
for never counts against the response: where it asks for a repeated word, a list of verdicts or an
answer in Hindi, these aren't signs. The expressions are in ``gates.txt``.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from heedful.core.errors import UsageError
from heedful.core.nouns import Constraint, Judgment, Status
from heedful.core.text import is_blank
from heedful.judges.prompts import block_layout as layout
from heedful.models.base import is_cut_off

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.nouns import Sample


LONGEST = 50_000
"""Characters of a response that are looked at, and the most that a response may have."""

FILLER_UP_TO = 300
REFUSAL_UP_TO = 600
"""Characters of a text that only announces or refuses: in a longer one the same words introduce an
answer."""

COMPRESSED = 0.1
COMPRESSIBLE_FROM = 400
"""A text of this many characters that zlib makes smaller than this share says the same again and
again; zlib's own overhead counts in shorter ones."""

REPEATED_RUNS = 0.7
RUNS_FROM = 60
"""A text of this many words, of whose runs this share stood in it before, is a repetition."""

WORDS_FROM, WORDS_TO = 8, 100
"""Words between which a text with a quarter as many different ones is a repetition."""

RUN = 5
"""Words in a row that are one run: two texts that share one don't do so by chance."""

QUOTED = 0.6
"""A response is a copy of the checklist if half of the constraints stand in it word for word and
make up this share of its words."""

OWN = 0.1
OWN_WORDS = 3
"""A response is a copy of the instruction if each has no more than this share of its words, or so
many words, that aren't in the other: a copy may be introduced."""

RESTATED = 0.75
RESTATED_UP_TO = 60
"""A text of so many words restates its instruction if this share of its words of content stands
there."""

WORDS_OF_A_TEXT = 5
SHARE_OF_LEAST = 5
"""A response with fewer words than this fraction of those asked for isn't an attempt."""

LETTERS = 15
"""Letters of the instruction and of the response that are enough to tell their script."""


class Violation(NamedTuple):
    """A gate that stopped a response, and why."""

    gate: str
    reason: str


@dataclass(frozen=True)
class ResponseView:
    """A response and its instruction, each normalised once for all gates."""

    sample: Sample

    @cached_property
    def text(self) -> str:
        """What a reader sees of the response, in normal form."""
        return normalised(visible((self.sample.response or "")[:LONGEST]))

    @cached_property
    def words(self) -> list[str]:
        """The response's words."""
        return _words(self.text)

    @cached_property
    def last_turn(self) -> str:
        """The last user turn, in normal form."""
        turns = [turn.content for turn in self.sample.conversation if turn.role == "user"]
        return normalised(turns[-1]) if turns else ""

    @cached_property
    def instruction(self) -> str:
        """All that the response was asked for: system and user turns, and the checklist."""
        turns = [turn.content for turn in self.sample.conversation if turn.role != "assistant"]
        return normalised("\n".join([*turns, *self.constraints]))

    @cached_property
    def constraints(self) -> list[str]:
        """The checklist's texts."""
        return [constraint.text for constraint in self.sample.checklist]

    @property
    def is_one_of_several(self) -> bool:
        """Whether it stands in a conversation, where a turn may be anything, as in a game."""
        return len(self.sample.conversation) > 1

    @cached_property
    def wants_text(self) -> bool:
        """Whether the instruction asks to write a text, and surely not a word or two."""
        return bool(_WRITES.search(self.last_turn)) and not _SHORT.search(self.last_turn)


# --- texts --------------------------------------------------------------------------------------

CONTROLS = r"<\|[^<>|]*\|>|</?s>|<(?:eos|bos|pad|unk)>|<(?:start|end)_of_turn>|\[/?INST\]"
"""A special token of the common chat templates."""

_UNSEEN = re.compile(rf"{CONTROLS}|<｜[^<>｜]*｜>|<!--(?:-?>|.*?(?:-->|\Z))", re.DOTALL)
_FENCE_LINE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})(?:[ \t]*[\w+#.-]+)?[ \t]*$", re.MULTILINE)
_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Controls and format characters, without the joiners U+200C and U+200D, which scripts need."""

_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_]+")


def visible(text: str) -> str:
    """Return what a reader sees of an answer: no control tokens of chats and no comments."""
    return _UNSEEN.sub("", text)


def shows_nothing(text: str) -> bool:
    r"""Tell whether an answer is empty once what no reader sees is taken away.

    >>> shows_nothing("```\n```<|im_end|>"), shows_nothing("<!-- a -->1")
    (True, False)
    """
    return is_blank(_FENCE_LINE.sub("", visible(text)))


def normalised(text: str) -> str:
    r"""Write a text in compatibility form (NFKC), without invisible characters.

    >>> normalised("ＶＥＲ\u200bＤＩCＴ: met")
    'VERDICT: met'
    """
    return _HIDDEN.sub("", unicodedata.normalize("NFKC", text))


def _words(text: str) -> list[str]:
    """Split a text into words; of Chinese and Japanese each character is one."""
    return _TOKEN.findall(text.casefold())


# --- expressions ----------------------------------------------------------------------------------

_NOUNS = ("constraint", "requirement", "criteri", "instruction", "rubric", "guideline", "condition")
_NOUN = (
    r"(?:constraints?|requirements?|criteri(?:a|on)|instructions?|rubrics?|guidelines|conditions?)"
)


@cache
def _expressions() -> dict[str, list[tuple[tuple[str, ...], re.Pattern[str]]]]:
    """Read ``gates.txt``: the expressions by gate, each with the substrings before it."""
    from importlib import resources

    text = resources.files(__package__).joinpath("gates.txt").read_text(encoding="utf-8")
    found: dict[str, list[tuple[tuple[str, ...], re.Pattern[str]]]] = {}
    hints: tuple[str, ...] = ()
    for line in text.splitlines():
        if line.startswith("[") and line.endswith("]") and line[1:-1].replace("_", "").isalpha():
            expressions = found.setdefault(line[1:-1], [])
            hints = ()
        elif line.startswith("@"):
            hints = tuple(line[1:].replace("NOUN", " ".join(_NOUNS)).split())
        elif line and not line.startswith("#"):
            flags = re.IGNORECASE | re.MULTILINE
            expressions.append((hints, re.compile(line.replace("NOUN", _NOUN), flags)))
    return found


def quoted_match(gate: str, text: str, instruction: str = "") -> str | None:
    """Quote what an expression of a gate matches that the instruction doesn't match.

    An expression is tried only on a text that holds one of the substrings named before it, which
    takes a fraction of the time.
    """
    folded = text.casefold()
    for hints, pattern in _expressions()[gate]:
        if hints and not any(hint in folded for hint in hints):
            continue
        match = pattern.search(text)
        if match is not None and not _asked_for(match, instruction):
            return repr(match[0].strip()[:60])
    return None


def _asked_for(match: re.Match[str], instruction: str) -> bool:
    """Tell whether an instruction matches too, or names the JSON key that a text matches with."""
    if not instruction:
        return False
    key = re.search(r"[\"'](\w+)[\"'] ?:", match[0])
    return match.re.search(instruction) is not None or (
        key is not None and re.search(rf"\b{key[1]}\b", instruction, re.IGNORECASE) is not None
    )


_WRITES = re.compile(
    r"\b(?:write|compose|draft|explain|describe|summari[sz]e|elaborate|discuss|essay|story|poem|letter"
    r"|e-?mail|note|blog|article|report|review|speech|song|paragraphs?|sentences)\b"
    r"|写一|介绍|描述|解释|说明|总结|作文|文章|故事",
    re.IGNORECASE,
)
_SHORT = re.compile(
    r"\b(?:title|name|slogan|headline|tagline|emoji|acronym|number|numbers|single|symbol|letter|word"
    r"|character|code|function|regex|command|hashtag|caption|synonyms?|phrase|reply|respond|answer"
    r"|say|choose|pick|classif\w+|label|yes|no|equation|formula|only|exactly|how many|one|haiku"
    r"|sentence|line|extract|sentiment|analy[sz]e|hint|guess|json|object|list|table|yaml|html)\b"
    r"|标题|名字|名称|口号|一个|字|词|几个|多少|只|回答|选|是否|吗",
    re.IGNORECASE,
)
_WANTS_LITTLE = re.compile(
    r"\b(?:regular expression|regex|code|reply|respond|answer|say|choose|pick|classif|label|word"
    r"|yes|no|question|ask|thank|hello)\b|只|回答|选|是否|吗",
    re.IGNORECASE,
)
_WANTS_SYMBOLS = re.compile(r"punctuation|symbol|\bdots?\b|\bemojis?\b|标点|符号", re.IGNORECASE)
_MAY_REPEAT = re.compile(
    r"\brepeat|\btimes\b|\bover and over|\bagain and again|重复|[一二三四五六七八九十百千\d][次遍]",
    re.IGNORECASE,
)
_HAS_REFRAINS = re.compile(
    r"\bsongs?\b|\brap|\blyric|\bpoem|\bpoetry|\bchant|\bhtml|\bhymn|歌|诗", re.IGNORECASE
)
_MAY_RESTATE = re.compile(
    r"prompt|\bgiven\b|combin|merg|\bjoin|rewrit|rephras|paraphras|reword|correct|edit|improv|better"
    r"|shorten|summar|改写|润色|总结",
    re.IGNORECASE,
)
_SPEAKS_OF_REFUSING = re.compile(
    r"\brefus|\bdeclin|\breject|\bapolog|\bsorry\b|\bscope\b|拒绝|婉拒|抱歉|道歉|无法|不能",
    re.IGNORECASE,
)
_NAMES_A_LANGUAGE = re.compile(
    r"\blanguages?\b|\btranslat|\btranscri|\bscript\b|\balphabet\b|\bbilingual|\b(?:english|french"
    r"|german|spanish|portuguese|italian|dutch|russian|ukrainian|bulgarian|polish|czech|greek|latin"
    r"|turkish|arabic|hebrew|persian|farsi|urdu|hindi|bengali|punjabi|gujarati|marathi|nepali|tamil"
    r"|telugu|kannada|malayalam|thai|vietnamese|korean|japanese|chinese|mandarin|cantonese"
    r"|indonesian|swahili|finnish|swedish)\b|[语文]言?[写回答翻]|翻译|译[文为成]|英文|英语|中文|汉语"
    r"|代码|函数|程序|编程|脚本|公式|命令|网址|网站|邮箱|\bcode\b|\bfunction\b|\bprogram"
    r"|法语|德语|日语|韩语|俄语|拼音|用.{1,4}[语文]",
    re.IGNORECASE,
)
_LEAST_WORDS = re.compile(
    r"(?:\bat least|\bminimum(?: length)?(?: of)?|\bno (?:less|fewer) than|\bmore than|\bexactly"
    r"|\babout|\baround|\bapproximately|\broughly) (\d{2,5}) words\b|\b(\d{2,5})\+ words\b"
    r"|\b(?:write|compose|create|generate|draft) (?:me )?an? (\d{2,5})[- ]words?\b"
    r"|(?:不少于|至少|不低于|大约|约)(\d{2,5})个?[字词]|(\d{2,5})[字词](?:以上|左右)",
    re.IGNORECASE,
)
"""Phrases in instructions that excuse a sign or ask for a length."""


# --- gates ----------------------------------------------------------------------------------------


def _empty(view: ResponseView) -> str | None:
    return "it shows nothing" if shows_nothing(view.sample.response or "") else None


_PLACEHOLDER = re.compile(r"\W*[\[<({【][^\]>)}】\n\d,:\"]{0,80}[\]>)}】]\W*")
_SENTENCE_END = re.compile(r"[.!?。！？:：¡\n]+")
_MARKS = "。．・…—–-－＿、，！？；：“”‘’「」『』（）《》【】～·\n\t "


def _near_empty(view: ResponseView) -> str | None:
    text = view.text.strip()
    # Emoji and other symbols may be an answer; a dot, a dash and a question mark are none.
    shown = text.strip(_MARKS)
    if not any(char.isalnum() or (not char.isascii() and char.isprintable()) for char in shown):
        return None if _WANTS_SYMBOLS.search(view.instruction) else "it has only punctuation"
    if len(text) > FILLER_UP_TO or view.is_one_of_several or _WANTS_LITTLE.search(view.instruction):
        return None
    sentences = [part.strip(" \t¡¿*#,") for part in _SENTENCE_END.split(text)]
    said = [sentence for sentence in sentences if any(map(str.isalnum, sentence))]
    fillers = [pattern for _, pattern in _expressions()["filler"]]
    hollow = (any(each.fullmatch(sentence) for each in fillers) for sentence in said)
    if _PLACEHOLDER.fullmatch(text) or (said and all(hollow)):
        return f"it only says {text[:40]!r}"
    return None


def _cut_off(view: ResponseView) -> str | None:
    about = view.sample.model_extra or {}
    completion = about.get("completion")
    known = completion if isinstance(completion, dict) else about
    reason = known.get("finish_reason")
    return f"the model's answer was cut off ({reason})" if is_cut_off(reason) else None


def _too_long(view: ResponseView) -> str | None:
    length = len(view.sample.response or "")
    return f"it has {length:,} characters, more than {LONGEST:,}" if length > LONGEST else None


def _repetition(view: ResponseView) -> str | None:
    text = " ".join(view.text.split())
    # Numbers that only count on don't hide a loop: [User1], [User2], …
    data = re.sub(r"\d+", "0", text).encode("utf-8", "surrogatepass")
    share = len(zlib.compress(data)) / max(1, len(data))
    if len(text) >= COMPRESSIBLE_FROM and share < COMPRESSED:
        return f"it repeats itself: it compresses to {share:.1%}"
    if _MAY_REPEAT.search(view.last_turn):
        return None
    words = text.casefold().split()
    runs = [tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1)]
    before = 1 - len({*runs}) / max(1, len(runs))
    if len(words) >= RUNS_FROM and before >= REPEATED_RUNS:
        if not _HAS_REFRAINS.search(view.last_turn):
            return f"most runs of {RUN} words stand in it twice: {text[:40]!r}"
    elif _says_little(words):
        return f"it says the same again and again: {text[:40]!r}"
    return None


def _says_little(words: Sequence[str]) -> bool:
    """Tell whether all is a quarter as many words or two letters, or half of it is one word."""
    letters = "".join(re.sub(r"\W+", "", word) for word in words)
    if len(letters) > 2 * RUN and len({*letters}) <= 2:  # noqa: PLR2004 - ha, ha, ha
        return True
    if len(words) < WORDS_FROM:
        return False
    bare = Counter(re.sub(r"\W+", "", word) for word in words)
    most = max((count for word, count in bare.items() if len(word) > 1), default=0)
    return 2 * most >= len(words) or (len(words) <= WORDS_TO and 4 * len({*words}) <= len(words))


def _echo(view: ResponseView) -> str | None:
    words = view.words
    if len(view.constraints) > 1:
        quoted, share = _quoted(words, [_words(normalised(text)) for text in view.constraints])
        if quoted > 1 and 2 * quoted >= len(view.constraints) and share >= QUOTED:
            return "it copies the checklist"
    if view.is_one_of_several or _MAY_REPEAT.search(view.last_turn):
        return None
    asked = _words(view.last_turn)
    # Who corrects a given text leaves out what was asked about it, at one of the ends.
    ends = {*asked[:RUN]} <= {*words[: 2 * RUN]} and {*asked[-RUN:]} <= {*words[-2 * RUN :]}
    if ends and _copies(words, asked) and _copies(asked, words):
        return "it copies the instruction"
    return _restated(view) if view.wants_text else None


def _quoted(words: Sequence[str], constraints: Sequence[Sequence[str]]) -> tuple[int, float]:
    """Count the constraints that stand in a text word for word, and the share that they make up."""
    text = f" {' '.join(words)} "
    quotes = {" ".join(constraint) for constraint in constraints}
    inside = [quote for quote in quotes if quote and f" {quote} " in text]
    left = text
    for quote in sorted(inside, key=len, reverse=True):
        left = left.replace(f" {quote} ", " ")
    share = 1 - len(left.split()) / len(words) if words else 0.0
    return sum(" ".join(constraint) in inside for constraint in constraints), share


def _copies(words: Sequence[str], source: Sequence[str]) -> bool:
    """Tell whether nearly all words stand in a run of words of another text."""
    runs = {tuple(source[at : at + RUN]) for at in range(len(source) - RUN + 1)}
    inside = bytearray(len(words))
    for at in range(len(words) - RUN + 1):
        if tuple(words[at : at + RUN]) in runs:
            inside[at : at + RUN] = b"\1" * RUN
    return any(inside) and inside.count(0) <= max(OWN_WORDS, OWN * len(words))


_LISTED = (
    "the of and to in is that it for with as was on are be this by from or an at which a i my me "
    "you your we our ha had have do doe not no so if then there here can will would should please "
    "dear following now all about also very just keep kept mention write written been its they "
    "these those"
)
_GLUE = frozenset(_LISTED.split())
"""Words that say nothing by themselves, without a final s."""

_BEGINNING = 4
"""Letters by which words are the same: apology and apologises."""

_LETTERS_OF_WORD = re.compile(r"[^\W\d_]+")


def _content(text: str) -> set[str]:
    """Return the beginnings of the words that say something."""
    stems = (word.casefold().removesuffix("s") for word in _LETTERS_OF_WORD.findall(text))
    return {stem[:_BEGINNING] for stem in stems if len(stem) > 1 and stem not in _GLUE}


def _restated(view: ResponseView) -> str | None:
    asked = view.last_turn
    if len(_words(asked)) > RESTATED_UP_TO or _MAY_RESTATE.search(asked):
        return None
    content, given = _content(view.text), _content(" ".join((asked, *view.constraints)))
    if not content or len(view.words) > RESTATED_UP_TO:
        return None
    share = len(content & given) / len(content)
    return "it only restates what was asked" if share >= RESTATED else None


def _self_grading(view: ResponseView) -> str | None:
    quote = quoted_match("self_grading", view.text, view.instruction)
    return None if quote is None else f"it grades itself: {quote}"


def _addresses_judge(view: ResponseView) -> str | None:
    quote = quoted_match("addresses_judge", view.text, view.instruction)
    return None if quote is None else f"it addresses its judge: {quote}"


def _refusal(view: ResponseView) -> str | None:
    """Find a refusal, where neither a system prompt nor the checklist may have asked for one."""
    if len(view.text) > REFUSAL_UP_TO or _SPEAKS_OF_REFUSING.search(view.instruction):
        return None
    if any(turn.role == "system" for turn in view.sample.conversation):
        return None
    quote = quoted_match("refusal", view.text.lstrip()[:300].split("\n")[0])
    return None if quote is None else f"it refuses: {quote}"


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


def _language(view: ResponseView) -> str | None:
    """Find a response in another script than its instruction, which names no language."""
    wanted, used = _scripts(view.last_turn), _scripts(_NO_WORDS.sub(" ", view.text[:4000]))
    if wanted.total() < LETTERS or used.total() < LETTERS:
        return None
    (script, count), (other, _) = wanted.most_common(1)[0], used.most_common(1)[0]
    if count < 0.8 * wanted.total() or used[script] > 0.1 * used.total():
        return None
    if _scripts(view.instruction)[other] or _NAMES_A_LANGUAGE.search(view.instruction):
        return None
    return f"it is in another script ({other.title()}) than the instruction"


_NO_TEXT = re.compile(r"<[^<>\n]{0,80}>|&#?\w{1,8};|\[[^\[\]\n]{0,80}\]|\w{1,8}://\S+")
"""Markup, placeholders and addresses."""


def _too_short(view: ResponseView) -> str | None:
    """Find a few words for a text, or less than a fifth of the words that are asked for."""
    tokens = _TOKEN.findall(_NO_TEXT.sub(" ", view.text))
    words = sum(not token.isdigit() for token in tokens)
    if words < WORDS_OF_A_TEXT and view.wants_text:
        return f"it has {words} words where the instruction asks for a text"
    numbers = [
        int(number) for match in _LEAST_WORDS.findall(view.last_turn) for number in match if number
    ]
    if numbers and words * SHARE_OF_LEAST < min(numbers):
        return f"it has {words} words where the instruction asks for {min(numbers):,}"
    return None


Gate: TypeAlias = Callable[[ResponseView], "str | None"]

GATES: Mapping[str, Gate] = {
    "empty": _empty,
    "near_empty": _near_empty,
    "cut_off": _cut_off,
    "too_long": _too_long,
    "repetition": _repetition,
    "echo": _echo,
    "self_grading": _self_grading,
    "addresses_judge": _addresses_judge,
    "refusal": _refusal,
    "language": _language,
    "too_short": _too_short,
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
    view = ResponseView(sample)
    for name, gate in GATES.items():
        reason = gate(view) if name in gates else None
        if reason:
            return Violation(name, reason)
    return None


# --- guards --------------------------------------------------------------------------------------
#
# RIFL (arXiv 2511.10507) found that a policy learns to praise itself and to stop early, and adds
# two criteria to every checklist. Code sees the plain cases of both; a judge is needed for the
# rest. Code fires only where it is sure: what it finds nothing against may still be either.

Guards = Literal["off", "code", "judge"]
"""``code``: code alone decides. ``judge``: the judge also decides where code finds nothing."""

CODE = "guards"
"""How judgments name the code that decided here."""

_CRITERIA = {
    "en": (
        (
            "The response only answers: it holds no evaluation of itself, such as a claim or a "
            "list that says that it meets the requirements, and no verdicts."
        ),
        "The response is complete: it is not cut off and does not stop before it is finished.",
    ),
    "zh": (
        "回复只作答：其中没有对自身的评价，例如声称或逐条列出自己满足了要求，也没有判定结论。",
        "回复是完整的：没有被截断，也没有在完成之前停止。",
    ),
}

_OPEN_END = (*",，、;；(（[【{「『“‘—–", " -", " and", " or", " the", " a", " of", " to")
"""Endings of a text that breaks off."""

_BARE_MARK = re.compile(r"(?:[-*•+]|\d{1,3}[.)、])")
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
_SENTENCE = re.compile(r"[.!?…。！？][\"'”’)）]*(?:\s+|(?<=[。！？]))")
_WORD_END = re.compile(r"[^\W\d_]$")

_WORDS_OF_A_STUMP = 4
"""A last sentence with fewer words may be a signature or a name."""

_WORDS_OF_A_SENTENCE = 3
"""A text with fewer words before a full stop may be the number of an item, or an initial."""


def criteria(sample: Sample) -> tuple[Constraint, Constraint]:
    """Return the two criteria as constraints, in the language of the checklist."""
    words = "\n".join(constraint.text for constraint in sample.checklist)
    texts = _CRITERIA["zh" if layout.language_of(words) == "zh" else "en"]
    return Constraint(text=texts[0], type="guard"), Constraint(text=texts[1], type="guard")


def violations(sample: Sample) -> tuple[Judgment | None, Judgment | None]:
    """Judge both criteria by code: ``unmet`` where it is sure, else ``None``.

    A sample's field ``completion``, as ``heedful respond`` writes it, says whether the model's
    answer ended at the limit of tokens.
    """
    text = normalised(sample.response or "")
    graded = quoted_match("self_grading", text)
    return (
        _unmet(graded and f"the response grades itself: {graded}"),
        _unmet(_breaks_off(sample, text)),
    )


def _unmet(explanation: str | None) -> Judgment | None:
    return (
        None
        if explanation is None
        else Judgment(status=Status.UNMET, explanation=explanation, judge=CODE)
    )


def _breaks_off(sample: Sample, text: str) -> str | None:
    completion = (sample.model_extra or {}).get("completion")
    if isinstance(completion, dict) and is_cut_off(completion.get("finish_reason")):
        return "the model reached its limit of tokens"
    body = text.rstrip()
    if not body:
        return "the response is empty"
    last = body.rsplit("\n", 1)[-1].strip()
    if len(_FENCE.findall(body)) % 2 and not _FENCE.match(last):
        return "a block of code is opened and not closed"
    if _BARE_MARK.fullmatch(last) and "\n" in body:
        return f"the response ends on an empty item, {last!r}"
    if body.endswith(_OPEN_END):
        return f"the response ends on {body[-20:]!r}"
    return _stump(last)


def _stump(line: str) -> str | None:
    """Find a last sentence without an end, in a line whose earlier sentences have one."""
    *before, rest = _SENTENCE.split(line)
    if not before or not _WORD_END.search(rest) or rest[0] in "0123456789-–—" or "#" in rest:
        return None
    if _roughly(before[-1]) < _WORDS_OF_A_SENTENCE or _roughly(rest) < _WORDS_OF_A_STUMP:
        return None
    return f"the response ends within a sentence: {rest[-40:]!r}"


def _roughly(text: str) -> int:
    """Count words, roughly: of a text that is not in Latin letters two characters are one."""
    return len(text.split()) if text.isascii() else len(text) // 2
