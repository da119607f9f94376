"""Verification of the experts' judgments by other models, and by what code counts.

**Cross-model verification.** A verifier answers two questions on a judgment: is the explanation
correct, and does the verdict follow from it. A judgment that any verifier faults in either is
dropped. Verifiers know neither of each other nor of who judged. Both are asked at once.

**Rule-augmented verification.** A model copies out the parts of the response that a limit applies
to; code makes sure that they stand there and counts in them; the expert revises its judgments with
the true counts. A constraint with a check of its own needs no copying: its check decides it, on the
whole response. IF-Critic (arXiv 2511.01014) does so for limits of length; here it is done for all
that code knows to count.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from heedful import verify
from heedful.core.errors import UsageError
from heedful.core.nouns import Constraint, Judgment, Status
from heedful.critic.data import replies
from heedful.critic.data.contrast import found
from heedful.critic.data.stages import Drop, Stage
from heedful.engine.purpose import EXPLAINED_TOKENS, Purpose
from heedful.engine.runner import together
from heedful.jobs.checklists.making import Instruction
from heedful.judges.prompts import plain
from heedful.judges.prompts.fence import NOTHING, Shown
from heedful.models.base import Sampling
from heedful.verify.compiler.compile import compile_constraint
from heedful.verify.compiler.measuring import measure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.core.nouns import Message
    from heedful.critic.data.options import FilterSettings
    from heedful.critic.data.stages import CandidateJudgment, FilterItem
    from heedful.judges.prompts.block_layout import Language
    from heedful.models.base import Model

TOKENS = 80
"""Estimated tokens for verifying a judgment: a sentence or two, and the answers."""

_PARSER = 4
_VERIFICATION = "verification"
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
_LABELS: dict[Language, tuple[str, str, str, str]] = {
    "en": ("JUDGMENT", "Constraint", "Explanation", "Verdict"),
    "zh": ("判断", "要求", "分析", "结论"),
}
_VERDICTS: dict[Language, dict[Status, str]] = {
    "en": {Status.MET: "MET", Status.UNMET: "UNMET"},
    "zh": {Status.MET: "满足", Status.UNMET: "不满足"},
}


class Opinion(NamedTuple):
    """A verifier's opinion of a judgment."""

    correct: bool  # the explanation is correct
    follows: bool  # the verdict follows from it
    said: str  # why


class CrossModelStage(Stage):
    """Has models verify the judgments, both questions at once."""

    name = "cross"

    def __init__(self, verifiers: Sequence[Model], settings: FilterSettings) -> None:
        """Take the verifiers."""
        if not verifiers:
            raise UsageError("there is no verifier", hint="name a verifier, or skip cross")
        self.models = tuple(verifiers)
        self._sampling = settings.sampling or Sampling()
        self._per_call = settings.per_call
        self.config = {
            "verifiers": [dict(model.config) for model in self.models],
            "prompt": replies.prompt_version(_PARSER, _VERIFICATION),
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
            (model, group)
            for candidates in item.by_sample().values()
            for group in self._groups(candidates)
            for model in self.models
        ]
        opinions = await together(self._ask(item, *each) for each in requests)
        for (model, group), opinion in zip(requests, opinions, strict=True):
            for position, candidate in group.items():
                if candidate.drop is None:  # the first verifier's fault counts
                    candidate.drop = self._drop(opinion.get(position), model.name)

    def _groups(
        self, candidates: Mapping[int, CandidateJudgment]
    ) -> list[dict[int, CandidateJudgment]]:
        """Divide the judgments of a critique into those that go into one call."""
        pairs = list(candidates.items())
        size = self._per_call or len(pairs)
        return [dict(pairs[start : start + size]) for start in range(0, len(pairs), size)]

    async def _ask(
        self,
        item: FilterItem,
        model: Model,
        group: Mapping[int, CandidateJudgment],
    ) -> dict[int, Opinion]:
        language = replies.language_of(item.sample)

        def render(positions: Sequence[int]) -> list[Message]:
            items = [
                described(number, item, position, group[position], language)
                for number, position in enumerate(positions, start=1)
            ]
            return replies.prompt(_VERIFICATION, item.sample, items, language)

        return await item.calls.ask(
            model,
            self._sampling,
            list(group),
            render,
            parse,
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


def parse(text: str, positions: Sequence[int], shown: Shown = NOTHING) -> dict[int, Opinion]:
    """Read a verifier's reply."""
    opinions = {}
    for position, block in replies.blocks(text, positions, shown).items():
        words: dict[str, list[bool]] = {"correct": [], "follows": []}
        ends = len(block)
        for answer in _ANSWER.finditer(block):
            word = " ".join(answer["word"].split()).casefold()
            ends = min(ends, answer.start())
            if word in _WORDS:
                words["correct" if answer["correct"] else "follows"].append(_WORDS[word])
        if all(len(given) == 1 for given in words.values()):
            said = block[: replies.marked_start(block, ends)].strip()
            opinions[position] = Opinion(*words["correct"], *words["follows"], said)
    return opinions


# --- rules ---------------------------------------------------------------------------------------


def countable(constraint: Constraint) -> bool:
    """Tell whether code can count in a part of a response what a constraint speaks of."""
    compiled = compile_constraint(constraint.text)
    return bool(compiled.measures or compiled.check)


COPIED_TOKENS = 60
"""Estimated tokens of the parts for a constraint: most are the whole response."""

_RULES_PARSER = 2
_PART = re.compile(
    r"^(?:[^\S\n]|[*_#-])*+(?:parts?|片段)\s*\d*[\s*_]*[:：][^\S\n]*", re.MULTILINE | re.IGNORECASE
)
_WHOLE = frozenset({"whole", "全文"})
_NONE = frozenset({"none", "无"})
_AROUND = " \t\r\n\"'“”‘’「」`*.。"

_SUBJECT = re.compile("the response|回复")
"""What a count is of, unless it is of a part."""
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
        self.config = {
            "extractor": dict(extractor.config),
            "expert": dict(expert.config),
            "prompts": [
                replies.prompt_version(_RULES_PARSER, name) for name in ("extraction", "revision")
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
            finding = found(constraint, verify.Response(response))
            if finding is not None:
                item.facts[position] = finding.found
            elif countable(constraint):
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
            return replies.prompt("extraction", item.sample, items, language)

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
                _with_fact(number, item, position, group[position], language)
                for number, position in enumerate(positions, start=1)
            ]
            return replies.prompt("revision", item.sample, items, language)

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
        )
        for position, candidate in group.items():
            self._settle(item, position, candidate, revised.get(position))

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
        finding = found(constraint, verify.Response(item.sample.response or ""))
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
    compiled = compile_constraint(constraint.text)
    lines = []
    for part in parts:
        counts = measure(compiled, verify.Response(part))
        if counts is not None:
            lines.append(counts if part == response else _SUBJECT.sub(_named(part), counts))
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
    candidate: CandidateJudgment,
    language: Language,
) -> tuple[str, str]:
    """Write what was counted below a judgment."""
    label, text = described(number, item, position, candidate, language)
    counted = "程序统计：" if language == "zh" else "Counted exactly: "
    return label, f"{text}\n{counted}{item.facts[position]}"
