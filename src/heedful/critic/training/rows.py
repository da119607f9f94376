"""The rows to train on: read as ``heedful critic export --to trl`` writes them, and made to tokens.

The template must put the critique behind the prompt, and an end behind the critique: a model that
never sees an end in training does not stop by itself. That is checked before training.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from heedful.core.errors import InputError, RowError, UsageError
from heedful.core.files import contents
from heedful.core.nouns import Message
from heedful.critic.data.export import Examples
from heedful.critic.data.left_out import LeftOut
from heedful.critic.data.options import ExportSettings
from heedful.data.formats.fields import explain
from heedful.data.formats.files import records
from heedful.data.training_sets import Example
from heedful.judges import prompts
from heedful.models.roles import fitting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from heedful.critic.training.settings import Settings
    from heedful.data.formats.raw import Record
    from heedful.models.folder import ModelFolder

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


# --- tokens --------------------------------------------------------------------------------------

PLAIN = (
    "{% for message in messages %}{{ '<|' + message.role + '|>\n' + message.content }}"
    "{% if message.role == 'assistant' %}{{ eos_token }}{% endif %}{{ '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}"
)
"""Our template, for tokenizers that come without one: it needs no token but the end of a text."""

_HINT = "give --chat-template plain for ours, or a .jinja file of your own"
_PROBE = "Mark \ue000 my words."


@dataclass(frozen=True, slots=True)
class Encoded:
    """A prompt and an answer as tokens."""

    prompt: list[int]  # the prompt's tokens, up to where the model begins to write
    answer: list[int]  # the answer's, its end included

    def __len__(self) -> int:
        """The number of tokens."""
        return len(self.prompt) + len(self.answer)


class Chat:
    """A tokenizer with its chat template."""

    def __init__(self, tokenizer: Any, ends: set[int], template: str | None, where: str) -> None:
        """Check the template."""
        self.tokenizer = tokenizer  # of transformers
        self._where = where
        self.mapped: set[str] = set()  # the roles of prompts in which the template doesn't know all
        if template is not None:
            tokenizer.chat_template = _template(template)
        if not tokenizer.chat_template:
            what = "the tokenizer has no chat template, so a critic cannot be prompted"
            raise UsageError(what, where=where, hint=_HINT)
        if tokenizer.eos_token_id is not None:
            ends = {*ends, tokenizer.eos_token_id}
        self.ends = ends  # the tokens that end an answer
        self._check()

    def encode(self, prompt: Sequence[Message], answer: str) -> Encoded:
        """Make tokens of a prompt and an answer."""
        (encoded,) = self.encode_all([(prompt, answer)])
        if isinstance(encoded, RowError):
            raise encoded
        return encoded

    def encode_all(
        self, pairs: Sequence[tuple[Sequence[Message], str]]
    ) -> list[Encoded | RowError]:
        """Make tokens of prompts and answers together, which the tokenizer does in parallel."""
        texts = [self._texts(prompt, answer) for prompt, answer in pairs]
        good = [each for each in texts if not isinstance(each, RowError)]
        if not good:
            return [each for each in texts if isinstance(each, RowError)]
        before, whole = (
            self.tokenizer(list(each), add_special_tokens=False)["input_ids"]
            for each in zip(*good, strict=True)
        )
        tokens = iter(zip(before, whole, strict=True))
        return [each if isinstance(each, RowError) else _encoded(*next(tokens)) for each in texts]

    def _texts(self, prompt: Sequence[Message], answer: str) -> tuple[str, str] | RowError:
        """Return the prompt as the model is given it, and the prompt with the answer."""
        try:
            return self.laid_out(prompt, answer)
        except RowError as error:
            return error

    def laid_out(self, prompt: Sequence[Message], answer: str) -> tuple[str, str]:
        """Write the prompt, and the prompt with the answer, as the model is given them."""
        turns = [{"role": message.role, "content": message.content} for message in prompt]
        # As the model will be asked: an engine maps roles in the same way.
        turns, question, mapped = fitting(
            turns, lambda each: self._rendered(each, prompt_only=True)
        )
        if mapped:
            self.mapped |= {message.role for message in prompt}
        said = self._rendered([*turns, {"role": "assistant", "content": answer}])
        if not said.startswith(question):
            raise RowError("the chat template does not put the answer behind the prompt")
        if answer.strip() not in said[len(question) :]:
            raise RowError("the chat template changes the answer", hint=_HINT)
        return question, said

    def _rendered(self, turns: Sequence[dict[str, str]], *, prompt_only: bool = False) -> str:
        from jinja2 import TemplateError

        try:
            text = self.tokenizer.apply_chat_template(
                turns, tokenize=False, add_generation_prompt=prompt_only
            )
        except TemplateError as error:
            raise RowError(f"the chat template refuses the conversation: {error}") from None
        return str(text)

    def _check(self) -> None:
        """Check that the answer fits and ends in EOS."""
        prompt = [Message(role="user", content="Ask.")]
        turns = [{"role": "user", "content": "Ask."}]
        try:
            if self._rendered(turns, prompt_only=True) == self._rendered(turns):
                what = "the chat template has no mark where the assistant's answer begins"
                hint = f"it must heed add_generation_prompt: {_HINT}"
                raise UsageError(what, where=self._where, hint=hint)
            self.encode(prompt, _PROBE)
            _, said = self.laid_out(prompt, _PROBE)
        except RowError as error:
            raise UsageError(error.what, where=self._where, hint=_HINT) from None
        behind = self.tokenizer(said.rpartition(_PROBE)[2], add_special_tokens=False)["input_ids"]
        added = self.tokenizer.added_tokens_decoder.items()
        special = {token for token, about in added if about.special}
        ends = [token for token in behind if token in self.ends or token in special]
        if not ends:
            what = "the chat template sets no end behind the assistant's answer"
            raise UsageError(what, where=self._where, hint=_HINT)
        # A chat template may end turns on another token than the one that texts end on.
        self.ends = {*self.ends, ends[0]}


def _encoded(before: list[int], whole: list[int]) -> Encoded | RowError:
    """Divide the tokens of a prompt with its answer."""
    if whole[: len(before)] != before:
        what = "the prompt's last token changes when an answer follows"
        return RowError(what, hint="end the template's prompt with a line end or a token")
    return Encoded(before, whole[len(before) :])


def _template(name: str) -> str:
    if name == "plain":
        return PLAIN
    try:
        return contents(Path(name)).decode()
    except (OSError, UnicodeDecodeError) as error:
        hint = "give a .jinja file, or plain for ours"
        raise InputError(
            f"the chat template cannot be read: {error}", where=name, hint=hint
        ) from error


_TOGETHER = 256
"""Rows that are made to tokens at a time."""


class Tokens(NamedTuple):
    """The rows as tokens."""

    # each with its one answer, or with the chosen and the rejected one
    rows: list[tuple[Any, ...]]
    longest_answer: int


def open_chat(model: ModelFolder, settings: Settings) -> tuple[Chat, int | None]:
    """Open a model's tokenizer and its chat template."""
    from transformers import AutoConfig, AutoTokenizer, GenerationConfig

    try:
        tokenizer = AutoTokenizer.from_pretrained(model.path)
        config = AutoConfig.from_pretrained(model.path).get_text_config()
    except Exception as error:  # what a broken folder raises depends on what is broken
        first = next(iter(str(error).strip().splitlines()), type(error).__name__)
        what = f"tokenizer or configuration cannot be read: {first}"
        raise InputError(what, where=str(model.path), hint="check the folder") from error
    try:
        ends = GenerationConfig.from_pretrained(model.path).eos_token_id
    except OSError:  # there is none, as with many base models
        ends = config.eos_token_id
    known = set() if ends is None else {ends} if isinstance(ends, int) else set(ends)
    chat = Chat(tokenizer, known, settings.chat_template, str(model.path))
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.convert_ids_to_tokens(min(chat.ends))
    context: int | None = getattr(config, "max_position_embeddings", None)
    if settings.max_length and context and settings.max_length > context:
        what = f"the greatest length is {settings.max_length:,}, the model's context {context:,}"
        raise UsageError(what, where=str(model.path), hint=f"give --max-length {context}")
    return chat, context


def tokenised(rows: Rows, chat: Chat, limit: int | None) -> Tokens:
    """Make tokens of the rows."""
    kept: list[tuple[Any, ...]] = []
    read = iter(rows)
    while batch := list(islice(read, _TOGETHER)):
        answers = [
            [text for text in (each.completion, each.chosen, each.rejected) if text]
            for _, each in batch
        ]
        encoded = iter(
            chat.encode_all(
                [
                    (example.prompt, text)
                    for (_, example), texts in zip(batch, answers, strict=True)
                    for text in texts
                ]
            )
        )
        for (line, example), texts in zip(batch, answers, strict=True):
            own = list(islice(encoded, len(texts)))
            problem = _unusable(own, limit)
            if problem is None:
                kept.append((example, *own))
            else:
                rows.left_out.add(line, example.id, *problem)
    if not kept:
        what = f"no row can be trained on{rows.left_out.first()}"
        raise InputError(what, where=str(rows.path))
    return Tokens(kept, max(len(one.answer) for _, *encoded in kept for one in encoded))


def _unusable(encoded: list[Encoded | RowError], limit: int | None) -> tuple[str, str] | None:
    """Say why a row cannot be trained on, and of what kind the reason is."""
    usable: list[Encoded] = []
    for each in encoded:
        if isinstance(each, RowError):
            return str(each), "unusable"
        usable.append(each)
    longest = max(map(len, usable))
    if limit is not None and longest > limit:
        return f"{longest:,} tokens, more than {limit:,}", "too long"
    return None
