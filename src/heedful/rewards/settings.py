"""Checks of a reward's settings, made when it is created and not during training."""

from __future__ import annotations

import math
from numbers import Integral, Real
from os import PathLike
from typing import Any

from heedful.core.errors import UsageError


def check_whole(what: str, value: Any, least: int | None = None) -> None:
    """Refuse what isn't a whole number; ``True`` isn't one."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or (least is not None and value < least):
        hint = "give a whole number" if least is None else f"give at least {least}"
        raise UsageError(f"{what} is {value!r:.60}", hint=hint)


def check_number(what: str, value: Any, *, hint: str = "give a finite number") -> float:
    """Return a setting that is a finite number; ``True`` isn't one."""
    try:
        if isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value):
            return float(value)
    except OverflowError:
        pass
    raise UsageError(f"{what} is {value!r:.60}", hint=hint)


def check_flag(what: str, value: Any) -> None:
    """Refuse what is neither ``True`` nor ``False``."""
    if not isinstance(value, bool):
        raise UsageError(f"{what} is {value!r:.60}", hint="give True or False")


def check_callable(
    what: str, value: object, *methods: str, hint: str, optional: bool = True
) -> None:
    """Refuse an object that can't do what it is given for; ``None`` is none, where it may be."""
    able = any(callable(getattr(value, each, None)) for each in methods)
    if not able and (value is not None or not optional):
        raise UsageError(f"{what} is {value!r:.60}", hint=hint)


def check_how(concurrency: object, cache: object, *, judge_empty: object) -> None:
    """Refuse what doesn't say how to judge."""
    check_whole("concurrency", concurrency, 1)
    check_flag("judge_empty", judge_empty)
    if cache == "" or not isinstance(cache, str | PathLike | None):
        raise UsageError(f"the cache is {cache!r:.60}", hint="give a directory, or none")


def check_judges(guards: str, judge: object, guard_judge: object) -> None:
    """Refuse what isn't a judge, and guards whose judge is missing or not asked."""
    if not isinstance(judge, str):
        check_callable("the judge", judge, "judge", hint="give a judge, its name, or none")
    if guards == "judge" and judge in (None, "rules"):
        raise UsageError("guards='judge' needs a judge", hint="give one, or guards='code'")
    check_callable("guard_judge", guard_judge, "judge", hint="give a judge, or none")
    if guard_judge is not None and guards != "judge":
        raise UsageError("a guard_judge is given without guards='judge'", hint="give both")
