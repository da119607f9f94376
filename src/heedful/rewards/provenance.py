"""The card of policy data: whose verdicts, which reward, which choice, what was left out.

A preference is only as good as the reward behind it, so a data set without its run must document
all that the choice rests on.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.data.training_sets.folder import table
from heedful.engine.saved_run import SavedRun
from heedful.rewards.aggregates import AGGREGATES
from heedful.rewards.gates import GATES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from heedful.rewards.groups import Judged
    from heedful.rewards.terms import Terms


def sections(
    data: Judged, terms: Terms, options: Mapping[str, Any], summary: Mapping[str, Any]
) -> list[str]:
    """Write the sections of a card."""
    return [
        "## Verdicts",
        table(("run or file", "judge"), _judges(data)),
        "## Reward",
        table(("what", "value"), _reward(terms)),
        "## Choice",
        table(("what", "value"), [(name, _shown(value)) for name, value in options.items()]),
        "## Counts",
        table(("what", "value"), _counts(summary)),
    ]


def _judges(data: Judged) -> Iterator[tuple[str, str]]:
    for path in map(Path, [data] if isinstance(data, str | os.PathLike) else data):
        name = path.resolve().name
        if path.is_dir():
            with SavedRun.open(path) as run:
                yield name, run.about.get("judge", "not known")
        else:
            yield name, "judgments in the file"


def _reward(terms: Terms) -> Iterator[tuple[str, Any]]:
    names = {function: name for name, function in AGGREGATES.items()}
    known = names.get(terms.aggregate)
    yield "aggregate", known or getattr(terms.aggregate, "__name__", "a function")
    yield "guards against reward hacking", terms.guards
    off = [name for name in GATES if name not in terms.gates]
    yield "gates", f"all but {', '.join(off)}" if off else "all"
    if terms.length is None:
        yield "length penalty", "none"
    else:
        penalty = terms.length
        grows = f"up to {penalty.most:g} from {penalty.free:,} to {penalty.full:,}"
        yield "length penalty", grows + (" characters" if penalty.length is len else "")
    left_out = "left out" if terms.undecided is None else f"taken as {terms.undecided:g}"
    yield "undecided rewards", left_out


def _counts(summary: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name in ("instructions", "responses", "pairs", "written"):
        if name in summary:
            yield name, summary[name]
    yield "verdicts decided", _percent(summary["coverage"])
    for name, words in _LEFT_OUT.items():
        if summary.get(name):
            yield words, summary[name]
    for reason, number in summary.get("without", {}).items():
        yield f"instructions without: {reason}", number
    for name, words in _MEANS.items():
        if summary.get(name) is not None:
            yield words, f"{summary[name]:.3f}"


_LEFT_OUT = {
    "undecided": "responses without a decided reward",
    "fallbacks": "responses whose reward is the fallback",
    "guarded": "responses that violate a guard",
    "gated": "responses that a gate stopped",
    "unread": "rows that came to nothing",
    "undecided_groups": "instructions without a decided reward",
    "unprompted": "instructions without a prompt",
}

_MEANS = {
    "margin_mean": "mean difference of the rewards of a pair",
    "chosen_length": "mean characters, chosen",
    "rejected_length": "mean characters, rejected",
    "best_mean": "mean reward of what was kept",
    "all_mean": "mean reward of all",
}


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _percent(share: float | None) -> str:
    """Write a share rounded down, so that 100 means all."""
    return "none" if share is None else f"{math.floor(1000 * share) / 10:.1f} %"
