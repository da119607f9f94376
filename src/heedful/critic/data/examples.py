"""The exported examples: prompts with a critique to learn, or with a chosen and a rejected one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from heedful.core.errors import InputError, RowError
from heedful.core.nouns import Message, Recording
from heedful.critic.data.code_verdicts import CodeVerdicts, has_verdicts
from heedful.critic.data.left_out import LeftOut
from heedful.critic.data.options import ExportSettings
from heedful.data.formats.fields import explain
from heedful.data.formats.files import records
from heedful.data.training_sets import Example
from heedful.engine.inputs import items, open_data
from heedful.judges import Measurement, prompts
from heedful.judges.base import facts
from heedful.judges.prompts import read_recording

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from heedful.core.nouns import Constraint, Judgment, Sample


class _Pair(BaseModel):
    """A row as ``heedful critic pairs`` writes it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    prompt_name: str
    prompt_version: str | None = None
    prompt: tuple[Message, ...]
    chosen: str | None = None
    rejected: str | None = None
    segments: tuple[dict[str, Any], ...] = ()
    measure: bool = False


class Examples:
    """The examples in a file: pairs as ``heedful critic pairs`` writes them, or critiques."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002 - the name users know from the command line
        settings: ExportSettings | None = None,
    ) -> None:
        """Open a file."""
        self.path = Path(path)
        self.pairs = format is None and _has_pairs(self.path)  # whether they are pairs
        self._source = None if self.pairs else open_data(self.path, format=format)
        self._settings = settings or ExportSettings()
        self._measure = Measurement() if self._settings.measure else None
        self._of_code: CodeVerdicts | None = None
        self.counts: Counter[str] = Counter()  # what the last pass counted
        self.left_out = LeftOut()  # rows that it could not use

    def __iter__(self) -> Iterator[Example]:
        """Yield the examples in file order, in constant memory."""
        self.counts, self.left_out = Counter(), LeftOut()
        if self._of_code is not None:
            self._of_code.begin()
        for example in self._pairs() if self.pairs else self._critiques():
            self.counts["examples"] += 1
            yield example

    def _pairs(self) -> Iterator[Example]:
        for record in records(self.path):
            name = str(record.data.get("id", f"line-{record.line}"))
            if record.problem is not None:
                self.left_out.add(record.line, name, record.problem)
                continue
            try:
                pair = _Pair.model_validate(record.data)
            except ValidationError as error:
                self.left_out.add(record.line, name, explain(error))
                continue
            if not pair.prompt or not pair.chosen or not pair.rejected:
                self.left_out.add(record.line, name, "prompt, chosen or rejected is empty")
                continue
            for segment in pair.segments:
                self.counts[f"segments:{segment.get('verdict')}"] += 1
            self.counts[f"prompt:{pair.prompt_name}"] += 1
            yield Example(
                pair.id,
                pair.prompt,
                chosen=pair.chosen,
                rejected=pair.rejected,
                beside={
                    "prompt_name": pair.prompt_name,
                    **({"prompt_version": pair.prompt_version} if pair.prompt_version else {}),
                    **({"measure": True} if pair.measure else {}),
                    "segments": list(pair.segments),
                },
            )

    def _critiques(self) -> Iterator[Example]:
        for item in items(self._source or ()):
            if item.value is None or item.problem is not None:
                self.left_out.add(item.line, item.id, item.problem or "not read")
                continue
            code = has_verdicts(item.value)
            try:
                yield from self._written(item.value) if code else [self._example(item.value)]
            except RowError as error:
                reason = "without a verdict of code" if code else "without a final critique"
                self.left_out.add(item.line, item.id, str(error), reason)
        if self._of_code is not None:
            self.counts.update(self._of_code.counts)

    def _samples(self) -> Iterator[Sample]:
        return (each.value for each in items(self._source or ()) if each.value is not None)

    def _written(self, sample: Sample) -> Iterator[Example]:
        """Write critiques of what code decided."""
        if self._of_code is None:
            self._of_code = CodeVerdicts(self._samples, self._settings)
        groups = self._of_code.groups(sample)
        if not groups and not self._of_code.decided(sample):
            raise RowError("code decided nothing of it", hint="judge it with --judge rules")
        for number, group in enumerate(groups, start=1):
            name = self._settings.prompt
            constraints = [decided.constraint for decided in group]
            judgments = [decided.judgment for decided in group]
            prompt = prompts.make(name, prompt_file=self._settings.prompt_file)
            text = prompt.write(judgments, constraints)
            statuses = [judgment.status for judgment in judgments]
            if [read.status for read in prompt.parse(text, constraints)] != statuses:
                raise RowError(f"the verdicts cannot be written for the prompt {name}")
            self.counts.update(
                f"of type {decided.kind}: {decided.judgment.status}" for decided in group
            )
            key = sample.id if self._settings.per_call is None else f"{sample.id}/{number}"
            yield self._made(key, sample, (constraints, judgments, text), name)

    def _example(self, sample: Sample) -> Example:
        """Make an example of a sample and its final critique."""
        recording = sample.recording
        if not sample.checklist:
            raise RowError("no checklist", hint="make one with heedful checklist")
        if recording is None or not recording.text:
            raise RowError("no final critique", hint="make it with heedful critic filter")
        if recording.prompt not in prompts.names():
            raise RowError(f"no critic answers the prompt {recording.prompt}")
        judgments = read_recording(Recording(prompt=recording.prompt, text=recording.text), sample)
        for number, judgment in enumerate(judgments, start=1):
            if not judgment.status.decided:
                what = f"the critique does not decide constraint {number}: {judgment.explanation}"
                raise RowError(what)
        critique = (sample.checklist, judgments, recording.text)
        return self._made(sample.id, sample, critique, recording.prompt)

    def _made(
        self,
        key: str,
        sample: Sample,
        critique: tuple[Sequence[Constraint], Sequence[Judgment], str],
        name: str,
    ) -> Example:
        """Put the prompt before a critique: its constraints, its judgments, its text."""
        constraints, judgments, text = critique
        counted = facts(self._measure, sample, constraints)
        prompt = prompts.make(name, prompt_file=self._settings.prompt_file)
        messages = tuple(prompt.render(sample, constraints, measurements=counted))
        self.counts.update(f"judgments:{judgment.status}" for judgment in judgments)
        self.counts[f"prompt:{name}"] += 1
        how = {"measure": self._settings.measure, "per_call": self._settings.per_call}
        beside: dict[str, Any] = {"prompt_name": name, "prompt_version": prompt.version}
        beside.update({key: value for key, value in how.items() if value})
        return Example(key, messages, completion=text, beside=beside)


def _has_pairs(path: Path) -> bool:
    """Distinguish pairs from samples by the first readable record."""
    for record in records(path):
        if record.problem is None:
            return {"chosen", "rejected"} <= record.data.keys()
    raise InputError("no row can be read", where=str(path), hint="it needs at least one row")
