"""Prompts and critiques as tokens, through the model's chat template; what doesn't fit is left out.

The template must put the critique behind the prompt, and an end behind the critique: a model that
never sees an end in training does not stop by itself. That is checked before training.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.core.errors import InputError, RowError, UsageError
from heedful.core.files import contents
from heedful.models.roles import fitting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.core.nouns import Message
    from heedful.critic.data.pairs import Span
    from heedful.critic.training.rows import Rows
    from heedful.critic.training.settings import Settings
    from heedful.data.training_sets import Example
    from heedful.models.folder import ModelFolder

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
    # for each token of both, where its characters stand in the answer's text; ``None`` for tokens
    # outside of it
    offsets: list[Span | None]

    def __len__(self) -> int:
        """The number of tokens."""
        return len(self.prompt) + len(self.answer)

    def within(self, spans: Sequence[Span]) -> list[int]:
        """Mark with 1 the tokens that hold a character of some spans of the answer."""
        return [
            int(
                place is not None
                and any(place[0] < end and start < place[1] for start, end in spans)
            )
            for place in self.offsets
        ]


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
        if not tokenizer.is_fast:
            what = "the tokenizer does not say where its tokens stand in a text"
            raise UsageError(what, where=where, hint="use a model with a tokenizer.json")
        if tokenizer.eos_token_id is not None:
            ends = {*ends, tokenizer.eos_token_id}
        self.ends = ends  # the tokens that end an answer
        self._check()

    def encode(self, prompt: Sequence[Message], answer: str) -> Encoded:
        """Make tokens of a prompt and an answer."""
        question, said = self._texts(prompt, answer)
        before = self._ids(question)
        tokens = self.tokenizer(said, add_special_tokens=False, return_offsets_mapping=True)
        ids: list[int] = tokens["input_ids"]
        if ids[: len(before)] != before:
            what = "the prompt's last token changes when an answer follows"
            raise RowError(what, hint="end the template's prompt with a line end or a token")
        written = answer if answer in said[len(question) :] else answer.strip()
        start = said.find(written, len(question))
        if start < 0:
            raise RowError("the chat template changes the answer", hint=_HINT)
        shift = start - answer.index(written)
        places: list[Span | None] = [
            (low - shift, high - shift) if start <= low < high <= start + len(written) else None
            for low, high in tokens["offset_mapping"]
        ]
        return Encoded(before, ids[len(before) :], places)

    def _texts(self, prompt: Sequence[Message], answer: str) -> tuple[str, str]:
        """Return the prompt as the model is given it, and the prompt with the answer."""
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

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def _check(self) -> None:
        """Check that the answer fits and ends in EOS."""
        from heedful.core.nouns import Message

        prompt = [Message(role="user", content="Ask.")]
        turns = [{"role": "user", "content": "Ask."}]
        try:
            if self._rendered(turns, prompt_only=True) == self._rendered(turns):
                what = "the chat template has no mark where the assistant's answer begins"
                hint = f"it must heed add_generation_prompt: {_HINT}"
                raise UsageError(what, where=self._where, hint=hint)
            encoded = self.encode(prompt, _PROBE)
        except RowError as error:
            raise UsageError(error.what, where=self._where, hint=_HINT) from None
        behind = _behind(encoded)
        added = self.tokenizer.added_tokens_decoder.items()
        special = {token for token, about in added if about.special}
        ends = [token for token in behind if token in self.ends or token in special]
        if not ends:
            what = "the chat template sets no end behind the assistant's answer"
            raise UsageError(what, where=self._where, hint=_HINT)
        # A chat template may end turns on another token than the one that texts end on.
        self.ends = {*self.ends, ends[0]}


def _behind(encoded: Encoded) -> list[int]:
    """Return the tokens that follow the answer's text."""
    places = encoded.offsets[len(encoded.prompt) :]
    last = max((at for at, place in enumerate(places) if place is not None), default=-1)
    return encoded.answer[last + 1 :]


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


def tokenised(rows: Rows, chat: Chat, limit: int | None, *, segments: bool) -> Tokens:
    """Make tokens of the rows."""
    kept: list[tuple[Any, ...]] = []
    for line, example in rows:
        answers = [text for text in (example.completion, example.chosen, example.rejected) if text]
        try:
            encoded = [chat.encode(example.prompt, text) for text in answers]
            if segments:
                _check_segments(example, encoded)
        except RowError as error:
            rows.left_out.add(line, example.id, str(error), "unusable")
            continue
        longest = max(map(len, encoded))
        if limit is not None and longest > limit:
            what = f"{longest:,} tokens, more than {limit:,}"
            rows.left_out.add(line, example.id, what, "too long")
            continue
        kept.append((example, *encoded))
    if not kept:
        what = f"no row can be trained on{rows.left_out.first()}"
        raise InputError(what, where=str(rows.path))
    return Tokens(kept, max(len(one.answer) for _, *encoded in kept for one in encoded))


def _check_segments(example: Example, encoded: list[Encoded]) -> None:
    """Check that a pair has the spans on which it differs."""
    for side, tokens in zip(("chosen", "rejected"), encoded, strict=True):
        try:
            places = [segment[side] for segment in example.beside["segments"]]
            spans = [(int(low), int(high)) for low, high in places]
        except (KeyError, TypeError, ValueError):
            raise RowError(
                "segments have no places in both critiques", hint=_SEGMENTS_HINT
            ) from None
        if not any(tokens.within(spans)):
            raise RowError(
                "the pair does not say on which segments it differs", hint=_SEGMENTS_HINT
            )


_SEGMENTS_HINT = "make pairs with heedful critic pairs, or give --loss dpo"
