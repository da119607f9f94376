"""RealCritic's prompts, ours or a user's own, and what models reply to them.

Ours have the published structure in our words: Critique, Conclusion, Correction. To run the
published protocol, put its texts into a folder and name that; see :meth:`Prompts.read`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from heedful.bench.grading.passages import last_boxed
from heedful.core.errors import UsageError
from heedful.core.nouns import Message
from heedful.judges.prompts.base import answer
from heedful.judges.prompts.fence import Fence
from heedful.judges.prompts.quotation import NOTHING, Shown
from heedful.judges.prompts.template import asks_for, custom, fill, shipped, version

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from heedful.core.problems import Problem, Solution

T = TypeVar("T")

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


_HEADING = re.compile(
    r"""^[ \t]*+(?:\#{1,6}[ \t]*+)?(?:\d+[.)][ \t]*+)?(?:\*\*|__)?[ \t]*+
    (?P<name>critique|conclusion|correct(?:ion|ed\ solution))
    (?:\ of\ [^\n:*]{1,40})?[ \t]*(?:\*\*|__)?[ \t]*(?P<colon>:?)[ \t]*
    (?:\*\*|__)?[ \t]*(?P<rest>[^\n]*)$""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_NEGATED = r"(?:not\s+(?:entirely\s+|fully\s+|completely\s+|quite\s+)?correct)"
_VERDICT = rf"(?P<verdict>{_NEGATED}|incorrect|wrong|correct)\b"
_STATED = re.compile(
    rf"\b(?:solution|reasoning|verdict|conclusion)(?:\s+as\s+a\s+whole)?\W{{0,8}}(?:is\b)?\W{{0,8}}{_VERDICT}",
    re.IGNORECASE,
)
_ALONE = re.compile(rf"^[^\w\n]*+{_VERDICT}\W*$", re.IGNORECASE | re.MULTILINE)
_STEP = re.compile(
    r"""\b(?:first\s+)?(?:wrong|incorrect|erroneous|error)\s+step(?:\s+(?:number|no\.?|index))?
    (?:\s+is)?[\s:*`=\[(]*(?:step\s*)?(?P<number>[-−–]?\s*\d{1,3}|none|n/a)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_RESULT = re.compile(
    r"^[^\w\n]*+(?:(?:result|verdict|final\s+answer)\W+)?(?P<un>un)?qualified\W*$"
    r"|\\boxed\{\s*(?:\\text\{\s*)?(?P<boxed_un>un)?qualified\W",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Review:
    """A critique as it was read."""

    verdict: bool | None
    first_error: int | None  # from 1; -1: none
    correction: str | None  # the text whose final answer is the critic's


def read_review(text: str, shown: Shown = NOTHING) -> Review:
    """Read a critique; what it does not say once and clearly stays ``None``.

    The last conclusion counts, and none that repeats what the critic was shown.
    """
    text = answer(text)
    sections = [part for part in _sections(text) if not _is_quoted(part, shown)]
    names = [section.name for section in sections]
    concluded = names.index("conclusion") if "conclusion" in names else -1
    corrected = next(
        (n for n in range(concluded + 1, len(names)) if names[n] == "correction"), None
    )
    conclusions = [part.body for part in sections[:corrected] if part.name == "conclusion"]
    said = text if corrected is None else text[: sections[corrected].start]
    said = conclusions[-1] if conclusions else said
    verdict = _only(_verdicts(said, shown, alone=bool(conclusions)))
    first_error = _only({_number(match["number"]) for match in _STEP.finditer(said)})
    if verdict is not None and first_error is not None and verdict != (first_error == -1):
        first_error = None
    correction = text[sections[concluded].start :] if conclusions else text
    if corrected is not None:
        correction = text[sections[corrected].start :]
    elif last_boxed(correction) is None:
        return Review(verdict, first_error, None)
    return Review(verdict, first_error, correction)


def read_check(text: str, shown: Shown = NOTHING) -> bool | None:
    """Read whether a critique is qualified, by the last result that isn't a quotation."""
    results = [each for each in _RESULT.finditer(answer(text)) if not shown.holds(each[0])]
    return not (results[-1]["un"] or results[-1]["boxed_un"]) if results else None


class _Section(NamedTuple):
    name: str
    body: str
    start: int


def _sections(text: str) -> Iterator[_Section]:
    headings = [match for match in _HEADING.finditer(text) if _is_heading(match)]
    for place, match in enumerate(headings):
        end = headings[place + 1].start() if place + 1 < len(headings) else len(text)
        name, start = match["name"].casefold(), match.start("rest")
        yield _Section("correction" if name.startswith("correct") else name, text[start:end], start)


def _is_quoted(part: _Section, shown: Shown) -> bool:
    """Tell whether a conclusion repeats what was shown, up to its verdict."""
    stated = _STATED.search(part.body) or _ALONE.search(part.body)
    if part.name != "conclusion" or stated is None:
        return False
    return shown.holds(f"conclusion {part.body[: stated.end()]}")


def _is_heading(match: re.Match[str]) -> bool:
    """Tell a heading from a sentence that begins with its word."""
    marked = match.group().lstrip().startswith(("#", "**", "__"))
    return bool(match["colon"] or not match["rest"].strip()) or (
        marked and len(match["rest"].split()) <= 4  # noqa: PLR2004 - "Correction (if any) below"
    )


def _verdicts(text: str, shown: Shown, *, alone: bool) -> set[bool]:
    """Find what a text says of the solution; a word alone on its line counts in a conclusion."""
    stated = (match for match in _STATED.finditer(text) if alone or not shown.holds(match[0]))
    words = [match["verdict"] for match in stated]
    if alone and not words:
        words = [match["verdict"] for match in _ALONE.finditer(text)]
    return {word.casefold() == "correct" for word in words}


def _number(text: str) -> int:
    bare = re.sub(r"\s", "", text).replace("−", "-").replace("–", "-")
    return -1 if bare.casefold() in ("none", "n/a") else int(bare)


def _only(values: set[T]) -> T | None:
    """Return the single member of a set."""
    return next(iter(values)) if len(values) == 1 else None
