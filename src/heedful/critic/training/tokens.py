"""The rows to train on as tokens; what does not fit is left out and counted, never cut."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from heedful.core.errors import InputError, RowError, UsageError
from heedful.critic.training.chat import Chat
from heedful.critic.training.rows import undecided

if TYPE_CHECKING:
    from heedful.critic.training.chat import Encoded
    from heedful.critic.training.rows import Rows
    from heedful.critic.training.settings import Settings
    from heedful.data.training_sets.layouts import Example
    from heedful.models.folder import ModelFolder


@dataclass
class Tokens:
    """The rows as tokens.

    Attributes:
        rows: each with its one answer, or with the chosen and the rejected one.
        prompt: tokens of all prompts.
        answer: tokens of all answers.
        longest: of the prompts with their answers.
        longest_answer: of the answers.
    """

    rows: list[tuple[Any, ...]] = field(default_factory=list)
    prompt: int = 0
    answer: int = 0
    longest: int = 0
    longest_answer: int = 0

    def take(self, example: Example, encoded: list[Encoded]) -> None:
        """Add a row."""
        self.rows.append((example, *encoded))
        self.prompt += len(encoded[0].prompt)
        self.answer += sum(len(row.answer) for row in encoded)
        self.longest = max(self.longest, *map(len, encoded))
        self.longest_answer = max(self.longest_answer, *(len(row.answer) for row in encoded))


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
    tokens = Tokens()
    for line, example in rows:
        answers = [text for text in (example.completion, example.chosen, example.rejected) if text]
        try:
            encoded = [chat.encode(example.prompt, text) for text in answers]
            if segments:
                _check_segments(example, encoded)
        except RowError as error:
            rows.drop(line, example.id, "unusable", str(error))
            continue
        longest = max(map(len, encoded))
        if limit is not None and longest > limit:
            what = f"{longest:,} tokens, more than {limit:,}"
            rows.drop(line, example.id, "too long", what)
            continue
        if rows.task == "critique" and (problem := undecided(example)):
            rows.drop(line, example.id, "undecided", problem)
            continue
        tokens.take(example, encoded)
    if not tokens.rows:
        first = f"; the first: {rows.problems[0]['problem']}" if rows.problems else ""
        raise InputError(f"no row can be trained on{first}", where=str(rows.path))
    return tokens


def _check_segments(example: Example, encoded: list[Encoded]) -> None:
    """Hold that a pair says where it differs."""
    for side, tokens in zip(("chosen", "rejected"), encoded, strict=True):
        try:
            places = [segment[side] for segment in example.beside["segments"]]
            spans = [(int(low), int(high)) for low, high in places]
        except (KeyError, TypeError, ValueError):
            raise RowError("segments have no places in both critiques", hint=_HINT) from None
        if not any(tokens.within(spans)):
            raise RowError("the pair does not say on which segments it differs", hint=_HINT)


_HINT = "make pairs with heedful critic pairs, or give --loss dpo"
