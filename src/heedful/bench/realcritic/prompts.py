"""RealCritic's prompts: ours, in files beside, or a user's own.

Ours have the published structure in our words. To run the published protocol, put its texts into a
folder and name that; see :meth:`Prompts.read`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from heedful.core.errors import UsageError
from heedful.core.nouns import Message
from heedful.judges.prompts.fence import Fence
from heedful.judges.prompts.template import asks_for, custom, fill, shipped, version

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from heedful.core.problems import Problem, Solution

PARSER = 2
"""Raised when the same reply would be read otherwise."""

PLACES = {
    "direct": ("question",),
    "critique": ("problem", "solution"),
    "again": (),
    "check": ("problem", "solution", "critique"),
}
"""The prompts, and the places that each must have, in its user turn or its system turn."""

SYSTEM = ".system"
SUFFIX = ".txt"


@dataclass(frozen=True)
class Prompts:
    """The texts of all prompts."""

    texts: Mapping[str, str]

    @classmethod
    def ours(cls) -> Prompts:
        """Return the prompts that heedful ships; none has a system turn."""
        return cls({name: shipped(f"{name}{SUFFIX}", __package__) for name in PLACES})

    @classmethod
    def read(cls, folder: Path | None) -> Prompts:
        """Read a folder with a user's own prompts; ours take the places of those it lacks.

        ``direct.txt`` asks for a solution, ``critique.txt`` for a critique and a correction,
        ``again.txt`` for another round and ``check.txt`` for the post-check. The text for a system
        turn is ``critique.system.txt``, and so on. A prompt with the place ``{{mark}}`` is given
        texts behind fences, one without it the texts alone.
        """
        if folder is None:
            return cls.ours()
        names = [*PLACES, *(f"{name}{SYSTEM}" for name in PLACES if name != "again")]
        hint = f"name its files {', '.join(f'{name}{SUFFIX}' for name in names)}"
        files = sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else []
        if not files:
            raise UsageError("the folder has no prompts", where=str(folder), hint=hint)
        texts = dict(cls.ours().texts)
        own = {}
        for file in files:
            name = file.name.removesuffix(SUFFIX)
            if name not in names:
                raise UsageError("no prompt has this name", where=str(file), hint=hint)
            places = PLACES[name.removesuffix(SYSTEM)]
            own[name] = custom(file, (*places, "mark"), ())
        texts |= own
        for name, places in PLACES.items():
            turns = texts[name] + texts.get(f"{name}{SYSTEM}", "")
            for place in places:
                if not asks_for(turns, place):
                    raise UsageError(
                        f"the prompt has no {{{{{place}}}}}, so the model would not see it",
                        where=str(folder / f"{name}{SUFFIX}"),
                        hint=f"add {{{{{place}}}}} where it belongs",
                    )
        return cls(texts)

    def version(self) -> str:
        """Name the prompts and the parser: a run goes on only with the same."""
        return version(PARSER, *(f"{name}\n{self.texts[name]}" for name in sorted(self.texts)))

    def direct(self, problem: Problem) -> list[Message]:
        """Ask for a solution, step by step."""
        return self._filled("direct", {"question": _question(problem)})

    def critique(self, problem: Problem, solution: Solution) -> list[Message]:
        """Ask for a critique of a solution and its correction."""
        texts = {"problem": _question(problem), "solution": _steps(solution)}
        return self._filled("critique", texts)

    def retry(self, reply: str) -> list[Message]:
        """Follow on a critique with the request for another, from the beginning."""
        return [
            Message(role="assistant", content=reply),
            Message(role="user", content=self.texts["again"]),
        ]

    def check(self, problem: Problem, solution: Solution, reply: str) -> list[Message]:
        """Ask whether a critique took a shortcut."""
        texts = {"problem": _question(problem), "solution": _steps(solution), "critique": reply}
        return self._filled("check", texts)

    def _filled(self, name: str, texts: Mapping[str, str]) -> list[Message]:
        turns = {"system": self.texts.get(f"{name}{SYSTEM}"), "user": self.texts[name]}
        places = dict(texts)
        if any(asks_for(text, "mark") for text in turns.values() if text):
            fence = Fence.around(list(texts.values()))
            places = {place: fence.wrap(place.upper(), text) for place, text in texts.items()}
            places["mark"] = fence.mark
        return [
            Message(role=role, content=fill(text, places)) for role, text in turns.items() if text
        ]


def _question(problem: Problem) -> str:
    """Return the question with its choices, where it does not state them itself."""
    choices = {label: text for label, text in problem.choices.items() if text}
    if all(text in problem.question for text in choices.values()):
        return problem.question
    stated = " ".join(f"({label}) {text}" for label, text in choices.items())
    return f"{problem.question}\nAnswer Choices: {stated}"


def _steps(solution: Solution) -> str:
    """Return the solution; with its steps numbered where they are given one by one."""
    if not solution.steps:
        return solution.text or ""
    return "\n\n".join(f"Step {n}: {step}" for n, step in enumerate(solution.steps, start=1))
