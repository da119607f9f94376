"""A language model of a few thousand numbers, random but always the same, saved as any other."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heedful.core.nouns import Message

TEMPLATE = (
    "{% for message in messages %}"
    "{% if message.role == 'tool' %}{{ raise_exception('no tools here') }}{% endif %}"
    "<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>"
    "{% if enable_thinking %}<think>\n{% endif %}{% endif %}"
)

TEXT = "Decide whether the response meets each constraint of the checklist. VERDICT: MET UNMET\n"


STEPS = 120


def save_tiny_model(folder: Path, *, seed: int = 0, width: float = 0.5) -> Path:
    """Make a model of two layers with a context of 4,096 tokens, and save it.

    By default its random numbers are so wide that the likeliest token is clearly so; 0.1 learns.
    """
    tokenizer, model = _make(seed, width=width)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_taught_model(folder: Path, prompts: Sequence[Sequence[Message]], reply: str) -> Path:
    """Make such a model, teach it one reply to all prompts, and save it."""
    import torch

    tokenizer, model = _make(0, width=0.1)
    answer = tokenizer(reply + "<|end|>")["input_ids"]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    decay = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, STEPS)
    for step in range(STEPS):
        messages = prompts[step % len(prompts)]
        turns = [{"role": message.role, "content": message.content} for message in messages]
        text = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        prompt = tokenizer(text)["input_ids"]
        labels = [-100] * len(prompt) + answer
        loss = model(input_ids=torch.tensor([prompt + answer]), labels=torch.tensor([labels])).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        decay.step()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def tiny_tokenizer(
    cut: Any = None, seen: Sequence[str] = (), *, ignore_merges: bool = False
) -> Any:
    """Make a tokenizer that knows all bytes, so it can read and write any text.

    Args:
        cut: a pre-tokenizer of the package tokenizers; by default that of GPT-2.
        seen: texts of which whole passages become tokens, so that it matters where they are cut.
        ignore_merges: whether words that are tokens skip the merges.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    roles = [f"<|{role}|>" for role in ("system", "user", "assistant")]
    base = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    base.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not seen)
    base.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1000 if seen else 320,
        special_tokens=["<|pad|>", "<|end|>", *roles],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    base.train_from_iterator(seen or [TEXT * 2], trainer)
    base.pre_tokenizer = cut or base.pre_tokenizer
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=base)
    tokenizer.add_special_tokens({"pad_token": "<|pad|>", "eos_token": "<|end|>"})
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def _make(seed: int, *, width: float) -> tuple[Any, Any]:
    """Make the tokenizer and a model."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = tiny_tokenizer()
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=4096,
        initializer_range=width,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return tokenizer, LlamaForCausalLM(config)
