"""Reading problems, and solutions where a file holds them: one record at a time, none in silence.

GSM8K, MATH, HumanEval, TruthfulQA (multiple choice), RealCritic and ProcessBench, as JSON Lines, a
JSON array or CSV, detected by their fields; or a dataset of the Hugging Face hub, as
``hf:openai/gsm8k:main@test``.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.bench.grading import latex
from heedful.bench.grading.latex import tidy
from heedful.bench.grading.passages import last_boxed
from heedful.core.errors import InputError, RowError, UsageError
from heedful.core.problems import Problem, Solution
from heedful.data.formats import hub
from heedful.data.formats.fields import optional_text, row_id, text
from heedful.data.formats.files import records, shown

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping

    from heedful.data.formats.raw import Record

_SHORT = 400
"""Characters of an answer; a longer text is a solution."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One row: a problem and its solution, or the reason why it cannot be read."""

    line: int
    id: str
    problem: Problem | None = None
    solution: Solution | None = None
    error: str | None = None


def _gsm8k(record: dict[str, Any], number: int) -> tuple[Problem, None]:
    _, mark, gold = text(record, "answer").rpartition("####")
    if not mark:
        raise RowError("answer has no '####' before the gold number")
    return _open(record, number, "gsm8k", text(record, "question"), gold.strip()), None


def _math(record: dict[str, Any], number: int) -> tuple[Problem, None]:
    gold = optional_text(record, "answer") or last_boxed(text(record, "solution"))
    if not gold:
        raise RowError("solution has no \\boxed{} gold answer, and there is no answer")
    tags = {k: record[k] for k in ("level", "type", "subject") if record.get(k) is not None}
    return _open(record, number, "math", text(record, "problem"), gold, **tags), None


def _humaneval(record: dict[str, Any], number: int) -> tuple[Problem, None]:
    problem = Problem(
        id=row_id(record, number, "task_id", "id"),
        question=text(record, "prompt"),
        kind="code",
        tests=text(record, "test"),
        entry_point=text(record, "entry_point"),
        tags={"benchmark": "humaneval"},
    )
    return problem, None


def _truthfulqa(record: dict[str, Any], number: int) -> tuple[Problem, None]:
    targets = record["mc1_targets"]
    if isinstance(targets, dict) and isinstance(targets.get("choices"), list):
        pairs = list(zip(targets["choices"], targets.get("labels") or (), strict=False))
    elif isinstance(targets, dict):
        pairs = list(targets.items())
    else:
        raise RowError(f"mc1_targets is {shown(targets)}, not choices with labels")
    right = [place for place, (_, label) in enumerate(pairs) if label == 1]
    if len(right) != 1:
        raise RowError(f"mc1_targets marks {len(right)} choices as true; one must be")
    # The published order has the true choice first; a prompt must shuffle them.
    choices = {chr(ord("A") + place): str(choice) for place, (choice, _) in enumerate(pairs)}
    problem = Problem(
        id=row_id(record, number, "id", "idx"),
        question=text(record, "question"),
        kind="choice",
        answers=(list(choices)[right[0]],),
        choices=choices,
        tags={"benchmark": "truthfulqa"},
    )
    return problem, None


def _realcritic(record: dict[str, Any], number: int) -> tuple[Problem, Solution]:
    gold = text(record, "gt").strip()
    choices = _choices(record, gold)
    other = record.get("answer")
    answers = [gold]
    # The pipeline that made gt dropped letters that it took for units; answer is as published.
    if isinstance(other, str) and other.strip() and len(other) <= _SHORT and "####" not in other:
        same = latex.key(tidy(other)) == latex.key(tidy(gold))
        answers = [other.strip()] if same else [other.strip(), gold]
    tags = {k: record[k] for k in ("level", "subject", "type") if isinstance(record.get(k), str)}
    problem = Problem(
        id=row_id(record, number, "idx", "id"),
        question=text(record, "question"),
        kind="choice" if choices else "open",
        answers=(gold,) if choices else tuple(answers),
        choices=choices,
        letters_only=True,
        tags={"benchmark": "realcritic", **tags},
    )
    score = record.get("previous_score")
    label = score[0] if isinstance(score, list) and score else score
    marked = _marked_steps(record) if {"steps", "label"} <= record.keys() else {"steps": ()}
    solution = Solution(
        text=optional_text(record, "reasoning") or "\n\n".join(marked["steps"]) or None,
        answer=optional_text(record, "pred"),
        model=optional_text(record, "model"),
        label=label if isinstance(label, bool) else None,
        **marked,
    )
    return problem, solution


def _processbench(record: dict[str, Any], number: int) -> tuple[Problem, Solution]:
    """Read ProcessBench, which has no gold answers: only verdicts and steps can be scored."""
    label = record.get("final_answer_correct")
    marked = _marked_steps(record)
    solution = Solution(
        text="\n\n".join(marked["steps"]),
        model=optional_text(record, "generator"),
        label=label if isinstance(label, bool) else None,
        **marked,
    )
    return _open(record, number, "processbench", text(record, "problem")), solution


def _marked_steps(record: Mapping[str, Any]) -> dict[str, Any]:
    """Read a solution's steps, and which of them people marked as the first wrong one."""
    steps, place = record["steps"], record["label"]
    if not isinstance(steps, list) or not steps or not all(isinstance(step, str) for step in steps):
        raise RowError(f"steps is {shown(steps)}, not a list of texts")
    if type(place) is not int or not -1 <= place < len(steps):
        raise RowError(f"label is {shown(place)}, not the place of a step from 0, or -1")
    return {"steps": tuple(steps), "first_error": place if place == -1 else place + 1}


_INLINE = re.compile(
    r"(?:^|[\s:,;])\(?(?P<label>[A-J])[).:]\s*(?P<text>.*?)(?=\s*\(?[A-J][).:]\s|$)", re.DOTALL
)

_LABEL = re.compile(r"(?<![A-Za-z])([A-J])(?=[).:])")


def _choices(record: Mapping[str, Any], gold: str) -> dict[str, str]:
    """Return the choices of a question: from their field, else from the question."""
    given = record.get("choices", record.get("options"))
    texts: list[str] = []
    labels: list[str] = []
    if isinstance(given, dict) and isinstance(given.get("text"), list):
        texts = [str(choice) for choice in given["text"]]
        labels = [str(label) for label in given.get("label") or ()]
    elif isinstance(given, dict):
        labels, texts = list(map(str, given)), [str(choice) for choice in given.values()]
    elif isinstance(given, list):
        texts = [str(choice) for choice in given]
    letters = [chr(ord("A") + place) for place in range(len(texts))]
    if gold not in labels and gold in letters:
        labels = letters
    if gold in labels and len(labels) == len(texts):
        return dict(zip(labels, texts, strict=True))
    return _stated_choices(record["question"], gold) if re.fullmatch(r"[A-J]", gold) else {}


def _stated_choices(question: str, gold: str) -> dict[str, str]:
    """Return the choices in a question; without their texts where these cannot be separated."""
    stated = {match["label"]: match["text"].strip() for match in _INLINE.finditer(question)}
    for letters in (set(stated), set(_LABEL.findall(question))):
        labels = list(takewhile(letters.__contains__, "ABCDEFGHIJ"))  # another may be a unit
        if gold in labels and len(labels) > 1:
            return {label: stated.get(label, "") for label in labels}
    return {}


def _open(
    record: Mapping[str, Any],
    number: int,
    benchmark: str,
    question: str,
    *answers: str,
    **tags: Any,
) -> Problem:
    return Problem(
        id=row_id(record, number, "id", "unique_id", "idx"),
        question=question,
        kind="open",
        answers=answers,
        tags={"benchmark": benchmark, **tags},
    )


BENCHMARKS: dict[str, tuple[tuple[str, ...], Any]] = {
    "realcritic": (("question", "gt"), _realcritic),
    "humaneval": (("prompt", "test", "entry_point"), _humaneval),
    "truthfulqa": (("question", "mc1_targets"), _truthfulqa),
    "processbench": (("problem", "steps", "label"), _processbench),
    "math": (("problem", "solution"), _math),
    "gsm8k": (("question", "answer"), _gsm8k),
}
"""The files that can be read: the fields that tell each, and what reads a record."""


def read_problems(source: str | Path, benchmark: str | None = None) -> Iterator[Attempt]:
    """Read problems lazily, in order; a row that cannot be read says why and costs no other."""
    if benchmark is not None and benchmark not in BENCHMARKS:
        raise UsageError(
            f"no such benchmark: {benchmark!r}", hint=f"one of {', '.join(BENCHMARKS)}"
        )
    named = str(source)
    source_records = hub.records(named) if hub.is_named(named) else records(Path(source))
    rows = 0
    for rows, record in enumerate(source_records, start=1):
        if record.problem is not None:
            yield Attempt(record.line, f"row-{rows}", error=record.problem)
            continue
        benchmark = benchmark or _benchmark_of(record, source)
        yield _attempt(record, rows, benchmark)
    if not rows:
        raise InputError("the file holds no rows", where=str(source), hint="it needs at least one")


def _benchmark_of(record: Record, source: str | Path) -> str:
    for name, (fields, _) in BENCHMARKS.items():
        if all(field in record.data for field in fields):
            return name
    known = "; ".join(f"{name}: {', '.join(fields)}" for name, (fields, _) in BENCHMARKS.items())
    raise InputError(
        f"the rows are not in a known format; they have {', '.join(map(repr, record.data))}",
        where=f"{source}:{record.line}",
        hint=f"known are {known}",
    )


def _attempt(record: Record, number: int, benchmark: str) -> Attempt:
    fields, reader = BENCHMARKS[benchmark]
    ident = f"row-{number}"
    try:
        missing = [field for field in fields if field not in record.data]
        if missing:
            raise RowError(f"{missing[0]} is missing")  # noqa: TRY301 - as the readers do
        ident = row_id(record.data, number, "id", "idx", "task_id", "unique_id")
        problem, solution = reader(record.data, number)
    except RowError as error:
        return Attempt(record.line, ident, error=str(error))
    return Attempt(record.line, problem.id, problem, solution)


def named_sources(sources: Iterable[str | os.PathLike[str]]) -> dict[str, str]:
    """Name files and datasets of the hub, as ids and sets are called after them."""
    names: dict[str, str] = {}
    for source in map(str, sources):
        name = Path(source).stem
        if hub.is_named(source):
            name = source.partition("@")[0].partition(":")[2].partition(":")[0].split("/")[-1]
        if name in names:
            raise UsageError(f"two files are called {name}", where=source, hint="rename one")
        names[name] = source
    return names


def posed(problem: Problem, seed: int = 0, heading: str = "", separator: str = "\n") -> Problem:
    """Write choices that the question does not state below it, in random order and lettered.

    Published lists of choices may have the true one first, as TruthfulQA's.
    """
    choices = problem.choices
    if not any(choices.values()) or all(text in problem.question for text in choices.values()):
        return problem
    order = list(choices)
    random.Random(f"{seed}:{problem.id}").shuffle(order)
    letters = {label: chr(ord("A") + place) for place, label in enumerate(order)}
    lettered = {letters[label]: choices[label] for label in order}
    listed = separator.join(f"({letter}) {text}" for letter, text in lettered.items())
    return problem.model_copy(
        update={
            "question": f"{problem.question}\n{heading}{listed}",
            "choices": lettered,
            "answers": tuple(letters.get(answer, answer) for answer in problem.answers),
        }
    )
