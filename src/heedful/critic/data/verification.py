"""Verification of the experts' judgments by other models, and by what code counts.

**Cross-model verification.** A verifier answers two questions on a judgment: is the explanation
correct, and does the verdict follow from it. A judgment that any verifier faults in either is
dropped. Verifiers know neither of each other nor of who judged. By default both are asked at once;
the second can be asked by itself, of one judgment at a time, without the response.

**Rule-augmented verification.** A model copies out the parts of the response that a limit applies
to; code makes sure that they stand there and counts in them; the expert revises its judgments with
the true counts. A constraint with a check of its own needs no copying: its check decides it, on the
whole response. IF-Critic (arXiv 2511.01014) does so for limits of length; here it is done for all
that code knows to count.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from heedful import verify
from heedful.core.errors import UsageError, VerifierError
from heedful.core.nouns import Constraint, Judgment, Status
from heedful.critic.data import replies
from heedful.critic.data.stages import Drop, Stage
from heedful.engine.purpose import EXPLAINED_TOKENS, Purpose
from heedful.engine.runner import together
from heedful.jobs.checklists.making import Instruction
from heedful.judges.prompts import block_layout as layout
from heedful.judges.prompts import plain
from heedful.judges.prompts.fence import NOTHING, Shown
from heedful.models.base import Sampling
from heedful.verify.compiler.compile import compile_constraint
from heedful.verify.ifeval.multiif import count_sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from heedful.core.nouns import Message
    from heedful.critic.data.options import FilterSettings
    from heedful.critic.data.stages import CandidateJudgment, FilterItem
    from heedful.judges.prompts.block_layout import Language
    from heedful.models.base import Model
    from heedful.verify import Finding

TOKENS = 80
"""Estimated tokens for verifying a judgment: a sentence or two, and the answers."""

_PARSER = 3
_ANSWER = re.compile(
    r"^(?:[^\S\n]|[*_#-])*+(?:(?P<correct>explanation|分析)|(?P<follows>verdict|结论))"
    r"[\s*_]*[:：][\s*_`]*+(?P<word>\w(?:[\w ]*[^\W_])??)[\s*_`.。!！]*$",
    re.MULTILINE | re.IGNORECASE,
)
_WORDS = {
    "correct": True,
    "incorrect": False,
    "not correct": False,
    "follows": True,
    "does not follow": False,
    "正确": True,
    "不正确": False,
    "一致": True,
    "不一致": False,
}
_PUBLISHED = re.compile(r"\[\[?(?:指定的评价(不?)是正确合理的|分析和结论(不?)一致)\]\]?")
"""The conclusions of IF-Critic's published prompts, which are about one judgment."""
_LABELS: dict[Language, tuple[str, str, str, str]] = {
    "en": ("JUDGMENT", "Constraint", "Explanation", "Verdict"),
    "zh": ("判断", "要求", "分析", "结论"),
}
_VERDICTS: dict[Language, dict[Status, str]] = {
    "en": {Status.MET: "MET", Status.UNMET: "UNMET"},
    "zh": {Status.MET: "满足", Status.UNMET: "不满足"},
}


class VerifierQuestions(NamedTuple):
    """The questions of one request."""

    prompt: str  # the name of its text
    own: str  # the name of the user's text that takes its place
    answers: tuple[str, ...]  # the questions, as fields of :class:`Opinion`


BOTH = VerifierQuestions("verification", "verification", ("correct", "follows"))
CORRECTNESS = VerifierQuestions("correctness", "verification", ("correct",))
CONSISTENCY = VerifierQuestions("consistency", "consistency", ("follows",))


class Opinion(NamedTuple):
    """A verifier's opinion of a judgment."""

    correct: bool  # the explanation is correct, or wasn't in question
    follows: bool  # the verdict follows from it, or wasn't in question
    said: str  # why


class CrossModelStage(Stage):
    """Has models verify the judgments."""

    name = "cross"

    def __init__(self, verifiers: Sequence[Model], settings: FilterSettings) -> None:
        """Choose what is asked: both questions at once, or each by itself."""
        if not verifiers:
            raise UsageError("there is no verifier", hint="name a verifier, or skip cross")
        self.models = tuple(verifiers)
        self._sampling = settings.sampling or Sampling()
        self._per_call = settings.per_call
        self._own = replies.own_prompts(settings.prompts)
        blind = settings.blind_consistency
        self._requests = (CORRECTNESS, CONSISTENCY) if blind else (BOTH,)
        self.config = {
            "verifiers": [dict(model.config) for model in self.models],
            "prompts": [
                replies.prompt_version(_PARSER, each.prompt, self._own.get(each.own))
                for each in self._requests
            ],
            "sampling": self._sampling.model_dump(mode="json", exclude_defaults=True),
            "per_call": self._per_call,
        }

    async def apply(self, item: FilterItem) -> None:
        """Drop what a verifier faults, and what plainly contradicts itself."""
        for candidates in item.by_sample().values():
            for candidate in candidates.values():
                if (candidate.judgment.model_extra or {}).get("contradiction"):
                    candidate.drop = Drop(self.name, "verdict does not follow", by="code")
        requests = [
            (model, group, questions)
            for candidates in item.by_sample().values()
            for questions in self._requests
            for group in self._groups(candidates, self._size(questions))
            for model in self.models
        ]
        opinions = await together(self._ask(item, *each) for each in requests)
        for (model, group, _), opinion in zip(requests, opinions, strict=True):
            for position, candidate in group.items():
                if candidate.drop is None:  # the first verifier's fault counts
                    candidate.drop = self._drop(opinion.get(position), model.name)

    def _size(self, questions: VerifierQuestions) -> int | None:
        """Return how many judgments go into one call: published texts are about one."""
        own = self._own.get(questions.own, "")
        return 1 if questions is CONSISTENCY or _PUBLISHED.search(own) else self._per_call

    def _groups(
        self, candidates: Mapping[int, CandidateJudgment], per_call: int | None
    ) -> list[dict[int, CandidateJudgment]]:
        """Divide the judgments of a critique into those that go into one call."""
        pairs = list(candidates.items())
        size = per_call or len(pairs)
        return [dict(pairs[start : start + size]) for start in range(0, len(pairs), size)]

    async def _ask(
        self,
        item: FilterItem,
        model: Model,
        group: Mapping[int, CandidateJudgment],
        questions: VerifierQuestions,
    ) -> dict[int, Opinion]:
        language = replies.language_of(item.sample)

        def render(positions: Sequence[int]) -> list[Message]:
            items = [
                described(number, item, position, group[position], language)
                for number, position in enumerate(positions, start=1)
            ]
            own = self._own.get(questions.own)
            return replies.prompt(questions.prompt, item.sample, items, language, own)

        return await item.calls.ask(
            model,
            self._sampling,
            list(group),
            render,
            partial(parse, answers=questions.answers),
            Purpose(f"verification by {model.name}", tokens=TOKENS),
        )

    def _drop(self, opinion: Opinion | None, by: str) -> Drop | None:
        if opinion is None:
            return Drop(self.name, "not verified", by=by, said="the verifier's reply has no answer")
        if not opinion.correct:
            return Drop(self.name, "explanation is wrong", by=by, said=opinion.said)
        if not opinion.follows:
            return Drop(self.name, "verdict does not follow", by=by, said=opinion.said)
        return None


def described(
    number: int, item: FilterItem, position: int, candidate: CandidateJudgment, language: Language
) -> tuple[str, str]:
    """Write a judgment as an item of a prompt: its label and its text."""
    label, constraint, explanation, verdict = _LABELS[language]
    colon = "：" if language == "zh" else ": "
    lines = (
        f"{constraint}{colon}{item.sample.checklist[position].text}",
        f"{explanation}{colon}{candidate.judgment.explanation}",
        f"{verdict}{colon}{_VERDICTS[language][candidate.status]}",
    )
    return f"{label} {number}", "\n".join(lines)


def parse(
    text: str,
    positions: Sequence[int],
    shown: Shown = NOTHING,
    answers: Sequence[str] = BOTH.answers,
) -> dict[int, Opinion]:
    """Read a verifier's reply, in our form or in that of IF-Critic's published prompts."""
    published = [each for each in _PUBLISHED.finditer(text) if not shown.holds(each[0])]
    if published and len(positions) == 1:
        last = published[-1]
        holds = not (last[1] or last[2])
        said = text[: last.start()].strip()
        follows = last[2] is not None
        return {positions[0]: Opinion(holds or follows, holds or not follows, said)}
    opinions = {}
    for position, block in replies.blocks(text, positions, shown).items():
        words: dict[str, list[bool]] = {question: [] for question in answers}
        ends = len(block)
        for answer in _ANSWER.finditer(block):
            word = " ".join(answer["word"].split()).casefold()
            question = "correct" if answer["correct"] else "follows"
            if question in words:
                ends = min(ends, answer.start())
                if word in _WORDS:
                    words[question].append(_WORDS[word])
        if all(len(given) == 1 for given in words.values()):
            said = block[: replies.marked_start(block, ends)].strip()
            correct, follows = (words.get(name, [True])[0] for name in BOTH.answers)
            opinions[position] = Opinion(correct, follows, said)
    return opinions


# --- rules ---------------------------------------------------------------------------------------

_NUMBER = re.compile(
    r"[0-9０-９一二两三四五六七八九十百千]"
    r"|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty"
    r"|forty|fifty|sixty|hundreds?|thousands?|dozens?|single|half|couple)\b",
    re.IGNORECASE,
)
_ITEM = re.compile(
    r"^[ \t]*(?:[-*+•·]\s|\(?\d{1,3}[.)、）]|[（(]?[一二三四五六七八九十]{1,3}[、）)])",
    re.MULTILINE,
)


class _Unit(NamedTuple):
    """Something that can be counted."""

    named: re.Pattern[str]
    count: Callable[[str], int]
    en: str
    zh: str


def _lines(text: str) -> int:
    return sum(1 for line in text.splitlines() if line.strip())


_UNITS = (
    _Unit(
        re.compile(r"\bwords?\b|[字词]", re.IGNORECASE),
        verify.count_words,
        "words",
        "字（不计标点）",
    ),
    _Unit(
        re.compile(r"\b(?:characters?|letters?)\b|字", re.IGNORECASE),
        lambda text: len("".join(text.split())),
        "characters without white space",
        "个字符（计标点，不计空白）",
    ),
    _Unit(
        re.compile(r"\bcharacters?\b", re.IGNORECASE),
        lambda text: len(text.strip()),
        "characters with white space",
        "个字符（计标点和空白）",
    ),
    _Unit(
        re.compile(r"\bsentences?\b|句", re.IGNORECASE),
        lambda text: count_sentences(verify.Response(text)),
        "sentences",
        "句",
    ),
    _Unit(
        re.compile(r"\bparagraphs?\b|段", re.IGNORECASE),
        lambda text: len(verify.Response(text).paragraphs),
        "paragraphs between blank lines",
        "段（以空行分隔）",
    ),
    _Unit(
        re.compile(r"\b(?:lines?|verses?)\b|行", re.IGNORECASE),
        _lines,
        "lines that are not blank",
        "行（不计空行）",
    ),
    _Unit(
        re.compile(
            r"\b(?:items?|bullets?|points?|steps?|tips|reasons|examples|suggestions)\b|[条项点]",
            re.IGNORECASE,
        ),
        lambda text: len(_ITEM.findall(text)),
        "list items",
        "个列表项",
    ),
)


def measurable(constraint: Constraint) -> bool:
    """Tell whether the text of a constraint may limit an amount that can be counted.

    It does if it has a number and names a unit; that it limits something is for a model to say.

    >>> from heedful.core.nouns import Constraint
    >>> [measurable(Constraint(text=text)) for text in ("Use 50 words.", "不少于三段", "Be 20.")]
    [True, True, False]
    """
    text = constraint.text
    return bool(_NUMBER.search(text)) and any(unit.named.search(text) for unit in _UNITS)


def measure(segment: str, constraint: Constraint) -> str | None:
    """Count in a part of a response what a constraint speaks of.

    >>> from heedful.core.nouns import Constraint
    >>> measure("One, two. Three!", Constraint(text="At most 3 words in a single sentence."))
    '3 words, 2 sentences'
    """
    chinese = layout.language_of(constraint.text) == "zh"
    counts = []
    for unit in _UNITS:
        if unit.named.search(constraint.text):
            try:
                number = unit.count(segment)
            except VerifierError:
                continue
            counts.append(f"{number}{unit.zh}" if chinese else f"{number} {unit.en}")
    return ("，" if chinese else ", ").join(counts) or None


def decide(response: str, constraint: Constraint) -> Finding | None:
    """Decide a constraint by code, where code can see all of it.

    By its own check, or by the one that its text compiles to. Limits on an amount are left to
    :func:`measure`: to which part of the response they apply is for a model to say.
    """
    check = constraint.check
    if check is None and not measurable(constraint):
        check = compile_constraint(constraint.text).check
    if check is None:
        return None
    try:
        return verify.check(check, verify.Response(response))
    except VerifierError:
        return None


COPIED_TOKENS = 60
"""Estimated tokens of the parts for a constraint: most are the whole response."""

_RULES_PARSER = 2
_PART = re.compile(
    r"^(?:[^\S\n]|[*_#-])*+(?:parts?|片段)\s*\d*[\s*_]*[:：][^\S\n]*", re.MULTILINE | re.IGNORECASE
)
_WHOLE = frozenset({"whole", "全文"})
_NONE = frozenset({"none", "无"})
_AROUND = " \t\r\n\"'“”‘’「」`*.。"

_QUOTED = 24
"""Characters by which a part is known again."""

_REVEALING = re.compile(
    r"count(?:s|ed)? (?:by|from) (?:the )?(?:code|program|tool|script)"
    r"|(?:given|provided|supplied) counts?\b|counts? (?:given|provided|supplied)"
    r"|\bI (?:was|have been) (?:told|given|informed)\b"
    r"|\bmy (?:earlier|previous|original|initial) (?:judge?ment|verdict|explanation)"
    r"|(?:提供|给出|给定|附上|程序)的?(?:统计|计数|字数|数字|数据)"
    r"|(?:此前|之前|原先|原来|先前)的?(?:判断|结论|分析)(?:有误|错误|不正确|不准确)",
    re.IGNORECASE,
)


class RulesStage(Stage):
    """Counts, and has the expert correct its judgments by the counts."""

    name = "rules"

    def __init__(
        self, extractor: Model | None, expert: Model | None, settings: FilterSettings
    ) -> None:
        """Name both models: what is counted is copied out by one and revised by the other."""
        if extractor is None or expert is None:
            who = "revise judgments" if expert is None else "copy out what is counted"
            raise UsageError(f"there is no model to {who}", hint="name one, or skip rules")
        self._extractor, self._expert = extractor, expert
        self.models = (extractor, expert)
        self._sampling = settings.sampling or Sampling()
        self._own = replies.own_prompts(settings.prompts)
        self._fresh = settings.fresh_revision
        self._revision = "fresh_revision" if self._fresh else "revision"
        self.config = {
            "extractor": dict(extractor.config),
            "expert": dict(expert.config),
            "prompts": [
                replies.prompt_version(_RULES_PARSER, "extraction", self._own.get("extraction")),
                replies.prompt_version(_RULES_PARSER, self._revision, self._own.get("revision")),
            ],
            "sampling": self._sampling.model_dump(mode="json", exclude_defaults=True),
        }

    async def apply(self, item: FilterItem) -> None:
        """Revise what can be counted; drop what cannot be revised, and what code contradicts."""
        await self._count(item)
        if item.calls.failures:
            return
        groups = [
            {at: candidate for at, candidate in candidates.items() if item.facts[at] is not None}
            for candidates in item.by_sample().values()
        ]
        await together(self._revise(item, group) for group in groups if group)

    async def _count(self, item: FilterItem) -> None:
        """Find the facts: by checks where there are any, else in the parts that are copied out."""
        response = item.sample.response or ""
        limited = []
        for position, constraint in enumerate(item.sample.checklist):
            finding = decide(response, constraint)
            if finding is not None:
                item.facts[position] = finding.found
            elif measurable(constraint):
                limited.append(position)
        # All or none are requested, so that the prompt does not depend on the stages before.
        if not {*limited} & {*item.settled()}:
            return
        parts = await self._parts(item, limited)
        for position, quoted in parts.items():
            item.facts[position] = _facts(quoted, response, item.sample.checklist[position])
        item.uncounted = {*limited} - {*parts}

    async def _parts(self, item: FilterItem, requested: Sequence[int]) -> dict[int, list[str]]:
        """Ask for the parts of the response that limits apply to, and find them there."""
        language = replies.language_of(item.sample)
        response = Instruction([item.sample.response or ""])

        def render(positions: Sequence[int]) -> list[Message]:
            items = [
                (_numbered(number, language), item.sample.checklist[position].text)
                for number, position in enumerate(positions, start=1)
            ]
            return replies.prompt(
                "extraction", item.sample, items, language, self._own.get("extraction")
            )

        def parse(text: str, positions: Sequence[int], _shown: Shown) -> dict[int, list[str]]:
            # Parts that are not in the response are requested again.
            read = parse_parts(text, positions)
            quoted = {at: _verbatim(parts, response) for at, parts in read.items()}
            return {at: parts for at, parts in quoted.items() if parts is not None}

        return await item.calls.ask(
            self._extractor,
            self._sampling,
            requested,
            render,
            parse,
            Purpose(f"extraction by {self._extractor.name}", tokens=COPIED_TOKENS),
        )

    async def _revise(self, item: FilterItem, group: Mapping[int, CandidateJudgment]) -> None:
        """Ask the expert to revise one critique's judgments on counted constraints."""
        language = replies.language_of(item.sample)

        def render(positions: Sequence[int]) -> list[Message]:
            items = [
                _with_fact(
                    number, item, position, None if self._fresh else group[position], language
                )
                for number, position in enumerate(positions, start=1)
            ]
            return replies.prompt(
                self._revision, item.sample, items, language, self._own.get("revision")
            )

        def parse(text: str, positions: Sequence[int], shown: Shown) -> dict[int, Judgment]:
            constraints = [item.sample.checklist[position] for position in positions]
            read = zip(positions, plain.parse(text, constraints, shown), strict=True)
            return {at: judgment for at, judgment in read if _sound(judgment)}

        revised = await item.calls.ask(
            self._expert,
            self._sampling,
            list(group),
            render,
            parse,
            Purpose(f"revision by {self._expert.name}", tokens=EXPLAINED_TOKENS),
            self._sample(group),
        )
        for position, candidate in group.items():
            self._settle(item, position, candidate, revised.get(position))

    def _sample(self, group: Mapping[int, CandidateJudgment]) -> int:
        """Number the request: without their judgments, critiques have the same prompt."""
        if not self._fresh or self._sampling.temperature == 0:
            return 0
        return next(iter(group.values())).sample_index - 1

    def _settle(
        self,
        item: FilterItem,
        position: int,
        candidate: CandidateJudgment,
        revised: Judgment | None,
    ) -> None:
        """Put a revised judgment in the place of the old one."""
        if revised is None:
            said = "the reply has no verdict, contradicts it, or mentions the given counts"
            candidate.drop = Drop(self.name, "not revised", by=self._expert.name, said=said)
            return
        candidate.was, candidate.judgment = candidate.status, revised
        constraint = item.sample.checklist[position]
        finding = decide(item.sample.response or "", constraint)
        if finding is not None and finding.met != (revised.status is Status.MET):
            candidate.drop = Drop(self.name, "against the count", by="code", said=finding.found)


def _sound(judgment: Judgment) -> bool:
    """Tell whether a revised judgment can be used as it is."""
    contradictory = (judgment.model_extra or {}).get("contradiction", False)
    return (
        judgment.status.decided and not contradictory and not reveals_counting(judgment.explanation)
    )


def reveals_counting(explanation: str) -> bool:
    """Tell whether an explanation says that it was given the counts, in English or Chinese.

    >>> reveals_counting("Per the provided count: 12."), reveals_counting("It has 12 words.")
    (True, False)
    """
    return bool(_REVEALING.search(explanation))


def parse_parts(text: str, positions: Sequence[int]) -> dict[int, list[str] | None]:
    """Read an extractor's reply, which is made of quotations."""
    parts_of: dict[int, list[str] | None] = {}
    for position, block in replies.blocks(text, positions).items():
        starts = list(_PART.finditer(block))
        ends = [replies.marked_start(block, start.start()) for start in starts[1:]] + [len(block)]
        parts = [block[start.end() : end].strip() for start, end in zip(starts, ends, strict=False)]
        words = {part.strip(_AROUND).casefold() for part in parts}
        if words & _WHOLE:
            parts_of[position] = None
        elif words and words <= _NONE:
            parts_of[position] = []
        elif any(parts):
            parts_of[position] = [part for part in parts if part]
    return parts_of


def _verbatim(parts: list[str] | None, response: Instruction) -> list[str] | None:
    """Return parts in the response's own words; ``None`` where one does not stand there."""
    if parts is None:
        return [response.turns[0]]
    quoted = []
    place = None
    for part in parts:
        place = response.find(part, place)
        if place is None:
            return None
        quoted.append(response.text(place))
    return quoted


def _facts(parts: Sequence[str], response: str, constraint: Constraint) -> str | None:
    """Write the counts of each part, a line each."""
    chinese = layout.language_of(constraint.text) == "zh"
    whole, colon = ("整篇回复", "：") if chinese else ("the whole response", ": ")
    lines = []
    for part in parts:
        counts = measure(part, constraint)
        if counts is not None:
            lines.append(f"{whole if part == response else _named(part)}{colon}{counts}")
    return "\n".join(lines) or None


def _named(part: str) -> str:
    """Name a part by its beginning and end."""
    line = " ".join(part.split())
    return f"“{line if len(line) <= 2 * _QUOTED else f'{line[:_QUOTED]} … {line[-_QUOTED:]}'}”"


def _numbered(number: int, language: Language) -> str:
    return f"{'要求' if language == 'zh' else 'CONSTRAINT'} {number}"


def _with_fact(
    number: int,
    item: FilterItem,
    position: int,
    candidate: CandidateJudgment | None,
    language: Language,
) -> tuple[str, str]:
    """Write what was counted below a judgment, or below its constraint alone."""
    label, text = _numbered(number, language), item.sample.checklist[position].text
    if candidate is not None:
        label, text = described(number, item, position, candidate, language)
    counted = "程序统计：" if language == "zh" else "Counted exactly: "
    return label, f"{text}\n{counted}{item.facts[position]}"
