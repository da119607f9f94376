"""One critic and one problem: the direct answer, the critiques in rounds, each graded.

This module decides which requests are made, in which order. The run caches their replies.

Our prompts have the published structure in our words: Critique, Conclusion, Correction. To run the
published protocol, put its texts into a folder and name that; see :meth:`Prompts.read`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict

from heedful.bench.grading.passages import last_boxed
from heedful.core.errors import ModelError, StopRunError, UsageError
from heedful.core.nouns import (
    Expense,
    Message,
)
from heedful.core.problems import Problem, Solution
from heedful.engine.call_cache import complete, expense
from heedful.engine.purpose import EXPLAINED_TOKENS, RESPONSE_TOKENS, Purpose
from heedful.judges.prompts.base import answer
from heedful.judges.prompts.fence import NOTHING, Fence, Shown
from heedful.judges.prompts.template import asks_for, custom, fill, shipped, version
from heedful.models.base import Completion
from heedful.models.replies import without_reasoning

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from heedful.bench.grading.graders import Grader
    from heedful.models.base import Model, Sampling

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


Mode = Literal["direct", "self", "cross"]
"""A critic's task: its own solution, critiques of that, or critiques of the given one."""

Paradigm = Literal["self", "cross"]
"""Whose solution is criticised: the critic's own, or the one that the file gives."""

CRITIQUE_TOKENS = 2 * RESPONSE_TOKENS
"""Estimated length of a critique with its correction: it goes through a solution and writes one."""

CUT_OFF = "the reply was cut off before its answer (give --max-completion-tokens more)"
NO_CORRECTION = "the reply has no correction with an answer in \\boxed{}"


class _CriticRecord(BaseModel):
    """Immutable; a field that does not exist is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SolutionVerdict(_CriticRecord):
    """A grade, as it is stored; see :class:`heedful.bench.grading.graders.Grade`."""

    correct: bool | None = None
    extracted: str | None = None
    gold: str | None = None
    compared: str | None = None
    reason: str = ""


class GradedAnswer(_CriticRecord):
    """A critic's own solution."""

    text: str | None = None
    cut_off: bool = False
    failed: bool = False
    grade: SolutionVerdict = SolutionVerdict()


class Round(GradedAnswer):
    """One critique, and the correction that it led to, which ``grade`` is about."""

    verdict: bool | None = None  # whether the critic calls the solution correct
    first_error: int | None = None  # from 1; -1: none
    qualified: bool | None = None  # by the post-check: no shortcut was taken
    checked: str | None = None


class RealCriticItem(_CriticRecord):
    """One problem with the solution that a file gives for it."""

    set: str
    problem: Problem
    solution: Solution


class RealCriticOutcome(_CriticRecord):
    """All that came of one critic on one item."""

    given: SolutionVerdict
    direct: GradedAnswer | None = None
    self_rounds: tuple[Round, ...] = ()
    cross_rounds: tuple[Round, ...] = ()
    expenses: tuple[Expense, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether a call failed."""
        return any(
            answer.failed
            for answer in (self.direct, *self.self_rounds, *self.cross_rounds)
            if answer
        )

    def rounds(self, paradigm: Paradigm) -> tuple[Round, ...]:
        """Return the critiques of the critic's own solution, or of the given one."""
        return self.self_rounds if paradigm == "self" else self.cross_rounds


@dataclass
class Solver:
    """A model that solves and criticises, with what grades it."""

    model: Model
    sampling: Sampling
    grader: Grader | None  # None for an estimate, whose calls don't depend on grades
    prompts: Prompts = field(default_factory=Prompts.ours)

    async def solve(self, problem: Problem, spent: list[Expense]) -> GradedAnswer:
        """Obtain a solution, and grade it."""
        reply = await self.ask(self.prompts.direct(problem), RESPONSE_TOKENS, spent)
        if isinstance(reply, ModelError):
            return GradedAnswer(failed=True, grade=SolutionVerdict(reason=str(reply)))
        reply = without_reasoning(reply)
        cut = reply.cut_off
        grade = await self.grade(problem, reply.text, cut_off=cut)
        return GradedAnswer(text=reply.text, cut_off=cut, grade=grade)

    async def grade(
        self, problem: Problem, text: str | None, *, cut_off: bool = False
    ) -> SolutionVerdict:
        """Grade a text; one that was cut off has an answer only in a box."""
        if cut_off and last_boxed(text or "") is None:
            return SolutionVerdict(reason=CUT_OFF)
        if text is None:
            return SolutionVerdict(reason=NO_CORRECTION)
        if self.grader is None:
            return SolutionVerdict()
        try:
            grade = await self.grader.grade(problem, Solution(text=text))
        except UsageError as error:  # the same for all rows, and better known before any call
            raise StopRunError(error.what, hint=error.hint) from error
        fields = ("correct", "extracted", "gold", "compared", "reason")
        return SolutionVerdict(**{field: getattr(grade, field) for field in fields})

    async def ask(
        self, messages: Sequence[Message], tokens: int, spent: list[Expense], role: str = ""
    ) -> Completion | ModelError:
        """Ask the model; a call that failed for good is returned as its error."""
        purpose = Purpose(f"{self.model.name}{role}", tokens=tokens)
        try:
            completion = await complete(self.model, messages, self.sampling, purpose=purpose)
        except ModelError as error:
            if self.grader is not None:
                return error
            return Completion(text=f"{len(messages)}" + "word" * tokens)  # other rounds, other text
        spent.append(expense(completion, purpose))
        return completion


@dataclass
class Critic:
    """Puts one model through the modes."""

    solver: Solver
    modes: frozenset[Mode]
    rounds: int
    checker: Solver | None = None

    async def work(self, item: RealCriticItem) -> RealCriticOutcome:
        """Do all that is to be done on one item."""
        spent: list[Expense] = []
        problem = item.problem
        given = await self.solver.grade(problem, item.solution.text or "")
        direct = None
        own: tuple[Round, ...] = ()
        cross: tuple[Round, ...] = ()
        if self.modes & {"direct", "self"}:
            direct = await self.solver.solve(problem, spent)
        if "self" in self.modes and direct is not None:
            own = await self._rounds(problem, Solution(text=direct.text), spent)
        if "cross" in self.modes:
            cross = await self._rounds(problem, item.solution, spent)
        return RealCriticOutcome(
            given=given,
            direct=direct,
            self_rounds=own,
            cross_rounds=cross,
            expenses=tuple(spent),
        )

    async def _rounds(
        self, problem: Problem, solution: Solution, spent: list[Expense]
    ) -> tuple[Round, ...]:
        """Have a solution criticised again and again; after a failure no round can follow."""
        if not (solution.text or "").strip():
            reason = "the row has no solution to criticise"
            return (Round(grade=SolutionVerdict(reason=reason)),) * self.rounds
        messages = self.solver.prompts.critique(problem, solution)
        done: list[Round] = []
        for _ in range(self.rounds):
            reply = await self.solver.ask(messages, CRITIQUE_TOKENS, spent)
            if isinstance(reply, ModelError):
                failure = Round(failed=True, grade=SolutionVerdict(reason=str(reply)))
                return (*done, *(failure,) * (self.rounds - len(done)))
            done.append(await self._round(problem, solution, reply, spent))
            messages = [*messages, *self.solver.prompts.retry(reply.text)]
        return tuple(done)

    async def _round(
        self, problem: Problem, solution: Solution, reply: Completion, spent: list[Expense]
    ) -> Round:
        shown = Shown(problem.question, solution.text or "")
        cut = reply.cut_off  # then what it says may be the solution's, which it quotes
        review = Review(None, None, None) if cut else read_review(reply.text, shown)
        checked = None
        if self.checker is not None and reply.text.strip():
            messages = self.solver.prompts.check(problem, solution, reply.text)
            checked = await self.checker.ask(messages, EXPLAINED_TOKENS, spent, " (post-check)")
        judged = checked if isinstance(checked, Completion) and not checked.cut_off else None
        return Round(
            text=reply.text,
            cut_off=cut,
            failed=isinstance(checked, ModelError),
            grade=await self.solver.grade(problem, review.correction, cut_off=cut),
            verdict=review.verdict,
            first_error=review.first_error,
            qualified=read_check(judged.text, Shown(*shown.texts, reply.text)) if judged else None,
            checked=judged.text if judged else None,
        )
