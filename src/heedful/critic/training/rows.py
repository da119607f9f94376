"""The rows to train on, as ``heedful critic export --to trl`` writes them, or its input."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from heedful.core.errors import InputError, RowError, UsageError
from heedful.core.nouns import Constraint, Message
from heedful.critic.data.examples import Examples
from heedful.critic.data.left_out import LeftOut
from heedful.critic.data.options import ExportSettings
from heedful.data.formats.fields import explain
from heedful.data.formats.files import records
from heedful.data.training_sets import Example
from heedful.judges import prompts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from heedful.critic.training.settings import Settings
    from heedful.data.formats.raw import Record

Task = Literal["critique", "checklist"]

_ANSWERS = {"completion", "chosen", "rejected"}
_NUMBERED = ("plain", "short")
_NUMBER = re.compile(r"<c(\d{1,3})>")
_MOST = 200
"""Judgments of a critique that are looked at."""
_MOST_UNNUMBERED = 12
_NAMES = ("train.jsonl", "train.parquet")


class _Row(BaseModel):
    """A row in TRL's conversational layout, as ``heedful critic export`` writes it."""

    model_config = ConfigDict(extra="ignore")

    id: str | int | None = None
    task: Task = "critique"
    prompt_name: str | None = None
    prompt_version: str | None = None
    measure: bool = False
    per_call: int | None = Field(default=None, ge=1)
    prompt: tuple[Message, ...] = ()
    completion: tuple[Message, ...] | None = Field(default=None, min_length=1)
    chosen: tuple[Message, ...] | None = Field(default=None, min_length=1)
    rejected: tuple[Message, ...] | None = Field(default=None, min_length=1)
    segments: tuple[dict[str, Any], ...] | None = None


@dataclass
class Rows:
    """The rows of a file, read when iterated."""

    path: Path  # the file
    pairs: bool  # whether pairs are wanted; other rows are then problems, and vice versa
    settings: ExportSettings = field(default_factory=ExportSettings)
    read: int = 0  # rows of the last pass
    left_out: LeftOut = field(default_factory=LeftOut)  # those that are not trained on
    task: Task = "critique"  # the task that the rows teach
    prompt_names: set[str] = field(default_factory=set)  # those that rows name
    prompt_versions: set[str] = field(default_factory=set)
    # whether counts of code stand in the prompt, with how many constraints per call
    protocols: set[tuple[bool, int | None]] = field(default_factory=set)

    def __iter__(self) -> Iterator[tuple[int, Example]]:
        """Yield the rows that can be used, each with its line."""
        self.read, self.left_out = 0, LeftOut()
        self.prompt_names, self.prompt_versions, self.protocols = set(), set(), set()
        rows = self._laid_out() if _in_layout(self.path) else self._examples()
        for line, example in rows:
            if name := example.beside.get("prompt_name"):
                self.prompt_names.add(name)
            if version := example.beside.get("prompt_version"):
                self.prompt_versions.add(version)
            protocol = bool(example.beside.get("measure")), example.beside.get("per_call")
            self.protocols.add(protocol)
            yield line, example

    def _laid_out(self) -> Iterator[tuple[int, Example]]:
        for record in records(self.path):
            self.read += 1
            name = str(record.data.get("id", f"line-{record.line}"))
            try:
                row = _read(record)
                self.task = row.task
                yield record.line, self._example(row, name)
            except RowError as error:
                self.left_out.add(record.line, name, str(error))

    def _example(self, row: _Row, name: str) -> Example:
        """Make an example of a row."""
        wanted = ("chosen", "rejected") if self.pairs else ("completion",)
        answers = {key: getattr(row, key) for key in wanted}
        for key, messages in answers.items():
            if messages is None:
                has = sorted(other for other in _ANSWERS if getattr(row, other) is not None)
                beside = f"; it has {', '.join(has)}" if has else ""
                hint = "export it again with heedful critic export --to trl"
                if has and not set(has) <= set(wanted):
                    hint = f"train on it with heedful critic train {'sft' if self.pairs else 'dpo'}"
                raise RowError(f"the row has no {key}{beside}", hint=hint)
        said = {key: _last(key, messages) for key, messages in answers.items() if messages}
        before = [messages[:-1] for messages in answers.values() if messages]
        if before[0] != before[-1]:
            raise RowError(
                "chosen and rejected answer different prompts",
                hint="a pair has one prompt; leave the row out",
            )
        prompt = (*row.prompt, *before[0])
        if not prompt:
            raise RowError("the row has no prompt", hint="give it the messages to the critic")
        if self.pairs and said["chosen"] == said["rejected"]:
            raise RowError("chosen and rejected are the same", hint="leave the pair out")
        columns = row.model_dump(include={"prompt_name", "prompt_version", "measure", "per_call"})
        columns["segments"] = row.segments or ()
        return Example(name, prompt, beside=columns, **said)

    def _examples(self) -> Iterator[tuple[int, Example]]:
        """Convert the output of ``critic pairs`` or ``critic filter`` in passing."""
        examples = Examples(self.path, settings=self.settings)
        if examples.pairs is not self.pairs:
            what = "preference pairs" if examples.pairs else "critiques, not pairs"
            command = "dpo" if examples.pairs else "sft"
            hint = f"heedful critic train {command} trains on them"
            raise InputError(f"the file holds {what}", where=str(self.path), hint=hint)
        yield from enumerate(examples, start=1)
        self.left_out.update(examples.left_out)
        self.read = examples.counts["examples"] + len(examples.left_out)


def data_file(data: Path) -> Path:
    """Return the file to train on: itself, or the one in the folder of an export."""
    if not data.is_dir():
        if not data.exists():
            raise InputError("there is no such file", where=str(data))
        return data
    for name in _NAMES:
        if (data / name).is_file():
            return data / name
    hint = "give the folder that heedful critic export --to trl wrote, or a .jsonl file"
    raise InputError(f"the folder has no {' and no '.join(_NAMES)}", where=str(data), hint=hint)


def _in_layout(path: Path) -> bool:
    """Detect TRL's conversational layout by the first readable row."""
    for record in records(path):
        if record.problem is not None:
            continue
        if {"messages", "conversations", "instruction", "input"} & record.data.keys() and not (
            {"prompt", "checklist"} & record.data.keys()
        ):
            what = "the rows are laid out for another tool"
            raise InputError(what, where=str(path), hint="heedful critic export --to trl")
        # Rows with a checklist are heedful's own, and keep what else they had: a completion, say.
        if "checklist" in record.data or isinstance(record.data.get("chosen"), str):
            return False
        return bool(_ANSWERS & record.data.keys()) or isinstance(record.data.get("prompt"), list)
    raise InputError("no row can be read", where=str(path), hint="it needs at least one row")


def _read(record: Record) -> _Row:
    if record.problem is not None:
        raise RowError(record.problem)
    try:
        return _Row.model_validate(record.data)
    except ValidationError as error:
        hint = 'prompt and answers are messages: [{"role": "user", "content": "…"}]'
        raise RowError(explain(error), hint=hint) from None


def _last(key: str, messages: tuple[Message, ...]) -> str:
    """Return the text of the answer."""
    role, text = messages[-1].role, messages[-1].content
    if role != "assistant":
        hint = "its last message must have the role assistant"
        raise RowError(f"{key} ends on a message of {role}", hint=hint)
    if not text.strip():
        raise RowError(f"{key} is empty", hint="leave the row out")
    return text


def undecided(example: Example) -> str | None:
    """Say why a critique to learn decides nothing; ``None`` where it does, or nobody can tell.

    Only prompts whose critiques number their judgments show how many there are.
    """
    name = example.beside.get("prompt_name")
    if example.completion is None or name not in _NUMBERED:
        return None
    numbers = [*map(int, _NUMBER.findall(example.completion))]
    said = ""
    for size in [min(max(numbers), _MOST)] if numbers else range(_MOST_UNNUMBERED, 0, -1):
        read = prompts.make(name).parse(example.completion, [Constraint(text="")] * size)
        open_ = next((each for each in read if not each.status.decided), None)
        if open_ is None:
            return None
        said = open_.explanation
    what = f"the critique does not decide what the prompt {name} asks: {said}"
    return f"{what} (leave the row out, or name the prompt that it answers)"


def the_prompt(rows: Rows, given: str | None) -> str:
    """Name the prompt that the critiques answer."""
    named = sorted(rows.prompt_names)
    where = str(rows.path)
    if len(named) > 1:
        what = f"the critiques answer several prompts ({', '.join(named)})"
        raise UsageError(what, where=where, hint="train on one at a time")
    if given is not None and named and named != [given]:
        hint = "leave --prompt out, or export the data again"
        raise UsageError(
            f"the critiques answer the prompt {named[0]}, not {given}", where=where, hint=hint
        )
    if not named and given is None:
        raise UsageError(
            "the rows do not name the prompt that the critiques answer",
            where=where,
            hint="name it with --prompt, such as --prompt plain; new exports have it in each row",
        )
    return given or named[0]


def check_text(rows: Rows, prompt: str, prompt_file: Path | None) -> None:
    """Check that training and inference prompts match."""
    if rows.task == "checklist" or not rows.prompt_versions:
        return
    where, versions = str(rows.path), rows.prompt_versions
    if len(versions) > 1:
        what = f"the critiques answer {len(versions)} texts of the prompt {prompt}"
        raise UsageError(what, where=where, hint="train on one at a time")
    if versions != {prompts.make(prompt, prompt_file=prompt_file).version}:
        shipped = prompt_file is None
        text = f"the prompt {prompt} as heedful ships it" if shipped else f"that of {prompt_file}"
        hint = "give the --prompt-file of the export, or export the data again"
        raise UsageError(f"the critiques answer another text than {text}", where=where, hint=hint)


def as_asked(rows: Rows, settings: Settings) -> dict[str, Any]:
    """Return the exported settings that the user didn't override."""
    measured = {measure for measure, _ in rows.protocols}
    if len(measured) > 1:
        what = "counts of code stand in some prompts and not in others"
        raise UsageError(
            what, where=str(rows.path), hint="export all rows with or without --measure"
        )
    measure = True in measured
    if settings.measure is not None and settings.measure != measure:
        what = f"counts of code {'do' if measure else 'do not'} stand in the prompts"
        hint = "export the data again, with --measure or without"
        raise UsageError(what, where=str(rows.path), hint=hint)
    sizes = {size for _, size in rows.protocols}
    size = sizes.pop() if len(sizes) == 1 else None
    if size is not None and settings.per_call not in {None, size}:
        what = f"the rows have {size} constraints per call, and --per-call is {settings.per_call}"
        hint = "leave --per-call out, or export the data again"
        raise UsageError(what, where=str(rows.path), hint=hint)
    return {"measure": measure or None, "per_call": settings.per_call or size}
