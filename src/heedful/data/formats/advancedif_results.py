"""AdvancedIF's results files: the input's rows with what the judge made of them.

As the benchmark's README lays them out: JSON Lines nest it under ``judge_result``, CSV adds
columns that begin with ``judge_``. The verdict on a row is computed from its rubrics (strict); what
the judge declared is in ``raw_output``. ``rubrics_check`` holds the judge's answers as it wrote
them. Several replies become one, so that a results file reads as the verdicts it was written from.
A row with a rubric that was not decided isn't a success.
"""

from __future__ import annotations

import csv
import json
import re
from typing import TYPE_CHECKING, Any

from heedful.core.nouns import Critique, Sample, Status
from heedful.data.formats import native
from heedful.data.formats.base import atomically

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from heedful.data.formats.base import Reply, Result, Writer

DECISION = re.compile(r"judge_rubric_(\d+)_decision")
"""Columns of the answers in a CSV file."""

_HEAD = ("judge_success", "judge_satisfied_all_requirements", "judge_rubric_level_pass_rate")
_TAIL = ("judge_prompt", "judge_raw_output", "judge_error")
_OWN = ("judge_result", *_HEAD, *_TAIL)


def writer(path: Path) -> Writer:
    """Return the writer for a file: CSV by its name, else JSON Lines."""
    return write_csv if path.suffix.lower() == ".csv" else write_jsonl


def results(sample: Sample, critique: Critique, reply: Reply) -> dict[str, Any]:
    """Lay out one judged row: the input's fields and ``judge_result``.

    ``satisfied_all_requirements`` is ``"YES"`` if every rubric is met; ``rubric_level_pass_rate``
    is the share met. Both are ``None`` where a rubric was not decided.
    """
    judgments = critique.judgments
    undecided = [
        f"rubric {number} is {judgment.status}: {judgment.explanation}"
        for number, judgment in enumerate(judgments, start=1)
        if not judgment.status.decided
    ]
    met = sum(judgment.status is Status.MET for judgment in judgments)
    success = bool(judgments) and not undecided
    result = {
        "success": success,
        "satisfied_all_requirements": _yes(met == len(judgments)) if success else None,
        "rubrics_check": dict(reply.answers),
        "rubric_level_pass_rate": met / len(judgments) if success else None,
        "judge_prompt": reply.prompt or _earlier_prompt(sample, critique),
        "raw_output": reply.text,
        "error": None if success else "; ".join(undecided) or "the row has no rubrics",
    }
    return sample.source | {"judge_result": result}


def write_jsonl(path: Path, rows: Callable[[], Iterable[Result]]) -> None:
    """Write results as JSON Lines; the file appears when it is complete."""
    with atomically(path) as file:
        for row in rows():
            file.write(json.dumps(_beside(row) | _row(row), ensure_ascii=False) + "\n")


def write_csv(path: Path, rows: Callable[[], Iterable[Result]]) -> None:
    """Write results as CSV; the file appears when it is complete.

    The rows are gone through twice, once for the columns: memory does not grow with their number.
    """
    columns: set[str] = set()
    rubrics = 0
    for row in rows():
        record = _row(row)
        columns |= {key for key in record if not _is_own(key)}
        numbers = (int(key.removeprefix("question_")) for key in _answers(record))
        rubrics = max(rubrics, *numbers, 0)
    decisions = [_decision(number) for number in range(1, rubrics + 1)]
    with atomically(path) as file:
        table = csv.DictWriter(file, [*sorted(columns), *_HEAD, *decisions, *_TAIL], restval="")
        table.writeheader()
        table.writerows(_cells(_row(row)) for row in rows())


def _earlier_prompt(sample: Sample, critique: Critique) -> str | None:
    """Return the prompt that the file names, where its reply is the one that was read."""
    if sample.recording is None or sample.recording.text != critique.text:
        return None
    result = sample.source.get("judge_result")
    prompt = result.get("judge_prompt") if isinstance(result, dict) else None
    return prompt or sample.source.get("judge_prompt")


def _yes(met: bool) -> str:  # noqa: FBT001 - its one argument
    return "YES" if met else "NO"


def _row(row: Result) -> dict[str, Any]:
    if row.sample is None or row.critique is None or row.reply is None:
        return {"judge_result": {"success": False, "error": row.problem}}
    return results(row.sample, row.critique, row.reply)


def _beside(row: Result) -> dict[str, Any]:
    """Lay out what heedful's own results have and AdvancedIF's readers pass over."""
    if row.sample is None or row.critique is None:
        return {"id": row.id}
    return {
        "id": row.id,
        "tags": row.sample.tags,
        "judgments": native.judgments(row.sample, row.critique),
    }


def _answers(record: dict[str, Any]) -> dict[str, str]:
    answers: dict[str, str] = record["judge_result"].get("rubrics_check", {})
    return answers


def _decision(number: int) -> str:
    return f"judge_rubric_{number}_decision"


def _is_own(column: str) -> bool:
    """Check whether an earlier results file has brought this column; the new results replace it."""
    return column in _OWN or bool(DECISION.fullmatch(column))


def _cells(record: dict[str, Any]) -> dict[str, str]:
    """Flatten a row to CSV: ``judge_result`` becomes columns, data becomes JSON."""
    result = record["judge_result"]
    cells = {key: value for key, value in record.items() if not _is_own(key)}
    for key in ("success", "satisfied_all_requirements", "rubric_level_pass_rate", "error"):
        cells[f"judge_{key}"] = result.get(key)
    cells["judge_prompt"] = result.get("judge_prompt")
    cells["judge_raw_output"] = result.get("raw_output")
    for key, answer in _answers(record).items():
        cells[_decision(int(key.removeprefix("question_")))] = answer
    return {key: _cell(value) for key, value in cells.items()}


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str | bool | int | float):
        return str(value)
    return json.dumps(value, ensure_ascii=False)
