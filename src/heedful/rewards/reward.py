"""The reward of a response: judged, then aggregated; one core for all trainers."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from heedful.core.errors import HeedfulError, StopRunError, UsageError
from heedful.core.log import logger
from heedful.core.nouns import Critique, Status
from heedful.engine.call_cache import cache_calls
from heedful.engine.cost import CostSummary
from heedful.engine.store import Store
from heedful.judges import Rules
from heedful.judges.compose import better
from heedful.judges.prompts.base import NO_INSTRUCTION
from heedful.rewards import guards as guarding
from heedful.rewards.background import Background, Foreground
from heedful.rewards.terms import code_guards, terms

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from concurrent.futures import Future

    from heedful.core.nouns import Judgment, Sample
    from heedful.judges import Judge
    from heedful.models import Price
    from heedful.rewards.aggregates import Aggregate
    from heedful.rewards.guards import Guards
    from heedful.rewards.terms import LengthPenalty, Rewarded

REASONS_LOGGED = 20
"""Different reasons for undecided rewards that are logged; later ones are only counted."""


@dataclass(frozen=True, slots=True)
class RewardSession:
    """A reward at work in one event loop.

    What was begun goes on when nobody waits for it any more: its answers are kept, and others may
    wait for the same.

    Attributes:
        reward: begins to judge a response as far as its reward depends on it; the task raises
            :class:`~heedful.core.errors.StopRunError` as :meth:`Reward.score` does.
        critique: begins to judge a response's whole checklist; no reward is counted.
    """

    reward: Callable[[Sample], asyncio.Task[Rewarded]]
    critique: Callable[[Sample], asyncio.Task[Critique]]


class Reward:
    """Judges responses and makes a reward of each.

    >>> from heedful import Check, Constraint, Sample
    >>> from heedful.rewards import Reward
    >>> no_commas = Constraint(text="No commas.", check=Check(id="punctuation:no_comma"))
    >>> sample = Sample(id="1", checklist=(no_commas,), response="One and two.")
    >>> with Reward() as reward:
    ...     reward.score_sync([sample])[0].value
    1.0

    Code goes first: it decides the constraints that have a check, and where that settles the reward
    the judge is not asked. All judging happens in one event loop in a thread of its own, so a
    reward may be used from any thread and any loop, several at a time. Askings that are equal are
    made once, be they in flight or long answered.

    Attributes:
        terms: how critiques become rewards.
        judge: who decides what code does not.
    """

    def __init__(  # noqa: PLR0913 - each is a choice that users make
        self,
        judge: Judge | None = None,
        aggregate: str | Aggregate = "fraction",
        *,
        guards: Guards = "off",
        length: LengthPenalty | None = None,
        undecided: float | None = None,
        judge_empty: bool = False,
        concurrency: int = 256,
        cache: str | os.PathLike[str] | None = None,
    ) -> None:
        """Describe the reward; nothing is started before the first response.

        Args:
            judge: decides what code does not; ``None`` where code decides everything.
            aggregate: ``fraction`` (IF-Critic), ``all_or_nothing`` (RIFL), ``psr`` (CFBench),
                ``weighted``, ``gate``, or a function of constraints and verdicts.
            guards: RIFL's criteria against reward hacking: ``off``; ``code``, where code finds
                them violated; ``judge``, where the judge is asked about the rest too.
            length: what is taken for length.
            undecided: the reward where verdicts are missing that it depends on; ``None`` leaves
                it open, which trainers other than TRL do not take.
            judge_empty: judge an empty response, or one of invisible characters only, as any
                other; by default its reward is 0 and the judge is not asked.
            concurrency: responses judged at a time.
            cache: a directory that keeps the judge's answers over restarts; unless given they
                are kept while the reward lives.

        Raises:
            UsageError: an option makes no sense.
        """
        if concurrency < 1:
            raise UsageError(f"concurrency is {concurrency}", hint="give at least 1")
        if guards == "judge" and judge is None:
            raise UsageError(
                "the guards ask a judge, and there is none", hint="give a judge, or guards='code'"
            )
        self.terms = terms(aggregate, guards, length, undecided, judge_empty=judge_empty)
        self.judge = judge
        self._rules = Rules()
        self._concurrency = concurrency
        self._cache = None if cache is None else Path(cache)
        self._background: Background | None = None
        self._foreground: Foreground | None = None
        self._starting = threading.Lock()
        self._answered = False
        self._counts: Counter[str] = Counter()
        self._explained: set[str] = set()
        self._sum = 0.0

    async def score(self, samples: Sequence[Sample]) -> list[Rewarded]:
        """Judge responses and compute their rewards, in their order.

        A response that cannot be judged has no reward, and its critique says why.

        Raises:
            StopRunError: no call can succeed, as with a wrong key, and none ever did: training
                should not begin. Later on such a failure leaves rewards undecided.
        """
        return await asyncio.wrap_future(self._submitted(samples))

    def score_sync(self, samples: Sequence[Sample]) -> list[Rewarded]:
        """Do what :meth:`score` does and wait for it, inside of event loops too."""
        return self._submitted(samples).result()

    def summary(self, prices: Mapping[str, Price] | None = None) -> dict[str, Any]:
        """Say what the rewards so far rest on.

        Args:
            prices: dollars by model; our own table unless given.

        Returns:
            ``responses``; ``decided`` of them; ``undecided_rate``; ``fallback``; ``mean`` of the
            decided rewards; ``verdicts`` asked for and the ``coverage`` of these; ``skipped``
            constraints; ``guarded``: responses with a violated guard; ``empty`` responses, whose
            reward is 0; ``cost`` once models were asked.
        """
        counts = self._counts
        responses, decided = counts["responses"], counts["decided"]
        requested = counts["verdicts"]
        result: dict[str, Any] = {
            "responses": responses,
            "decided": decided,
            "undecided_rate": (responses - decided) / responses if responses else None,
            "fallback": self.terms.undecided,
            "mean": self._sum / decided if decided else None,
            "verdicts": requested,
            "coverage": counts["verdicts_decided"] / requested if requested else None,
            "skipped": counts["skipped"],
            "guarded": counts["guarded"],
            "empty": counts["empty"],
        }
        place = self._foreground or self._background
        if place is not None:
            account = CostSummary(place.usage_records(), prices)
            if account:
                result["cost"] = account.result()
        return result

    def close(self) -> None:
        """End the thread, close the models and commit what is kept; using it again starts anew."""
        if self._background is not None:
            self._background.close()
            self._background = None

    def __enter__(self) -> Self:
        """Return the reward itself."""
        return self

    def __exit__(self, *about: object) -> None:
        """Close it."""
        self.close()

    @asynccontextmanager
    async def session(self) -> AsyncIterator[RewardSession]:
        """Judge in the running loop and not in a thread, as a server does, which has a loop.

        Answers are kept and counted as ever. At the end, what is still under way is given up.

        Raises:
            UsageError: a session is open already, or :meth:`score` has been called.
        """
        if self._foreground is not None or self._background is not None:
            raise UsageError("the reward is in use", hint="make another, or close this one first")
        with self._opened() as store:
            async with cache_calls(store):
                self._foreground = place = Foreground(store, self._concurrency)
                try:
                    yield RewardSession(
                        reward=lambda sample: place.begin(self._counted(sample, place.turn)),
                        critique=lambda sample: place.begin(self._critique(sample, place.turn)),
                    )
                finally:
                    await place.close()
                    self._foreground = None

    def _opened(self) -> Store:
        store = Store(self._cache)
        store.configure({"command": "reward"})
        return store

    def _submitted(self, samples: Sequence[Sample]) -> Future[list[Rewarded]]:
        with self._starting:
            if self._foreground is not None:
                raise UsageError("the reward is in use in a session", hint="use the session")
            if self._background is None:
                self._background = Background(self._opened(), self._concurrency)
            background = self._background
        return background.submit(self._score(samples, background.turn))

    async def _score(self, samples: Sequence[Sample], turn: asyncio.Semaphore) -> list[Rewarded]:
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._one(sample, turn)) for sample in samples]
        except BaseExceptionGroup as group_error:
            # Rows do not raise; what does stops all of them, and the first says why.
            raise group_error.exceptions[0] from None
        scored = [task.result() for task in tasks]
        for one in scored:
            self._count(one)
        return scored

    async def _counted(self, sample: Sample, turn: asyncio.Semaphore) -> Rewarded:
        scored = await self._one(sample, turn)
        self._count(scored)
        return scored

    async def _critique(self, sample: Sample, turn: asyncio.Semaphore) -> Critique:
        """Judge the whole checklist of one response, guards and what may be skipped aside."""
        known = await self._judged(self._rules, sample, list(range(len(sample.checklist))))
        left = [at for at, one in enumerate(known.judgments) if not one.status.decided]
        if self.judge is None or not left:
            return known
        async with turn:
            critique, _ = await self._asked(self.judge, sample, known, (), left)
        return critique

    async def _one(self, sample: Sample, turn: asyncio.Semaphore) -> Rewarded:
        """Judge one response: code first, then the judge for what the reward still depends on."""
        known = await self._judged(self._rules, sample, list(range(len(sample.checklist))))
        guards = self._code_guards(sample)
        first = self.terms.reward(sample, known, guards)
        left = [at for at, one in enumerate(known.judgments) if not one.status.decided]
        asks = bool(left) or not all(guard.status.decided for guard in guards)
        if self.judge is None or first.problem is not None or not asks:
            return first
        if first.decided:
            return self.terms.reward(sample, known, guards, skipped=len(left))
        async with turn:
            critique, guards = await self._asked(self.judge, sample, known, guards, left)
        found = self.terms.reward(sample, critique, guards)
        if not found.decided and any(
            NO_INSTRUCTION in one.explanation for one in critique.judgments
        ):
            return replace(found, problem=NO_INSTRUCTION)
        return found

    def _code_guards(self, sample: Sample) -> tuple[Judgment, ...]:
        if self.terms.guards == "off":
            return ()
        if self.terms.guards == "code":
            return code_guards(sample)
        unasked = Critique.undecided(
            guarding.criteria(sample), Status.UNSUPPORTED, "code found nothing", guarding.CODE
        )
        found = guarding.violations(sample)
        return tuple(one or other for one, other in zip(found, unasked.judgments, strict=True))

    async def _asked(
        self,
        judge: Judge,
        sample: Sample,
        known: Critique,
        guards: tuple[Judgment, ...],
        left: list[int],
    ) -> tuple[Critique, tuple[Judgment, ...]]:
        """Ask the judge for what is left; guards are further constraints of the same checklist."""
        size = len(sample.checklist)
        judgments = [*known.judgments, *guards]
        asked = left + [size + at for at, one in enumerate(guards) if not one.status.decided]
        if guards:
            checklist = (*sample.checklist, *guarding.criteria(sample))
            sample = sample.model_copy(update={"checklist": checklist})
        critique = await self._judged(judge, sample, asked)
        self._answered |= any(one.status.decided for one in critique.judgments)
        for at, judgment in zip(asked, critique.judgments, strict=True):
            judgments[at] = better(judgments[at], judgment)
        whole = critique.model_copy(update={"judgments": tuple(judgments[:size])})
        return whole, tuple(judgments[size:])

    async def _judged(self, judge: Judge, sample: Sample, requested: list[int]) -> Critique:
        """Ask a judge; whatever it raises costs this row only."""
        try:
            critique = await judge.judge(sample, requested)
            if len(critique.judgments) == len(requested):
                return critique
            reason = f"{len(critique.judgments)} judgments for {len(requested)} constraints"
        except StopRunError as error:
            if not self._answered:
                raise
            reason = str(error)
        except HeedfulError as error:
            reason = str(error)
        except Exception as error:  # noqa: BLE001 - a judge's defect must not end a training
            reason = f"{type(error).__name__}: {error}"
        logger.error("no verdict of %s: %s", judge.name, reason)
        constraints = [sample.checklist[position] for position in requested]
        return Critique.undecided(constraints, Status.FAILED, reason, judge.name)

    def _count(self, reward: Rewarded) -> None:
        if reward.problem is not None:
            logger.warning("no reward: %s", reward.problem)
        elif not reward.decided:
            self._explain(reward)
        decided = sum(status.decided for status in reward.statuses)
        self._counts.update(
            responses=1,
            decided=int(reward.decided),
            verdicts=len(reward.statuses) - reward.skipped,
            verdicts_decided=decided,
            skipped=reward.skipped,
            guarded=int(any(guard.status is Status.UNMET for guard in reward.guards)),
            empty=int(reward.empty),
        )
        if reward.decided and reward.value is not None:
            self._sum += reward.value

    def _explain(self, reward: Rewarded) -> None:
        """Log why a reward is undecided, each reason once: a judge may fail for every row."""
        judgments = (*reward.critique.judgments, *reward.guards)
        undecided = (judgment.explanation for judgment in judgments if not judgment.status.decided)
        reason = next(undecided, f"the aggregate gives {reward.bounds}")
        if reason not in self._explained and len(self._explained) < REASONS_LOGGED:
            self._explained.add(reason)
            logger.warning("reward undecided: %s", reason)
