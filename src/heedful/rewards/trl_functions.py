"""Reward functions of TRL: one of heedful's, or several summed into one.

TRL sums its reward functions with ``nansum``: beside a second function a ``None`` counts as 0, and
a row is left out only where all functions return ``None``. So an undecided reward stays undecided
only in a function that stands alone, which :func:`for_trl` and :func:`trl_rewards` make sure of.
"""

from __future__ import annotations

import asyncio
import inspect
import math
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from heedful.core.errors import UsageError
from heedful.rewards import rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from heedful.core.nouns import Sample
    from heedful.rewards.reward import Reward
    from heedful.rewards.terms import Rewarded

    Function: TypeAlias = Callable[..., Any]
    Values: TypeAlias = list[float | None]

_NOT_COLUMNS = {"completion_ids", "trainer_state", "environments"}
"""What TRL hands over besides the columns of the data set."""

_OURS = "heedful_reward_function"
"""The attribute by which functions of this module are known."""


class _Ours(NamedTuple):
    """What is known of a function of ours.

    Attributes:
        may_be_open: tells whether it may return ``None`` for a reward that is undecided.
        call: does what the function does, without a look at the trainer.
    """

    may_be_open: Callable[[], bool]
    call: Function


def for_trl(reward: Reward, *, name: str = "heedful", blocking: bool = False) -> Function:
    """Make a reward function of TRL's ``GRPOTrainer`` or ``RLOOTrainer`` (1.16).

    The data set has ``prompt``, and ``checklist``, ``constraints`` or ``checklist_struct``. The
    trainer logs ``NAME/undecided`` and ``NAME/coverage`` and shows the verdicts beside the
    completions.

    An undecided reward is ``None``, and TRL leaves the row out if there is no other reward
    function. Beside another one it would count as 0, so the function refuses that at the first
    step: sum them with :func:`trl_rewards`, or state a fallback with ``Reward(undecided=...)``.

    The function raises :class:`~heedful.core.errors.UsageError` there, and where the data set has
    none of these columns; it lets :class:`~heedful.core.errors.StopRunError` through at the first
    batch only.

    Args:
        reward: what judges.
        name: the function's name in the trainer's logs.
        blocking: make a plain function and not an ``async`` one; TRL runs the asynchronous ones of
            several rewards at the same time.
    """

    def may_be_open() -> bool:
        return reward.terms.undecided is None

    async def call(prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> Values:
        scored = await reward.score(_samples(prompts, completions, columns))
        return _logged(name, scored, columns)

    async def score(prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> Values:
        if may_be_open():
            _refuse_company(name, columns)
        return await call(prompts, completions, **columns)

    def score_sync(prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> Values:
        if may_be_open():
            _refuse_company(name, columns)
        scored = reward.score_sync(_samples(prompts, completions, columns))
        return _logged(name, scored, columns)

    function: Function = score_sync if blocking else score
    function.__name__ = name
    setattr(function, _OURS, _Ours(may_be_open, call))
    return function


def trl_rewards(
    functions: Sequence[Function], weights: Sequence[float] | None = None, *, name: str = "total"
) -> Function:
    """Sum reward functions into one, in which an undecided reward stays undecided.

    ::

        reward_funcs=trl_rewards([for_trl(reward, name="critic"), brevity], weights=[1.0, 0.2])

    The sum is ``None`` where a function of :func:`for_trl` is undecided, even with weight 0, and
    TRL leaves that row out. ``None`` or NaN of any other function means, as in TRL, that it does
    not apply to the row, and adds nothing; where no function applies the sum is ``None``. The
    trainer logs each function's mean and standard deviation as it does for its own, under
    ``rewards/NAME/mean`` and ``rewards/NAME/std``, over the rows that it applies to.

    Args:
        functions: those of :func:`for_trl` and your own, plain or ``async``; reward models are
            none.
        weights: one for each function, in place of TRL's ``reward_weights``; 1 unless given.
        name: the sum's name in the trainer's logs.

    Raises:
        UsageError: there is no function, one is not callable, two have the same name, or the
            weights do not fit.
    """
    functions = list(functions)
    factors = [1.0] * len(functions) if weights is None else [float(one) for one in weights]
    names = _names(functions, name)
    if len(factors) != len(functions) or not all(map(math.isfinite, factors)):
        raise UsageError(
            f"the weights of {len(functions)} reward functions are {factors}",
            hint="give one finite number for each function",
        )
    known: list[_Ours | None] = [getattr(function, _OURS, None) for function in functions]
    ours = [one is not None for one in known]
    calls = [
        function if one is None else one.call
        for function, one in zip(functions, known, strict=True)
    ]

    def may_be_open() -> bool:
        return any(one.may_be_open() for one in known if one is not None)

    async def call(prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> Values:
        called = [_called(each, prompts, completions, columns) for each in calls]
        rewards = [[_number(one) for one in values] for values in await asyncio.gather(*called)]
        for each, values in zip(names, rewards, strict=True):
            if len(values) != len(prompts):
                what = f"the reward function {each!r} returned {len(values)} rewards"
                raise UsageError(what, hint=f"return one for each of {len(prompts)} completions")
            _log_function(each, values, columns)
        return [_sum(row, factors, ours) for row in zip(*rewards, strict=True)]

    async def total(prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> Values:
        if may_be_open():
            _refuse_company(name, columns)
        return await call(prompts, completions, **columns)

    total.__name__ = name
    setattr(total, _OURS, _Ours(may_be_open, call))
    return total


def _names(functions: Sequence[Function], name: str) -> list[str]:
    """Return the functions' names, which the logs tell them apart by."""
    if not functions:
        raise UsageError("there are no reward functions to sum", hint="give at least one")
    for function in functions:
        if not callable(function) or hasattr(function, "parameters"):
            raise UsageError(
                f"{function!r} is not a reward function",
                hint="give functions; wrap a reward model in one that returns its scores",
            )
    names = [getattr(function, "__name__", type(function).__name__) for function in functions]
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
) -> Sequence[Any]:
    """Call a function; a plain one in a thread, as it may block or have a loop of its own."""
    plain = not (
        inspect.iscoroutinefunction(function)
        or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004
    )
    given = {"prompts": prompts, "completions": completions, **columns}
    returned = await asyncio.to_thread(function, **given) if plain else function(**given)
    if inspect.isawaitable(returned):
        returned = await returned
    values: Sequence[Any] = returned
    return values


def _number(value: Any) -> float | None:
    """Read what a function returned for a row; tensors too."""
    number = None if value is None else float(value)
    return None if number is None or math.isnan(number) else number


def _sum(
    values: Sequence[float | None], factors: Sequence[float], ours: Sequence[bool]
) -> float | None:
    if any(value is None and own for value, own in zip(values, ours, strict=True)):
        return None
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
    """Refuse a trainer that would count an undecided reward as 0.

    The functions that TRL hands over for logging are methods of the trainer, which knows its
    reward functions; an environment's own reward is one of them.

    Raises:
        UsageError: it has a second reward function, or cannot be asked.
    """
    owners = (getattr(columns.get(key), "__self__", None) for key in ("log_metric", "log_extra"))
    trainer = next((owner for owner in owners if hasattr(owner, "reward_funcs")), None)
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
            hint="state what takes its place: Reward(..., undecided=0.0)",
        )


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
    samples = []
    for at, (prompt, completion) in enumerate(zip(prompts, completions, strict=True)):
        label = {name: values[at] for name, values in known.items()}
        samples.append(rows.labelled({**label, "prompt": prompt}, completion, {}, at + 1))
    return samples


def _logged(name: str, scored: Sequence[Rewarded], columns: Mapping[str, Any]) -> Values:
    metric, extra = columns.get("log_metric"), columns.get("log_extra")
    if metric is not None and scored:
        metric(f"{name}/undecided", sum(not reward.decided for reward in scored) / len(scored))
        known = [reward.coverage for reward in scored if reward.coverage is not None]
        if known:
            metric(f"{name}/coverage", sum(known) / len(known))
    if extra is not None:
        extra(
            f"{name}_verdicts",
            [" ".join(reward.statuses) or str(reward.problem) for reward in scored],
        )
    return [reward.value for reward in scored]
