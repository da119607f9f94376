"""The exported examples: prompts with a critique to learn, or with a chosen and a rejected one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from heedful.core.errors import InputError, RowError
from heedful.core.nouns import Message, Recording
from heedful.data.formats.fields import explain
from heedful.data.formats.files import records
from heedful.data.training_sets.layouts import Example
from heedful.engine.inputs import items, open_data
from heedful.jobs.results import PROBLEMS_LISTED
from heedful.judges import prompts

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from heedful.core.nouns import Sample


class _Pair(BaseModel):
    """A row as ``heedful critic pairs`` writes it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    prompt_name: str
    prompt: tuple[Message, ...]
    chosen: str | None = None
    rejected: str | None = None
    segments: tuple[dict[str, Any], ...] = ()


class Examples:
    """The examples in a file: pairs as ``heedful critic pairs`` writes them, or critiques.

    Attributes:
        pairs: whether they are pairs.
        counts: what the last pass counted.
        problems: rows that the last pass could not use, with line and id.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002 - the name users know from the command line
        prompt_file: str | os.PathLike[str] | None = None,
    ) -> None:
        """Open a file.

        Args:
            path: pairs, or samples in any format with the final critique as ``recording.text``.
            format: of samples; by default detected from the file.
            prompt_file: a file whose text replaces that of the prompt; pairs are rendered already.

        Raises:
            InputError: the file is missing, empty or in no known format.
        """
        self.path = Path(path)
        self.pairs = format is None and _has_pairs(self.path)
        self._source = None if self.pairs else open_data(self.path, format=format)
        self._prompt_file = None if prompt_file is None else Path(prompt_file)
        self.counts: Counter[str] = Counter()
        self.problems: list[dict[str, Any]] = []

    def __iter__(self) -> Iterator[Example]:
        """Yield the examples in file order, in constant memory."""
        self.counts, self.problems = Counter(), []
        for example in self._pairs() if self.pairs else self._critiques():
            self.counts["examples"] += 1
            yield example

    def _pairs(self) -> Iterator[Example]:
        for record in records(self.path):
            name = str(record.data.get("id", f"line-{record.line}"))
            if record.problem is not None:
                self._drop(record.line, name, "unreadable", record.problem)
                continue
            try:
                pair = _Pair.model_validate(record.data)
            except ValidationError as error:
                self._drop(record.line, name, "unreadable", explain(error))
                continue
            if not pair.prompt or not pair.chosen or not pair.rejected:
                self._drop(record.line, name, "unreadable", "prompt, chosen or rejected is empty")
                continue
            for segment in pair.segments:
                self.counts[f"segments:{segment.get('verdict')}"] += 1
            self.counts[f"prompt:{pair.prompt_name}"] += 1
            yield Example(
                pair.id,
                pair.prompt,
                chosen=pair.chosen,
                rejected=pair.rejected,
                beside={"prompt_name": pair.prompt_name, "segments": list(pair.segments)},
            )

    def _critiques(self) -> Iterator[Example]:
        for item in items(self._source or ()):
            if item.value is None or item.problem is not None:
                self._drop(item.line, item.id, "unreadable", item.problem or "not read")
                continue
            try:
                yield self._example(item.value)
            except RowError as error:
                self._drop(item.line, item.id, "without a final critique", str(error))

    def _example(self, sample: Sample) -> Example:
        """Make an example of a sample and its final critique.

        Raises:
            RowError: it has none, or one that leaves a constraint undecided.
        """
        recording = sample.recording
        if not sample.checklist:
            raise RowError("no checklist", hint="make one with heedful checklist")
        if recording is None or not recording.text:
            raise RowError("no final critique", hint="make it with heedful critic filter")
        if recording.prompt not in prompts.names():
            raise RowError(f"no critic answers the prompt {recording.prompt}")
        judgments = prompts.read(
            Recording(prompt=recording.prompt, text=recording.text), sample.checklist
        )
        for number, judgment in enumerate(judgments, start=1):
            if not judgment.status.decided:
                what = f"the critique does not decide constraint {number}: {judgment.explanation}"
                raise RowError(what)
        prompt = prompts.make(recording.prompt, prompt_file=self._prompt_file)
        messages = tuple(prompt.render(sample, sample.checklist))
        self.counts.update(f"judgments:{judgment.status}" for judgment in judgments)
        self.counts[f"prompt:{prompt.name}"] += 1
        return Example(
            sample.id, messages, completion=recording.text, beside={"prompt_name": prompt.name}
        )

    def _drop(self, line: int, name: str | None, reason: str, problem: str) -> None:
        self.counts[f"dropped:{reason}"] += 1
        if len(self.problems) < PROBLEMS_LISTED:
            self.problems.append({"line": line, "id": name, "problem": problem})


def _has_pairs(path: Path) -> bool:
    """Distinguish pairs from samples by the first readable record."""
    for record in records(path):
        if record.problem is None:
            return {"chosen", "rejected"} <= record.data.keys()
    raise InputError("no row can be read", where=str(path), hint="it needs at least one row")
