"""Constraints and responses that differ in one thing, with opposite verdicts: minimal pairs.

A limit moves to just either side of what code counts, or a code edit turns a response that meets a
constraint into one that doesn't, or back. Type, direction and mostly text are then the same in
both, so a critic that learns from them must look at the response.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from heedful import verify
from heedful.core.errors import VerifierError
from heedful.core.nouns import Judgment, Status
from heedful.judges.base import CODE
from heedful.verify.compiler.compile import compile_constraint

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator, Sequence

    from heedful.core.nouns import Constraint

VERSIONS = 3
"""Edited versions of a response at most: a prompt shares little with that of another one."""

_NUMBER = re.compile(r"(?<![\w.,'\"])\d{1,4}(?![\w'\"]|[.,]\d)")
_SENTENCE = re.compile(r"[^.!?。！？\n]*(?:[.!?。！？]+[\"'”’)]*|\n+|$)[ \t]*")
_PROBED = (*range(1, 13), 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048, 4096)
"""Limits that are tried, to find where a verdict turns."""
_NEAR = (0, 0, 0, 0.1, 0.2)
"""How far from there a limit is put, as a share of it."""
_LONGEST = 80
"""Characters of a phrase that an edit puts into a response, or takes out of it."""


class Decided(NamedTuple):
    """A constraint, and what was decided of it."""

    constraint: Constraint
    judgment: Judgment

    @property
    def met(self) -> bool:
        """Whether it is met."""
        return self.judgment.status is Status.MET


def found(constraint: Constraint, response: verify.Response) -> verify.Finding | None:
    """Have code decide; ``None`` where it can't, also where two readings disagree."""
    check = constraint.check or compile_constraint(constraint.text).check
    if check is None:
        return None
    try:
        return verify.check(check, response)
    except VerifierError:
        return None


def decide(constraint: Constraint, response: verify.Response) -> Decided | None:
    """Have code decide, and say what it found."""
    finding = found(constraint, response)
    if finding is None:
        return None
    status = Status.MET if finding.met else Status.UNMET
    return Decided(constraint, Judgment(status=status, explanation=finding.found, judge=CODE[0]))


def contrasted(
    response: str, constraints: Sequence[Constraint], choice: random.Random
) -> list[tuple[str, list[Decided]]]:
    """Return versions of a response, first as it is, with what code decides of each.

    Over the versions, each constraint (and limit near it) is met as often as unmet.
    """
    original = verify.Response(response)
    own: list[Decided] = []
    turning: list[Decided] = []
    for constraint in constraints:
        decided = decide(constraint, original)
        sides = _either_side(constraint, original, choice)
        if sides and choice.random() < 1 / 2:
            own += sides
        elif sides or decided:
            turning.append(choice.choice(sides) if sides else decided)  # type: ignore[arg-type]
    versions: list[tuple[str, list[Decided]]] = []
    edited = list(dict.fromkeys(_edited(response, turning)))
    tried = [(text, _turned(turning, text)) for text in edited if text.strip() and text != response]
    for _ in range(VERSIONS):
        fresh = [(text, [each for each in both if each[0] in turning]) for text, both in tried]
        weights = [len(both) ** 2 for _, both in fresh]
        if not any(weights):
            break
        (text, both), *_ = choice.choices(fresh, weights)
        own += [before for before, _ in both]
        versions.append((text, [after for _, after in both]))
        turning = [each for each in turning if each not in own]
    choice.shuffle(own)
    return [(response, own), *versions]


def _turned(decided: Sequence[Decided], text: str) -> list[tuple[Decided, Decided]]:
    """Return the verdicts that are the opposite in another version: before and after."""
    response = verify.Response(text)
    both = ((each, decide(each.constraint, response)) for each in decided)
    return [(before, after) for before, after in both if after and after.met is not before.met]


def _either_side(
    constraint: Constraint, response: verify.Response, choice: random.Random
) -> list[Decided]:
    """Move the constraint's limit near to where its verdict turns, to either side."""
    numbers = _NUMBER.findall(constraint.text)
    if len(numbers) != 1:
        return []

    def at(limit: int) -> Decided | None:
        moved = _limited(constraint, int(numbers[0]), limit)
        return None if moved is None else decide(moved, response)

    before: tuple[int, Decided] | None = None
    for limit in _PROBED:
        after = at(limit)
        if before is not None and after is not None and before[1].met is not after.met:
            return _narrowed(before[0], limit, at, choice)
        before = before if after is None else (limit, after)
    return []


def _narrowed(
    low: int, high: int, at: Callable[[int], Decided | None], choice: random.Random
) -> list[Decided]:
    """Return decisions at limits just below and above where the verdict turns."""
    first = at(low)
    while high - low > 1 and first is not None:
        middle = (low + high) // 2
        there = at(middle)
        low, high = (middle, high) if there and there.met is first.met else (low, middle)
    share = choice.choice(_NEAR)
    sides = (at(max(1, round(low * (1 - share)))), at(round(high * (1 + share))))
    found_sides = [each for each in sides if each is not None]
    opposite = len({each.met for each in found_sides}) == len(sides)
    return found_sides if opposite else []


def _limited(constraint: Constraint, old: int, new: int) -> Constraint | None:
    """Give a constraint another limit, in its text and in its check."""
    text = _NUMBER.sub(str(new), constraint.text)
    compiled = compile_constraint(text).check
    check = constraint.check
    if check is None or check == compile_constraint(constraint.text).check:
        return constraint.model_copy(update={"text": text, "check": compiled}) if compiled else None
    args = {name: new if value == old else value for name, value in check.args.items()}
    moved = check.model_copy(update={"args": args})
    if args == check.args and new != old:  # the number isn't the limit
        return None
    return constraint.model_copy(update={"text": text, "check": moved})


def _edited(text: str, decided: Sequence[Decided]) -> Iterator[str]:
    """Yield versions of a text that code makes: shorter, longer, marked, respelled."""
    sentences = [each for each in _SENTENCE.findall(text) if each.strip()]
    half = "".join(sentences[: (len(sentences) + 1) // 2])
    words = text.split(" ")
    yield from (half, "".join(sentences[:-1]), f"{text}\n\n{half}", "".join(sentences[1:]))
    yield from (text.upper(), text.lower(), text.title(), text.replace("\n\n", "\n"))
    yield from (text.replace(sign, "") for sign in ",!?:;()")
    yield from (text.replace(".", sign) for sign in "!?,")
    yield from (f'"{text}"', text.strip('"'), re.sub(r"\d", "", text), f"{text} 1 2 3")
    yield from ("\n\n".join(sentences), "\n***\n".join(sentences))
    yield re.sub(r"[*_#`\[\]<>]", "", text)
    for mark in ("* ", "- ", "# "):
        yield mark + f"\n{mark}".join(each.strip() for each in sentences)
    yield "\n".join(f"{number}. {each.strip()}" for number, each in enumerate(sentences, start=1))
    for form in ("*{}*", "**{}**", "[{}]", "<<{}>>", "#{}", "({})"):
        marked = [form.format(word) if at % 5 == 2 else word for at, word in enumerate(words)]  # noqa: PLR2004
        yield " ".join(marked)
    yield " ".join(word.upper() if at % 5 == 2 else word for at, word in enumerate(words))  # noqa: PLR2004
    for phrase in dict.fromkeys(_phrases(decided)):
        if phrase.casefold() in text.casefold():
            yield re.sub(re.escape(phrase), "", text, flags=re.IGNORECASE)
        else:
            yield from (f"{text} {phrase}", f"{phrase} {text}", f"{half}{phrase} {text}")


def _phrases(decided: Sequence[Decided]) -> Iterator[str]:
    """Yield the phrases that checks look for."""
    for each in decided:
        check = each.constraint.check or compile_constraint(each.constraint.text).check
        for value in check.args.values() if check else ():
            for phrase in value if isinstance(value, list | tuple) else [value]:
                if isinstance(phrase, str) and 0 < len(phrase) <= _LONGEST:
                    yield phrase
