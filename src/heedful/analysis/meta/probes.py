"""Probes: does a verdict survive a change that shouldn't matter?

Each is a judge around a judge, so that a probe is judged by the same durable run as everything
else, under a configuration of its own.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from heedful.core.errors import UsageError
from heedful.judges.prompts.block_layout import language_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.core.nouns import Critique, Sample
    from heedful.judges import Judge

PROBES = {
    "repeat": "the same again: what flips here is the judge's own noise",
    "order": "the checklist in another order",
    "length": "the response with a closing paragraph that says nothing",
}

FILLERS = {
    "en": (
        "I hope that this is of use to you. Please take all the time you need to look it over. "
        "If any part of it should be explained in more detail, or if there is anything else that "
        "comes to mind, do let me know, and I will be glad to go on from here."
    ),
    "zh": (
        "希望以上内容对您有所帮助。您可以慢慢查看，不必着急。如果其中有任何部分需要进一步说明，"
        "或者您还想到了其他问题，请随时告诉我，我很乐意继续为您解答。"
    ),
}
"""Put below the response, by the response's language."""


class Probed:
    """A judge that is shown a changed sample, which should not change its verdicts."""

    def __init__(self, judge: Judge, probe: str, seed: int = 0) -> None:
        """Put a probe around a judge."""
        if probe not in PROBES:
            raise UsageError(f"there is no probe {probe!r}", hint=f"one of {', '.join(PROBES)}")
        self._judge = judge
        self._probe = probe
        self._seed = seed

    @property
    def name(self) -> str:
        """The judge's, and the probe's."""
        return f"{self._judge.name}, {self._probe}"

    @property
    def config(self) -> Mapping[str, Any]:
        """The judge's, and the probe."""
        filler = FILLERS if self._probe == "length" else None
        seed = self._seed if self._probe == "order" else None
        return {**self._judge.config, "probe": [self._probe, seed, filler]}

    async def judge(self, sample: Sample, requested: Sequence[int] | None = None) -> Critique:
        """Judge the sample as the probe shows it; the judgments are in the checklist's order."""
        if self._probe == "length" and sample.response is not None:
            filler = FILLERS[language_of(sample.response)]
            longer = {"response": f"{sample.response.rstrip()}\n\n{filler}"}
            return await self._judge.judge(sample.model_copy(update=longer), requested)
        if self._probe == "order":
            return await self._reordered(sample, requested)
        return await self._judge.judge(sample, requested)

    async def _reordered(self, sample: Sample, requested: Sequence[int] | None) -> Critique:
        order = _order(len(sample.checklist), f"{self._seed}:{sample.id}")
        wanted = range(len(order)) if requested is None else requested
        shown = sorted(order.index(position) for position in wanted)
        checklist = tuple(sample.checklist[position] for position in order)
        critique = await self._judge.judge(
            sample.model_copy(update={"checklist": checklist}), shown
        )
        by_position = dict(zip((order[place] for place in shown), critique.judgments, strict=True))
        return critique.model_copy(
            update={"judgments": tuple(by_position[position] for position in wanted)}
        )


def _order(n: int, stream: str) -> list[int]:
    """Shuffle into another order, where there is one."""
    order = list(range(n))
    random.Random(stream).shuffle(order)
    return order[::-1] if order == sorted(order) else order
