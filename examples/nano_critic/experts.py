"""Experts and verifiers from a script: models that err in ways, and as often, as is written here.

They answer the prompts that heedful's own commands send, from what stands in them. Which errors
they make is chosen by the prompt and the number of the sample, so the same question always gets the
same answer.
"""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Any

import world
from heedful import Judgment, Status
from heedful.judges.prompts import make, unfence
from heedful.models import Completion, Sampling

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful import Constraint, Message

__all__ = ["CONCLUDED", "RATES", "Expert", "Verifier", "worded"]

RATES = {
    # The expert's errors, in each judgment. The first is a bias, which no vote takes away.
    "lets pass what fails by one word": 0.7,
    "overlooks a word, or counts a wrong one": 0.1,
    "concludes the opposite": 0.05,
    "does not count aloud": 0.15,
    "remarks on something else": 0.4,
    # When it is to correct a judgment.
    "takes over the true count": 0.9,
    # The verifiers, of which there are two.
    "sees a wrong explanation": 0.5,
    "sees a wrong explanation of a length": 0.15,
    "sees a wrong conclusion": 0.85,
    "faults what is right": 0.04,
}
"""How often, 0 to 1."""

REMARKS = (
    "the tone is friendly ;",
    "well written ;",
    "the words are simple ;",
    "nice to read ;",
    "a short text ;",
)
COUNTED = (
    "{listing} so {total} {kind} and {limit} asked",
    "i count {listing} which makes {total} {kind} ; the limit is {limit}",
    "{kind} here : {listing} ; in all {total} {kind} for {limit}",
)
UNCOUNTED = ("{total} {kind} and {limit} asked", "it has {total} {kind} for {limit}")
SEEN = (
    "the {edge} is {word} of {seen} and {kind} asked",
    "{word} stands at the {edge} ; it is of {seen} ; asked are {kind}",
    "at the {edge} comes {word} of {seen} for {kind}",
)

CONCLUDED = {True: "well", False: "no"}
"""What an explanation ends on, by what it says of the constraint."""

_JUDGMENT = re.compile(
    r"Constraint: (?P<text>.*)\nExplanation: (?P<explanation>.*)\nVerdict: (?P<verdict>.*)"
    r"(?:\nCounted exactly: (?P<counted>\d+) words.*)?"
)


class Scripted:
    """A model whose answers are computed from the prompt: all that heedful needs of a model."""

    def __init__(self, name: str, seed: int) -> None:
        """Name it; the seed stands for who it is."""
        self.name = name
        self.seed = seed

    @property
    def config(self) -> Mapping[str, Any]:
        """All that its answers depend on: other rates request other answers."""
        return {"model": self.name, "seed": self.seed, "rates": RATES}

    async def generate(
        self,
        messages: Sequence[Message],
        sampling: Sampling,  # noqa: ARG002 - whatever it is asked for
        *,
        sample: int = 0,
    ) -> Completion:
        """Answer the last message."""
        prompt = messages[-1].content
        rng = random.Random(f"{self.name} {self.seed} {sample} {prompt}")
        return Completion(text=self.answer(unfence(prompt), rng), finish_reason="stop")

    def answer(self, texts: Sequence[tuple[str, str]], rng: random.Random) -> str:
        """Answer a prompt, of which the labelled texts between fences are given."""
        raise NotImplementedError

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""


class Expert(Scripted):
    """Judges checklists, and corrects judgments by counts."""

    def answer(self, texts: Sequence[tuple[str, str]], rng: random.Random) -> str:
        """Write a critique as heedful's plain prompt asks for it."""
        response = next(text for label, text in texts if label == "RESPONSE")
        earlier = [judgment for _, text in texts if (judgment := _JUDGMENT.fullmatch(text))]
        if earlier:
            checklist = [world.constraint(judgment["text"]) for judgment in earlier]
            judgments = [_corrected(judgment, response, rng) for judgment in earlier]
        else:
            listed = next(text for label, text in texts if label == "CHECKLIST").splitlines()
            checklist = [world.constraint(line.partition(" ")[2]) for line in listed]
            judgments = [_judged(constraint, response, rng) for constraint in checklist]
        return make("plain").write(judgments, checklist)


class Verifier(Scripted):
    """Looks over judgments: is the explanation so, and does the verdict follow from it."""

    def answer(self, texts: Sequence[tuple[str, str]], rng: random.Random) -> str:
        """Answer both questions on each judgment."""
        response = next(text for label, text in texts if label == "RESPONSE")
        given = [judgment for _, text in texts if (judgment := _JUDGMENT.fullmatch(text))]
        blocks = []
        for number, judgment in enumerate(given, start=1):
            constraint = world.constraint(judgment["text"])
            said = _read(constraint, judgment["explanation"])
            follows = world.holds(constraint, said) == (judgment["verdict"] == "MET")
            long = " of a length" if constraint.type == "length" else ""
            right = _agree(constraint, said, world.relevant(constraint, response))
            faults = not right and _happens(rng, f"sees a wrong explanation{long}")
            faults |= right and _happens(rng, "faults what is right")
            opposes = not follows and _happens(rng, "sees a wrong conclusion")
            blocks.append(
                f"<c{number}>\nEXPLANATION: {'INCORRECT' if faults else 'CORRECT'}\n"
                f"VERDICT: {'DOES NOT FOLLOW' if opposes else 'FOLLOWS'}\n</c{number}>"
            )
        return "\n".join(blocks)


def _happens(rng: random.Random, what: str) -> bool:
    return rng.random() < RATES[what]


def _kind(constraint: Constraint) -> str:
    return constraint.text.split()[-1]


def _misread(constraint: Constraint, response: str, rng: random.Random) -> list[str]:
    """Return the words as a careless reader sees them: a wrong one, one too few or one too many."""
    words = response.split()
    if constraint.type == "edge":
        return [rng.choice(words)]
    right = world.relevant(constraint, response)
    if right and rng.random() < 0.5:  # noqa: PLR2004 - one half
        del right[rng.randrange(len(right))]
        return right
    extra = rng.choice(world.KINDS.get(_kind(constraint), words))
    right.insert(rng.randint(0, len(right)), extra)
    return right


def _judged(constraint: Constraint, response: str, rng: random.Random) -> Judgment:
    """Judge as an expert does."""
    words = world.relevant(constraint, response)
    if world.near_miss(constraint, response) and _happens(rng, "lets pass what fails by one word"):
        # It sees what it wishes to see; where it does not, it closes its eyes to what it sees.
        wrong = _misread(constraint, response, rng)
        return _judgment(
            constraint, wrong if world.holds(constraint, wrong) else words, rng, met=True
        )
    if _happens(rng, "overlooks a word, or counts a wrong one"):
        words = _misread(constraint, response, rng)
    opposite = _happens(rng, "concludes the opposite")
    return _judgment(constraint, words, rng, met=world.holds(constraint, words) ^ opposite)


def _corrected(earlier: re.Match[str], response: str, rng: random.Random) -> Judgment:
    """Write a judgment on a length again with the given count, or as it was."""
    constraint = world.constraint(earlier["text"])
    if earlier["counted"] is None or not _happens(rng, "takes over the true count"):
        status = Status.MET if earlier["verdict"] == "MET" else Status.UNMET
        return Judgment(status=status, explanation=earlier["explanation"])
    words = response.split()[: int(earlier["counted"])]
    return _judgment(constraint, words, rng, met=world.holds(constraint, words))


def _judgment(
    constraint: Constraint, words: list[str], rng: random.Random, *, met: bool
) -> Judgment:
    explanation = f"{worded(constraint, words, rng)} ; {CONCLUDED[met]}"
    return Judgment(status=Status.MET if met else Status.UNMET, explanation=explanation)


def worded(constraint: Constraint, words: Sequence[str], rng: random.Random) -> str:
    """Say what was seen in view of a constraint, in one of many ways.

    Args:
        constraint: the constraint.
        words: those that decide it, as somebody sees them.
        rng: draws the way.
    """
    if constraint.type == "edge":
        edge = "beginning" if constraint.text.startswith("begin") else "end"
        form = rng.choice(SEEN)
        said = {"edge": edge, "word": words[0], "seen": world.kind_of(words[0])}
    else:
        form = rng.choice(UNCOUNTED if _happens(rng, "does not count aloud") else COUNTED)
        limit = " ".join(constraint.text.split()[1:-1])
        said = {"listing": world.listed(words), "total": str(len(words)), "limit": limit}
    explanation = form.format(kind=_kind(constraint), **said)
    if _happens(rng, "remarks on something else"):
        explanation = f"{rng.choice(REMARKS)} {explanation}"
    return explanation


def _read(constraint: Constraint, explanation: str) -> list[str]:
    """Return words that would decide a constraint as an explanation says that they do."""
    if constraint.type == "edge":
        return [word for word in explanation.split() if world.kind_of(word)]
    total = re.search(rf"(\d+) {_kind(constraint)}", explanation)
    # Only how many they are counts.
    return ["word"] * int(total[1]) if total else []


def _agree(constraint: Constraint, said: Sequence[str], true: Sequence[str]) -> bool:
    """Say whether what an explanation says is so."""
    return said == true if constraint.type == "edge" else len(said) == len(true)
