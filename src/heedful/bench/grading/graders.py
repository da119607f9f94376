"""Grading solutions: letters, numbers and formulas, words, programs.

An item's grade says whether the solution is correct, the answer that it ends on, what that was
compared with, and how. Where that can't be decided (no answer, a comparison that takes too long,
two sentences), ``correct`` is ``None`` with the reason, and the item is neither correct nor wrong.
What finds a choice does not know the gold answer.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter, deque
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from heedful.bench.grading import latex
from heedful.bench.grading.answers import final_answer, stated_answer
from heedful.bench.grading.math_pool import MathPool
from heedful.bench.grading.passages import boxed, last_boxed, sentences
from heedful.bench.grading.problems import read_problems
from heedful.bench.grading.sandbox import ResourceLimits
from heedful.core.errors import InputError, UsageError
from heedful.core.outputs import atomically, refuse_inputs, refuse_run_files
from heedful.core.reasoning import separate
from heedful.reporting.notation import percent
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import TextIO

    from heedful.bench.grading.equality import EqualityResult, Method
    from heedful.bench.grading.problems import Attempt
    from heedful.bench.grading.sandbox import Sandbox
    from heedful.core.problems import Problem, Solution
    from heedful.core.reasoning import ReasoningMode


__all__ = ["GradeCounts", "grade_files", "grading_table"]

Reading = Literal["solution", "pred"]
"""Input of grading: the solution's text, or the answer that the file says it ends on."""

NO_ANSWER = "no final answer was found"

_ONE_LINE = 12
"""Words of a text that is an answer, and not a solution that leads to one."""


@dataclass(frozen=True, slots=True)
class Grade:
    """Result of grading one solution."""

    correct: bool | None
    extracted: str | None
    gold: str | None
    compared: Method
    reason: str = ""


class Grader:
    """Grades solutions of all kinds of problems; many at a time, from one event loop."""

    def __init__(
        self,
        pool: MathPool,
        sandbox: Sandbox | None = None,
        *,
        limits: ResourceLimits | None = None,
        accept_choice_text: bool | None = None,
        reasoning: ReasoningMode = "strip",
    ) -> None:
        """Put a grader together."""
        self._pool = pool
        self._sandbox = sandbox
        self._limits = limits or ResourceLimits()
        self._accept_choice_text = accept_choice_text
        self._reasoning = reasoning

    async def grade(
        self, problem: Problem, solution: Solution, reading: Reading = "solution"
    ) -> Grade:
        """Grade a solution."""
        text = solution.text if reading == "solution" else solution.answer
        if text is None or not text.strip():
            field = "text" if reading == "solution" else "given answer"
            return self._undecided(problem, f"the solution has no {field}")
        if self._reasoning == "strip":
            text, _ = separate(text)
        if not text:
            return self._undecided(problem, NO_ANSWER)
        if problem.kind == "code":
            return await self._program(problem, text)
        if not problem.answers:
            return self._undecided(problem, "the problem has no gold answer")
        if problem.kind == "choice":
            return await self._choice(problem, text)
        return await self._open(problem, text, reading)

    async def tests_passed(self, problem: Problem, text: str) -> int:
        """Count the unit tests that a wrong program passes."""
        from heedful.bench.grading.programs import completed, passed_tests

        program = completed(problem, text)
        return await asyncio.to_thread(passed_tests, self._boxed(), problem, program, self._limits)

    def _boxed(self) -> Sandbox:
        if self._sandbox is None:
            raise UsageError(
                "a program is graded by running it, and the grader has no sandbox",
                hint="give the grader a sandbox: heedful.bench.grading.sandbox.open_sandbox()",
            )
        return self._sandbox

    def _undecided(self, problem: Problem, reason: str) -> Grade:
        method: Method = {"choice": "letter", "code": "unit test"}.get(problem.kind, "text")  # type: ignore[assignment]
        gold = problem.answers[0] if problem.answers else None
        return Grade(None, None, gold, method, reason)

    async def _choice(self, problem: Problem, text: str) -> Grade:
        gold = problem.answers[0]
        letter = choice_letter(text, problem.choices)
        if letter is not None:
            return Grade(letter == gold, letter, gold, "letter")
        one_line = "\n" not in text.strip() and len(text.split()) <= _ONE_LINE
        answer = last_boxed(text) or stated_answer(text) or (text.strip() if one_line else None)
        accepted = self._accept_choice_text
        accepted = not problem.letters_only if accepted is None else accepted
        meant = choice_of_words(text, problem.choices)
        if accepted:
            meant = meant or await self._choice_of_value(problem, answer)
            if meant is not None:
                return Grade(meant == gold, meant, gold, "text")
        if answer is None and meant is None:
            return Grade(None, None, gold, "letter", NO_ANSWER)
        reason = "the answer names no letter"
        if meant is not None:
            reason += f"; it is the text of choice {meant}"
        return Grade(False, answer, gold, "letter", reason)  # noqa: FBT003 - the verdict

    async def _choice_of_value(self, problem: Problem, answer: str | None) -> str | None:
        """Find the one choice that has an answer's value, as 1/2 has that of 0.5."""
        if answer is None:
            return None
        results = {
            label: await self._pool.compare(words, answer)
            for label, words in problem.choices.items()
        }
        same = [label for label, result in results.items() if result.equal]
        return same[0] if len(same) == 1 else None

    async def _open(self, problem: Problem, text: str, reading: Reading) -> Grade:
        answer = text.strip() if reading == "pred" else final_answer(text)
        if not answer:
            return self._undecided(problem, NO_ANSWER)
        first: EqualityResult | None = None
        for gold in problem.answers:
            result = await self._pool.compare(gold, answer)
            if result.equal:
                return Grade(result.equal, answer, gold, result.method)
            first = first or result
        assert first is not None  # noqa: S101 - there are answers
        return Grade(first.equal, answer, problem.answers[0], first.method, first.reason)

    async def _program(self, problem: Problem, text: str) -> Grade:
        from heedful.bench.grading.programs import completed, tested

        sandbox = self._boxed()
        program = completed(problem, text)
        outcome = await asyncio.to_thread(tested, sandbox, problem, program, self._limits)
        return Grade(outcome.passed, program, None, "unit test", outcome.reason)


AHEAD = 4
"""Items in work for each worker; more would only wait."""

FAILURES_KEPT = 20


@dataclass
class GradeCounts:
    """The counts of one set."""

    items: int = 0
    correct: int = 0
    wrong: int = 0
    labelled: int = 0
    agreed: int = 0
    undecided: Counter[str] = field(default_factory=Counter)
    unread: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def decided(self) -> int:
        """Items that are correct or wrong."""
        return self.correct + self.wrong

    def add(self, place: str, attempt: Attempt, grade: Grade | None) -> None:
        """Count one row; ``grade`` is ``None`` where it could not be read."""
        self.items += 1
        if grade is None:
            self.unread += 1
            if len(self.failures) < FAILURES_KEPT:
                self.failures.append(f"{place}:{attempt.line}: {attempt.error}")
            return
        if grade.correct is None:
            self.undecided[grade.reason] += 1
            return
        self.correct += grade.correct
        self.wrong += not grade.correct
        label = attempt.solution.label if attempt.solution else None
        if label is not None:
            self.labelled += 1
            self.agreed += label is grade.correct


async def grade_files(  # noqa: PLR0913 - each is a choice that users make
    paths: Sequence[Path],
    output: Path | None = None,
    *,
    reading: Reading = "solution",
    timeout_s: float = 5.0,
    workers: int | None = None,
    accept_choice_text: bool = False,
    reasoning: ReasoningMode = "strip",
    on_progress: Callable[[int], None] = lambda _: None,
) -> dict[str, GradeCounts]:
    """Grade the solutions in RealCritic's files against their gold answers."""
    sets = named_sets(paths, output)
    done = 0
    counts: dict[str, GradeCounts] = {}
    async with MathPool(workers, timeout_s=timeout_s) as pool:
        grader = Grader(pool, accept_choice_text=accept_choice_text, reasoning=reasoning)
        with _written(output) as file:
            for path, name in sets.items():
                set_counts = counts.setdefault(name, GradeCounts())
                rows = read_problems(path, "realcritic")
                async for attempt, grade in _graded(rows, grader, reading, pool.workers * AHEAD):
                    set_counts.add(str(path), attempt, grade)
                    if file is not None:
                        file.write(json.dumps(_line(name, attempt, grade), ensure_ascii=False))
                        file.write("\n")
                    done += 1
                    on_progress(done)
                if set_counts.items == set_counts.unread:
                    raise InputError(
                        f"no row can be graded; the first: {set_counts.failures[0]}",
                        hint="RealCritic's rows have question, gt, reasoning and pred",
                    )
    return counts


def named_sets(paths: Sequence[Path], output: Path | None = None) -> dict[Path, str]:
    """Name the sets."""
    sets: dict[Path, str] = {}
    for path in paths:
        name = path.parent.name if path.stem == "test" and path.parent.name else path.stem
        if name in sets.values():
            raise UsageError(f"two files are called {name}", where=str(path), hint="rename one")
        if output is not None:
            refuse_inputs(output, [path])
            refuse_run_files(output)
        sets[path] = name
    return sets


def _written(output: Path | None) -> AbstractContextManager[TextIO | None]:
    return nullcontext() if output is None else atomically(output)


async def _graded(
    rows: Iterable[Attempt], grader: Grader, reading: Reading, ahead: int
) -> AsyncIterator[tuple[Attempt, Grade | None]]:
    """Grade rows, some ahead of others, and give them in order."""
    waiting: deque[tuple[Attempt, asyncio.Task[Grade] | None]] = deque()

    async def first() -> tuple[Attempt, Grade | None]:
        attempt, task = waiting.popleft()
        return attempt, None if task is None else await task

    try:
        for attempt in rows:
            task = None
            if attempt.problem is not None and attempt.solution is not None:
                work = grader.grade(attempt.problem, attempt.solution, reading)
                task = asyncio.ensure_future(work)
            waiting.append((attempt, task))
            if len(waiting) > ahead:
                yield await first()
        while waiting:
            yield await first()
    finally:
        for _, task in waiting:
            if task is not None:
                task.cancel()


def _line(name: str, attempt: Attempt, grade: Grade | None) -> dict[str, Any]:
    """Write one item's grade as the output has it."""
    row: dict[str, Any] = {"set": name, "id": attempt.id, "line": attempt.line}
    if grade is None or attempt.problem is None or attempt.solution is None:
        return {**row, "correct": None, "reason": attempt.error}
    row |= {
        "correct": grade.correct,
        "extracted": grade.extracted,
        "gold": grade.gold,
        "compared": grade.compared,
        "label": attempt.solution.label,
        "model": attempt.solution.model,
    }
    return {**row, "reason": grade.reason} if grade.reason else row


def grading_table(counts: Mapping[str, GradeCounts]) -> Table:
    """Lay out the counts by set: how many are correct, and how far the labels agree.

    Every rate is of the decided items; the coverage says how many those are.
    """
    rows = [(name, *_cells([each])) for name, each in counts.items()]
    if len(counts) > 1:
        rows.append(("all", *_cells(list(counts.values()))))
    columns = ("set", "n", "correct %", "counts", "coverage", "labels %", "counts")
    return Table("", columns, rows)


def _cells(counts: list[GradeCounts]) -> list[str]:
    items, correct, decided, agreed, labelled = (
        sum(getattr(each, count) for each in counts)
        for count in ("items", "correct", "decided", "agreed", "labelled")
    )
    return [
        f"{items:,}",
        percent(correct / decided if decided else None),
        f"{correct:,} / {decided:,}",
        percent(decided / items if items else None, 1),
        percent(agreed / labelled if labelled else None),
        f"{agreed:,} / {labelled:,}",
    ]


_LEAD = (
    r"[\s*_:：=\"'“「(（\[【$\\{]{0,12}(?:(?:text|mathbf|mathrm|textbf|boxed)\{){0,3}"
    r"[*(（\[【]{0,4}"
)
_END = r"(?![\w'’])"
_STOP = r"(?=[)）\]】}*_\"'”」$\s]{0,12}(?:[.。,，;；:：!！]|$|\n))"
_WORD = r"(?:answer|ans\.?|option|choice|selection|letter|pick)"
_PHRASES = (
    # Each puts the label into L, or into @ in any case; stronger kinds of statement come first.
    (
        rf"\b{_WORD}(?:\s+(?:to|for|among|of|from)\ [^.\n]{{1,120}}?)?\s*"
        rf"[*_\"']*(?:is|are|would\ be|should\ be|must\ be|will\ be|:|：|=|[-–—])\s*"
        rf"(?:therefore|thus|likely|most\ likely)?\s*"
        rf"(?:{_WORD})?\s*{_LEAD}(?:L{_END}|@{_STOP})"
    ),
    (
        rf"(?:(?:正确|最佳)?答案|答(?=\s?[:：])|正确的?选项|正确的是)[】\]]?\s*(?:应该|应当|应)?\s*(?:而?是|为|选|:|：)*"
        rf"\s*(?:选项)?{_LEAD}L(?![A-Za-z])"
    ),
    rf"(?:应?选择?)\s*(?:选项)?{_LEAD}L(?![A-Za-z])",
    rf"\b(?:choose|pick|select|go\ with|opt\ for)\s+(?:{_WORD}\s+)?{_LEAD}L{_END}",
    (
        rf"(?<!\w){_LEAD}L{_END}(?:[)）\]】}}*_.:\"'”」$]*)\s*(?:[^.\n]{{0,160}}?)\s*"
        rf"\b(?:is|must\ be|would\ be)\s+(?:the\s+)?(?:(?:most|only|best)\s+)?"
        rf"(?:correct|right|true|best|accurate|appropriate|answer)\b"
    ),
    rf"(?:(?:∴|→|⇒|=>)|\b(?:so|thus|hence|therefore|is|option|choice))[,:：]?\s*(?:the\s+)?{_LEAD}L{_STOP}",
)
_ALONE = rf"(?:^|\n|[?？]\s)\s{{0,6}}{_LEAD}L(?:[)）\]】}}*_.。:$\\\s]{{0,12}})(?=$|\n)"
_OPENS = rf"^\s*(?:{_WORD}\s*)?{_LEAD}L(?:[)）\]】}}*_.。:：,$\\]|\s*$|\s*[-–—])"
_LAST = r"(?<!\w)[(（\[【]L[)）\]】](?=[^(（\[【\n]*\s*$)"
_JOINED = re.compile(
    r"[)）\]】}*]*\s*(?:,|and\b|or\b|&|/|和|或|、)\s*(?:and\b|or\b)?\s*[(（\[]*(?P<letter>[A-Z])(?![\w'])"
)
_WRAPPED = re.compile(r"\\(?:text|mathbf|mathrm|textbf|mathit|textit|rm|bf)\b\s*")
_WIDE_LETTERS = {ord("Ａ") + place: chr(ord("A") + place) for place in range(26)}
_MARKED = re.compile(r"<answer>\s*([^<]{1,200}?)\s*</answer>|####[ \t]*([^\n]{1,200})")


def choice_letter(text: str, choices: Mapping[str, str]) -> str | None:
    """Return the label of the choice that a text settles on, or ``None`` where it names none.

    Looked for in turn: the last box; a sentence that states the answer, in English or Chinese
    (the last one counts); a line with nothing but a label. After a box that names no label only a
    later statement counts. Where the labels are ``1`` to ``4``, letters in their order are
    understood.
    """
    labels = _labels(choices)
    text = text.translate(_WIDE_LETTERS)
    label = _only(_WRAPPED.sub("", text), labels)
    if label is not None:
        return label
    boxes = list(boxed(text))
    if not boxes:
        marked = [match[1] or match[2] for match in _MARKED.finditer(text)]
        return (_only(marked[-1], labels) if marked else None) or _stated(text, labels)
    box = last_boxed(text) or ""
    return (
        _only(_WRAPPED.sub("", box), labels)
        or _stated(box, labels)
        or _stated(text[boxes[-1].end :], labels)
    )


def choice_of_words(text: str, choices: Mapping[str, str]) -> str | None:
    """Return the label of the one choice that an answer gives in words instead of by its label."""
    keys = {label: _key(words) for label, words in choices.items()}
    said = last_boxed(text) or stated_answer(text)
    *_, last = ["", *sentences(text)]
    for answer in (said or text, last):
        key = _key(answer)
        same = [label for label, words in keys.items() if words == key != ""]
        if len(same) == 1:
            return same[0]
    ending = f" {_key(said if said and last_boxed(text) else last)} "
    named = [label for label, words in keys.items() if words and f" {words} " in ending]
    if len(named) != 1:
        return None
    words = keys[named[0]].split()
    several = len(words) > 1 or words in (ending.split()[:1], ending.split()[-1:])
    return named[0] if several else None


def _labels(choices: Mapping[str, str]) -> dict[str, str]:
    """Map what may stand for a choice to its label: the labels, and their counterparts."""
    own = {label.upper(): label for label in choices}
    if all(label.isdigit() for label in own):
        letters = {chr(ord("A") + place): label for place, label in enumerate(choices)}
        return letters | own
    return own


def _compiled(pattern: str, labels: Mapping[str, str]) -> re.Pattern[str]:
    letters = "|".join(map(re.escape, sorted(labels, key=len, reverse=True)))
    # The label in its own case only, or the article "a" would be an answer; another where marked @.
    pattern = pattern.replace("L", f"(?P<letter>(?-i:{letters}))", 1)
    pattern = pattern.replace("@", f"(?P<any>{letters})")
    return re.compile(pattern.replace(r"\ ", " "), re.IGNORECASE)


def _only(text: str, labels: Mapping[str, str]) -> str | None:
    """Read a short text that is a label, or a label with its choice."""
    stripped = text.strip(" \t\n()[]{}（）【】*$.。:：,\\\"'`")
    if stripped.upper() in labels:
        return labels[stripped.upper()]
    opening = _compiled(_OPENS, labels).match(text)
    if opening is None or "\n" in text.strip() or last_boxed(text) is not None:
        return None
    several = _several(text[opening.end("letter") :], labels)
    return None if several else labels[opening["letter"].upper()]


def _several(rest: str, labels: Mapping[str, str]) -> bool:
    """Check whether another label follows, as in ``A and C``; ``rest`` follows the first."""
    other = _JOINED.match(rest)
    return other is not None and other["letter"] in labels


def _stated(text: str, labels: Mapping[str, str]) -> str | None:
    """Return the label that the last statement of the strongest kind names."""
    for phrase in (*_PHRASES, _ALONE, _LAST):
        *_, labelled = [None, *_compiled(phrase, labels).finditer(text)]
        if labelled is not None:
            place = "any" if labelled.groupdict().get("any") else "letter"
            several = _several(text[labelled.end(place) :], labels)
            return None if several else labels[labelled[place].upper()]
    return None


def _key(text: str) -> str:
    """Reduce a text to its words, so that case and punctuation do not matter."""
    text = _WRAPPED.sub("", latex.tidy(text)).casefold()
    return " ".join(re.findall(r"[\w./%°+-]*\w|[^\W\d_]", text))
