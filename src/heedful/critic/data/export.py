"""Exporting critiques and pairs to a folder that training tools read as it is.

An example is a prompt with a critique to learn, or with a chosen and a rejected one. The critiques
are those of files, or are made of what code decided in a run.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from heedful.core.errors import InputError, RowError
from heedful.core.files import PROMPT_TEXT, contents
from heedful.core.nouns import Message, Recording
from heedful.critic.data.code_verdicts import CodeVerdicts, has_verdicts, kind
from heedful.critic.data.funnel import stage_tables
from heedful.critic.data.left_out import LeftOut
from heedful.critic.data.options import ExportSettings
from heedful.critic.data.pairs import summary_path
from heedful.critic.data.views import VIEWS
from heedful.data import training_sets as dataset
from heedful.data.formats.fields import explain
from heedful.data.formats.files import records
from heedful.data.training_sets import Example
from heedful.engine.inputs import items, open_data
from heedful.judges import Measurement, prompts
from heedful.judges.base import facts
from heedful.judges.prompts import read_recording
from heedful.reporting.table import Table, markdown_text

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from heedful.core.nouns import Judgment, Sample


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
        if not self._of_code.decided(sample):
            raise RowError("code decided nothing of it", hint="judge it with --judge rules")
        for row, group in self._of_code.asked(sample):
            name = self._settings.prompt
            judgments = [decided.judgment for decided in group]
            prompt = prompts.make(name, prompt_file=self._settings.prompt_file)
            text = prompt.write(judgments, row.checklist)
            statuses = [judgment.status for judgment in judgments]
            if [read.status for read in prompt.parse(text, row.checklist)] != statuses:
                raise RowError(f"the verdicts cannot be written for the prompt {name}")
            self.counts.update(
                f"of type {kind(decided.constraint)}: {decided.judgment.status}"
                for decided in group
            )
            yield self._made(row, judgments, text, name)

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
        return self._made(sample, judgments, recording.text, recording.prompt)

    def _made(
        self,
        sample: Sample,
        judgments: Sequence[Judgment],
        text: str,
        name: str,
    ) -> Example:
        """Put the prompt before a critique."""
        constraints = sample.checklist
        counted = facts(self._measure, sample, constraints)
        prompt = prompts.make(name, prompt_file=self._settings.prompt_file)
        messages = tuple(prompt.render(sample, constraints, measurements=counted))
        self.counts.update(f"judgments:{judgment.status}" for judgment in judgments)
        self.counts[f"prompt:{name}"] += 1
        how = {"measure": self._settings.measure, "per_call": self._settings.per_call}
        beside: dict[str, Any] = {"prompt_name": name, "prompt_version": prompt.version}
        beside.update({key: value for key, value in how.items() if value})
        return Example(sample.id, messages, completion=text, beside=beside)


def _has_pairs(path: Path) -> bool:
    """Distinguish pairs from samples by the first readable record."""
    for record in records(path):
        if record.problem is None:
            return {"chosen", "rejected"} <= record.data.keys()
    raise InputError("no row can be read", where=str(path), hint="it needs at least one row")


# --- the folder ----------------------------------------------------------------------------------


def sections(
    examples: Examples, pairs: Mapping[str, Any] | None, funnel: Mapping[str, Any] | None
) -> list[str]:
    """Write the card's sections, in Markdown."""
    parts = [_counts(examples).markdown()]
    if examples.pairs and pairs:
        made = VIEWS["pairs"](pairs)
        lines = [f"- {markdown_text(line.strip())}" for line in made.paragraphs]
        parts += ["## How the pairs were made", "\n".join(lines)]
        parts += [part.markdown() for part in made.parts if isinstance(part, Table)]
    if funnel:
        parts += [table.markdown() for table in stage_tables(funnel)]
    return [part.rstrip() for part in parts]


def _counts(examples: Examples) -> Table:
    counts = examples.counts
    rows = [("pairs" if examples.pairs else "critiques", counts["examples"])]
    for prefix, words in (
        ("judgments:", "judgments: {}"),
        ("segments:", "segments on which the pair disagrees, the chosen one: {}"),
        ("prompt:", "of the prompt {}"),
        ("of type ", "judgments of {}"),
        ("left out to balance:", "judgments left out to balance: {}"),
    ):
        keys = sorted(key for key in counts if key.startswith(prefix))
        rows += [(words.format(key.removeprefix(prefix)), counts[key]) for key in keys]
    left_out = sorted(examples.left_out.reasons.items())
    rows += [(f"rows left out: {reason}", count) for reason, count in left_out]
    return Table("Counts", ("what", "number"), [(name, f"{count:,}") for name, count in rows])


def export(
    data: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    to: str = "trl",
    name: str | None = None,
    format: str | None = None,  # noqa: A002 - the name users know from the command line
    settings: ExportSettings | None = None,
    funnel: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Write a folder with the examples, a dataset card, and the files that the tool needs."""
    examples = Examples(data, format=format, settings=settings)
    made, filtered = _beside(Path(data)), _funnel(funnel) if funnel else None
    taken = dataset.take(output, to, [Path(data)], name)
    kind = "Preference pairs of critiques" if examples.pairs else "Critiques"
    file = dataset.write(
        taken,
        examples,
        f"{kind} for training a critic that judges whether a response meets each constraint of "
        "a checklist",
        lambda: sections(examples, made, filtered),
        pairs=examples.pairs,
    )
    if file is None:
        first = examples.left_out.first()
        balanced = any(key.startswith("left out to balance") for key in examples.counts)
        one = "; of each constraint type only one verdict occurs" if balanced and not first else ""
        hint = "--no-balance takes all verdicts, --cross adds others" if one else ""
        raise InputError(f"no row can be exported{first}{one}", where=str(data), hint=hint)
    if settings is not None and settings.prompt_file is not None:
        # A training reads it there, and the critic is asked with it.
        shutil.copyfile(settings.prompt_file, file.with_name(PROMPT_TEXT))
    return {
        "pairs": examples.pairs,
        "file": str(file),
        "counts": dict(examples.counts),
        "left_out": dict(examples.left_out.reasons),
        "problems": examples.left_out.problems,
    }


def _beside(data: Path) -> dict[str, Any] | None:
    """Read the summary that lies beside pairs, if any."""
    path = summary_path(data)
    return _json(path) if path.is_file() else None


def _funnel(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a funnel, by itself or in the summary of its run."""
    summary = _json(path)
    funnel: dict[str, Any] = summary.get("funnel", summary)
    if "stages" not in funnel:
        raise InputError("not a summary of heedful critic filter", where=str(path))
    return funnel


def _json(path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        value = json.loads(contents(Path(path)))
    except (OSError, ValueError) as error:
        raise InputError(f"not a summary: {error}", where=str(path)) from error
    if not isinstance(value, dict):
        raise InputError("not a summary: it holds no JSON object", where=str(path))
    return value
