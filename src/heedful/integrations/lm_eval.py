"""lm-evaluation-harness: functions that a task's YAML names.

::

    process_results: !function utils.process_results
    metric_list:
      - {metric: constraints_met, aggregation: !function utils.mean_decided, higher_is_better: true}
      - {metric: responses_fully_met, aggregation: !function utils.mean_decided, higher_is_better: true}

with ``from heedful.integrations.lm_eval import mean_decided, process_results`` in ``utils.py``.
A document holds its constraints under ``checklist``. Importing this module also registers the
filter ``strip_reasoning`` and the aggregation ``mean_decided``.
"""  # noqa: E501 - the lines of a YAML file

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from lm_eval.api.filter import Filter
from lm_eval.api.registry import register_aggregation, register_filter

from heedful.core.reasoning import separate
from heedful.integrations.following import Follower, constraints_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


@cache
def _follower() -> Follower:
    return Follower()


def process_results(
    doc: Mapping[str, Any], results: Sequence[Any], follower: Follower | None = None
) -> dict[str, float | None]:
    """Judge a document's response; a rate that depends on an undecided verdict is ``None``.

    Args:
        doc: the document: ``checklist`` (a list, or lines), and ``prompt`` for a model that judges.
        results: the response, alone in a list, as lm-eval gives it.
        follower: whoever judges; code by default.
    """
    response = results[0] if isinstance(results[0], str) else results[0][0]
    row = {
        "prompt": doc.get("prompt", ""),
        "checklist": constraints_of(doc["checklist"]),
        "response": response,
    }
    following = (follower or _follower()).judge(row)
    followed = following.followed
    return {
        "constraints_met": following.fraction,
        "responses_fully_met": None if followed is None else float(followed),
    }


@register_aggregation("mean_decided")
def mean_decided(items: Iterable[float | None]) -> float:
    """Average what is decided; NaN where nothing is."""
    decided = [item for item in items if item is not None]
    return sum(decided) / len(decided) if decided else float("nan")


@register_filter("strip_reasoning")
class StripReasoning(Filter):
    """Keeps the answer after a model's reasoning."""

    def apply(self, resps: Iterable[Sequence[str]], docs: Any) -> list[list[str]]:
        """Strip each response of each document."""
        del docs
        return [[separate(text)[0] for text in each] for each in resps]
