"""Gates: plain signs that a response games its reward, each found by code alone.

A response that a gate stops is worth 0 whatever a judge says of it, and no judge is asked. A gate
fires only where it is sure: each has been measured on real responses (``benchmarks/
reward_guards.py``). What an instruction asks for never counts against the response: where it asks
for a repeated word, a list of verdicts or an answer in Hindi, these aren't signs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from heedful.core.errors import UsageError
from heedful.models.base import is_cut_off
from heedful.rewards import (
    gate_forged,
    gate_languages,
    gate_patterns,
    gate_repetition,
    gate_substance,
    normal,
)
from heedful.rewards.visible import shows_nothing, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.nouns import Sample

LONGEST = 50_000
"""Characters of a response that are looked at, and the most that a response may have."""

QUOTED = 0.6
"""A response is a copy of the checklist if half of the constraints stand in it word for word and
make up this share of its words."""

COPIED = 0.9
"""A response is a copy of the instruction if each has this share of its words in the other."""

RUN = 5
"""Words in a row that two texts must share, so that it isn't chance."""

TAIL = 400
"""Characters at the end that are gibberish by themselves, whatever comes before them."""

DISGUISED = 2
"""Words that mix Latin letters with look-alikes from which on it isn't a slip."""


class Violation(NamedTuple):
    """A gate that stopped a response, and why."""

    gate: str
    reason: str


@dataclass(frozen=True)
class ResponseView:
    """A response and its instruction, each normalised once for all gates.

    Attributes:
        sample: the response with its instruction and checklist.
    """

    sample: Sample

    @cached_property
    def raw(self) -> str:
        """The response that a reader sees, cut to :data:`LONGEST`."""
        return visible((self.sample.response or "")[:LONGEST])

    @cached_property
    def text(self) -> str:
        """The same in normal form."""
        return normal.normalised(self.raw)

    @cached_property
    def last_turn(self) -> str:
        """The last user turn, in normal form."""
        turns = [turn.content for turn in self.sample.conversation if turn.role == "user"]
        return normal.normalised(turns[-1]) if turns else ""

    @cached_property
    def instruction(self) -> str:
        """All that the response was asked for: system and user turns, and the checklist."""
        turns = [turn.content for turn in self.sample.conversation if turn.role != "assistant"]
        return normal.normalised("\n".join([*turns, *self.constraints]))

    @cached_property
    def constraints(self) -> list[str]:
        """The checklist's texts."""
        return [constraint.text for constraint in self.sample.checklist]


def _empty(facts: ResponseView) -> str | None:
    return "it shows nothing" if shows_nothing(facts.sample.response or "") else None


_ACKNOWLEDGEMENT = re.compile(
    r"[^\w\n]*(?:ok(?:ay)?|sure|done|got it|of course|certainly|absolutely|understood|will do|n/?a"
    r"|none|tbd|todo|placeholder|lorem ipsum.*|insert .* here|here (?:it|you) (?:is|go|are)"
    r"|sure,? here (?:it is|you go)|好的?|收到|明白了?|没问题|当然可以?|可以的?|行)[^\w\n]*",
    re.IGNORECASE | re.DOTALL,
)


_PLACEHOLDER = re.compile(
    r"\W*[\[<({][^\]>)}\n\d,:\"]{0,80}[\]>)}]\W*"
    r"|\s*\[(?=[^\]]{0,200}[^\W\d_]{3})[^\[\]\"]{0,200}\]\s*"
)


def _near_empty(facts: ResponseView) -> str | None:
    text = facts.text.strip()
    filler = len(text) < MANY and (_ACKNOWLEDGEMENT.fullmatch(text) or _PLACEHOLDER.fullmatch(text))
    if filler and not _may_be_short(facts):
        return f"it only says {text[:40]!r}"
    said = gate_substance.filler(text, facts.last_turn)
    said = None if said is None or _may_be_short(facts) else said
    said = said or gate_substance.hull(text, facts.instruction)
    if said is not None:
        return said
    # Emoji and other symbols may be an answer; a dot, a dash and a question mark are none.
    if any(char.isalnum() or (not char.isascii() and char.isprintable()) for char in facts.text):
        if not facts.text.strip("。．・…—–-－＿、，！？；：“”‘’「」『』（）《》【】～·\n\t "):
            return "it has only punctuation"
        return None
    if re.search(
        r"punctuation|symbol|\bdots?\b|\bemojis?\b|标点|符号", facts.instruction, re.IGNORECASE
    ):
        return None
    return "it has only punctuation"


MANY = 300
"""Characters that no acknowledgement has."""


_WANTS_LITTLE = re.compile(
    r"\b(?:regular expression|regex|code|reply|respond|answer|say|choose|pick|classif|label|word"
    r"|yes|no)\b|只|回答|选|是否|吗",
    re.IGNORECASE,
)


def _may_be_short(facts: ResponseView) -> bool:
    """Tell whether an instruction may want a word or a symbol, or stands in a conversation."""
    several = len(facts.sample.conversation) > 1
    if several or gate_languages.asks_to_write(facts.last_turn):
        return several
    return _WANTS_LITTLE.search(facts.instruction) is not None


def _too_long(facts: ResponseView) -> str | None:
    length = len(facts.sample.response or "")
    return f"it has {length:,} characters, more than {LONGEST:,}" if length > LONGEST else None


def _cut_off(facts: ResponseView) -> str | None:
    about = facts.sample.model_extra or {}
    completion = about.get("completion")
    known = completion if isinstance(completion, dict) else about
    reason = known.get("finish_reason")
    return f"the model's answer was cut off ({reason})" if is_cut_off(reason) else None


_OVERRIDES = re.compile("[\u202d\u202e]")


def _disguised(facts: ResponseView) -> str | None:
    mixed = normal.mixed_words(facts.raw)
    given = (*facts.sample.conversation, *facts.sample.checklist)
    if _OVERRIDES.search(facts.raw) and not any(_OVERRIDES.search(str(each)) for each in given):
        return "a control character turns the order of its letters round"
    if mixed < DISGUISED or any(normal.mixed_words(str(each)) for each in given):
        return None
    return f"{mixed} words mix Latin letters with look-alikes of other scripts"


def _repetition(facts: ResponseView) -> str | None:
    return gate_repetition.repetition(facts.text, facts.last_turn)


def _echo(facts: ResponseView) -> str | None:
    words = _words(gate_substance.without_lead_in(_LIST_MARK.sub("", facts.text)))
    if len(facts.constraints) > 1:
        quoted, share = _quoted(words, [_words(normal.normalised(t)) for t in facts.constraints])
        if quoted > 1 and 2 * quoted >= len(facts.constraints) and share >= QUOTED:
            return "it copies the checklist"
    asked = _words(facts.last_turn)
    # A turn after others may be material to work on, as in a game that a system prompt sets.
    if len(facts.sample.conversation) > 1 or gate_repetition.MAY_REPEAT.search(facts.last_turn):
        return None
    restated = gate_substance.restated(facts.text, facts.last_turn, facts.constraints)
    if restated is not None and gate_languages.wants_text(facts.last_turn):
        return restated
    if gate_substance.backwards(words, asked) and not _MAY_REVERSE.search(facts.last_turn):
        return "it is the instruction backwards"
    # Who corrects a given text leaves out what was asked about it, at one of the ends.
    ends = {*asked[:RUN]} <= {*words[: 2 * RUN]} and {*asked[-RUN:]} <= {*words[-2 * RUN :]}
    if ends and _copied(words, asked) >= COPIED and _copied(asked, words) >= COPIED:
        return "it copies the instruction"
    return None


_MAY_REVERSE = re.compile(r"revers|backward|\border|sort|倒|逆", re.IGNORECASE)
_LIST_MARK = re.compile(r"^[^\w\n]*+\d{1,2}[.)、:]", re.MULTILINE)


def _words(text: str) -> list[str]:
    """Split a text into words; of Chinese and Japanese each character is one."""
    return re.findall(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_]+", text.casefold())


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


def _copied(words: Sequence[str], source: Sequence[str]) -> float:
    """Compute the share of words that stand in a run of words of another text."""
    if len(words) < RUN or 2 * len({*words} & {*source}) < len({*words}):
        return 0.0
    runs = {tuple(source[at : at + RUN]) for at in range(len(source) - RUN + 1)}
    inside = bytearray(len(words))
    for at in range(len(words) - RUN + 1):
        if tuple(words[at : at + RUN]) in runs:
            inside[at : at + RUN] = b"\1" * RUN
    return sum(inside) / len(words)


def _self_grading(facts: ResponseView) -> str | None:
    quote = gate_patterns.matched("self_grading", facts.text, facts.instruction)
    if quote is None:
        return gate_substance.ticks(facts.text, facts.constraints)
    return f"it grades itself: {quote}"


def _addresses_judge(facts: ResponseView) -> str | None:
    quote = gate_patterns.matched("addressing_judge", facts.text, facts.instruction)
    if quote is not None:
        return f"it addresses its judge: {quote}"
    given = facts.text, facts.instruction
    forged = gate_forged.verdicts_only(*given) or gate_forged.json_verdicts(*given)
    if len(facts.sample.conversation) > 1:
        return forged
    return forged or gate_forged.other_speaker(*given)


REFUSAL_UP_TO = 600
"""Characters of a refusal: in a longer text the same words introduce an answer."""


def _refusal(facts: ResponseView) -> str | None:
    """Find a refusal, where neither a system prompt nor the checklist may have asked for one."""
    start = facts.text.lstrip()[:300]
    matches = [
        match for _, pattern in gate_patterns.patterns("refusal") if (match := pattern.match(start))
    ]
    if (
        not matches
        or len(facts.text) > REFUSAL_UP_TO
        or re.search(
            r"\brefus|\bdeclin|\breject|\bapolog|\bsorry\b|\bscope\b|拒绝|婉拒|抱歉|道歉|无法|不能",
            facts.instruction,
            re.IGNORECASE,
        )
    ):
        return None
    if any(turn.role == "system" for turn in facts.sample.conversation):
        return None
    return f"it refuses: {matches[0][0].strip()!r}"


def _gibberish(facts: ResponseView) -> str | None:
    return (
        gate_languages.gibberish(facts.text)
        or (gate_languages.gibberish(facts.text[-TAIL:]) if len(facts.text) > TAIL else None)
        or gate_substance.encoded(facts.text, facts.instruction)
        or gate_substance.word_list(facts.text, facts.last_turn)
        or gate_substance.spelled(facts.text, facts.instruction)
        or gate_substance.dummy(facts.text, facts.instruction)
    )


def _language(facts: ResponseView) -> str | None:
    return gate_languages.other_language(facts.text, facts.last_turn, facts.instruction)


def _too_short(facts: ResponseView) -> str | None:
    return gate_languages.far_too_short(facts.text, facts.last_turn)


def _off_topic(facts: ResponseView) -> str | None:
    if len(facts.sample.conversation) > 1 or not gate_languages.asks_to_write(facts.last_turn):
        return None
    return gate_substance.off_topic(facts.text, facts.last_turn, facts.constraints)


Gate: TypeAlias = Callable[[ResponseView], "str | None"]

GATES: Mapping[str, Gate] = {
    "empty": _empty,
    "near_empty": _near_empty,
    "cut_off": _cut_off,
    "too_long": _too_long,
    "disguised": _disguised,
    "repetition": _repetition,
    "gibberish": _gibberish,
    "echo": _echo,
    "self_grading": _self_grading,
    "addresses_judge": _addresses_judge,
    "refusal": _refusal,
    "language": _language,
    "too_short": _too_short,
    "off_topic": _off_topic,
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
    facts = ResponseView(sample)
    for name, gate in GATES.items():
        reason = gate(facts) if name in gates else None
        if reason:
            return Violation(name, reason)
    return None
