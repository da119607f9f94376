"""The judge that reads the verdicts that a file already holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.core.nouns import Critique, Judgment, Status
from heedful.judges import prompts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.core.nouns import Recording, Sample, Scoring


class Recorded:
    """Parses the judge output in the file, so that scoring saved judgments needs no call."""

    name = "recorded"

    def __init__(self, scoring: Scoring = "strict") -> None:
        self.scoring = scoring
        self._last: tuple[Sample, list[Judgment]] | None = None

    @property
    def config(self) -> Mapping[str, Any]:
        """Its name: the verdicts depend on the file alone."""
        return {"judge": self.name}

    async def judge(self, sample: Sample, requested: Sequence[int] | None = None) -> Critique:
        """Read the recorded verdicts; what the record does not hold is not decided."""
        positions = range(len(sample.checklist)) if requested is None else requested
        constraints = [sample.checklist[position] for position in positions]
        recording = sample.recording
        if recording is None:
            reason = "the file holds no judge output for this row"
            return Critique.undecided(constraints, Status.UNSUPPORTED, reason, self.name)
        if recording.text is None and recording.verdicts is None:
            reason = str(recording.declared.get("error", "the judge's reply is missing"))
            return Critique.undecided(constraints, Status.FAILED, reason, self.name)
        # A reply can be matched to its constraints only against the whole checklist.
        judgments = self._read(recording, sample)
        return Critique(
            judgments=tuple(
                _signed(judgments[position], f"{self.name}:{recording.prompt}")
                for position in positions
            ),
            text=recording.text,
            declared=prompts.declared(recording.prompt, recording.text, sample.checklist)
            or recording.declared,
        )

    def _read(self, recording: Recording, sample: Sample) -> list[Judgment]:
        """Read a recording; criteria that depend on others ask for it in as many rounds."""
        if self._last is None or self._last[0] is not sample:
            self._last = sample, prompts.read_recording(recording, sample, self.scoring)
        return self._last[1]


def _signed(judgment: Judgment, judge: str) -> Judgment:
    """Name who decided; a results file of heedful already does."""
    return judgment if judgment.judge else judgment.model_copy(update={"judge": judge})
