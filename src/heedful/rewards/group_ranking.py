"""A reward from comparing: the responses of a GRPO group, ranked in one call.

GRPO uses a reward only relative to the others of its group. Where absolute verdicts tie, as on
checklists that all responses meet, a ranking still tells them apart. The judge sees all responses
to an instruction at once; every order it sees is also shown reversed, so that a preference for a
place in the list cancels out. The formula is ours.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import TYPE_CHECKING

from heedful.core.errors import ModelError, StopRunError
from heedful.core.nouns import Critique, Status
from heedful.engine.call_cache import complete
from heedful.engine.purpose import Purpose
from heedful.engine.runner import together
from heedful.judges.prompts import Shown, ranking
from heedful.judges.prompts.base import NO_INSTRUCTION, lacks_instruction
from heedful.models.base import Sampling
from heedful.rewards.reward import Reward
from heedful.rewards.settings import check_callable, check_whole
from heedful.rewards.terms import Rewarded

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from heedful.core.nouns import Sample
    from heedful.models import Model

TOKENS = 60
"""Tokens of what a judge says of each response that it ranks, roughly."""

UNREAD = "no pair of rankings of the group could be read"
NOTHING = "the group has no other response to compare with"


class GroupRanking(Reward):
    """Ranks the responses to each instruction of a batch against each other.

    A response's reward is the share of the others in its group that it beats, ties counted half,
    averaged over the orders shown: 1 for the best, 0 for the worst, 1/2 on average. What a gate
    stops isn't shown, gets 0, and is beaten by all others. Equal texts are shown once and share
    their reward.

    A pair of orders counts only if both rankings could be read. A group without one is undecided,
    and so is a group with nothing to compare.
    """

    def __init__(
        self,
        model: Model,
        *,
        pairs: int = 1,
        sampling: Sampling | None = None,
        gates: Collection[str] | str = "all",
        undecided: float | None = None,
        seed: int = 0,
        concurrency: int = 256,
    ) -> None:
        """Describe the reward; nothing is started before the first response."""
        check_callable("the model", model, "generate", hint="give one", optional=False)
        check_whole("pairs", pairs, 1)
        check_whole("the seed", seed)
        super().__init__(gates=gates, undecided=undecided, concurrency=concurrency)
        self._model = model
        self._pairs = pairs
        self._sampling = sampling or Sampling()
        self._seed = seed

    async def _rewards(
        self,
        samples: Sequence[Sample],
        turn: asyncio.Semaphore,
        step: int | None,  # noqa: ARG002 - only dropout depends on it
    ) -> list[Rewarded]:
        """Rank the groups of a batch side by side."""
        groups: dict[object, list[int]] = {}
        for at, sample in enumerate(samples):
            key = (sample.conversation, tuple(each.text for each in sample.checklist))
            groups.setdefault(key, []).append(at)
        try:
            async with asyncio.TaskGroup() as tasks:
                ranked = [
                    tasks.create_task(self._rank([samples[at] for at in places], turn))
                    for places in groups.values()
                ]
        except BaseExceptionGroup as error:
            raise error.exceptions[0] from None
        rewards: dict[int, Rewarded] = {}
        for places, task in zip(groups.values(), ranked, strict=True):
            rewards |= dict(zip(places, task.result(), strict=True))
        return [rewards[at] for at in range(len(samples))]

    async def _rank(self, group: Sequence[Sample], turn: asyncio.Semaphore) -> list[Rewarded]:
        """Compute the rewards of the responses to one instruction."""
        problems = [_problem(sample) for sample in group]
        gates = [
            None if problem else self.terms.gate(sample)
            for sample, problem in zip(group, problems, strict=True)
        ]
        compared = Counter(
            str(sample.response)
            for sample, problem, gate in zip(group, problems, gates, strict=True)
            if problem is None and gate is None
        )
        stopped = sum(gate is not None for gate in gates)
        values: dict[str, float] | None = {}
        if len(compared) > 1:
            async with turn:
                values = await self._values(group[0], compared, stopped)
        elif compared and stopped:
            # Alike, they beat what the gates stopped and tie with each other.
            ((text, size),) = compared.items()
            values = {text: (stopped + (size - 1) / 2) / (stopped + size - 1)}
        missing = UNREAD if values is None else NOTHING
        rewards = []
        for sample, problem, gate in zip(group, problems, gates, strict=True):
            value = 0.0 if gate is not None else (values or {}).get(str(sample.response))
            if problem is not None or value is None:
                rewards.append(self._undecided(sample, problem or missing))
            else:
                bounds = (value, value)
                rewards.append(
                    Rewarded(value, decided=True, bounds=bounds, critique=Critique(), gate=gate)
                )
        return rewards

    async def _values(
        self, sample: Sample, compared: Mapping[str, int], stopped: int
    ) -> dict[str, float] | None:
        """Have texts ranked; ``None`` if no pair of orders could be read."""
        texts = list(compared)
        rng = random.Random(f"{self._seed}\0{texts}")
        orders: list[list[int]] = []
        for _ in range(self._pairs):
            order = rng.sample(range(len(texts)), len(texts))
            orders += [order, order[::-1]]
        calls = (self._ranks(sample, texts, order, at) for at, order in enumerate(orders))
        rankings = await together(calls)
        pairs = zip(rankings[::2], rankings[1::2], strict=True)
        read = [ranks for pair in pairs if None not in pair for ranks in pair if ranks is not None]
        if not read:
            return None
        others = sum(compared.values()) - 1 + stopped
        wins = dict.fromkeys(texts, 0.0)
        for ranks in read:
            for mine, text in zip(ranks, texts, strict=True):
                wins[text] += stopped - 0.5  # itself, which the sum counts as tied
                for rank, size in zip(ranks, compared.values(), strict=True):
                    wins[text] += size * ((rank > mine) + (rank == mine) / 2)
        return {text: won / (others * len(read)) for text, won in wins.items()}

    async def _ranks(
        self, sample: Sample, texts: Sequence[str], order: Sequence[int], at: int
    ) -> list[int] | None:
        """Show texts in an order; return the rank of each, from 0 for the best."""
        ordered = [texts[place] for place in order]
        messages = ranking.render(sample, ordered)
        purpose = Purpose(f"{self._model.name}/ranking", TOKENS * len(texts))
        try:
            completion = await complete(
                self._model, messages, self._sampling, sample=at, purpose=purpose
            )
        except StopRunError:
            if not self._answered:
                raise
            return None
        except ModelError:  # logged where the call was made
            return None
        self._answered = True
        shown = Shown.in_prompt(messages)
        read = None if completion.cut_off else ranking.parse(completion.text, shown, len(ordered))
        if read is None:
            return None
        ranks = dict(zip(order, read, strict=True))
        return [ranks[place] for place in range(len(texts))]

    def _undecided(self, sample: Sample, problem: str) -> Rewarded:
        critique = Critique.undecided(sample.checklist, Status.FAILED, problem, self._model.name)
        return Rewarded(self.terms.undecided, decided=False, bounds=None, critique=critique)


def _problem(sample: Sample) -> str | None:
    """Say why a response cannot be ranked."""
    problem = (sample.model_extra or {}).get("problem")
    if problem is not None:
        return str(problem)
    if sample.response is None:
        return "the row has no response"
    return NO_INSTRUCTION if lacks_instruction(sample) else None
