"""Compare the losses of preference training on a small case: what each makes of the same critic.

    python benchmarks/dpo_losses.py [--seeds 3] [--folder DIR]

For each seed a language model of 0.36 million parameters begins at random numbers and is fine-tuned
on the critiques of a teacher that lets half of all violations pass, and some of what is met not.
Six critiques of each of further responses are sampled from it, and pairs are made of them with a
teacher that is right. From these pairs it is trained with each loss. Responses are lists of words,
constraints forbid a kind of them, so code knows every verdict; explanations list what they find,
in several wordings. Prints positive, negative and mean F1 on held-out responses, in per cent, with
the coverage. Results in DIR are reused: what is finished there isn't run again.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from heedful import Constraint, Judgment, Message, Recording, Sample, Status
from heedful.critic.data import Expert, sample_critiques
from heedful.critic.data.pairs import Pairs
from heedful.critic.training import DpoSettings, SftSettings, train_dpo, train_sft
from heedful.judges import prompts
from heedful.models import LocalModel, Sampling

KINDS = {
    "colours": ("red", "blue", "green", "white", "black", "brown"),
    "animals": ("dog", "cat", "horse", "goat", "bird", "fish"),
    "plants": ("lily", "rose", "oak", "fern", "moss", "elm"),
    "tools": ("saw", "axe", "drill", "file", "plane", "rake"),
    "foods": ("bread", "rice", "soup", "cheese", "egg", "cake"),
    "clothes": ("hat", "coat", "sock", "glove", "scarf", "belt"),
}
OPENINGS = ("I look for", "Let me see the", "One by one the", "Reading for")
CLOSINGS = ("That is all", "Nothing else counts", "So it stands")
ERRORS = {True: 0.15, False: 0.5}
"""Share of wrong verdicts of the first teacher, on what is met and on what is not."""

TAUGHT, PREFERRED, HELD_OUT = 3000, 240, 150
SAMPLES = 6
PROMPT = "{{response}}\n{{checklist}}\n"
LOSSES: dict[str, dict[str, Any]] = {
    "plain": {"loss": "dpo"},
    "segments": {"loss": "segments"},
    "plain + SFT": {"loss": "dpo", "sft_weight": 0.2},
    "segments + SFT": {"loss": "segments", "sft_weight": 0.2},
}
TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>\n{{ message.content }}"
    "{% if message.role == 'assistant' %}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)


def main() -> None:
    """Train with all losses and all seeds, and print the table."""
    parser = argparse.ArgumentParser(description="Compare losses of preference training.")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=None)
    options = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        runs = [run(folder / f"seed-{seed}", seed) for seed in range(options.seeds)]
    print("| loss | positive F1 | negative F1 | mean F1 | coverage | mean F1 by seed |")
    print("| --- | ---: | ---: | ---: | ---: | --- |")
    for name in runs[0]:
        print(row(name, [each[name] for each in runs]))
    print(f"\n{options.seeds} seeds, {(time.monotonic() - began) / 60:.1f} minutes")


def run(folder: Path, seed: int) -> dict[str, dict[str, Any]]:
    """Make a critic and train it with each loss; return what each was measured to be."""
    folder.mkdir(parents=True, exist_ok=True)
    prompt_file = folder / "prompt.txt"
    prompt_file.write_text(PROMPT, encoding="utf-8")
    numbers = random.Random(seed)
    taught = [sample(f"t{at}", numbers, ERRORS) for at in range(TAUGHT)]
    preferred = [sample(f"p{at}", numbers, {}) for at in range(PREFERRED)]
    held_out = [sample(f"h{at}", numbers, {}) for at in range(HELD_OUT)]
    data = folder / "taught.jsonl"
    data.write_text("".join(f"{sample.model_dump_json()}\n" for sample in taught), encoding="utf-8")
    model = folder / "model"
    if not model.exists():
        save_model(model, taught, seed)
    shared: dict[str, Any] = {"prompt_file": prompt_file, "seed": seed, "gradient_accumulation": 1}
    settings = SftSettings(
        **shared, learning_rate=3e-3, max_steps=400, batch_size=16, eval_every=400, select="last"
    )
    sft = train_sft(data, folder / "sft", model=model, settings=settings, evaluation=held_out)
    pairs = folder / "pairs.jsonl"
    if not pairs.exists():
        prompt = prompts.make("plain", prompt_file=prompt_file)
        sampled = sample_critiques(
            preferred,
            expert=Expert(
                LocalModel(str(sft.folder), batch_size=100),
                prompt,
                Sampling(temperature=1.0, max_tokens=120),
            ),
            samples=SAMPLES,
            concurrency=100,
        )
        rows = [each.sample for each in sampled if each.sample is not None]
        Pairs(rows, prompt_file=prompt_file).write(pairs)
    reports = {"fine-tuned only": sft.report["held_out"]}
    for name, loss in LOSSES.items():
        chosen = DpoSettings(**shared, **loss, learning_rate=3e-4, batch_size=8, eval_every=100_000)
        output = folder / name.replace(" + ", "-")
        trained = train_dpo(pairs, output, model=sft.folder, settings=chosen, evaluation=held_out)
        reports[name] = trained.report["held_out"]
        print(f"seed {seed}, {row(name, [reports[name]])}", flush=True)
    return reports


def sample(name: str, numbers: random.Random, errors: dict[bool, float]) -> Sample:
    """Make a response with its checklist, a critique of it and the true verdicts."""
    used = numbers.sample(list(KINDS), 3)
    words = [numbers.choice(KINDS[numbers.choice(used)]) for _ in range(numbers.randint(3, 7))]
    constraints, judgments, labels = [], [], []
    for kind in numbers.sample(list(KINDS), 2):
        forbidden = [word for word in words if word in KINDS[kind]]
        met = not forbidden
        said = met != (numbers.random() < errors.get(met, 0.0))
        explanation = f"{numbers.choice(OPENINGS)} {kind} . {' '.join(forbidden) or 'none'} ."
        if numbers.random() < 1 / 2:
            explanation += f" {numbers.choice(CLOSINGS)} ."
        status = Status.MET if said else Status.UNMET
        constraints.append(Constraint(text=f"no {kind}", type=kind))
        judgments.append(Judgment(status=status, explanation=explanation))
        labels.append(met)
    text = prompts.make("plain").write(judgments, constraints)
    return Sample(
        id=name,
        conversation=(Message(role="user", content=f"Write words for {name}."),),
        checklist=tuple(constraints),
        response=" ".join(words),
        labels=tuple(labels),
        recording=Recording(prompt="plain", text=text),
    )


def save_model(folder: Path, samples: list[Sample], seed: int) -> None:
    """Save a model of random numbers, whose tokens are the words of the samples."""
    import torch
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    special = ["<|pad|>", "<|end|>", "<|user|>", "<|assistant|>", "<|unknown|>"]
    base = Tokenizer(models.WordLevel(unk_token="<|unknown|>"))  # noqa: S106 - no password
    base.pre_tokenizer = pre_tokenizers.Split(Regex(r"\n| ?[^\s]+"), behavior="isolated")
    base.decoder = decoders.Fuse()
    trainer = trainers.WordLevelTrainer(special_tokens=special, min_frequency=20)
    prompt = prompts.make("plain")
    texts = [str(sample.recording and sample.recording.text) for sample in samples]
    texts += [prompt.render(sample, sample.checklist)[0].content[-400:] for sample in samples]
    base.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=base, unk_token="<|unknown|>")  # noqa: S106
    tokenizer.add_special_tokens({"pad_token": "<|pad|>", "eos_token": "<|end|>"})
    tokenizer.chat_template = TEMPLATE
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=512,
        initializer_range=0.07,  # about 1/sqrt(width): with less it does not learn to copy
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def row(name: str, reports: list[dict[str, Any]]) -> str:
    """Write a line of the table: means over the seeds."""
    rates = ("f1_met", "f1_unmet", "mean_f1")
    values = {
        rate: [100 * (report["pooled"][rate]["value"] or 0.0) for report in reports]
        for rate in rates
    }
    means = " | ".join(f"{statistics.fmean(values[rate]):.1f}" for rate in rates)
    coverage = 100 * statistics.fmean(report["coverage"] for report in reports)
    seeds = ", ".join(f"{value:.1f}" for value in values["mean_f1"])
    return f"| {name} | {means} | {coverage:.1f} % | {seeds} |"


if __name__ == "__main__":
    main()
