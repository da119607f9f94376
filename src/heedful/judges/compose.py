"""Judges made of judges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.schema import Critique, Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.judges.base import Judge
    from heedful.schema import Judgment, Sample

__all__ = ["Cascade"]


class Cascade:
    """Ask the judges in turn, each only for what the earlier ones left undecided.

    ``Cascade(Rules(), Recorded())`` lets code decide what code can decide and takes the rest from
    the judge output in the file.
    """

    def __init__(self, *judges: Judge) -> None:
        """Compose judges.

        Args:
            judges: in the order in which they are asked.
        """
        self.judges = judges

    @property
    def name(self) -> str:
        """The judges' names, in order."""
        return ",".join(judge.name for judge in self.judges)

    @property
    def config(self) -> Mapping[str, Any]:
        """The judges' configurations, in order."""
        return {"judge": self.name, "judges": [dict(judge.config) for judge in self.judges]}

    async def judge(self, sample: Sample, asked: Sequence[int] | None = None) -> Critique:
        """Judge a sample; a constraint that no judge decides keeps the most telling reason."""
        verdicts: dict[int, Judgment] = {}
        left = list(range(len(sample.checklist))) if asked is None else list(asked)
        text: str | None = None
        declared: dict[str, Any] = {}
        for judge in self.judges:
            if not left:
                break
            critique = await judge.judge(sample, left)
            for position, judgment in zip(left, critique.judgments, strict=True):
                verdicts[position] = _better(verdicts.get(position), judgment)
            left = [position for position in left if not verdicts[position].status.decided]
            text = critique.text if critique.text is not None else text
            declared |= critique.declared
        judgments = tuple(verdicts[position] for position in sorted(verdicts))
        return Critique(judgments=judgments, text=text, declared=declared)


def _better(old: Judgment | None, new: Judgment) -> Judgment:
    """Keep a decided verdict, and of two undecided ones the one that got further.

    "Unsupported" only says that a judge was not made for the constraint; a reply that did not
    parse or a call that failed says more.
    """
    if old is None or new.status.decided:
        return new
    if old.status is not Status.UNSUPPORTED:
        return old
    if new.status is not Status.UNSUPPORTED:
        return new
    return old.model_copy(update={"explanation": f"{old.explanation}; {new.explanation}"})
