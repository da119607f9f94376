"""AdvancedIF: conversations with rubrics, as JSON Lines or CSV, and its results written back.

Records: ``conversation_history``, ``response``, ``prompt_metadata`` (with ``rubrics``) and
``benchmark_name``. Each of the first three may be data or JSON text of that data; the metadata
may be encoded more than once. Its results files are read too: what the judge replied there
becomes the sample's recording.
"""

from __future__ import annotations

import csv
import json
import re
from typing import TYPE_CHECKING, Any

from heedful.core.errors import RowError
from heedful.core.nouns import Critique, Recording, Sample, Status
from heedful.core.outputs import atomically
from heedful.core.reasoning import separate
from heedful.data.formats import fields, native
from heedful.data.formats.base import Format
from heedful.data.formats.files import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from heedful.core.nouns import Reply
    from heedful.data.formats.base import Result, Writer

TASKS = {
    "if_system_steerability_oss": "system_steerability",
    "system_steerability_v2": "system_steerability",
    "if_carried_context_oss": "carried_context",
    "carried_context_multi_turn_eval_v5": "carried_context",
    "if_complex_if_oss": "complex_if",
    "complex_if_single_turn_v5": "complex_if",
}
"""The names in the published code and those in the released data, as the same three tasks."""


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one record; ``source`` keeps it, to be written back."""
    for key in ("conversation_history", "prompt_metadata"):
        if record.get(key) in (None, ""):
            earlier = record.get("judge_result")
            error = earlier.get("error") if isinstance(earlier, dict) else record.get("judge_error")
            before = f"the row had failed before: {error}" if error else ""
            raise RowError(before or f"{key} is missing")
    history = _decoded(record["conversation_history"], "conversation_history")
    tags: dict[str, str | int | float | bool] = {"benchmark": "advancedif"}
    name = record.get("benchmark_name")
    if isinstance(name, str) and name.strip():
        tags["task"] = TASKS.get(name.strip(), name)
    response = _response(record.get("response"))
    return Sample.model_validate(
        {
            "id": fields.row_id(record, number, "id", "key", "prompt_id"),
            "conversation": fields.messages(history, "conversation_history"),
            "checklist": [{"text": rubric} for rubric in _rubrics(record)],
            "response": response,
            "tags": tags,
            "recording": _recording(record),
            "source": _beside_response(record, response),
        }
    )


def _beside_response(record: dict[str, Any], response: str | None) -> dict[str, Any]:
    """Leave out the response where the sample's will be the same: it needn't be stored twice."""
    if response is None or record["response"] != response or separate(response)[1] is not None:
        return record
    return {key: value for key, value in record.items() if key != "response"}


def _decoded(value: Any, name: str) -> Any:
    """Undo JSON encoding, which may have been done twice."""
    return fields.from_json(fields.from_json(value, name), name)


def _rubrics(record: Mapping[str, Any]) -> list[str]:
    metadata = _decoded(record["prompt_metadata"], "prompt_metadata")
    if not isinstance(metadata, dict):
        raise RowError(f"prompt_metadata is {shown(metadata)}, not an object with rubrics")
    if metadata.get("rubrics") in (None, ""):
        raise RowError("prompt_metadata.rubrics is missing")
    rubrics = _decoded(metadata["rubrics"], "prompt_metadata.rubrics")
    if not isinstance(rubrics, list) or not rubrics:
        raise RowError(f"prompt_metadata.rubrics is {shown(rubrics)}, not a list of rubrics")
    for place, rubric in enumerate(rubrics):
        if not isinstance(rubric, str):
            raise RowError(f"prompt_metadata.rubrics[{place}] is {shown(rubric)}, not text")
    return rubrics


def _response(value: Any) -> str | None:
    """Return the text to judge: a message, the last of several, or plain text."""
    if isinstance(value, str):
        encoded = _encoded(value)
        return value if encoded is None else encoded
    if isinstance(value, list | dict):
        return _last(value)
    return fields.response_text({"response": value})


def _encoded(words: str) -> str | None:
    """Return the last message that a text encodes; ``None`` where it is ordinary text."""
    if not words.lstrip().startswith(("[", "{")):
        return None
    try:
        return _last(json.loads(words))
    except (ValueError, RecursionError, RowError):
        return None


def _last(value: Any) -> str:
    """Return the text of a message, or of the last of several: the turn that is judged."""
    return fields.messages([value] if isinstance(value, dict) else value, "response")[-1].content


def _recording(record: Mapping[str, Any]) -> Recording | None:
    """Find a judge's reply: under ``judge_result`` (JSON Lines) or in columns (CSV)."""
    result = record.get("judge_result")
    answers: Any
    if isinstance(result, dict):
        raw, error, answers = (result.get(key) for key in ("raw_output", "error", "rubrics_check"))
        whole = result.get("satisfied_all_requirements")
    elif "judge_raw_output" in record or "raw_output" in record:
        raw = record.get("judge_raw_output") or record.get("raw_output")
        error, whole = record.get("judge_error"), record.get("judge_satisfied_all_requirements")
        answers = {
            f"question_{match[1]}": cell
            for key, cell in record.items()
            if cell and (match := DECISION.fullmatch(key))
        }
    else:
        return None
    if isinstance(raw, str) and raw.strip():
        return Recording(prompt="advancedif", text=raw)
    if isinstance(answers, dict) and answers:
        said = {"rubrics_check": answers, "SATISFIED_ALL_REQUIREMENTS": whole}
        return Recording(prompt="advancedif", text=json.dumps(said, ensure_ascii=False))
    reason = error if isinstance(error, str) and error else "the file holds no reply of the judge"
    return Recording(prompt="advancedif", declared={"error": reason})


# --- results ------------------------------------------------------------------------------------
#
# As the benchmark's README lays them out: JSON Lines nest them under judge_result, CSV adds columns
# that begin with judge_. The verdict on a row is computed from its rubrics (strict); what the judge
# declared is in raw_output. Several replies become one, so that a results file reads as the
# verdicts it was written from.

DECISION = re.compile(r"judge_rubric_(\d+)_decision")
"""Columns of the answers in a CSV file."""

_HEAD = ("judge_success", "judge_satisfied_all_requirements", "judge_rubric_level_pass_rate")
_TAIL = ("judge_prompt", "judge_raw_output", "judge_error")
_WORDS = ("NO", "YES")
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
        "satisfied_all_requirements": _WORDS[met == len(judgments)] if success else None,
        "rubrics_check": dict(reply.answers),
        "rubric_level_pass_rate": met / len(judgments) if success else None,
        "judge_prompt": reply.prompt or _earlier_prompt(sample, critique),
        "raw_output": reply.text,
        "error": None if success else "; ".join(undecided) or "the row has no rubrics",
    }
    source = sample.source
    if sample.response is not None and "response" not in source:
        source = source | {"response": sample.response}
    return source | {"judge_result": result}


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


def _row(row: Result) -> dict[str, Any]:
    if row.sample is None or row.critique is None or row.reply is None:
        return {"judge_result": {"success": False, "error": row.problem}}
    return results(row.sample, row.critique, row.reply)


def _beside(row: Result) -> dict[str, Any]:
    """Lay out the fields of heedful's own results, which AdvancedIF's readers ignore."""
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
    for key in result.keys() - {"rubrics_check"}:
        cells[f"judge_{key.removeprefix('judge_')}"] = result[key]
    for key, answer in _answers(record).items():
        cells[_decision(int(key.removeprefix("question_")))] = answer
    return {key: _cell(value) for key, value in cells.items()}


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str | bool | int | float):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


FORMAT = Format(
    "advancedif",
    (("conversation_history",), ("prompt_metadata",)),
    sample,
    lambda record: "conversation_history" in record or "prompt_metadata" in record,
    writer,
    "advancedif",
)
