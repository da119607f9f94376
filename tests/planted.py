"""Experts that err on purpose: rows whose true verdicts are known, and models that judge them.

Each constraint of each row has a cause, or none, by which the expert's judgments on it go wrong:

- bias: all of its critiques are lenient or strict in the same way, and say so;
- miscount: all of them have a wrong number of words or sentences, and the verdict that follows;
- hallucination: one critique saw something that is not there;
- phrasing: all verdicts are right, and one explanation is badly put.

The verifiers find biases at a known rate and fault sound judgments at another; they cannot count,
and what was hallucinated they believe. So what a stage finds can be counted against what is there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from heedful import Constraint, Message, Sample
from heedful.core.errors import ModelError
from heedful.critic.data import Filtering
from heedful.jobs.rows import Generated
from heedful.judges.prompts import unfence
from heedful.models import ScriptedModel

CAUSES = ("bias", "miscount", "hallucination", "phrasing")

SENTENCE = "old boats rest near quiet stones while grey gulls watch cold"
WORDS = SENTENCE.split()
NOUNS = ("anchor", "lantern", "compass", "ladder", "kettle")
OPENINGS = ("Going through the response,", "Reading the response,", "In the response,")

GARBLED = "hmm ok!! whatever, see above, it is how it is"
"""What stands in the place of an explanation that is badly put."""

BIASED = "comes out by its spirit, in my view"
MISCOUNTED = "was counted, and there are about a dozen"
HALLUCINATED = "is settled by the last line there"

_COUNTED = re.compile(r"(\d+) (words|sentences)")
_LIMIT = re.compile(r"Use at most (\d+) words|Write exactly (\d+) sentences")


def chance(*about: object) -> float:
    """Draw a number from 0 to 1 that depends on nothing but what it is about."""
    digest = blake2b(repr(about).encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64


@dataclass(frozen=True)
class Population:
    """How often what goes wrong."""

    cause: float = 0.1  # the share of constraints that have each cause, where it can have one
    finds: float = 0.9  # the share of biases that a verifier finds
    alarms: float = 0.02  # the share of sound judgments that a verifier faults
    ignores: float = 0.05  # the share of revisions that keep to the wrong number
    faults: float = 0.0  # the share of calls that fail, and of replies that are none
    seed: int = 0
    truth: dict[tuple[str, int], bool] = field(default_factory=dict)
    causes: dict[tuple[str, int], str] = field(default_factory=dict)

    def samples(self, count: int) -> list[Sample]:
        """Make rows; what is true of them is kept in ``truth`` and ``causes``."""
        return [self._sample(number) for number in range(count)]

    def _sample(self, number: int) -> Sample:
        key = str(number)
        length = 20 + int(30 * self._chance(key, "length"))
        words = [WORDS[int(len(WORDS) * self._chance(key, at))] for at in range(length)]
        noun = NOUNS[number % len(NOUNS)]
        mentioned = self._chance(key, "noun") < 0.7
        if mentioned:
            words[5] = noun
        sentences = 3 if self._chance(key, "sentences") < 0.6 else 4
        size = length // sentences
        parts = [words[size * at : size * (at + 1)] for at in range(sentences - 1)]
        parts.append(words[size * (sentences - 1) :])
        text = " ".join(f"{' '.join(part).capitalize()}." for part in parts)
        short = self._chance(key, "limit") < 0.7
        limit = length + 3 if short else length - 3
        checklist = (
            Constraint(text=f"Write a note on harbour {number}", type="content"),
            Constraint(text=f"Use at most {limit} words", type="numerical"),
            Constraint(text="Write exactly 3 sentences", type="numerical"),
            Constraint(text=f"Mention the {noun}", type="content"),
            Constraint(text="Keep a calm tone", type="stylistic"),
        )
        calm = self._chance(key, "calm") < 0.8
        for at, met in enumerate((True, short, sentences == 3, mentioned, calm)):
            self.truth[key, at] = met
            self.causes[key, at] = self._cause(key, at, countable=at in (1, 2))
        prompt = "; ".join(constraint.text for constraint in checklist) + "."
        return Sample(
            id=key,
            conversation=(Message(role="user", content=prompt),),
            checklist=checklist,
            response=text,
        )

    def _cause(self, key: str, at: int, *, countable: bool) -> str:
        drawn = self._chance(key, at, "cause")
        # What can be counted is miscounted; biases are about the rest.
        possible = ("miscount" if countable else "bias", "hallucination", "phrasing")
        which = int(drawn / self.cause) if self.cause else len(possible)
        return possible[which] if which < len(possible) else ""

    def _chance(self, *about: object) -> float:
        return chance(self.seed, *about)

    # --- the models ----------------------------------------------------------------------------

    def expert(self, **options: Any) -> ScriptedModel:
        """Make the expert, who critiques and revises; options are those of a scripted model."""
        return self._model("expert", **options)

    def verifier(self, name: str, **options: Any) -> ScriptedModel:
        """Make a verifier, who extracts too."""
        return self._model(name, **options)

    def _model(self, name: str, **options: Any) -> ScriptedModel:
        def reply(messages: Sequence[Message], draw: int) -> str:
            prompt = messages[-1].content
            if self._chance(name, prompt, draw, "fault") < self.faults:
                raise ModelError("HTTP 503", where=name)
            return self.answer(name, prompt, draw)

        return ScriptedModel(reply, name=name, **options)

    def answer(self, name: str, prompt: str, draw: int = 0) -> str:
        """Answer a prompt, as the model of that name."""
        labels = [item.label for item in unfence(prompt)]
        if "CONSTRAINT 1" in labels and "Counted exactly: " not in prompt:
            return _blocks("PART: WHOLE" for label in labels if label.startswith("CONSTRAINT"))
        if not {"JUDGMENT 1", "CONSTRAINT 1"} & {*labels}:
            return self._critique(_key(prompt), draw)
        return self._revision(prompt) if name == "expert" else self._opinions(name, prompt)

    def _critique(self, key: str, draw: int) -> str:
        if self._chance(key, draw, "prose") < self.faults:
            return "I would rather talk about boats."
        number = draw % 1000  # asked again, it says the same
        verdicts = (self.judgment(key, at, number) for at in range(5))
        return _blocks(f"{text}\nVERDICT: {'MET' if met else 'UNMET'}" for met, text in verdicts)

    def wrong(self, key: str, at: int, draw: int) -> bool:
        """Say whether the cause of a constraint shows in a draw, from 0."""
        cause = self.causes[key, at]
        if cause in ("hallucination", "phrasing"):
            return draw == int(5 * self._chance(key, at, "draw"))
        return bool(cause)

    def judgment(self, key: str, at: int, draw: int) -> tuple[bool, str]:
        """Say what the expert judges in a draw: the verdict and the explanation."""
        met, cause = self.truth[key, at], self.causes[key, at]
        opening = OPENINGS[draw % len(OPENINGS)]
        wrong = self.wrong(key, at, draw)
        if not wrong:
            result = "what it asks for is there" if met else "what it asks for is missing"
            return met, f"{opening} point {at + 1} was looked at closely: {result}."
        match cause:
            case "bias":
                return not met, f"{opening} point {at + 1} {BIASED}."
            case "miscount":
                return not met, f"{opening} point {at + 1} {MISCOUNTED}."
            case "hallucination":
                return not met, f"{opening} point {at + 1} {HALLUCINATED}."
        return met, GARBLED

    def _revision(self, prompt: str) -> str:
        return _blocks(self._revised(_key(prompt), text) for text in _judgments(prompt))

    def _revised(self, key: str, text: str) -> str:
        """Write a judgment anew by what was counted, or keep to the wrong number."""
        result = int(_COUNTED.findall(text.partition("Counted exactly: ")[2])[0][0])
        at_most, exactly = _LIMIT.findall(text)[0]
        met = result <= int(at_most) if at_most else result == int(exactly)
        if MISCOUNTED in text and self._chance(key, text, "ignores") < self.ignores:
            met = "Verdict: MET" in text
        said = (
            f"{OPENINGS[result % 3]} there are {result} of what is limited, so that is how it is."
        )
        return f"{said}\nVERDICT: {'MET' if met else 'UNMET'}"

    def _opinions(self, name: str, prompt: str) -> str:
        return _blocks(self._opinion(name, prompt, text) for text in _judgments(prompt))

    def _opinion(self, name: str, prompt: str, text: str) -> str:
        biased = BIASED in text
        drawn = self._chance(name, _key(prompt), text)
        good = drawn >= (self.finds if biased else self.alarms)
        return f"Looked again.\nEXPLANATION: {'CORRECT' if good else 'INCORRECT'}\nVERDICT: FOLLOWS"


def _blocks(bodies: Iterator[str] | Any) -> str:
    return "\n\n".join(f"<c{k}>\n{body}\n</c{k}>" for k, body in enumerate(bodies, start=1))


def _key(prompt: str) -> str:
    result = re.search(r"Write a note on harbour (\d+)", prompt)
    assert result
    return result[1]


def _judgments(prompt: str) -> list[str]:
    labels = ("JUDGMENT", "CONSTRAINT")
    return [item.text for item in unfence(prompt) if item.label.startswith(labels)]


# --- what became of it --------------------------------------------------------------------------


@dataclass
class Catch:
    """What became of the judgments with one cause, or with none."""

    judgments: int = 0  # how many there were
    stages: Counter[str] = field(default_factory=Counter)  # dropped or put right by each stage
    missed: int = 0  # went through as they were


def catches(filtering: Filtering, population: Population) -> dict[str, Catch]:
    """Count by cause what each stage caught; under ``sound``, what it dropped or spoilt."""
    result = {name: Catch() for name in (*CAUSES, "sound")}
    for row in (*filtering, *filtering.dropped()):
        for at, constraint in enumerate(_constraints(row)):
            for judgment in constraint["judgments"]:
                wrong = population.wrong(row.id, at, judgment["sample_index"] - 1)
                catch = result[population.causes[row.id, at] if wrong else "sound"]
                catch.judgments += 1
                truth = "met" if population.truth[row.id, at] else "unmet"
                stage = _caught(judgment, truth, put_right=wrong)
                if catch is result["phrasing"] and not stage and "was" in judgment:
                    stage = "rules"  # written anew
                if stage == "explanation" and catch is not result["phrasing"]:
                    stage = ""  # one of several was chosen: that is no fault of the others
                if stage:
                    catch.stages[stage] += 1
                else:
                    catch.missed += 1
    return result


def wrong_at_the_end(filtering: Filtering, population: Population) -> tuple[int, int, int]:
    """Count the final judgments, those with a wrong verdict, and those badly put."""
    total = wrong = garbled = 0
    for row in filtering:
        for at, constraint in enumerate(_constraints(row)):
            total += 1
            truth, cause = population.truth[row.id, at], population.causes[row.id, at]
            wrong += (constraint["status"] == "met") is not truth
            chosen = next(item for item in constraint["judgments"] if "dropped" not in item)
            shows = population.wrong(row.id, at, chosen["sample_index"] - 1) and "was" not in chosen
            garbled += cause == "phrasing" and shows
    return total, wrong, garbled


def _constraints(row: Generated) -> list[dict[str, Any]]:
    assert row.sample is not None
    constraints: list[dict[str, Any]] = (row.sample.model_extra or {})["filtering"]["constraints"]
    return constraints


def _caught(judgment: dict[str, Any], truth: str, *, put_right: bool) -> str:
    """Name the stage that dropped a judgment, or that changed it: to the truth, or away from it."""
    changed = judgment.get("was") not in (None, judgment["status"])
    if changed and (judgment["status"] == truth) is put_right:
        return "rules"
    return str(judgment.get("dropped", {}).get("stage", ""))
