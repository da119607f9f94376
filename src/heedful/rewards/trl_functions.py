"""Reward functions of TRL: one of heedful's, or several summed into one.

TRL sums its reward functions with ``nansum``: beside a second function a ``None`` counts as 0, and
a row is left out only where all functions return ``None``. So an undecided reward stays undecided
only in a function that stands alone, which :func:`for_trl` and :func:`trl_rewards` make sure of.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import math
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from heedful.core.errors import RowError, UsageError
from heedful.core.nouns import Status
from heedful.judges import prompts
from heedful.judges.prompts.base import lacking
from heedful.rewards import rows
from heedful.rewards.adapters import logged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from heedful.core.nouns import Judgment, Sample
    from heedful.judges.prompts import JudgePrompt
    from heedful.rewards.divergence import Divergence
    from heedful.rewards.reward import Reward
    from heedful.rewards.terms import Rewarded

    Function: TypeAlias = Callable[..., Any]
    Values: TypeAlias = list[float | None]

_NOT_COLUMNS = {"completion_ids", "trainer_state", "environments"}
"""Arguments of TRL's that aren't columns of the data set."""


@dataclass(slots=True)
class _RunningSum:
    """The rows of a sum that is being computed.

    Functions of heedful report to it which of their rewards are undecided, however they are
    wrapped: a wrapper passes on ``None``, which of other functions means that they don't apply.
    """

    undecided: list[bool]
    may_be_undecided: bool = False

    def report(self, undecided: Sequence[bool], name: str) -> None:
        """Add the rows of a function."""
        if len(undecided) != len(self.undecided):
            raise UsageError(
                f"{name!r} was called on {len(undecided)} completions within a sum over "
                f"{len(self.undecided)}",
                hint="call it on all of the batch, and select rows of what it returns",
            )
        self.undecided = [a or b for a, b in zip(self.undecided, undecided, strict=True)]


_SUM: ContextVar[_RunningSum | None] = ContextVar("heedful_trl_sum", default=None)


def for_trl(
    reward: Reward,
    *,
    name: str = "heedful",
    blocking: bool = False,
    divergence: Divergence | None = None,
) -> Function:
    """Make a reward function of TRL's ``GRPOTrainer`` or ``RLOOTrainer`` (1.16).

    The data set has ``prompt``, and ``checklist``, ``constraints``, ``rubric`` or
    ``checklist_struct``. The trainer logs the means of what
    :meth:`~heedful.rewards.Rewarded.measures` returns, as ``NAME/gated`` and so on, with the
    ``NAME/dollars`` of all calls so far, and shows the verdicts beside the completions.
    Called by hand, outside an event loop, it returns the rewards.

    An undecided reward is ``None``, and TRL leaves the row out if there is no other reward
    function. Beside another one it would count as 0, so the function refuses that at the first
    step: sum them with :func:`trl_rewards`, or state a fallback with ``Reward(undecided=...)``.
    Both also hold for a wrapper of the function, such as a :func:`functools.partial`.

    It lets :class:`~heedful.core.errors.StopRunError` through at the first batch only.

    ``blocking`` makes a plain function and not an ``async`` one; TRL runs the asynchronous ones of
    several rewards at the same time. ``divergence`` compares the reward with a second opinion on a
    part of each batch, logs the gap as ``NAME/gap``, and may end the training at an alarm.
    """
    kind = _BlockingFunction if blocking else _AsyncFunction
    return kind(reward, name, divergence)


class _Function:
    """A reward function; an object and no closure, so that it can be sent to other processes."""

    def __init__(self, reward: Reward, name: str, divergence: Divergence | None) -> None:
        self.__name__ = name
        self._reward = reward
        self._divergence = divergence

    def _read(
        self, prompts: Sequence[Any], completions: Sequence[Any], columns: Mapping[str, Any]
    ) -> list[Sample]:
        if self._reward.terms.undecided is None:
            _refuse_company(self.__name__, columns)
        return _samples(prompts, completions, columns)

    def _drawn(self, samples: Sequence[Sample], columns: Mapping[str, Any]) -> list[int]:
        """Return the places of the responses that are judged a second time."""
        drawn = self._divergence
        return [] if drawn is None else drawn.draw(len(samples), _step(columns))

    def _logged(
        self,
        scored: Sequence[Rewarded],
        drawn: Sequence[int],
        again: Sequence[Rewarded],
        columns: Mapping[str, Any],
    ) -> Values:
        """Log a batch, report it to the sum that it belongs to, and return its rewards."""
        if self._divergence is not None:
            _watch(self._divergence, self.__name__, [scored[at] for at in drawn], again, columns)
        _log(self.__name__, scored, self._reward, columns)
        running = _SUM.get()
        if running is not None:
            running.report([each.value is None for each in scored], self.__name__)
            running.may_be_undecided |= self._reward.terms.undecided is None
        return [each.value for each in scored]


class _AsyncFunction(_Function):
    def __init__(self, reward: Reward, name: str, divergence: Divergence | None) -> None:
        super().__init__(reward, name, divergence)
        # TRL asks whether `function.__call__` is async; a call itself goes by the class.
        self.__dict__["__call__"] = self._later

    def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> Any:
        """Return the rewards, in a running event loop a coroutine."""
        later = self._later(prompts, completions, **columns)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(later)
        return later

    async def _later(
        self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any
    ) -> Values:
        samples = self._read(prompts, completions, columns)
        scored = await self._reward.score(samples)
        drawn, again = self._drawn(samples, columns), []
        if self._divergence is not None:
            again = await self._divergence.reference.score([samples[at] for at in drawn])
        return self._logged(scored, drawn, again, columns)


class _BlockingFunction(_Function):
    def __call__(
        self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any
    ) -> Values:
        samples = self._read(prompts, completions, columns)
        scored = self._reward.score_sync(samples)
        drawn, again = self._drawn(samples, columns), []
        if self._divergence is not None:
            again = self._divergence.reference.score_sync([samples[at] for at in drawn])
        return self._logged(scored, drawn, again, columns)


def trl_rewards(
    functions: Sequence[Function], weights: Sequence[float] | None = None, *, name: str = "total"
) -> Function:
    """Sum reward functions into one, in which an undecided reward stays undecided.

    ::

        reward_funcs=trl_rewards([for_trl(reward, name="critic"), brevity], weights=[1.0, 0.2])

    The sum is ``None`` where a function of :func:`for_trl` is undecided, even with weight 0 or in a
    wrapper, and TRL leaves that row out. ``None`` or NaN of any other function means, as in TRL,
    that it does not apply to the row, and adds nothing; where no function applies the sum is
    ``None``. The trainer logs each function's mean and standard deviation as it does for its own,
    under ``rewards/NAME/mean`` and ``rewards/NAME/std``, over the rows that it applies to.

    Functions are plain or ``async``, but no reward models. The weights, by default 1, stand in
    place of TRL's ``reward_weights``.
    """
    functions = list(functions)
    factors = [1.0] * len(functions) if weights is None else list(map(float, weights))
    names = _names(functions, name)
    if len(factors) != len(functions) or not all(map(math.isfinite, factors)):
        raise UsageError(
            f"the weights of {len(functions)} reward functions are {factors}",
            hint="give one finite number for each function",
        )

    return _Total(functions, names, factors, name)


class _Total:
    """A sum of reward functions."""

    def __init__(
        self,
        functions: Sequence[Function],
        names: Sequence[str],
        factors: Sequence[float],
        name: str,
    ) -> None:
        self.__name__ = name
        self._functions = functions
        self._names = names
        self._factors = factors

    async def __call__(
        self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any
    ) -> Values:
        name, around = self.__name__, _SUM.get()
        running = _RunningSum([False] * len(prompts))
        reset = _SUM.set(running)
        try:
            calls = (_called(each, prompts, completions, columns) for each in self._functions)
            rewards = await asyncio.gather(*calls)
        finally:
            _SUM.reset(reset)
        for function_name, values in zip(self._names, rewards, strict=True):
            if len(values) != len(prompts):
                what = f"the reward function {function_name!r} returned {len(values)} rewards"
                raise UsageError(what, hint=f"return one for each of {len(prompts)} completions")
            _log_function(function_name, values, columns)
        if running.may_be_undecided:
            _refuse_company(name, columns)
        if around is not None:
            around.report(running.undecided, name)
            around.may_be_undecided |= running.may_be_undecided
        return [
            None if undecided else _sum(row, self._factors)
            for row, undecided in zip(zip(*rewards, strict=True), running.undecided, strict=True)
        ]


def _names(functions: Sequence[Function], name: str) -> list[str]:
    """Return the functions' names, which distinguish them in the logs."""
    if not functions:
        raise UsageError("there are no reward functions to sum", hint="give at least one")
    names = []
    for function in functions:
        if not callable(function) or hasattr(function, "parameters"):
            raise UsageError(
                f"{function!r} is not a reward function",
                hint="give functions; wrap a reward model in one that returns its scores",
            )
        while isinstance(function, functools.partial):  # named as in TRL
            function = function.func  # noqa: PLW2901 - unwrapped
        names.append(getattr(function, "__name__", type(function).__name__))
    if len({*names, name}) <= len(names):
        raise UsageError(
            f"the reward functions and their sum are called {', '.join([*names, name])}",
            hint="give each a name of its own: for_trl(reward, name=...), trl_rewards(..., name=)",
        )
    return names


async def _called(
    function: Function,
    prompts: Sequence[Any],
    completions: Sequence[Any],
    columns: Mapping[str, Any],
) -> Values:
    """Call a function; a plain one in a thread, as it may block or have a loop of its own."""
    plain = not (
        inspect.iscoroutinefunction(function)
        or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004
    )
    given = {"prompts": prompts, "completions": completions, **columns}
    returned = await asyncio.to_thread(function, **given) if plain else function(**given)
    if inspect.isawaitable(returned):
        returned = await returned
    return list(map(_number, returned))


def _number(value: Any) -> float | None:
    """Read the reward of a row; tensors too."""
    number = None if value is None else float(value)
    return None if number is None or math.isnan(number) else number


def _sum(values: Sequence[float | None], factors: Sequence[float]) -> float | None:
    applied = [
        factor * value for value, factor in zip(values, factors, strict=True) if value is not None
    ]
    return math.fsum(applied) if applied else None


def _log_function(name: str, values: Sequence[float | None], columns: Mapping[str, Any]) -> None:
    known = [value for value in values if value is not None]
    metric = columns.get("log_metric")
    if metric is None or not known:
        return
    mean = math.fsum(known) / len(known)
    metric(f"rewards/{name}/mean", mean)
    if len(known) > 1:
        spread = math.fsum((value - mean) ** 2 for value in known) / (len(known) - 1)
        metric(f"rewards/{name}/std", math.sqrt(spread))


def _refuse_company(name: str, columns: Mapping[str, Any]) -> None:
    """Refuse a trainer that would count an undecided reward as 0."""
    trainer = _trainer(columns)
    hint = (
        "sum all of them into one: reward_funcs=trl_rewards([for_trl(reward), ...], weights=[...])"
        "; or state a fallback: Reward(..., undecided=0.0)"
    )
    if trainer is not None and len(trainer.reward_funcs) > 1:
        raise UsageError(
            f"the trainer has {len(trainer.reward_funcs)} reward functions, and sums them so that "
            f"an undecided reward of {name!r} counts as 0",
            hint=hint,
        )
    if trainer is None and columns.get("trainer_state") is not None:
        raise UsageError(
            f"the trainer is not TRL's GRPOTrainer or RLOOTrainer (1.16 or later), and may count "
            f"an undecided reward of {name!r} as 0",
            hint="state a fallback: Reward(..., undecided=0.0)",
        )


def _trainer(columns: Mapping[str, Any]) -> Any:
    """Return the trainer that calls, which knows its reward functions."""
    for key in ("log_metric", "log_extra"):
        owner = getattr(columns.get(key), "__self__", None)
        if hasattr(owner, "reward_funcs"):
            return owner
    return None


def _samples(
    prompts: Sequence[Any], completions: Sequence[Any], columns: Mapping[str, Any]
) -> list[Sample]:
    if not {*rows.CHECKLISTS} & {*columns}:
        raise UsageError(
            "the data set has no checklists",
            hint=f"give it a column {', '.join(rows.CHECKLISTS)}",
        )
    known = {
        name: values
        for name, values in columns.items()
        if name not in _NOT_COLUMNS and isinstance(values, list) and len(values) == len(prompts)
    }
    finish = _finish_reasons(columns, len(prompts))
    samples = []
    for at, (prompt, completion) in enumerate(zip(prompts, completions, strict=True)):
        label = {**{name: values[at] for name, values in known.items()}, "prompt": prompt}
        samples.append(rows.labelled(label, completion, {rows.FINISH: finish[at]}, at + 1))
    return samples


def _step(columns: Mapping[str, Any]) -> int:
    """Return the step of the training; 0 where the trainer doesn't say it."""
    step = getattr(columns.get("trainer_state"), "global_step", None)
    return step if isinstance(step, int) else 0


def _finish_reasons(columns: Mapping[str, Any], size: int) -> list[str | None]:
    """Return ``length`` for completions that reached the trainer's limit without an end token."""
    trainer, completions = _trainer(columns), columns.get("completion_ids")
    limit = getattr(trainer, "max_completion_length", None)
    if not isinstance(limit, int) or not isinstance(completions, list) or len(completions) != size:
        return [None] * size
    ends = {getattr(trainer, name, None) for name in ("eos_token_id", "pad_token_id")}
    return ["length" if len(ids) >= limit and ids[-1] not in ends else None for ids in completions]


def _watch(
    divergence: Divergence,
    name: str,
    scored: Sequence[Rewarded],
    again: Sequence[Rewarded],
    columns: Mapping[str, Any],
) -> None:
    """Log the gap between two rewards of the same responses; end the training at an alarm."""
    logs = divergence.record(_step(columns), scored, again)
    metric = columns.get("log_metric")
    if metric is not None:
        for key, value in logs.items():
            metric(f"{name}/{key}", value)
    control = getattr(_trainer(columns), "control", None)
    if divergence.alarm is not None and divergence.stop and control is not None:
        control.should_training_stop = control.should_save = True


def _log(name: str, scored: Sequence[Rewarded], reward: Reward, columns: Mapping[str, Any]) -> None:
    metric, extra = columns.get("log_metric"), columns.get("log_extra")
    if metric is not None:
        for key, values in logged(scored).items():
            metric(f"{name}/{key}", math.fsum(values) / len(values))
        dollars = reward.summary().get("cost", {}).get("dollars")
        if dollars is not None:
            metric(f"{name}/dollars", dollars)
    if extra is not None:
        extra(f"{name}_verdicts", [_said(each) for each in scored])


def _said(reward: Rewarded) -> str:
    """Say what a reward rests on, in a few words."""
    if reward.gate is not None:
        return f"stopped by the gate {reward.gate.gate}: {reward.gate.reason}"
    return " ".join(reward.statuses) or str(reward.problem)


# --- a critic in training ------------------------------------------------------------------------
#
# RIFL (arXiv 2511.10507) trains its verifier first on critiques and then by reinforcement, with
# the agreement with human labels as the reward. Here the completion *is* the critique: a verdict
# that it doesn't state, or that can't be read, is its own failing and doesn't agree.


def critic_rows(
    samples: Iterable[Sample], prompt: JudgePrompt | str = "plain"
) -> Iterator[dict[str, Any]]:
    """Yield the rows that a critic is trained on: ``prompt``, ``checklist`` and ``labels``.

    The samples are labelled responses, as ``heedful judge-accuracy`` takes them; those without a
    response, an instruction or a label are left out. ``prompt`` is the critic's, or its name.
    """
    contract = prompts.make(prompt) if isinstance(prompt, str) else prompt
    for sample in samples:
        labels = sample.labels or ()
        if all(label is None for label in labels) or lacking(sample, contract) is not None:
            continue
        messages = contract.render(sample, sample.checklist)
        yield {
            "prompt": [{"role": each.role, "content": each.content} for each in messages],
            "checklist": [{"text": constraint.text} for constraint in sample.checklist],
            "labels": list(labels),
        }


def for_trl_critic(
    prompt: JudgePrompt | str = "plain", *, name: str = "agreement"
) -> Callable[..., list[float | None]]:
    """Make a reward function that trains a critic with TRL's ``GRPOTrainer`` (1.16).

    The data set has the critic's ``prompt``, the ``checklist`` that it judges, and ``labels``, for
    each constraint true (met), false or null: the rows of :func:`critic_rows`. The reward is the
    share of the labelled constraints whose verdict in the completion agrees. A row without labels
    has none.

    The parser of ``prompt`` reads the completions. The trainer logs ``NAME/parsed``: the share of
    the labelled constraints with a verdict at all.
    """
    contract = prompts.make(prompt) if isinstance(prompt, str) else prompt

    def agreement(
        completions: Sequence[Any],
        **columns: Any,  # TRL passes all by name
    ) -> list[float | None]:
        labels = columns.get("labels")
        if labels is None:
            raise UsageError(
                "the data set has no column labels",
                hint="make its rows with critic_rows",
            )
        names = [key for key in rows.CHECKLISTS if key in columns]
        values: list[float | None] = []
        parsed = labelled = 0
        for at, completion in enumerate(completions):
            row = {key: columns[key][at] for key in names}
            judged = _labelled(contract, row, completion, labels[at])
            agreed = sum(judgment.status == label for judgment, label in judged)
            values.append(agreed / len(judged) if judged else None)
            parsed += sum(judgment.status.decided for judgment, _ in judged)
            labelled += len(judged)
        metric = columns.get("log_metric")
        if metric is not None and labelled:
            metric(f"{name}/parsed", parsed / labelled)
        return values

    agreement.__name__ = name
    return agreement


def _labelled(
    prompt: JudgePrompt, row: dict[str, Any], completion: Any, labels: Any
) -> list[tuple[Judgment, Status]]:
    """Read a critique; return its judgments on the labelled constraints, with their labels."""
    try:
        checklist = rows.read({**row, "response": ""}).checklist
        text = rows.reply_text(completion)
    except RowError:
        return []
    if labels is None or len(labels) != len(checklist):
        return []
    pairs = zip(prompt.parse(text, checklist), labels, strict=True)
    return [
        (judgment, Status.MET if label else Status.UNMET)
        for judgment, label in pairs
        if label is not None
    ]
