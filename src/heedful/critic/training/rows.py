"""The rows to train on, as ``heedful critic export --to trl`` writes them, or its input."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from heedful.core.errors import InputError, RowError, UsageError
from heedful.core.nouns import Message  # noqa: TC001 - pydantic needs it
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
_PROTOCOL = ("prompt_name", "prompt_version", "measure", "per_call")
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
    # how they ask the critic: the values of each field of _PROTOCOL
    protocol: dict[str, set[Any]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[tuple[int, Example]]:
        """Yield the rows that can be used, each with its line."""
        self.read, self.left_out = 0, LeftOut()
        self.protocol = {name: set() for name in _PROTOCOL}
        rows = self._laid_out() if _in_layout(self.path) else self._examples()
        for line, example in rows:
            for name, values in self.protocol.items():
                values.add(example.beside.get(name) or None)
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
        if not row.prompt:
            raise RowError("the row has no prompt", hint="give it the messages to the critic")
        said = {key: _text(key, messages) for key, messages in answers.items() if messages}
        if self.pairs and said["chosen"] == said["rejected"]:
            raise RowError("chosen and rejected are the same", hint="leave the pair out")
        columns = row.model_dump(include={*_PROTOCOL})
        columns["segments"] = row.segments or ()
        return Example(name, row.prompt, beside=columns, **said)

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


def _text(key: str, messages: tuple[Message, ...]) -> str:
    """Return the text of the answer."""
    roles = [message.role for message in messages]
    if roles != ["assistant"]:
        hint = "give one message of the assistant; what is before it belongs into prompt"
        raise RowError(f"{key} has messages of {', '.join(roles)}", hint=hint)
    if not messages[0].content.strip():
        raise RowError(f"{key} is empty", hint="leave the row out")
    return messages[0].content


def protocol(rows: Rows, settings: Settings) -> dict[str, Any]:
    """Return the settings with which the critic is asked: as exported, or else as given."""
    where = str(rows.path)
    known = {name: values - {None} for name, values in rows.protocol.items()}
    known["measure"] = set(map(bool, rows.protocol["measure"]))
    for name in ("prompt_name", "prompt_version", "measure"):
        if len(known[name]) > 1:
            several = ", ".join(sorted(map(str, known[name])))
            hint = "train on rows of one export at a time"
            raise UsageError(f"the rows differ in {name} ({several})", where=where, hint=hint)
    only = {name: min(values) if len(values) == 1 else None for name, values in known.items()}
    exported = {"prompt": only["prompt_name"]} | {key: only[key] for key in ("measure", "per_call")}
    for name, value in exported.items():
        given = getattr(settings, name)
        if given is not None and value not in (None, given):
            flag = f"--{name.replace('_', '-')}"
            what = f"the rows were exported with {name} {value}, and {flag} is {given}"
            hint = f"leave {flag} out, or export the data again"
            raise UsageError(what, where=where, hint=hint)
    prompt = exported["prompt"] or settings.prompt
    if prompt is None:
        raise UsageError(
            "the rows do not name the prompt that the critiques answer",
            where=where,
            hint="name it with --prompt, such as --prompt plain; new exports have it in each row",
        )
    if rows.task == "critique" and only["prompt_version"] is not None:
        _check_text(only["prompt_version"], prompt, settings.prompt_file, where)
    per_call = settings.per_call or exported["per_call"]
    return {"prompt": prompt, "measure": exported["measure"] or None, "per_call": per_call}


def _check_text(version: str, prompt: str, prompt_file: Path | None, where: str) -> None:
    """Check that training and inference prompts match."""
    if version != prompts.make(prompt, prompt_file=prompt_file).version:
        shipped = prompt_file is None
        text = f"the prompt {prompt} as heedful ships it" if shipped else f"that of {prompt_file}"
        hint = "give the --prompt-file of the export, or export the data again"
        raise UsageError(f"the critiques answer another text than {text}", where=where, hint=hint)
