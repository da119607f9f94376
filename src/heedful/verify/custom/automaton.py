"""An automaton that finds a regular expression in a text, in time linear in the text.

It keeps all its states at once (Thompson 1968, *Regular Expression Search Algorithm*); the sets of
states that follow each other are cached as they are met.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

MOST_WORK = 2_000_000
"""Characters read and states visited in a search, about a second."""
_MOST_CACHED = 20_000

Character = Callable[[str], bool]
"""Whether a character is one that the expression allows in its place."""


class Assertion(NamedTuple):
    """A condition on a place in the text, which takes no character.

    Attributes:
        holds: says whether it holds.
        near: whether it depends on nothing but the two characters at that place.
    """

    holds: Callable[[str, int], bool]
    near: bool = True


class Split(NamedTuple):
    """Go on at each of some steps, by their distance from this one."""

    offsets: tuple[int, ...]


Program = list[Character | Assertion | Split]
"""Steps one after the other; after the last, the expression has matched."""

_Start = tuple[frozenset[int], str, str]


class StepBudget:
    """The work that a search may still take, in all the automata of a pattern together."""

    left = MOST_WORK

    def spend(self, work: int) -> None:
        """Take some of it."""
        self.left -= work
        if self.left < 0:
            raise TimeoutError


class Automaton:
    """Runs a program on texts, within a budget."""

    def __init__(self, program: Program, budget: StepBudget) -> None:
        self._program = program
        self._budget = budget
        self._cacheable = all(not isinstance(s, Assertion) or s.near for s in program)
        self._cache: dict[_Start, tuple[bool, frozenset[int]]] = {}

    def search(self, text: str) -> bool:
        """Say whether the program matches anywhere in a text."""
        return self._run(text, 0, len(text), anywhere=True)

    def matches_from(self, text: str, start: int) -> bool:
        """Say whether it matches a part of a text that begins there."""
        return self._run(text, start, len(text), anywhere=False)

    def matches_to(self, text: str, end: int) -> bool:
        """Say whether it matches a part of a text that ends there."""
        return self._run(text, 0, end, anywhere=True, to_end=True)

    def _run(
        self, text: str, start: int, end: int, *, anywhere: bool, to_end: bool = False
    ) -> bool:
        first = frozenset((0,))
        states = first
        before = text[start - 1 : start]
        for at in range(start, end + 1):
            self._budget.spend(1)
            after = text[at : at + 1]
            key = (states, before, after)
            step = self._cache.get(key)
            if step is None:
                step = self._step(states, text, at)
                if self._cacheable and len(self._cache) < _MOST_CACHED:
                    self._cache[key] = step
            matched, states = step
            if matched and (at == end or not to_end):
                return True
            if anywhere:
                states |= first
            elif not states:
                return False
            before = after
        return False

    def _step(self, states: frozenset[int], text: str, at: int) -> tuple[bool, frozenset[int]]:
        """Say whether the program ends at a place, and where it goes with the next character."""
        program = self._program
        visited: set[int] = set()
        following: set[int] = set()
        left = list(states)
        character = text[at : at + 1]
        while left:
            place = left.pop()
            if place in visited:
                continue
            visited.add(place)
            if place == len(program):
                continue
            step = program[place]
            if isinstance(step, Split):
                left += [place + offset for offset in step.offsets]
            elif isinstance(step, Assertion):
                if step.holds(text, at):
                    left.append(place + 1)
            elif character and step(character):
                following.add(place + 1)
        self._budget.spend(len(visited))
        return len(program) in visited, frozenset(following)
