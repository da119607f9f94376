"""A judge that says what a test tells it to say."""

from collections.abc import Callable, Sequence
from typing import Any

from heedful.core.nouns import Critique, Judgment, Sample, Status


class Told:
    """Asks a function about each constraint, and notes what it was asked itself.

    Attributes:
        asked: the id of each sample and the places of the constraints.
    """

    def __init__(
        self,
        say: Callable[[Sample, int], Judgment | Status] = lambda *_: Status.MET,
        name: str = "told",
    ) -> None:
        self.name = name
        self.config: dict[str, Any] = {"judge": name}
        self.asked: list[tuple[str, list[int]]] = []
        self._say = say

    async def judge(self, sample: Sample, requested: Sequence[int] | None = None) -> Critique:
        places = list(range(len(sample.checklist)) if requested is None else requested)
        self.asked.append((sample.id, places))
        return Critique(judgments=tuple(self._judgment(sample, place) for place in places))

    def _judgment(self, sample: Sample, place: int) -> Judgment:
        said = self._say(sample, place)
        if isinstance(said, Status):
            said = Judgment(status=said, judge=self.name)
        return said
