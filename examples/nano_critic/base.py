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
from heedful.training import SftSettings, train_sft
from heedful.wires import Plain
from tiny import save_random_model

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from heedful.wires import Wire

__all__ = ["make_base", "make_random"]


def make_random(folder: Path, wire: Wire, *, size: str) -> None:
    """Make a model with random weights, and a tokenizer that knows all words of the world."""
    save_random_model(folder, _texts(wire), size=size, seed=0)


def make_base(  # noqa: PLR0913 - the parts of a training
    folder: Path, model: Path, wire: Wire, *, rows: int, steps: int, concluded: bool
) -> None:
    """Train the base model, first to describe, then to conclude.

    Args:
        folder: where it goes; its data lies beside.
        model: what it is trained from.
        wire: whose prompts it learns to read.
        rows: descriptions to learn from.
        steps: batches of 32 of them.
        concluded: whether descriptions end on whether what was seen is what was asked for.
    """
    data = folder.with_suffix(".jsonl")
    with data.open("w", encoding="utf-8") as file:
        file.writelines(
            json.dumps(row) + "\n" for row in _descriptions(rows, wire, concluded=concluded)
        )
    settings = SftSettings(
        learning_rate=2e-3 if concluded else 3e-3,
        max_steps=steps,
        batch_size=32,
        gradient_accumulation=1,
    )
    train_sft(data, folder, model=model, settings=settings)


def _descriptions(number: int, wire: Wire, *, concluded: bool) -> Iterator[dict[str, Any]]:
    """Describe random responses in view of random checklists, in the layout of TRL."""
    rng = random.Random("concluding" if concluded else "reading")
    for at in range(number):
        texts = world.draw_checklist(rng)
        response = world.draw_response(rng, texts, tries=1)
        found = []
        for one in map(world.constraint, texts):
            words = world.relevant(one, response)
            end = f" ; {CONCLUDED[world.holds(one, words)]}" if concluded else ""
            found.append(worded(one, words, rng) + end)
        blocks = [f"<c{k}>\n{text}\n</c{k}>" for k, text in enumerate(found, start=1)]
        yield {
            "id": f"reading-{at}",
            "wire": wire.name,
            "prompt": _prompt(texts, response, wire),
            "completion": [{"role": "assistant", "content": "\n\n".join(blocks)}],
        }


def _prompt(texts: list[str], response: str, wire: Wire) -> list[dict[str, Any]]:
    checklist = tuple(Constraint(text=text) for text in texts)
    sample = Sample(id="", checklist=checklist, response=response)
    return [message.model_dump() for message in wire.render(sample, checklist)]


def _texts(wire: Wire) -> Iterator[str]:
    """Yield texts with all words that there are."""
    rng = random.Random("words")
    for _ in range(2000):
        texts = world.draw_checklist(rng)
        response = world.draw_response(rng, texts, tries=1)
        yield world.instruction(texts)[0].content
        yield _prompt(texts, response, wire)[0]["content"]
        constraints = [world.constraint(text) for text in texts]
        judgments = [
            Judgment(
                status=rng.choice((Status.MET, Status.UNMET)),
                explanation=worded(one, world.relevant(one, response), rng),
            )
            for one in constraints
        ]
        yield Plain().write(judgments, constraints)
        yield Plain().write(judgments[:1], constraints[:1])
