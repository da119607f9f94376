"""A world so small that code knows the truth of every constraint in it.

A response is a few words of four kinds. A constraint limits how many words, or words of a kind, it
may have, or says of which kind its first or last word must be. The constraints' texts are all that
a critic gets to see; the checks made of them, with verifiers of our own, are the truth.
"""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Any

import heedful
from heedful import Check, Constraint, Message, Sample, verify

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "KINDS",
    "LENGTHS",
    "WORDS",
    "constraint",
    "draw_checklist",
    "draw_response",
    "holds",
    "instruction",
    "kind_of",
    "listed",
    "met",
    "near_miss",
    "of_kind",
    "relevant",
    "samples",
]

KINDS = {
    "animals": ("dog", "cat", "fox", "owl", "hen"),
    "foods": ("rice", "bread", "soup", "plum", "cake"),
    "colours": ("red", "blue", "green", "pink", "grey"),
    "tools": ("saw", "rake", "drill", "pliers", "chisel"),
}
"""The words, by kind; ``words`` in a constraint means all of them."""

WORDS = tuple(word for words in KINDS.values() for word in words)

LENGTHS = range(3, 8)
"""How many words a response has."""

NO_LIMIT = 99

_KINDS = {word: kind for kind, words in KINDS.items() for word in words}
_COUNT = re.compile(
    r"(?:name|use) (?:(?P<no>no)|at (?P<bound>least|most) (?P<number>\d+)) (?P<kind>\w+)"
)
_EDGE = re.compile(r"(?P<edge>begin|end) with (?P<kind>\w+)")


def kind_of(word: str) -> str | None:
    """Return a word's kind; ``None`` for a word that this world does not have."""
    return _KINDS.get(word)


def of_kind(words: Sequence[str], kind: str) -> list[str]:
    """Return the words that are of a kind, in their order."""
    return [word for word in words if kind in ("words", kind_of(word))]


def listed(words: Sequence[str]) -> str:
    """Count words aloud.

    >>> listed(["dog", "cat"]), listed([])
    ('dog 1 cat 2', 'none')
    """
    return " ".join(f"{word} {number}" for number, word in enumerate(words, start=1)) or "none"


# --- constraints --------------------------------------------------------------------------------


@heedful.verifier("nano:count", describe="at least {at_least} and at most {at_most} {kind}")
def count(
    response: heedful.Response, *, kind: str, at_least: int = 0, at_most: int = NO_LIMIT
) -> heedful.Finding:
    """Hold the number of words of a kind against its limits."""
    number = len(of_kind(response.text.split(), kind))
    return heedful.Finding(at_least <= number <= at_most, f"{number} {kind}")


@heedful.verifier("nano:edge", describe="{edge} with a word of {kind}")
def edge(response: heedful.Response, *, edge: str, kind: str) -> heedful.Finding:
    """Look at the kind of the first or the last word."""
    word = response.text.split()[0 if edge == "begin" else -1]
    return heedful.Finding(kind_of(word) == kind, f"{word} of {kind_of(word)}")


def constraint(text: str) -> Constraint:
    """Read a constraint's text: its type, and the check that decides it."""
    if edge := _EDGE.fullmatch(text):
        check = Check(id="nano:edge", args=edge.groupdict())
        return Constraint(text=text, type="edge", check=check)
    counted = _COUNT.fullmatch(text)
    if counted is None:
        message = f"no constraint of this world: {text!r}"
        raise ValueError(message)
    kind = counted["kind"]
    bound = f"at_{counted['bound']}"
    limit = {"at_most": 0} if counted["no"] else {bound: int(counted["number"])}
    type_ = "length" if kind == "words" else "absence" if counted["no"] else "count"
    check = Check(id="nano:count", args={"kind": kind, **limit})
    return Constraint(text=text, type=type_, check=check)


def met(text: str, response: str) -> bool:
    """Say whether a response meets a constraint: the truth, from heedful's verifiers."""
    check = constraint(text).check
    return check is not None and verify.check(check, heedful.Response(response)).met


def relevant(limit: Constraint, response: str) -> list[str]:
    """Return the words of a response that decide a constraint."""
    words = response.split()
    args = _args(limit)
    if limit.type == "edge":
        return words[:1] if args["edge"] == "begin" else words[-1:]
    return of_kind(words, args["kind"])


def holds(limit: Constraint, words: Sequence[str]) -> bool:
    """Say whether a constraint would be met if these were the words that decide it."""
    args = _args(limit)
    if limit.type == "edge":
        return bool(kind_of(words[0]) == args["kind"])
    return bool(args.get("at_least", 0) <= len(words) <= args.get("at_most", NO_LIMIT))


def near_miss(limit: Constraint, response: str) -> bool:
    """Say whether a response fails a limit by a single word."""
    if limit.type == "edge":
        return False
    args, number = _args(limit), len(relevant(limit, response))
    return 1 in (args.get("at_least", 0) - number, number - args.get("at_most", NO_LIMIT))


def _args(limit: Constraint) -> dict[str, Any]:
    return limit.check.args if limit.check is not None else {}


# --- data ---------------------------------------------------------------------------------------


def draw_checklist(rng: random.Random) -> list[str]:
    """Draw the texts of a limit on the length and of one to three other constraints."""
    most, least, none = rng.sample(tuple(KINDS), 3)
    first, last = rng.choices(tuple(KINDS), k=2)
    others = (
        f"name at least {rng.randint(1, 2)} {least}",
        f"name at most {rng.randint(1, 2)} {most}",
        f"name no {none}",
        f"begin with {first}",
        f"end with {last}",
    )
    length = f"use at {rng.choice(('least', 'most'))} {rng.randint(4, 6)} words"
    texts = [length, *rng.sample(others, rng.randint(1, 3))]
    return rng.sample(texts, len(texts))


def draw_response(rng: random.Random, texts: Sequence[str], tries: int) -> str:
    """Write a response: of some random ones the one that meets the most constraints."""
    candidates = [" ".join(rng.choices(WORDS, k=rng.choice(LENGTHS))) for _ in range(tries)]
    return max(candidates, key=lambda text: sum(met(limit, text) for limit in texts))


def instruction(texts: Sequence[str]) -> tuple[Message, ...]:
    """Word an instruction that asks for all of a checklist."""
    return (Message(role="user", content=" ; ".join(texts)),)


def samples(number: int, seed: int, name: str) -> Iterator[Sample]:
    """Draw labelled samples, their writers of three qualities, so that some responses are good.

    The constraints have no checks: heedful would ask code instead of a critic.
    """
    rng = random.Random(f"{name} {seed}")
    for at in range(number):
        texts = draw_checklist(rng)
        text = draw_response(rng, texts, rng.choice((1, 2, 4)))
        checklist = [constraint(text).model_copy(update={"check": None}) for text in texts]
        yield Sample(
            id=f"{name}-{at}",
            conversation=instruction(texts),
            checklist=tuple(checklist),
            response=text,
            labels=tuple(met(limit, text) for limit in texts),
        )
