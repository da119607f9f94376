"""A small world for preference training: critiques of eight constraints, and teachers that err.

A response is a list of words, a constraint forbids a kind of them, and an explanation lists the
words of that kind, in one of many wordings. So code knows the truth of each judgment, and how far
a teacher is from it is written here.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from heedful import Constraint, Judgment, Message, Recording, Sample, Status
from heedful.judges import prompts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

KINDS = {
    "colours": ("red", "blue", "green", "white", "black"),
    "animals": ("dog", "cat", "horse", "goat", "bird"),
    "plants": ("lily", "rose", "oak", "fern", "moss"),
    "tools": ("saw", "axe", "drill", "file", "rake"),
    "foods": ("bread", "rice", "soup", "cheese", "cake"),
    "clothes": ("hat", "coat", "sock", "glove", "belt"),
    "metals": ("iron", "gold", "zinc", "tin", "lead"),
    "games": ("chess", "golf", "dice", "darts", "polo"),
    "rooms": ("hall", "attic", "porch", "study", "barn"),
    "weather": ("rain", "snow", "fog", "hail", "wind"),
}
CONSTRAINTS = 8
"""Constraints of a checklist, out of the ten that there are."""

OPENINGS = (
    "i look for {kind} and find",
    "{kind} in the list are",
    "reading for {kind} there is",
    "of {kind} i see",
    "the words that are {kind} here",
)
REMARKS = (
    "the tone is friendly",
    "the words are simple",
    "it reads well",
    "this is a short text",
    "nothing else counts here",
)
REMARKED = 0.5
"""Share of explanations with a remark that has nothing to do with the verdict."""

TEXT = "{{response}}\n{{checklist}}"


@dataclass(frozen=True)
class Teacher:
    """Who writes critiques, and how often they are wrong.

    Attributes:
        blind: kinds that are overlooked more often than others.
        overlooks_blind: the chance that words of these kinds are all overlooked.
        overlooks: that words of another kind are.
        imagines: that a word of the kind is seen where there is none.
        opposite: that the verdict contradicts the explanation.
    """

    blind: tuple[str, ...] = ()
    overlooks_blind: float = 0.0
    overlooks: float = 0.0
    imagines: float = 0.0
    opposite: float = 0.0

    def judge(self, words: Sequence[str], kind: str, numbers: random.Random) -> Judgment:
        """Judge whether there are no words of a kind."""
        found = [word for word in words if word in KINDS[kind]]
        chance = self.overlooks_blind if kind in self.blind else self.overlooks
        if found and numbers.random() < chance:
            found = []
        elif not found and numbers.random() < self.imagines:
            found = [numbers.choice(KINDS[kind])]
        met = (not found) != (numbers.random() < self.opposite)
        said = numbers.choice(OPENINGS).format(kind=kind)
        explanation = f"{said} {' '.join(found) or 'none'}"
        if numbers.random() < REMARKED:
            explanation += f" ; {numbers.choice(REMARKS)}"
        return Judgment(status=Status.MET if met else Status.UNMET, explanation=explanation)


NOISY = Teacher(("metals", "games"), 0.6, overlooks=0.06, imagines=0.02, opposite=0.03)
"""Writes what is fine-tuned on. What two kinds hide, it lets pass more often than not."""

EXPERT = Teacher((), 0.0, overlooks=0.03, imagines=0.01, opposite=0.01)
"""Writes what pairs are made by: noise, too, but less, and no blind spot."""

TRUTH = Teacher()


def samples(name: str, number: int, teacher: Teacher | None, seed: int) -> Iterator[Sample]:
    """Draw responses with their true verdicts, and a teacher's critique, if there is one.

    Args:
        name: of the samples; other names are other samples.
        number: how many.
        teacher: who writes the critiques; with none there are only labels.
        seed: of everything drawn.
    """
    numbers = random.Random(f"{name} {seed}")
    for at in range(number):
        used = numbers.sample(list(KINDS), numbers.randint(3, 7))
        words = [numbers.choice(KINDS[numbers.choice(used)]) for _ in range(numbers.randint(7, 11))]
        kinds = numbers.sample(list(KINDS), CONSTRAINTS)
        constraints = tuple(Constraint(text=f"no {kind}", type=kind) for kind in kinds)
        recording = None
        if teacher:
            judgments = [teacher.judge(words, kind, numbers) for kind in kinds]
            critique = prompts.make("plain").write(judgments, constraints)
            recording = Recording(prompt="plain", text=critique)
        yield Sample(
            id=f"{name}-{at}",
            conversation=(Message(role="user", content="write words"),),
            checklist=constraints,
            response=" ".join(words),
            labels=tuple(not any(word in KINDS[kind] for word in words) for kind in kinds),
            recording=recording,
        )


def descriptions(number: int, prompt_file: Path) -> Iterator[dict[str, Any]]:
    """Write rows that a base model learns to describe from: right, and without any verdict."""
    prompt = prompts.make("plain", prompt_file=prompt_file)
    for sample in samples("base", number, TRUTH, 0):
        judgments = prompt.parse(_critique(sample), sample.checklist)
        blocks = [
            f"<c{at}>\n{judgment.explanation}\n</c{at}>"
            for at, judgment in enumerate(judgments, start=1)
        ]
        yield {
            "id": sample.id,
            "prompt": [each.model_dump() for each in prompt.render(sample, sample.checklist)],
            "completion": [{"role": "assistant", "content": "\n\n".join(blocks)}],
        }


def texts(number: int, prompt_file: Path) -> Iterator[str]:
    """Write texts with all words that there are."""
    prompt = prompts.make("plain", prompt_file=prompt_file)
    for sample in samples("words", number, NOISY, 0):
        yield prompt.render(sample, sample.checklist)[0].content
        yield _critique(sample)
    for row in descriptions(number, prompt_file):
        yield row["completion"][0]["content"]


def _critique(sample: Sample) -> str:
    return (sample.recording.text if sample.recording else None) or ""
