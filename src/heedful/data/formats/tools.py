"""Rows as tools write them, taken to the record that a format is of: by their shape, no flag."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.core.errors import RowError
from heedful.data.formats import completions, inspect_log, lm_eval, promptfoo, trainers
from heedful.data.formats.fields import made

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from heedful.data.formats.raw import Record


class Tool(NamedTuple):
    """A tool's rows: whether a record is one, its own record, and fields that aren't kept."""

    fits: Callable[[Mapping[str, Any]], bool]
    unwrapped: Callable[[dict[str, Any]], dict[str, Any]]
    heavy: tuple[str, ...] = ()


TOOLS = (
    Tool(lm_eval.fits, lm_eval.unwrapped, lm_eval.HEAVY),
    Tool(inspect_log.fits, inspect_log.unwrapped, inspect_log.HEAVY),
    Tool(completions.fits, completions.unwrapped, completions.HEAVY),
    Tool(promptfoo.fits, promptfoo.unwrapped, promptfoo.HEAVY),
    Tool(trainers.fits_trl, trainers.trl, trainers.HEAVY),
    Tool(trainers.fits_sharegpt, trainers.sharegpt, trainers.HEAVY),
    Tool(trainers.fits_goal, trainers.goal, trainers.HEAVY),
    Tool(trainers.fits_alpaca, trainers.alpaca),
)

_SIGNS = frozenset({"doc", "output", "custom_id", "choices", "testCase", "completion"}) | {
    *("conversations", "reward_model", "context_messages", "gts")
}
"""Keys of which a tool's record has one; most records are passed by these alone."""


def unwrapped(record: Record) -> Record:
    """Return a tool's record as the one that it holds; any other as it is."""
    if record.problem is not None or _SIGNS.isdisjoint(record.data):
        return record
    for tool in TOOLS:
        if tool.fits(record.data):
            own = {name: each for name, each in record.data.items() if name not in tool.heavy}
            try:
                data = own | made(tool.unwrapped, record.data)
            except RowError as error:
                return record._replace(
                    problem=error.what + (f" ({error.hint})" if error.hint else "")
                )
            return record._replace(
                data={name: v for name, v in data.items() if v is not None or name == "response"}
            )
    return record
