"""AdvancedIF: conversations with rubrics, as JSON Lines or CSV, and its results written back.

Records: ``conversation_history``, ``response``, ``prompt_metadata`` (with ``rubrics``) and
``benchmark_name``. Each of the first three may be data or JSON text of that data; the metadata
may be encoded more than once. Its results files are read too: what the judge replied there
becomes the sample's recording.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from heedful.core.errors import RowError
from heedful.core.nouns import Recording, Sample
from heedful.data.formats import advancedif_results
from heedful.data.formats.base import Format
from heedful.data.formats.fields import messages, response_text, row_id
from heedful.data.formats.files import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

TASKS = {
    "if_system_steerability_oss": "system_steerability",
    "system_steerability_v2": "system_steerability",
    "if_carried_context_oss": "carried_context",
    "carried_context_multi_turn_eval_v5": "carried_context",
    "if_complex_if_oss": "complex_if",
    "complex_if_single_turn_v5": "complex_if",
}
"""The names in the published code and those in the released data, as the same three tasks."""

_MAX_ENCODINGS = 5
_MESSAGE = {"role", "content"}


def sample(record: dict[str, Any], number: int) -> Sample:
    """Read one record; ``source`` keeps all of it, to be written back."""
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
    return Sample.model_validate(
        {
            "id": row_id(record, number, "id", "key", "prompt_id"),
            "conversation": messages(history, "conversation_history"),
            "checklist": [{"text": rubric} for rubric in _rubrics(record)],
            "response": _response(record.get("response")),
            "tags": tags,
            "recording": _recording(record),
            "source": record,
        }
    )


def _decoded(value: Any, name: str) -> Any:
    """Undo JSON encoding, however often it was done."""
    for _ in range(_MAX_ENCODINGS):
        if not isinstance(value, str):
            return value
        try:
            value = from_json(value)  # a third of the time of the standard decoder
            continue
        except ValueError:
            pass
        try:
            value = json.loads(value)  # takes more, and knows better what is wrong
        except (ValueError, RecursionError) as error:
            raise RowError(f"{name} is {shown(value)}, which is not JSON: {error}") from error
    raise RowError(f"{name} is JSON in JSON more than {_MAX_ENCODINGS} times")


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
    if isinstance(value, dict) and not value.keys() >= _MESSAGE:
        hint = json.dumps(json.dumps(value, ensure_ascii=False), ensure_ascii=False)
        raise RowError(f"response is {shown(value)}; if that is the answer, write it as {hint}")
    if isinstance(value, list | dict):
        return _last(value)
    return response_text({"response": value})


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
    return messages([value] if isinstance(value, dict) else value, "response")[-1].content


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
            if cell and (match := advancedif_results.DECISION.fullmatch(key))
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


FORMAT = Format(
    "advancedif",
    (("conversation_history",), ("prompt_metadata",)),
    lambda record: "conversation_history" in record or "prompt_metadata" in record,
    sample,
    advancedif_results.writer,
    "advancedif",
)
