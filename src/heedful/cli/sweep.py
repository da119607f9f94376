"""``heedful meta --sweep``: the protocols to try, and the command of the chosen one."""

from __future__ import annotations

import dataclasses
import shlex
from typing import TYPE_CHECKING, Any

from heedful.cli import judging
from heedful.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from heedful.analysis.meta.sweep import SweepArm
    from heedful.cli.judging import JudgeFlags

RUNS = "runs"
"""Sweeps nothing but the runs that are named."""

_NUMBERS = {"per_call": int, "votes": int, "reasks": int, "temperature": float}
_SWITCHES = ("explain", "measure")
_WORDS = {"yes": True, "no": False}


def arms(words: Sequence[str], judges: Sequence[str] | None, flags: JudgeFlags) -> list[SweepArm]:
    """Make the protocols that the command line names."""
    from heedful.analysis.meta.sweep import protocols

    if list(words) == [RUNS]:
        return []
    axes: dict[str, list[Any]] = {} if judges is None else {"judge": list(judges)}
    for word in words:
        name, equals, values = word.partition("=")
        if not equals:
            raise UsageError(
                f"--sweep {word!r} has no values",
                hint="write per_call=1,3,all votes=1,5, or runs for those of --runs alone",
            )
        key = name.strip().replace("-", "_")
        if key in axes:
            hint = f"write all of its values at once: {key}=A,B"
            raise UsageError(f"--sweep has {key} twice", hint=hint)
        axes[key] = [_value(key, each.strip()) for each in values.split(",") if each.strip()]
    return protocols(axes, **judging.judge_options(flags))


def _value(name: str, word: str) -> Any:
    """Read a value of a setting."""
    if name in _SWITCHES:
        if word not in _WORDS:
            raise UsageError(f"--sweep {name}={word}", hint=f"write {name}=yes,no")
        return _WORDS[word]
    if name == "per_call" and word == "all":
        return None
    if name not in _NUMBERS:
        return word
    try:
        return _NUMBERS[name](word)
    except ValueError as error:
        raise UsageError(f"--sweep {name}={word} isn't a number") from error


def commands(summary: Mapping[str, Any], data: Sequence[str], flags: JudgeFlags) -> Iterator[str]:
    """Write the commands that run the chosen protocol, one a line.

    A cascade is two: the large judge reads what the small one has decided, and decides the rest.
    """
    protocols = {each["name"]: each for each in summary["protocols"]}
    chosen = protocols[summary["chosen"]]
    cascade = chosen["cascade"]
    if cascade is None:
        if chosen["settings"]:
            yield _command(data, chosen["settings"], flags)
        return
    small, large = protocols[cascade["small"]], protocols[cascade["large"]]
    threshold = cascade["threshold"]
    if small["settings"] and large["settings"] and threshold is not None:
        run = "heedful-runs/small"
        # The least number of few digits that is not above the threshold.
        least = f"{threshold - 5e-7:.6f}"
        first = _command(data, small["settings"], flags)
        yield f"{first} --min-confidence {least} --run {run}"
        yield _command([f"{run}/results.jsonl"], large["settings"], flags, before="recorded,")


def _command(
    data: Sequence[str], settings: Mapping[str, Any], flags: JudgeFlags, *, before: str = ""
) -> str:
    from heedful.engine.sessions import without_secrets

    default = type(flags)()
    given = {
        each.name: getattr(flags, each.name)
        for each in dataclasses.fields(flags)
        if each.name != "api_key" and getattr(flags, each.name) != getattr(default, each.name)
    }
    merged = given | dict(settings)
    judge = merged.pop("judge", "checklist")
    words = ["heedful", "evaluate", *data, "--judge", f"{before}{judge}"]
    for name, value in merged.items():
        words += _flag(name, value)
    return " ".join(map(shlex.quote, without_secrets(words)))


def _flag(name: str, value: Any) -> Iterator[str]:
    written = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        yield written if value else f"--no-{written[2:]}"
    elif value is not None:
        for each in value if isinstance(value, list) else [value]:
            yield from (written, str(each))
