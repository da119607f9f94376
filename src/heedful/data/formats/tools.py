"""Rows as tools write them, taken to the record that a format is of: by their shape, no flag."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from heedful.core.errors import RowError
from heedful.data.formats.fields import made

if TYPE_CHECKING:
    from heedful.data.formats.raw import Record


@cache
def _tools() -> list[tuple[Any, Any, tuple[str, ...]]]:
    """List what tells a tool's record, what takes its own out, and fields that aren't kept."""
    # Most files need none of these modules.
    from heedful.data.formats import completions, inspect_log, lm_eval, promptfoo, trainers

    return [
        (lm_eval.fits, lm_eval.unwrapped, lm_eval.HEAVY),
        (inspect_log.fits, inspect_log.unwrapped, inspect_log.HEAVY),
        (completions.fits, completions.unwrapped, completions.HEAVY),
        (promptfoo.fits, promptfoo.unwrapped, promptfoo.HEAVY),
        (trainers.fits_trl, trainers.trl, trainers.HEAVY),
        (trainers.fits_sharegpt, trainers.sharegpt, trainers.HEAVY),
        (trainers.fits_goal, trainers.goal, trainers.HEAVY),
        (trainers.fits_alpaca, trainers.alpaca, ()),
    ]


_SIGNS = frozenset({"doc", "output", "custom_id", "choices", "testCase", "completion"}) | {
    *("conversations", "reward_model", "context_messages", "gts")
}
"""Keys of which a tool's record has one; most records are passed by these alone."""


def unwrapped(record: Record) -> Record:
    """Return a tool's record as the one that it holds; any other as it is."""
    if record.problem is not None or _SIGNS.isdisjoint(record.data):
        return record
    for fits, own_record, heavy in _tools():
        if fits(record.data):
            own = {name: each for name, each in record.data.items() if name not in heavy}
            try:
                data = own | made(own_record, record.data)
            except RowError as error:
                return record._replace(
                    problem=error.what + (f" ({error.hint})" if error.hint else "")
                )
            return record._replace(
                data={name: v for name, v in data.items() if v is not None or name == "response"}
            )
    return record
