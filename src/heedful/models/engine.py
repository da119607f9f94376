"""A causal language model in this process, through transformers: prompts in, texts out.

All of it is synchronous, and torch is imported when an engine is made; :mod:`heedful.models.local`
runs it in a thread.
"""

from __future__ import annotations

import copy
import math
import random
import re
import threading
import warnings
from dataclasses import dataclass
from hashlib import blake2b
from inspect import signature
from typing import TYPE_CHECKING, Any

from heedful.core.errors import HeedfulWarning, ModelError, StopRunError
from heedful.core.reasoning import separate
from heedful.models.base import Completion, ModelNotFound, Usage
from heedful.models.roles import fitting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from torch import Tensor

    from heedful.core.nouns import Message
    from heedful.models.base import Sampling
    from heedful.models.folder import ModelFolder


__all__ = ["Draft", "Engine"]


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """An answer that is still to be written."""

    prompt: list[int]  # tokens
    thinking: bool  # the template has opened a block of thinking, which the answer only closes
    limit: int  # tokens that may be generated
    temperature: float
    top_p: float
    seed: bytes
    stopped: Callable[[], bool]  # whether the caller was cancelled
    top: int = 0  # first tokens whose log-probabilities are wanted

    def numbers(self) -> Iterator[float]:
        """Yield random numbers in [0, 1), the same at each call."""
        generator = random.Random(self.seed)
        while True:
            yield generator.random()


class TokenSampler:
    """Samples the next token of each row that is sampled, as a logits processor of transformers.

    A row's random numbers are its own, one for each token, so what it draws does not depend on
    which rows share its batch. The scores themselves are computed in batches of other shapes and
    differ in their last bits: a draw within that distance of the border between two tokens can
    fall to either side.
    """

    def __init__(
        self, drafts: Sequence[Draft], numbers: Sequence[Iterator[float]], *, watch: bool
    ) -> None:
        self.likeliest: list[Tensor] | None = [] if watch else None
        """At each step the log-probability of each row's likeliest token."""
        self._rows = [row for row, draft in enumerate(drafts) if draft.temperature > 0]
        sampled = [drafts[row] for row in self._rows]
        self._numbers = [numbers[row] for row in self._rows]
        self._temperatures = [[draft.temperature] for draft in sampled]
        self._top_ps = [[draft.top_p] for draft in sampled]
        self._nucleus = any(draft.top_p < 1 for draft in sampled)

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:  # noqa: ARG002 - their seam
        """Leave one token to each sampled row; ``scores`` has the shape (rows, vocabulary)."""
        import torch

        if self.likeliest is not None:
            self.likeliest.append(scores.float().log_softmax(dim=-1).amax(dim=-1))
        if not self._rows:
            return scores
        logits = scores[self._rows].float()
        share = (logits / logits.new_tensor(self._temperatures)).softmax(dim=-1)
        if self._nucleus:
            share = _nucleus(share, share.new_tensor(self._top_ps))
        # In the order of the vocabulary: sorted by share, near ties would change places.
        reach = share.cumsum(dim=-1)
        total = reach[:, -1:]
        point = total * total.new_tensor([[next(numbers)] for numbers in self._numbers])
        point = torch.minimum(point, total.nextafter(torch.zeros_like(total)))
        token = torch.searchsorted(reach, point, right=True)
        chosen = torch.full_like(scores[self._rows], -torch.inf).scatter(-1, token, 0.0)
        scores = scores.clone()
        scores[self._rows] = chosen
        return scores


def _nucleus(share: Tensor, top_p: Tensor) -> Tensor:
    """Set to 0 what is not in the smallest set of likeliest tokens with the share ``top_p``."""
    import torch

    ordered, order = share.sort(dim=-1, descending=True, stable=True)
    before = ordered.cumsum(dim=-1) - ordered
    ordered = ordered.masked_fill((before >= top_p) & (before > 0), 0.0)
    return torch.zeros_like(share).scatter(-1, order, ordered)


class RowsDone:
    """Stopping criterion: a row is done at its end, at its limit, or when its caller was cancelled.

    With ``leave``, all rows stop once half of them are done, so that the others can go on alone.
    """

    def __init__(self, drafts: Sequence[Draft], width: int, ends: set[int], *, leave: bool) -> None:
        self.rows = [False] * len(drafts)
        self._drafts = drafts
        self._width = width
        self._ends = ends
        self._leave = leave

    def __call__(self, input_ids: Tensor, *_: object, **__: object) -> Tensor:
        """Say which rows stop; ``input_ids`` has the shape (rows, tokens)."""
        import torch

        written = input_ids.shape[1] - self._width
        last = input_ids[:, -1].tolist()
        for row, (draft, token) in enumerate(zip(self._drafts, last, strict=True)):
            if token in self._ends or written >= draft.limit or draft.stopped():
                self.rows[row] = True
        stops = self._leave and 2 * sum(self.rows) >= len(self.rows)
        done = [True] * len(self.rows) if stops else self.rows
        return torch.tensor(done, device=input_ids.device)


def _alike(first: Sequence[int], second: Sequence[int]) -> int:
    """Count the tokens that two rows begin with."""
    both = zip(first, second, strict=False)
    shorter = min(len(first), len(second))
    return next((at for at, (one, other) in enumerate(both) if one != other), shorter)


def sharing(prompts: Sequence[list[int]]) -> list[tuple[list[int], int]]:
    """Group prompts that begin alike, over half of their length at least.

    Returns rows and the length of their common beginning, which leaves each a token at least.
    """
    groups: list[tuple[list[int], int]] = []
    for row in sorted(range(len(prompts)), key=prompts.__getitem__):
        prompt = prompts[row]
        if groups:
            rows, length = groups[-1]
            common = _alike(prompts[rows[0]][:length], prompt[:-1])
            if 2 * common >= max(length, len(prompt)):
                groups[-1] = ([*rows, row], common)
                continue
        groups.append(([row], len(prompt) - 1))
    return groups


MAX_TOKENS = 8192
"""The default limit of generated tokens: IF-Critic's published one (arXiv 2511.01014)."""

_LOADING = threading.Lock()
"""transformers cannot be imported by two threads at a time, as two models would."""

_VERDICT = re.compile(r"(?:VERDICT|结论)\s*[:：]\s*[\[【]*(\w+)")
_REPLACEMENT = "\ufffd"
_LEAST = 1e-6
"""How far from certain a verdict is at least: odds stay finite."""

_THINK = "<think>"
_MARKS = tuple(map(chr, range(0xE000, 0xF8FF)))
"""Characters for private use: one that no message holds marks control tokens in messages."""
_TEMPLATE = "chat_template_kwargs"


def device_and_dtype(device: str | None, dtype: str | None = None) -> tuple[str, str]:
    """Choose where to compute, and how precisely: bfloat16 on a GPU, float32 on a CPU."""
    import torch

    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    return device, dtype or ("float32" if device == "cpu" else "bfloat16")


class Engine:
    """Weights and tokenizer of one model."""

    def __init__(self, name: str, tokenizer: Any, model: Any) -> None:
        self._name = name
        self._tokenizer = tokenizer
        self._model = model
        self.temperature: float | None = None  # of its verdicts, which then get a confidence
        self._device = str(model.device)
        self._mapped = False
        settings = self._model.generation_config
        ends = settings.eos_token_id
        ends = self._tokenizer.eos_token_id if ends is None else ends
        self._ends = {ends} if isinstance(ends, int) else set(ends or ())
        pad = self._tokenizer.pad_token_id
        self._pad = pad if pad is not None else min(self._ends, default=0)
        self._control = _control_tokens(tokenizer)
        text_config = self._model.config.get_text_config()
        self._context: int | None = getattr(text_config, "max_position_embeddings", None)
        self._cache = _cache_name(model, text_config)

    @classmethod
    def load(cls, folder: ModelFolder, device: str | None, dtype: str | None = None) -> Engine:
        """Load them from a folder."""
        device, dtype = device_and_dtype(device, dtype)
        try:
            with _LOADING:
                tokenizer, model = _load(folder, dtype)
        except Exception as error:  # what a broken folder raises depends on what is broken
            what = f"the model cannot be loaded: {_first_line(error)}"
            hint = "check the folder; a model with code of its own must be served instead"
            raise ModelNotFound(what, where=str(folder.path), hint=hint) from error
        if not tokenizer.chat_template:
            raise StopRunError(
                "the tokenizer has no chat template, so a conversation cannot be put to the model",
                where=str(folder.path),
                hint="use the model's chat version, or put its chat_template.jinja there",
            )
        try:
            model = model.to(device).eval()
        except (RuntimeError, AssertionError) as error:
            what = f"the model cannot be put on {device}: {_first_line(error)}"
            hint = "choose another --device, such as cpu; or serve the model"
            raise StopRunError(what, where=folder.name, hint=hint) from error
        engine = cls(folder.name, tokenizer, model)
        if folder.protocol is not None:
            engine.temperature = folder.protocol.temperature
        return engine

    def draft(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        sample: int,
        stopped: Callable[[], bool],
    ) -> Draft:
        """Prepare an answer."""
        text, prompt = self._prompt(messages, _template_options(sampling, self._name))
        room = None if self._context is None else self._context - len(prompt)
        if room is not None and room < 1:
            raise ModelError(
                f"the prompt has {len(prompt):,} tokens, the model's context {self._context:,}",
                where=f"model {self._name}",
                hint="fewer constraints in a call (--per-call) or another model may help",
            )
        settings = self._model.generation_config
        limit = sampling.max_tokens or settings.max_new_tokens or MAX_TOKENS
        temperature, top_p = sampling.temperature, sampling.top_p
        if temperature is None:
            temperature = (settings.temperature or 1.0) if settings.do_sample else 0.0
        if top_p is None:
            top_p = settings.top_p or 1.0
        number = (sampling.seed or 0) + sample
        return Draft(
            prompt=prompt,
            thinking=text.rstrip().endswith(_THINK),
            limit=limit if room is None else min(limit, room),
            temperature=temperature,
            top_p=top_p,
            # Of the prompt too, or all prompts' samples would draw the same numbers.
            seed=blake2b(f"{number} {prompt}".encode(), digest_size=16).digest(),
            stopped=stopped,
            top=sampling.top_logprobs or 0,
        )

    def complete(self, drafts: Sequence[Draft]) -> list[Completion]:
        """Write the answers of a batch."""
        import torch

        try:
            written = self._generate(drafts)
        except torch.OutOfMemoryError as error:
            raise MemoryError(_first_line(error)) from None
        except RuntimeError as error:
            if "allocate memory" in str(error):  # the CPU's allocator has no error of its own
                raise MemoryError(_first_line(error)) from None
            what = f"the model failed: {_first_line(error)}"
            raise ModelError(what, where=f"model {self._name}") from error
        return [
            self._read(draft, ids).model_copy(
                update={
                    "first_tokens": first,
                    "confidences": self.confidences(draft, ids, chances),
                }
            )
            for draft, (ids, first, chances) in zip(drafts, written, strict=True)
        ]

    def free(self) -> None:
        """Give back the memory that torch keeps for later batches."""
        import torch

        if self._device.startswith("cuda"):
            torch.cuda.empty_cache()

    def _prompt(
        self, messages: Sequence[Message], options: Mapping[str, Any]
    ) -> tuple[str, list[int]]:
        """Render the chat template and encode it; control tokens in messages stay plain text."""
        contents = [message.content for message in messages]
        mark = next(c for c in _MARKS if not any(c in content for content in contents))
        if self._control is not None:
            contents = [self._control.sub(rf"{mark}\g<0>{mark}", each) for each in contents]
        turns = [
            {"role": message.role, "content": content}
            for message, content in zip(messages, contents, strict=True)
        ]
        _, text, mapped = fitting(turns, lambda each: self._rendered(each, options))
        if mapped and not self._mapped:
            self._mapped = True
            roles = ", ".join(sorted({message.role for message in messages}))
            warnings.warn(
                f"the chat template of {self._name} doesn't show all of the roles {roles}: they "
                "are put as user and assistant turns, or as system where it knows that",
                HeedfulWarning,
                stacklevel=2,
            )
        prompt: list[int] = []
        for position, part in enumerate(text.split(mark)):
            if part:
                plain = position % 2 == 1
                encoded = self._tokenizer(
                    part, add_special_tokens=False, split_special_tokens=plain
                )
                prompt += encoded["input_ids"]
        return text.replace(mark, ""), prompt

    def _rendered(self, turns: list[dict[str, str]], options: Mapping[str, Any]) -> str:
        from jinja2 import TemplateError

        try:
            text = self._tokenizer.apply_chat_template(
                turns, tokenize=False, add_generation_prompt=True, **options
            )
        except TemplateError as error:
            what = f"the chat template refuses the conversation: {_first_line(error)}"
            raise ModelError(what, where=f"model {self._name}") from error
        return str(text)

    def confidences(
        self, draft: Draft, ids: list[int], chances: list[float]
    ) -> tuple[float, ...] | None:
        """Return how likely the words of the verdicts were; ``chances`` has each token's log."""
        if self.temperature is None or draft.temperature > 0:
            return None
        texts = [str(self._tokenizer.decode(ids[:size])) for size in range(len(ids) + 1)]
        # A token may end within a character, which then reads as a replacement character.
        starts = [len(text.rstrip(_REPLACEMENT)) for text in texts[:-1]]
        ends = [len(text) for text in texts[1:]]
        found = []
        for verdict in _VERDICT.finditer(texts[-1]):
            low, high = verdict.span(1)
            inside = (
                chance
                for start, end, chance in zip(starts, ends, chances, strict=True)
                if low < end and start < high
            )
            likely = min(max(math.exp(math.fsum(inside)), _LEAST), 1 - _LEAST)
            odds = math.log(likely / (1 - likely)) / self.temperature
            found.append(1 / (1 + math.exp(-odds)))
        return tuple(found)

    def _generate(
        self, drafts: Sequence[Draft]
    ) -> list[tuple[list[int], dict[str, float] | None, list[float]]]:
        """Generate the tokens of a batch, each row up to its end or its limit.

        Rows that are done leave the batch as soon as they are half of it.
        """
        import torch

        written: list[list[int]] = [[] for _ in drafts]
        first: list[dict[str, float] | None] = [None] * len(drafts)
        chances: list[list[float]] = [[] for _ in drafts]
        numbers = [draft.numbers() for draft in drafts]
        live = list(range(len(drafts)))
        with torch.inference_mode():
            ids, mask, begun = self._begun(drafts)
            width = ids.shape[1]
            while live:
                rows = [drafts[row] for row in live]
                done = RowsDone(rows, width, self._ends, leave=self._cache is not None)
                sampler = TokenSampler(
                    rows, [numbers[row] for row in live], watch=self.temperature is not None
                )
                output = self._model.generate(
                    input_ids=ids,
                    attention_mask=mask,
                    generation_config=self._settings(rows, ids.shape[1] - width),
                    logits_processor=[sampler],
                    stopping_criteria=[done],
                    **begun,
                )
                for row, tail in zip(live, output.sequences[:, width:].tolist(), strict=True):
                    written[row] = self._cut(drafts[row], tail)
                for step in sampler.likeliest or ():
                    for row, chance in zip(live, step.tolist(), strict=True):
                        chances[row].append(chance)
                if output.logits:
                    scores = zip(drafts, output.logits[0], strict=True)
                    first = [self._likeliest(row, draft.top) for draft, row in scores]
                left = [place for place, is_done in enumerate(done.rows) if not is_done]
                live = [live[place] for place in left]
                if live:
                    ids, mask, begun = self._going_on(left, output, mask)
        return [
            (ids, top, each[: len(ids)])
            for ids, top, each in zip(written, first, chances, strict=True)
        ]

    def _begun(self, drafts: Sequence[Draft]) -> tuple[Tensor, Tensor, dict[str, Any]]:
        """Return the tokens of the prompts, which of them count, and the cache of those computed.

        What several prompts share, as of one response with several constraints, is computed once. A
        row is then padding, that part, padding again, and the rest of its prompt.
        """
        import torch

        prompts = [draft.prompt for draft in drafts]
        groups = [] if self._cache is None else sharing(prompts)
        if not 0 < len(groups) < len(prompts):
            return (*self._padded(prompts), {})
        parts = {row: (at, length) for at, (rows, length) in enumerate(groups) for row in rows}
        ids, mask = self._padded([prompts[rows[0]][:length] for rows, length in groups])
        output = self._model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=(mask.cumsum(dim=-1) - 1).clamp(min=0),
            use_cache=True,
            logits_to_keep=1,
        )
        own = torch.tensor([parts[row][0] for row in range(len(prompts))], device=self._device)
        rest = self._padded([prompt[parts[row][1] :] for row, prompt in enumerate(prompts)])
        begun = self._chosen(output, own)
        return torch.cat([ids[own], rest[0]], dim=1), torch.cat([mask[own], rest[1]], dim=1), begun

    def _going_on(
        self, left: Sequence[int], output: Any, mask: Tensor
    ) -> tuple[Tensor, Tensor, dict[str, Any]]:
        """Return tokens, mask and cache of the rows that are not done."""
        import torch

        places = torch.tensor(left, device=self._device)
        ids = output.sequences[places]
        new = mask.new_ones(len(left), ids.shape[1] - mask.shape[1])
        return ids, torch.cat([mask[places], new], dim=1), self._chosen(output, places)

    def _chosen(self, output: Any, rows: Tensor) -> dict[str, Any]:
        """Return the cache with these rows."""
        cache = getattr(output, self._cache or "")
        cache.batch_select_indices(rows)
        return {self._cache or "": cache}

    def _padded(self, rows: Sequence[list[int]]) -> tuple[Tensor, Tensor]:
        """Pad rows on the left; return the tokens, and which of them count."""
        import torch

        width = max(map(len, rows))
        gaps = [width - len(row) for row in rows]
        ids = [[self._pad] * gap + row for gap, row in zip(gaps, rows, strict=True)]
        mask = [[0] * gap + [1] * (width - gap) for gap in gaps]
        return torch.tensor(ids, device=self._device), torch.tensor(mask, device=self._device)

    def _settings(self, drafts: Sequence[Draft], written: int) -> Any:
        """Make the settings of the library; our own draws decide, so to it all is greedy."""
        settings = copy.deepcopy(self._model.generation_config)  # its penalties stay in force
        settings.update(
            do_sample=False,
            temperature=None,
            top_p=None,
            top_k=None,
            min_p=None,
            num_beams=1,
            num_return_sequences=1,
            max_length=None,
            max_new_tokens=max(draft.limit for draft in drafts) - written,
            eos_token_id=sorted(self._ends) or None,
            pad_token_id=self._pad,
            return_dict_in_generate=True,
            output_logits=not written and any(draft.top for draft in drafts),
        )
        return settings

    def _likeliest(self, logits: Tensor | None, top: int) -> dict[str, float] | None:
        """Return the likeliest tokens; ``logits`` has the shape (vocabulary,)."""
        if logits is None or not top:
            return None
        best = logits.float().log_softmax(dim=-1).topk(min(top, logits.shape[-1]))
        tokens: dict[str, float] = {}
        for number, value in zip(best.indices.tolist(), best.values.tolist(), strict=True):
            tokens.setdefault(self._tokenizer.decode([number]), value)
        return tokens

    def _cut(self, draft: Draft, tail: list[int]) -> list[int]:
        """Leave out what stands after a row's end while longer rows went on."""
        end = next((at for at, token in enumerate(tail) if token in self._ends), len(tail))
        return tail[: min(end + 1, draft.limit)]

    def _read(self, draft: Draft, ids: list[int]) -> Completion:
        ended = bool(ids) and ids[-1] in self._ends
        written = str(self._tokenizer.decode(ids, skip_special_tokens=True))
        text = _THINK + written if draft.thinking else written
        text, thought = separate(text, lost_opening=False)
        thoughts = self._tokenizer(thought or "", add_special_tokens=False)["input_ids"]
        return Completion(
            text=text,
            reasoning=thought or None,
            finish_reason="stop" if ended else "length",
            usage=Usage(
                prompt_tokens=len(draft.prompt),
                completion_tokens=len(ids),
                reasoning_tokens=min(len(thoughts), len(ids)),
            ),
            model=self._name,
        )


def _cache_name(model: Any, config: Any) -> str | None:
    """Return the name of a cache whose rows can be chosen: keys and values of all tokens."""
    if not attends_fully(model, config):
        return None
    names = ("cache", "past_key_values")  # transformers has renamed it
    return next((name for name in names if name in signature(model.forward).parameters), None)


def attends_fully(model: Any, config: Any) -> bool:
    """Tell whether each token attends to all before it, at positions that can be given."""
    layers = set(getattr(config, "layer_types", None) or ["full_attention"])
    if layers != {"full_attention"} or getattr(config, "sliding_window", None):
        return False
    return {"position_ids", "logits_to_keep"} <= signature(model.forward).parameters.keys()


def _control_tokens(tokenizer: Any) -> re.Pattern[str] | None:
    """Match the text of any token that means something to the model beyond its characters."""
    added = tokenizer.added_tokens_decoder.values()
    texts = {token.content for token in added if token.special} - {""}
    texts |= {text for text in tokenizer.all_special_tokens if text}
    longest_first = sorted(texts, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first))) if texts else None


def _load(folder: ModelFolder, dtype: str) -> tuple[Any, Any]:
    """Load tokenizer and weights without transformers' progress bars."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder.path)
        model = AutoModelForCausalLM.from_pretrained(folder.path, dtype=getattr(torch, dtype))
    finally:
        if shown:
            logging.enable_progress_bar()
    return tokenizer, model


def _template_options(sampling: Sampling, name: str) -> Mapping[str, Any]:
    """Return what the request says to the chat template; the rest of it must be possible."""
    where = f"model {name}"
    if sampling.response_format is not None:
        raise StopRunError(
            "a model in this process cannot be held to a JSON format",
            where=where,
            hint="use another --prompt, such as plain; or serve the model",
        )
    unknown = sorted(sampling.extra.keys() - {_TEMPLATE})
    if unknown:
        raise StopRunError(
            f"a model in this process knows no field {unknown[0]!r}",
            where=where,
            hint=f"leave it out of --body; {_TEMPLATE} is known",
        )
    options: Mapping[str, Any] = sampling.extra.get(_TEMPLATE, {})
    return options


def _first_line(error: Exception) -> str:
    """Quote the beginning of what a library says, which may go on for pages."""
    return next(iter(str(error).strip().splitlines()), "") or type(error).__name__
