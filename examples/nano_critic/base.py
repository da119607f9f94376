"""The base model: it can read responses and describe them, and has never judged one.

It stands for the pretrained model that a critic is usually made from. It learns from descriptions
that are always right and that give no verdict: how strict to be is what the experts teach.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import world
from experts import CONCLUDED, worded
from heedful import Constraint, Judgment, Sample, Status
from heedful.critic.training import SftSettings, train_sft
from heedful.judges.prompts.plain import Plain
from tiny import save_random_model

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from heedful.judges.prompts import JudgePrompt

__all__ = ["comparisons", "descriptions", "make_random", "teach"]


def make_random(folder: Path, prompt: JudgePrompt, *, size: str) -> None:
    """Make a model with random weights, and a tokenizer that knows all words of the world."""
    save_random_model(folder, _texts(prompt), size=size, seed=0)


def teach(
    folder: Path,
    model: Path,
    rows: Iterable[dict[str, Any]],
    *,
    learning_rate: float,
    steps: int,
    batch_size: int = 32,
) -> None:
    """Train a model on rows in the layout of TRL, which are written beside it."""
    data = folder.with_suffix(".jsonl")
    with data.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    settings = SftSettings(
        prompt="plain",  # rows that named it would have to decide each constraint
        learning_rate=learning_rate,
        max_steps=steps,
        batch_size=batch_size,
        gradient_accumulation=1,
    )
    train_sft(data, folder, model=model, settings=settings)


def descriptions(number: int, prompt: JudgePrompt, *, concluded: bool) -> Iterator[dict[str, Any]]:
    """Describe random responses in view of random checklists.

    Args:
        number: how many.
        prompt: the prompt that is answered.
        concluded: whether descriptions end on whether what was seen is what was asked for.
    """
    rng = random.Random("concluding" if concluded else "reading")
    for at in range(number):
        texts = world.draw_checklist(rng)
        response = world.draw_response(rng, texts, tries=1)
        blocks = _numbered(_blocks(texts, response, rng, concluded=concluded))
        yield _row(at, _prompt(texts, response, prompt), "\n\n".join(blocks))


def comparisons(number: int, prompt: JudgePrompt, *, in_context: bool) -> Iterator[dict[str, Any]]:
    """Conclude from descriptions that are given.

    In whole descriptions the conclusions are one word in fifteen, and are learned slowly.

    Args:
        number: how many.
        prompt: stands before the description, where it is in context.
        in_context: whether the description stands behind a prompt and other descriptions.
    """
    rng = random.Random(f"comparing {in_context}")
    for at in range(number):
        texts = world.draw_checklist(rng)
        response = world.draw_response(rng, texts, tries=1)
        last = rng.randrange(len(texts))
        blocks = _blocks(texts[: last + 1], response, rng, concluded=True)
        description, _, conclusion = blocks[last].rpartition(" ")
        if in_context:
            before = [_prompt(texts, response, prompt)[0]["content"], *_numbered(blocks[:last])]
            description = "\n\n".join([*before, f"<c{last + 1}>\n{description}"])
        yield _row(at, [{"role": "user", "content": description}], conclusion)


def _blocks(texts: list[str], response: str, rng: random.Random, *, concluded: bool) -> list[str]:
    """Describe a response in view of each constraint."""
    blocks = []
    for constraint in map(world.constraint, texts):
        words = world.relevant(constraint, response)
        end = f" ; {CONCLUDED[world.holds(constraint, words)]}" if concluded else ""
        blocks.append(worded(constraint, words, rng) + end)
    return blocks


def _numbered(blocks: list[str]) -> list[str]:
    return [f"<c{number}>\n{text}\n</c{number}>" for number, text in enumerate(blocks, start=1)]


def _row(at: int, prompt: list[dict[str, Any]], completion: str) -> dict[str, Any]:
    said = [{"role": "assistant", "content": completion}]
    return {"id": f"reading-{at}", "prompt": prompt, "completion": said}


def _prompt(texts: list[str], response: str, prompt: JudgePrompt) -> list[dict[str, Any]]:
    checklist = tuple(Constraint(text=text) for text in texts)
    sample = Sample(id="", checklist=checklist, response=response)
    return [message.model_dump() for message in prompt.render(sample, checklist)]


def _texts(prompt: JudgePrompt) -> Iterator[str]:
    """Yield texts with all words that there are."""
    rng = random.Random("words")
    yield str(world.LENGTHS.stop)  # a noisy expert may count a word more than there are
    for _ in range(2000):
        texts = world.draw_checklist(rng)
        response = world.draw_response(rng, texts, tries=1)
        yield world.instruction(texts)[0].content
        yield _prompt(texts, response, prompt)[0]["content"]
        constraints = [world.constraint(text) for text in texts]
        judgments = [
            Judgment(
                status=rng.choice((Status.MET, Status.UNMET)),
                explanation=worded(constraint, world.relevant(constraint, response), rng),
            )
            for constraint in constraints
        ]
        yield Plain().write(judgments, constraints)
        yield Plain().write(judgments[:1], constraints[:1])
