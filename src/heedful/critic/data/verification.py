"""Verification of the experts' judgments by other models, and by what code counts.

**Cross-model verification.** A verifier answers two questions on a judgment: is the explanation
correct, and does the verdict follow from it. A judgment that any verifier faults in either is
dropped. Verifiers know neither of each other nor of who judged. Both are asked at once.

**Rule-augmented verification.** Code decides what it can decide, counts what it can count, and the
expert revises its judgments with that. IF-Critic (arXiv 2511.01014) has a model copy out the part
of a response that a limit of length applies to, and counts there; here code knows the parts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from heedful import verify
from heedful.core.errors import UsageError
from heedful.core.nouns import Judgment, Status
from heedful.critic.data import replies
from heedful.critic.data.contrast import found
from heedful.critic.data.stages import Drop, Stage
from heedful.engine.purpose import EXPLAINED_TOKENS, Purpose
from heedful.engine.runner import together
from heedful.judges.code import Measurement
from heedful.judges.prompts import plain
from heedful.judges.prompts.fence import NOTHING, Shown
from heedful.models.base import Sampling

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
_VERIFICATION, _REVISION = "verification", "revision"
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
        self.config = {
            "verifiers": [dict(model.config) for model in self.models],
            "prompt": replies.prompt_version(_PARSER, _VERIFICATION),
            "sampling": self._sampling.model_dump(mode="json", exclude_defaults=True),
        }

    async def apply(self, item: FilterItem) -> None:
        """Drop what a verifier faults, and what plainly contradicts itself."""
        for candidates in item.by_sample().values():
            for candidate in candidates.values():
                if (candidate.judgment.model_extra or {}).get("contradiction"):
                    candidate.drop = Drop(self.name, "verdict does not follow", by="code")
        requests = [(model, group) for group in item.by_sample().values() for model in self.models]
        opinions = await together(self._ask(item, *each) for each in requests)
        for (model, group), opinion in zip(requests, opinions, strict=True):
            for position, candidate in group.items():
                if candidate.drop is None:  # the first verifier's fault counts
                    candidate.drop = self._drop(opinion.get(position), model.name)

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
            opinions[position] = Opinion(words["correct"][0], words["follows"][0], said)
    return opinions


# --- rules ---------------------------------------------------------------------------------------


_RULES_PARSER = 3
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

    def __init__(self, expert: Model | None, settings: FilterSettings) -> None:
        """Name the model that revises."""
        if expert is None:
            raise UsageError(
                "there is no model to revise judgments", hint="name one, or skip rules"
            )
        self._expert = expert
        self._measure = Measurement()
        self.models = (expert,)
        self._sampling = settings.sampling or Sampling()
        self.config = {
            "expert": dict(expert.config),
            "prompt": replies.prompt_version(_RULES_PARSER, _REVISION),
            "measure": self._measure.version,
            "sampling": self._sampling.model_dump(mode="json", exclude_defaults=True),
        }

    async def apply(self, item: FilterItem) -> None:
        """Revise what can be counted; drop what cannot be revised, and what code contradicts."""
        response = verify.Response(item.sample.response or "")
        for position, constraint in enumerate(item.sample.checklist):
            finding = found(constraint, response)
            counted = self._measure(item.sample, constraint) if finding is None else finding.found
            item.facts[position] = counted
        groups = [
            {at: candidate for at, candidate in candidates.items() if item.facts[at] is not None}
            for candidates in item.by_sample().values()
        ]
        await together(self._revise(item, group) for group in groups if group)

    async def _revise(self, item: FilterItem, group: Mapping[int, CandidateJudgment]) -> None:
        """Ask the expert to revise one critique's judgments on counted constraints."""
        language = replies.language_of(item.sample)

        def render(positions: Sequence[int]) -> list[Message]:
            items = [
                _with_fact(number, item, position, group[position], language)
                for number, position in enumerate(positions, start=1)
            ]
            return replies.prompt(_REVISION, item.sample, items, language)

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
