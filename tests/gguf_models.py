"""Tiny random models of each architecture and each cut of texts that GGUF is written for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tiny_model import tiny_tokenizer

if TYPE_CHECKING:
    from pathlib import Path

TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
ODD_TEXTS = (
    "It's 1234567 o'clock; I'LL wait.  Two  spaces,\ttab\r\n\r\n  and\n\n\nlines \n ",
    "naïve cafés — 三种水果，一二三。 ½ ² Ⅷ ٣٤٥ 👩‍🚀 _snake_case_ CamelCase x=y**2;",
    "<|im_start|>user <|end|> <|assistant|> </s>",
)
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 10_000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "llama": ("llama", "gpt-2", {"tie_word_embeddings": True}),
    "llama with biases, digit by digit": ("llama", "smollm", {"attention_bias": True}),
    "llama with scaled RoPE": ("llama", "llama-bpe", {"rope_parameters": LLAMA3}),
    "qwen2": ("qwen2", "qwen2", {}),
    "qwen3 with wide heads": ("qwen3", "qwen2", {"head_dim": 32}),
}
"""By name: the architecture, llama.cpp's name for the cut, and what is special."""

_WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
_OTHERS = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def cuts(name: str) -> Any:
    """Make the pre-tokenizer that transformers has where llama.cpp has a name."""
    from tokenizers import Regex, pre_tokenizers

    words = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if name == "gpt-2":
        return words
    if name == "smollm":
        digits = pre_tokenizers.Digits(individual_digits=True)
        return pre_tokenizers.Sequence([digits, words])
    number = {"qwen2": r"\p{N}", "llama-bpe": r"\p{N}{1,3}"}[name]
    split = pre_tokenizers.Split(Regex(f"{_WORDS}{number}{_OTHERS}"), "isolated")
    letters = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return pre_tokenizers.Sequence([split, letters])


def save(folder: Path, name: str, **changes: Any) -> Path:
    """Save one of :data:`MODELS`, with some of its configuration changed."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    architecture, cut, special = MODELS[name]
    tokenizer = tiny_tokenizer(cuts(cut), ODD_TEXTS * 2, ignore_merges=cut == "llama-bpe")
    tokenizer.chat_template = TEMPLATE
    settings = {
        "vocab_size": len(tokenizer) + 3,  # rows that no token has, as many models have them
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
        "initializer_range": 0.3,
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        "tie_word_embeddings": False,
        **special,
        **changes,
    }
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(architecture, **settings))
        for key, each in model.named_parameters():
            if key.endswith("bias") or "norm" in key:  # else zeros and ones, whatever the order
                torch.nn.init.normal_(each, 1.0 if "norm" in key else 0.0, 0.2)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
