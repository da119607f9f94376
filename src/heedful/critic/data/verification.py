"""Cross-model verification: other models look over each judgment of the experts.

A verifier answers two questions on a judgment: is the explanation correct, and does the verdict
follow from it. A judgment that any verifier faults in either is dropped. Verifiers know neither of
each other nor of who judged. By default both are asked at once; the second can be asked by itself,
of one judgment at a time, without the response.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from heedful.core.errors import UsageError
from heedful.core.nouns import Status
from heedful.critic.data import replies
from heedful.critic.data.stages import Drop, Stage
from heedful.engine.purpose import Purpose
from heedful.engine.runner import together
from heedful.judges.prompts.quotation import NOTHING, Shown
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
