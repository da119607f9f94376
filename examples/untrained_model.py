"""Make a tiny language model, so that training can be tried without a download or a GPU.

    python examples/untrained_model.py tiny      # writes the folder tiny

It has two layers and random weights: it reads and writes any text, and knows nothing. Training it
for a minute teaches it nothing either; it shows the commands and their reports.
"""

from __future__ import annotations

import argparse
from pathlib import Path

CONTEXT = 4096
TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>"
    "{% if message.role == 'assistant' %}"
    "{% generation %}{{ message.content }}<|end|>{% endgeneration %}"
    "{% else %}{{ message.content }}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
ROLES = ("system", "user", "assistant")
TEXT = "Judge the response against every constraint. VERDICT: MET VERDICT: UNMET"


def save(folder: Path) -> None:
    """Write the model and its tokenizer, which knows all bytes."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    base = Tokenizer(models.BPE())
    base.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    base.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<|pad|>", "<|end|>", *(f"<|{role}|>" for role in ROLES)],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    base.train_from_iterator([TEXT], trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=base, model_max_length=CONTEXT)
    tokenizer.add_special_tokens({"pad_token": "<|pad|>", "eos_token": "<|end|>"})
    tokenizer.chat_template = TEMPLATE
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            max_position_embeddings=CONTEXT,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def main() -> None:
    """Write the model into the folder that is named."""
    parser = argparse.ArgumentParser(description="Make a tiny language model.")
    parser.add_argument("folder", type=Path)
    save(parser.parse_args().folder)


if __name__ == "__main__":
    main()
