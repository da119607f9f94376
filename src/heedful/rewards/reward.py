"""The reward of a response: judged, then aggregated; one core for all trainers."""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from contextvars import copy_context
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from heedful.core.closing import Closing
from heedful.core.errors import (
    HeedfulError,
    RowError,
    StopRunError,
    UsageError,
)
from heedful.core.log import logger
from heedful.core.nouns import Critique, Sample, Status
from heedful.core.reasoning import ReasoningMode, answered
from heedful.core.text import amount
from heedful.engine.call_cache import cache_calls
from heedful.engine.cost import CostSummary
from heedful.engine.store import Store
from heedful.judges import Rules, make_judge
from heedful.judges.compose import Cascade, better
from heedful.judges.dependencies import DEPENDENCY, judge_in_order
from heedful.judges.prompts.base import NO_INSTRUCTION, lacks_instruction
from heedful.models.limiter import AdaptiveLimiter
from heedful.rewards.gates import GATES, criteria
from heedful.rewards.terms import terms

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Callable, Collection, Coroutine

    from heedful.core.nouns import Constraint, Judgment
    from heedful.engine.store import UsageRecord
    from heedful.judges import Judge
    from heedful.judges.base import AnyJudge
    from heedful.judges.options import JudgeOptions
    from heedful.models import Price
    from heedful.models.base import AnyModel
    from heedful.rewards.terms import Aggregate, LengthPenalty, Rewarded, Terms

REASONS_LOGGED = 20
"""Reasons for undecided rewards that are logged; others are only counted."""

ALL_STOPPED = 4
"""From how many responses on it is warned of that gates stopped all so far."""


class RewardCounts:
    """Counts rewards, and logs why some are undecided, each reason once."""

    def __init__(self) -> None:
        """Start with no rewards."""
        self._counts: Counter[str] = Counter()
        self._gated: Counter[str] = Counter()
        self._problems: Counter[str] = Counter()
        self._explained: set[str] = set()
        self._gates_logged: set[str] = set()
        self._all_logged = False
        self._sum = 0.0

    def add(self, rewards: Sequence[Rewarded]) -> None:
        """Count the rewards of a batch, and log what gates stopped."""
        for reward in rewards:
            self._add(reward)
        self._log_gates(rewards)

    def _add(self, reward: Rewarded) -> None:
        if reward.problem is not None:
            self._problems[reward.problem] += 1
            if self._problems[reward.problem] == 1:
                logger.warning("no reward: %s", reward.problem)
        elif not reward.decided:
            self._explain(reward)
        statuses = reward.statuses
        self._counts.update(
            responses=1,
            decided=int(reward.decided),
            verdicts=len(statuses) - reward.skipped - statuses.count(Status.NOT_APPLICABLE),
            verdicts_decided=sum(status.decided for status in statuses),
            skipped=reward.skipped,
            guarded=int(any(guard.status is Status.UNMET for guard in reward.guards)),
        )
        if reward.gate is not None:
            self._gated[reward.gate.gate] += 1
        if reward.decided and reward.value is not None:
            self._sum += reward.value

    def _log_gates(self, rewards: Sequence[Rewarded]) -> None:
        """Log which gates stopped responses of a batch, each gate once, and that all were."""
        stopped = [reward.gate for reward in rewards if reward.gate is not None]
        for name in {gate.gate for gate in stopped} - self._gates_logged:
            self._gates_logged.add(name)
            reasons = [gate.reason for gate in stopped if gate.gate == name]
            logger.warning(
                "the gate %s stopped %d of %d responses, whose reward is 0: %s",
                name,
                len(reasons),
                len(rewards),
                reasons[0],
            )
        responses = self._counts["responses"]
        if responses == self._gated.total() >= ALL_STOPPED and not self._all_logged:
            self._all_logged = True
            logger.error(
                "gates stopped all of the first %d responses (%s): nothing can be learnt from "
                "rewards that are all 0. Read some of them; gates= names the gates that are on",
                responses,
                ", ".join(f"{name} {count}" for name, count in self._gated.most_common()),
            )

    def result(self, terms: Terms, account: CostSummary) -> dict[str, Any]:
        """Sum up; see :meth:`heedful.rewards.reward.Reward.summary`."""
        counts = self._counts
        responses, decided = counts["responses"], counts["decided"]
        requested = counts["verdicts"]
        result: dict[str, Any] = {
            "responses": responses,
            "decided": decided,
            "undecided_rate": (responses - decided) / responses if responses else None,
            "fallback": terms.undecided,
            "mean": self._sum / decided if decided else None,
            "verdicts": requested,
            "coverage": counts["verdicts_decided"] / requested if requested else None,
            "skipped": counts["skipped"],
            "guarded": counts["guarded"],
            "gates": {name: self._gated[name] for name in GATES if name in terms.gates},
            "problems": dict(self._problems.most_common(REASONS_LOGGED)),
        }
        if account:
            result["cost"] = account.result()
        return result

    def _explain(self, reward: Rewarded) -> None:
        """Log why a reward is undecided, each reason once: a judge may fail for every row."""
        judgments = (*reward.critique.judgments, *reward.guards)
        undecided = (judgment.explanation for judgment in judgments if not judgment.status.settled)
        reason = next(undecided, f"the aggregate gives {reward.bounds}")
        if reason not in self._explained and len(self._explained) < REASONS_LOGGED:
            self._explained.add(reason)
            logger.warning("reward undecided: %s", reason)


_IN_THIS_PROCESS = {"_background", "_foreground", "_starting", "_answered", "_counts"}
"""State that isn't pickled."""


class Reward(Closing):
    """Judges responses and makes a reward of each.

    >>> from heedful import Check, Constraint, Sample
    >>> from heedful.rewards import Reward
    >>> no_commas = Constraint(text="No commas.", check=Check(id="punctuation:no_comma"))
    >>> sample = Sample(id="1", checklist=(no_commas,), response="One and two.")
    >>> with Reward() as reward:
    ...     reward.score_sync([sample])[0].value
    1.0

    Code goes first: it stops responses that game the reward (``gates``) and decides the constraints
    that have a check. If that settles the reward, the judge isn't called. All judging happens in
    one event loop in a thread of its own, so a reward may be used from any thread and any loop,
    several at a time. Equal requests are made once, in flight or answered.

    Attributes:
        terms: how critiques become rewards.
        judge: decides what no check decides; by default code that reads the constraint's words.
            ``None`` where checks are all (``"rules"``).
        guards: whether a judge decides :func:`the criteria against gaming
            <heedful.rewards.gates.criteria>` with each checklist; one unmet makes the reward 0.
        guard_judge: decides these criteria, if it isn't the judge.
        concurrency: how many responses a judge is asked about at a time.
        reasoning: ``strip``: the answer after it is judged; ``keep``: the whole response.
    """

    def __init__(  # noqa: PLR0913 - each is a choice that users make
        self,
        judge: AnyJudge | None = None,
        aggregate: str | Aggregate = "fraction",
        *,
        model: AnyModel | None = None,
        gates: Collection[str] | str = "all",
        guards: bool = False,
        guard_judge: Judge | None = None,
        length: LengthPenalty | None = None,
        undecided: float | None = None,
        reasoning: ReasoningMode = "strip",
        concurrency: int = 256,
        cache: str | os.PathLike[str] | None = None,
    ) -> None:
        """Describe the reward; nothing is started before the first response.

        ``model`` decides what code can't; for more of its options, make the judge with
        :func:`~heedful.make_judge`.
        """
        if concurrency < 1:
            raise UsageError(f"concurrency is {concurrency}", hint="give at least 1")
        if reasoning not in get_args(ReasoningMode):
            raise UsageError(f"reasoning is {reasoning!r:.40}", hint="give strip or keep")
        _check_judges(judge, model, guard_judge, guards=guards)
        self.terms = terms(aggregate, length, undecided, gates)
        if judge is None:  # as evaluate does
            judge = "compiled" if model is None else "compiled,checklist"
        asked: JudgeOptions = {} if model is None else {"model": model}
        made = make_judge(judge, **asked)
        self.judge = None if isinstance(made, Rules) else made  # rules go first in any case
        self.guards = guards
        self.guard_judge = guard_judge
        self.reasoning = reasoning
        self._rules = Rules()
        self.concurrency = concurrency
        self._cache = None if cache is None else Path(cache)
        self._shared = False
        self._begin_in_this_process()

    def _begin_in_this_process(self) -> None:
        self._background: Background | None = None
        self._foreground: Foreground | None = None
        self._starting = threading.Lock()
        self._answered = False
        self._counts = RewardCounts()

    async def score(self, samples: Sequence[Sample | Mapping[str, Any]]) -> list[Rewarded]:
        """Judge responses and compute their rewards, in their order.

        A response that cannot be judged has no reward, and its critique says why.

        Args:
            samples: the responses with their checklists: samples, or their fields.

        Raises:
            UsageError: something else is given.
            StopRunError: no call can succeed, as with a wrong key, and none ever did: training
                should not begin. Later on such a failure leaves rewards undecided.
        """
        return await asyncio.wrap_future(self._submitted(samples))

    def score_sync(self, samples: Sequence[Sample | Mapping[str, Any]]) -> list[Rewarded]:
        """Do what :meth:`score` does and wait for it, inside of event loops too."""
        return self._submitted(samples).result()

    def summary(self, prices: Mapping[str, Price] | None = None) -> dict[str, Any]:
        """Sum up the rewards so far.

        Args:
            prices: dollars by model; by default heedful's table.

        Returns:
            ``responses``; ``decided`` of them; ``undecided_rate``; ``fallback``; ``mean`` of the
            decided rewards; ``verdicts`` requested and their ``coverage``; ``skipped``
            constraints; ``guarded``: responses with a criterion against gaming unmet; ``gates``:
            how many responses each gate stopped; ``problems``: why responses have no reward, such
            as an aggregate that needs what the rows lack; ``cost`` once models were called.
        """
        place = self._foreground or self._background
        usage = () if place is None else place.usage_records()
        return self._counts.result(self.terms, CostSummary(usage, prices))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the work under way: another process begins with none, and its own counts."""
        return {name: value for name, value in vars(self).items() if name not in _IN_THIS_PROCESS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the settings."""
        self.__dict__.update(state)
        self._begin_in_this_process()

    def close(self) -> None:
        """End the thread, close the models and commit the cache; using it again starts again."""
        if self._background is not None:
            self._background.close()
            self._background = None

    @asynccontextmanager
    async def session(self) -> AsyncIterator[RewardSession]:
        """Judge in the running loop and not in a thread, as a server does, which has a loop.

        Answers are cached and counted as usual. At the end, unfinished judging is cancelled.

        Raises:
            UsageError: a session is open already, or :meth:`score` has been called.
        """
        if self._foreground is not None or self._background is not None:
            raise UsageError("the reward is in use", hint="make another, or close this one first")
        with self._opened() as store:
            async with cache_calls(store):
                self._foreground = place = Foreground(store, self.concurrency)
                try:
                    yield RewardSession(
                        begin=place.begin,
                        rewarded=lambda each: self._counted(self._judgeable(each), place.turn),
                        judged=lambda each: self._critique(self._judgeable(each), place.turn),
                    )
                finally:
                    await place.close()
                    self._foreground = None

    def share(self, processes: int, cache: Path) -> None:
        """Leave each of several processes its share of the limits, and one cache to all.

        The cache is in the directory given here, unless the reward has one.
        """
        self._cache = self._cache or cache
        self._shared = True
        self._opened().close()  # so that none of them finds it half made
        self.concurrency = max(1, self.concurrency // processes)
        AdaptiveLimiter.divide_all(processes)

    def _judgeable(self, sample: Sample) -> Sample:
        """Return a sample as it is judged."""
        return answered(sample) if self.reasoning == "strip" else sample

    def _opened(self) -> Store:
        store = Store(self._cache, shared=self._shared)
        store.configure({"command": "reward"})
        return store

    def _submitted(self, samples: Sequence[Sample | Mapping[str, Any]]) -> Future[list[Rewarded]]:
        checked = list(map(self._judgeable, _checked(samples)))
        with self._starting:
            if self._foreground is not None:
                raise UsageError("the reward is in use in a session", hint="use the session")
            if self._background is None:
                self._background = Background(self._opened(), self.concurrency)
            background = self._background
        return background.submit(self._score(checked, background.turn))

    async def _score(self, samples: Sequence[Sample], turn: asyncio.Semaphore) -> list[Rewarded]:
        """Judge the responses of a batch, each by itself."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._reward(each, turn)) for each in samples]
        except BaseExceptionGroup as group_error:
            # Rows do not raise; what does stops all of them, and the first says why.
            raise group_error.exceptions[0] from None
        scored = [task.result() for task in tasks]
        self._counts.add(scored)
        return scored

    async def _counted(self, sample: Sample, turn: asyncio.Semaphore) -> Rewarded:
        scored = await self._reward(sample, turn)
        self._counts.add([scored])
        return scored

    async def _critique(self, sample: Sample, turn: asyncio.Semaphore) -> Critique:
        """Judge the whole checklist of one response, without gates and guards."""
        known = await self._judged(self._rules, sample, [*range(len(sample.checklist))])
        left = _undecided(known.judgments)
        if self.judge is None or not left:
            return known
        async with turn:
            return await self._by_judge(self.judge, sample, known, left)

    async def _reward(self, sample: Sample, turn: asyncio.Semaphore) -> Rewarded:
        began = time.perf_counter()
        reward = await self._judge(sample, turn)
        return replace(reward, seconds=time.perf_counter() - began)

    async def _judge(self, sample: Sample, turn: asyncio.Semaphore) -> Rewarded:
        """Judge one response: code first, then the judge for the rest."""
        gate = None if sample.response is None else self.terms.gate(sample)
        known = await self._judged(self._rules, sample, [*range(len(sample.checklist))])
        guarded = criteria(sample) if self.guards else ()
        guards = Critique.undecided(guarded, Status.UNSUPPORTED, "no judge decided it").judgments
        first = self.terms.reward(sample, known, guards, gate=gate)
        left = _undecided(known.judgments)
        if self.judge is None or first.problem is not None:
            return first
        if first.decided:
            return replace(first, skipped=len(left))
        async with turn:
            if self.guard_judge is None:
                critique, guards = await self._with_guards(self.judge, sample, known, guarded)
            else:
                apart = sample.model_copy(update={"checklist": guarded})
                other = await self._judged(self.guard_judge, apart, [*range(len(guarded))])
                guards = other.judgments
                critique = known.model_copy(update={"expenses": other.expenses})
                first = self.terms.reward(sample, critique, guards)
                if first.decided or not left:
                    return replace(first, skipped=len(left))
                critique = await self._by_judge(self.judge, sample, known, left)
                both = (*other.expenses, *critique.expenses)
                critique = critique.model_copy(update={"expenses": both})
        reward = self.terms.reward(sample, critique, guards)
        refused = any(NO_INSTRUCTION in judgment.explanation for judgment in critique.judgments)
        return replace(reward, problem=NO_INSTRUCTION) if refused and not reward.decided else reward

    async def _by_judge(
        self, judge: Judge, sample: Sample, known: Critique, left: list[int]
    ) -> Critique:
        """Judge the constraints that are left, and put the judgments in their places."""
        if any(constraint.depends_on for constraint in sample.checklist):
            # What code said of a constraint may change with what the judge says of another.
            judge = Cascade(self._rules, judge)
            left = sorted({*left, *_tied(sample.checklist)})
        critique = await self._judged(judge, sample, left)
        self._answered |= any(judgment.status.decided for judgment in critique.judgments)
        judgments = list(known.judgments)
        for at, judgment in zip(left, critique.judgments, strict=True):
            dependent = judgment.judge == DEPENDENCY
            judgments[at] = judgment if dependent else better(judgments[at], judgment)
        return critique.model_copy(update={"judgments": tuple(judgments)})

    async def _with_guards(
        self, judge: Judge, sample: Sample, known: Critique, guarded: tuple[Constraint, ...]
    ) -> tuple[Critique, tuple[Judgment, ...]]:
        """Judge what is left; the guards are further constraints in the same call."""
        if not guarded:
            return await self._by_judge(judge, sample, known, _undecided(known.judgments)), ()
        size = len(sample.checklist)
        sample = sample.model_copy(update={"checklist": (*sample.checklist, *guarded)})
        open_ = Critique.undecided(guarded, Status.UNSUPPORTED, "").judgments
        known = known.model_copy(update={"judgments": (*known.judgments, *open_)})
        both = await self._by_judge(judge, sample, known, _undecided(known.judgments))
        return both.model_copy(update={"judgments": both.judgments[:size]}), both.judgments[size:]

    async def _judged(self, judge: Judge, sample: Sample, requested: list[int]) -> Critique:
        """Call a judge; an error costs this row only."""
        try:
            if _needs_instruction(judge) and lacks_instruction(sample):
                raise RowError(NO_INSTRUCTION)  # noqa: TRY301 - as a judge of heedful's raises
            critique = await judge_in_order(judge, sample, requested)
            if len(critique.judgments) == len(requested):
                return critique
            judgments = amount(len(critique.judgments), "judgment")
            reason = f"{judgments} for {amount(len(requested), 'constraint')}"
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


def _check_judges(judge: object, model: object, guard_judge: object, *, guards: bool) -> None:
    """Refuse what isn't a judge, and guards whose judge is missing or not asked."""
    for name, given in (("judge", judge), ("guard_judge", guard_judge)):
        if not (
            given is None or isinstance(given, str) or callable(getattr(given, "judge", given))
        ):
            raise UsageError(f"the {name} is {given!r:.60}", hint="give a judge, or none")
    if not isinstance(guards, bool):
        raise UsageError(f"guards is {guards!r:.40}", hint="give True or False")
    if guards and model is None and judge in (None, "rules", "compiled"):
        raise UsageError("guards need a judge that is a model", hint="give judge= or model=")
    if guard_judge is not None and not guards:
        raise UsageError("a guard_judge is given without guards", hint="give guards=True too")


def _checked(samples: Sequence[Sample | Mapping[str, Any]]) -> list[Sample]:
    """Return samples, made of their fields where these are given."""
    if isinstance(samples, Sample | Mapping | str) or not isinstance(samples, Iterable):
        raise UsageError(f"the samples are {samples!r:.60}", hint="give a list: [sample]")
    checked = []
    for number, each in enumerate(samples, 1):
        if not isinstance(each, Sample | Mapping):
            raise UsageError(
                f"sample {number} is {each!r:.60}",
                hint="give samples, or dicts with prompt, checklist and response",
            )
        checked.append(each if isinstance(each, Sample) else Sample(**each))
    return checked


def _undecided(judgments: Sequence[Judgment]) -> list[int]:
    """Return the positions of undecided judgments."""
    return [at for at, judgment in enumerate(judgments) if not judgment.status.settled]


def _tied(checklist: Sequence[Constraint]) -> set[int]:
    """Return the positions of constraints that depend on others, and of those others."""
    dependent = {at for at, each in enumerate(checklist) if each.depends_on}
    return dependent | {number - 1 for at in dependent for number in checklist[at].depends_on}


def _needs_instruction(judge: Judge) -> bool:
    """Tell whether a judge might judge without the instruction: those of heedful never do."""
    parts = getattr(judge, "judges", None)
    if isinstance(parts, Sequence):
        return any(map(_needs_instruction, parts))
    return not type(judge).__module__.startswith("heedful.judges.")


# --- the event loop -----------------------------------------------------------------------------
#
# Trainers call from their main thread, from several threads, or from loops of their own. A model's
# connections and limits belong to one loop, and so do shared requests in flight: so a reward judges
# in a loop in a thread of its own. A server has a loop already, and a second thread would only
# contend with it for the interpreter.

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RewardSession:
    """A reward at work in one event loop.

    Judging continues when nobody waits for it any more: its answers are cached, and others may wait
    for the same.
    """

    begin: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]  # runs what is awaited below
    rewarded: Callable[[Sample], Coroutine[Any, Any, Rewarded]]
    judged: Callable[[Sample], Coroutine[Any, Any, Critique]]

    def reward(self, sample: Sample) -> asyncio.Task[Rewarded]:
        """Begin to judge a response as far as its reward depends on it.

        The task raises StopRunError as :meth:`Reward.score` does.
        """
        return self.begin(self.rewarded(sample))

    def critique(self, sample: Sample) -> asyncio.Task[Critique]:
        """Begin to judge a response's whole checklist; no reward is counted."""
        return self.begin(self.judged(sample))


class Foreground:
    """Runs coroutines in the running loop, caching their models' answers in a store.

    Make it inside :func:`~heedful.engine.call_cache.cache_calls` with that store, in its context.
    """

    def __init__(self, store: Store, concurrency: int) -> None:
        self.turn = asyncio.Semaphore(concurrency)  # bounds how many responses are judged at a time
        self.tasks: set[asyncio.Task[Any]] = set()
        self._store = store
        self._context = copy_context()

    def begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run a coroutine; it goes on when nobody waits for it any more."""
        loop = asyncio.get_running_loop()
        task = loop.create_task(work, context=self._context.copy())
        self.tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def usage_records(self) -> list[UsageRecord]:
        """Return the usage of all calls, summed up by judge and model."""
        return list(self._store.usage_records())

    async def close(self) -> None:
        """Cancel running tasks."""
        tasks = list(self.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self.tasks.discard(task)
        if not task.cancelled():
            task.exception()  # looked at, as maybe nobody waits for it any more


class Background:
    """Runs coroutines in a loop in a thread of its own."""

    def __init__(self, store: Store, concurrency: int) -> None:
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        ready: Future[Foreground] = Future()
        # The thread knows nothing of this object: one that is forgotten must not keep it.
        self._thread = threading.Thread(
            target=_live,
            args=(self._loop, _keep_cache(store, concurrency, ready, self._stop)),
            name="heedful-reward",
            daemon=True,
        )
        self._thread.start()
        self._place = ready.result()
        self.turn = self._place.turn
        self._end = weakref.finalize(
            self, _end, self._loop, self._stop, self._place.tasks, self._thread
        )

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine in the loop; the future may be waited for in any thread or loop."""
        done: Future[T] = Future()
        place = self._place

        def begin() -> None:
            if done.set_running_or_notify_cancel():
                place.begin(work).add_done_callback(lambda ended: _deliver(ended, done))
            else:  # whoever waited has gone
                work.close()

        self._loop.call_soon_threadsafe(begin)
        return done

    def usage_records(self) -> list[UsageRecord]:
        """Return the usage of all calls, summed up by judge and model."""
        place = self._place

        async def records() -> list[UsageRecord]:
            return place.usage_records()

        return self.submit(records()).result()

    def close(self) -> None:
        """Finish what is under way, close the models and the store, and end the thread."""
        if self._end.detach() is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()


def _live(loop: asyncio.AbstractEventLoop, life: Coroutine[Any, Any, None]) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(life)
    finally:
        loop.close()


async def _keep_cache(
    store: Store, concurrency: int, ready: Future[Foreground], stop: asyncio.Event
) -> None:
    """Cache answers until a stop is requested and all requests are answered."""
    async with cache_calls(store):
        place = Foreground(store, concurrency)
        ready.set_result(place)
        await stop.wait()
        while place.tasks:
            await asyncio.wait(place.tasks)
    store.close()


def _end(
    loop: asyncio.AbstractEventLoop,
    stop: asyncio.Event,
    tasks: set[asyncio.Task[Any]],
    thread: threading.Thread,
) -> None:
    """End the thread of an object that is gone, or at the interpreter's exit, and wait for that."""

    def drop() -> None:
        for task in tasks:
            task.cancel()
        stop.set()

    loop.call_soon_threadsafe(drop)
    if thread is not threading.current_thread():
        thread.join()


def _deliver(ended: asyncio.Task[T], done: Future[T]) -> None:
    """Hand over the result of a task."""
    error = asyncio.CancelledError() if ended.cancelled() else ended.exception()
    if error is None:
        done.set_result(ended.result())
    else:
        done.set_exception(error)
