"""The protocol of a prompt, and what the parsers share."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from heedful.core.errors import UsageError
from heedful.core.noun import trusted
from heedful.core.nouns import Constraint, Judgment, Message, Sample, Status
from heedful.core.reasoning import separate
from heedful.core.text import is_blank, unix_lines
from heedful.core.turns import has_parts
from heedful.judges.prompts import block_layout as layout
from heedful.judges.prompts.fence import QUOTED
from heedful.judges.prompts.template import asks_for, shipped, version, with_format

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from heedful.core.nouns import Constraint, Message, Sample
    from heedful.judges.prompts.block_layout import Language
    from heedful.judges.prompts.fence import Shown


NO_INSTRUCTION = (
    "the row has no instruction, and a model cannot judge a response without it; give the row a "
    "prompt (or conversation)"
)
"""Reason given for a row without an instruction."""

CUT_OFF = "the reply was cut off (give --max-completion-tokens more)"
"""Reason given for a truncated reply: its verdicts may be quotations from the response."""


class JudgePrompt(Protocol):
    """A prompt for a judge, together with the parser of its reply."""

    @property
    def name(self) -> str:
        """Its name in results and recordings."""
        ...

    @property
    def version(self) -> str:
        """Of prompt and parser: answers to another version are not read from a cache."""
        ...

    @property
    def response_format(self) -> dict[str, Any] | None:
        """The ``response_format`` of the chat completion, if any."""
        ...

    def render(
        self,
        sample: Sample,
        constraints: Sequence[Constraint],
        *,
        measurements: Sequence[str | None] | None = None,
    ) -> list[Message]:
        """Write the prompt; the same arguments always give the same messages.

        Args:
            sample: the conversation and the response to judge.
            constraints: those to judge it by: the sample's checklist or a part of it.
            measurements: for each constraint a count by code, such as "the response has 412
                words", or ``None``.

        Raises:
            RowError: the sample lacks what the prompt needs.
        """
        ...

    def parse(self, text: str, constraints: Sequence[Constraint]) -> list[Judgment]:
        """Read a judge's reply: one judgment for each constraint, in order.

        Where the reply holds no single verdict for a constraint, its judgment is ``unparsed`` and
        the explanation says why. Where an explanation ends in the opposite of its verdict, the
        judgment has an extra field ``contradiction``, which is true. A parser never guesses and
        never raises.

        A parser that has a third parameter, ``shown``, is given what the judge was shown
        (:class:`~heedful.judges.prompts.fence.Shown`), to tell quotations of it.
        """
        ...

    def write(self, judgments: Sequence[Judgment], constraints: Sequence[Constraint]) -> str:
        """Write the reply that ``parse`` reads as these judgments.

        Raises:
            UsageError: a judgment is not decided, so there is nothing to write.
        """
        ...


def lacks_instruction(sample: Sample) -> bool:
    """Tell whether the last user turn shows nothing, or without one no turn does."""
    turns = [turn for turn in sample.conversation if turn.role == "user"][-1:]
    turns = turns or list(sample.conversation)
    return is_blank("".join(turn.content for turn in turns)) and not has_parts(turns)


def lacking(sample: Sample, prompt: JudgePrompt | None) -> str | None:
    """Say what a model needs and a sample lacks; ``None`` if nothing.

    A prompt text of the user's own that leaves the conversation out needs no instruction.
    """
    if sample.response is None:
        return "the row has no response"
    own = getattr(prompt, "text", None)
    shown = own is None or asks_for(own, "conversation", "raw_instruction")
    return NO_INSTRUCTION if shown and lacks_instruction(sample) else None


class ReplyPart(NamedTuple):
    """A part of a reply, with a verdict on one constraint."""

    words: str  # those that the verdict is read from, to tell a quotation
    read: Callable[[Constraint], Judgment]
    number: int | None  # the constraint's, from 1
    name: str | None = None  # the constraint's text, where the reply repeats it


def positions(parts: Sequence[ReplyPart], constraints: Sequence[Constraint]) -> list[int | None]:
    """Say for each part which constraint it is about, by position; ``None`` where that is open.

    The text of a constraint counts before its number. Numbers are taken only if all that stand
    for themselves are within 1 to n: a reply that counts from 0 has no number right.
    """
    texts = [same_words(constraint.text) for constraint in constraints]
    places: list[int | None] = []
    by_number: list[int] = []
    for place, (_, _, number, name) in enumerate(parts):
        words = same_words(name) if name else None
        named = [at for at, text in enumerate(texts) if text == words]
        if len(named) > 1 and number is not None and number - 1 in named:
            named = [number - 1]
        places.append(named[0] if len(named) == 1 else None)
        if len(named) != 1:
            by_number.append(place)
    numbers = {place: parts[place].number for place in by_number}
    if all(number is not None and 1 <= number <= len(texts) for number in numbers.values()):
        for place, number in numbers.items():
            places[place] = None if number is None else number - 1
    return places


def decided(status: Status, explanation: str, reasons: str | None = None) -> Judgment:
    """Make a judgment that a reply states, marked where its reasons contradict it."""
    if contradicts(explanation if reasons is None else reasons, status):
        return Judgment.model_validate(
            {"status": status, "explanation": explanation, "contradiction": True}
        )
    return trusted(Judgment, {"status": status, "explanation": explanation})


def judged(
    parts: Sequence[ReplyPart], constraints: Sequence[Constraint], shown: Shown, name: str
) -> list[Judgment]:
    """Give each constraint the judge's last word on it.

    Parts that are quotations of what the judge was shown don't count. Where those that are left end
    in one for every constraint, these are the last word. Else a constraint on which they disagree
    is undecided, and so is every one where a part doesn't say which it is for. A part whose text
    names one constraint and whose number another leaves both open, unless all parts repeat their
    constraints and no number stands twice: then the reply only counts otherwise.
    """
    own = [part for part in parts if not shown.holds(part.words)]
    if parts and not own:
        return undecided(constraints, QUOTED)
    of = positions(own, constraints)
    size = len(constraints)
    if len(of) >= size and {*of[-size:]} == {*range(size)}:
        own, of = own[-size:], of[-size:]
    numbers = [part.number for part in own]
    twice = {number for number, count in Counter(numbers).items() if count > 1}
    named = all(part.name for part in own)
    judgments = []
    for position, constraint in enumerate(constraints):
        by_number = not named or position + 1 in twice
        said = [
            part.read(constraint)
            for part, at in zip(own, of, strict=True)
            if at == position or (by_number and part.number == position + 1)
        ]
        answers = {(each.status, each.level) for each in said}
        if len(answers) == 1 and None not in of:
            judgments.append(said[-1])
            continue
        count = ("no", "one", "more than one")[min(len(said), 2)]
        reason = f"the reply has {count} {name.format(position + 1)}"
        if None in of:
            reason += ", and parts whose numbers do not say which constraint they are for"
        judgments.append(Judgment(status=Status.UNPARSED, explanation=reason))
    return judgments


def undecided(constraints: Sequence[Constraint], reason: str) -> list[Judgment]:
    """Leave every constraint undecided for the same reason."""
    return [Judgment(status=Status.UNPARSED, explanation=reason) for _ in constraints]


def refuse_undecided(judgments: Sequence[Judgment]) -> None:
    """Raise a :class:`UsageError` that names the first judgment without a verdict, if any."""
    for number, judgment in enumerate(judgments, start=1):
        if not judgment.status.decided:
            raise UsageError(
                f"judgment {number} is {judgment.status}, which no reply says",
                hint="write only critiques that are decided throughout",
            )


_CODE = re.compile(r"\s*(`{3,}+|~{3,}+)[^\n`]*+\n(.*)\n[ \t]*(\1|~{3,}+)\s*", re.DOTALL)


def answer(text: str, *, lost_opening: bool = False) -> str:
    """Return a reply with unix line ends, without its reasoning and without code fences around it.

    Reasoning whose opening tag the chat template wrote is left out only if it's asked for: what
    ends it may be a quotation behind the verdicts.
    """
    text, _ = separate(unix_lines(text), lost_opening=lost_opening)
    fenced = _CODE.fullmatch(text)
    return fenced[2] if fenced and fenced[1].startswith(fenced[3]) else text


def readings(text: str) -> Iterator[str]:
    """Yield a reply as it is, and without reasoning whose opening tag is lost.

    For forms that allow no other words beside the verdicts.
    """
    yield answer(text)
    yield answer(text, lost_opening=True)


def last_line(pattern: re.Pattern[str], text: str, shown: Shown) -> re.Match[str] | None:
    """Find a reply's last line of a form that isn't a quotation, with nothing behind it."""
    reply = answer(text)
    lines = [line for line in pattern.finditer(reply) if not shown.holds(line[0])]
    return lines[-1] if lines and not reply[lines[-1].end() :].strip() else None


def same_words(text: str) -> str:
    """Normalise a text: width, case, white space and quotes."""
    words = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return words.strip(" \"'“”‘’「」*`")


def quote(text: str, is_marker: Callable[[str], bool]) -> str:
    """Put ``> `` before each line that the prompt's parser would take for one of its markers.

    Lines that are quoted already get one more, so that :func:`unquote` gives the text back.
    """
    lines = unix_lines(text).split("\n")
    return "\n".join(f"> {line}" if is_marker(_bare(line)) else line for line in lines)


def unquote(text: str, is_marker: Callable[[str], bool]) -> str:
    """Take one ``> `` away from each quoted marker."""
    return "\n".join(
        line[2:] if line.startswith("> ") and is_marker(_bare(line)) else line
        for line in text.split("\n")
    )


def _bare(line: str) -> str:
    while line.startswith("> "):
        line = line[2:]
    return line


# --- explanations that end in the opposite of their verdict ---

_SENTENCE_END = re.compile(r"[.!?](?=[\s\"'”’*)]|$)|[。！？\n]")

# It must be said of a constraint: "no line fails to rhyme" isn't a verdict.
_THING = r"(?:constraint|requirement|criteri(?:on|a)|condition|instruction|rubric)s?\b"
_THING_ZH = r"(?:要求|约束|条件|标准|指令|限制)"
_VERB = r"(?:meet|satisfy|fulfill?|follow|comply with|adhere to)"
_VERBS = r"(?:meets|satisfies|fulfill?s|follows|complies with|adheres to)"
_DONE = r"(?:met|satisfied|fulfill?ed|followed)"
_VERB_ZH = r"(?:满足|符合|达到|遵守|遵循)"
_NOT = r"(?:\bnot|n't|\bnever|\bcannot)"
_NOT_ZH = r"(?:不|未|没有?|无法)(?:\w{0,2}完[全整]|能|能够|严格|被|得到)*"

_UNMET = re.compile(
    rf"\b{_THING}[^,;]{{0,40}}(?:{_NOT} (?:\w+ )?{_DONE}|\bun(?:met|satisfied|fulfilled))\b"
    rf"|{_NOT} (?:\w+ )?{_VERB} [^,;]{{0,30}}\b{_THING}"
    rf"|\b(?:violat(?:es|ed|ing)|fail(?:s|ed)? (?:to {_VERB} )?)[^,;]{{0,30}}\b{_THING}"
    r"|\bverdict (?:should|must) be (?:unmet|not met)\b"
    rf"|{_NOT_ZH}{_VERB_ZH}[^，,；;]{{0,12}}{_THING_ZH}|违反了?[^，,；;]{{0,12}}{_THING_ZH}"
    rf"|{_THING_ZH}{_NOT_ZH}{_VERB_ZH}"
)
_MET = re.compile(
    rf"\b{_THING} (?:is|are|was|were|has been|have been) (?:\w+ )?{_DONE}\b"
    rf"|\b{_VERBS} [^,;]{{0,30}}\b{_THING}"
    rf"|{_VERB_ZH}[^，,；;]{{0,12}}{_THING_ZH}|{_THING_ZH}(?:已|都|均|得到|被)+{_VERB_ZH}"
)
# Without one of these nothing above is found; most explanations end without.
# No character class: an expression that begins with one of some letters is searched twice as fast.
_MAY_DENY = re.compile(r"not|n't|never|un(?:met|satisf|fulfil)|violat|fail|不|未|没|无|违")
_MAY_AFFIRM = re.compile(r"met|meets|satisf|fulfil|follow|compl|adher|满足|符合|达到|遵[守循]")
_LONGEST = 300
"""Characters of a sentence that are read; bounds the time that a hostile one can take."""
_AFTER = " \t\r\n\"'”’*).!?。！？"
"""Characters that may follow the last word of the last sentence."""
# A sentence with these weighs one thing against another, or leaves it open.
_HEDGED = re.compile(
    r"\b(?:but|although|though|however|while|whether|if|unless|except)\b"
    r"|但|虽然|尽管|然而|是否|如果|假如|除了|除非"
)
_DENIES = re.compile(r"\b(?:no|not|never|cannot|fail\w*|violat\w*|un\w+)\b|n't|[不未没无缺超]|违反")


def contradicts(explanation: str, status: Status) -> bool:
    """Tell whether the last sentence of an explanation plainly states the opposite verdict.

    Plainly: it says of a constraint or requirement that it is met and denies nothing, or that it
    is not met, without weighing or leaving open. English and Chinese. What is put otherwise goes
    unnoticed, and the verdict stands either way.
    """
    hint = _MAY_DENY if status is Status.MET else _MAY_AFFIRM
    said = explanation.casefold().rstrip(_AFTER)[-_LONGEST:]
    if not hint.search(said):
        return False
    last = _SENTENCE_END.split(said)[-1]
    if _HEDGED.search(last):
        return False
    if status is Status.MET:
        return bool(_UNMET.search(last)) and not re.search("[不未没无]违反|not violate", last)
    return status is Status.UNMET and bool(_MET.search(last)) and not _DENIES.search(last)


class BuiltIn:
    """A prompt that fills a text; its options are the fields of the subclass, a dataclass."""

    __slots__ = ()

    name: ClassVar[str]
    explain: bool = True
    text: str | None
    parser: ClassVar[int]  # a reply that is read otherwise needs another number
    languages: ClassVar[tuple[Language, ...]] = ("en",)  # of two, that of the last user message

    @property
    def version(self) -> str:
        """Of the prompt in all languages and the parser."""
        return version(self.parser, *map(self._template, self.languages))

    def render(
        self,
        sample: Sample,
        constraints: Sequence[Constraint],
        *,
        measurements: Sequence[str | None] | None = None,
    ) -> list[Message]:
        """Write the prompt."""
        language = self.languages[0]
        if len(self.languages) > 1:
            language = layout.language_of(layout.last_user_turn(sample))
        checklist, counted = self._listed(constraints), ""
        if checklist is None:
            checklist = layout.numbered([*map(self._asked, constraints)], measurements, language)
        else:
            counted = layout.facts(constraints, measurements)
        text = self._template(language)
        return layout.messages(text, sample, checklist, language, counted=counted)

    def _listed(self, constraints: Sequence[Constraint]) -> str | None:  # noqa: ARG002 - a hook
        """Write a checklist of another form, without what code has counted."""
        return None

    def _asked(self, constraint: Constraint) -> Constraint:
        return constraint

    def _template(self, language: Language) -> str:
        stem = f"{self.name}.{language}" if len(self.languages) > 1 else self.name
        form = f"{stem}.{'explain' if self.explain else 'verdicts'}.txt"
        return with_format(self.text or shipped(f"{stem}.txt"), form)
