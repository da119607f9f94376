"""A run as a log of Inspect AI, which its viewer and its data frames read.

A log is a zip file of JSON: ``samples/ID_epoch_1.json`` for each sample, ``summaries.json`` for
lists of them, and ``header.json`` for the rest (schema version 2, read by Inspect 0.3). It is
written sample by sample, so Inspect need not be installed and a run may be of any size. What is not
decided is what Inspect calls unscored: a value that is not a number, which its metrics leave out.
"""

from __future__ import annotations

import json
import math
import shutil
import tempfile
import zipfile
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from heedful.core.outputs import replacing
from heedful.engine.reader import SUMMARY
from heedful.jobs.results import scored_entry
from heedful.metrics import scores as scores_of
from heedful.models.base import is_cut_off

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from heedful.core.nouns import Constraint, Judgment, Message, Sample, Scoring
    from heedful.core.turns import ToolCall
    from heedful.jobs.results import Scored
    from heedful.jobs.saved_run import SavedRun

_VERSION = 2
_ROLES = {"system", "user", "assistant", "tool"}
_SHOWN = 500
"""Characters of an instruction in a list of samples."""

_VALUES = {"met": "C", "unmet": "I"}
"""Verdicts as Inspect says correct and incorrect."""


class InspectLog:
    """One run, to be written as a log."""

    def __init__(self, run: SavedRun) -> None:
        """Take a finished run."""
        self._run = run
        self._summary = run.summary
        self._scoring: Scoring = self._summary["scoring"]
        written = (run.directory / SUMMARY).stat().st_mtime
        self._time = datetime.fromtimestamp(written, UTC).isoformat()
        self._models: set[str] = set()
        self.judgments = self.unread = 0

    def write(self, path: Path) -> None:
        """Write the log; it appears when it is complete."""
        with (
            replacing(path) as part,
            tempfile.TemporaryFile() as summaries,
            zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as log,
        ):
            for row in self._run.rows(scored_entry):
                sample = self._sample(row)
                log.writestr(f"samples/{row.id}_epoch_1.json", _json(sample))
                summaries.write(b"," if summaries.tell() else b"[")
                summaries.write(_json(_in_a_list(sample)))
            summaries.write(b"]" if summaries.tell() else b"[]")
            summaries.seek(0)
            with log.open("summaries.json", "w", force_zip64=True) as member:
                shutil.copyfileobj(summaries, member)
            log.writestr("header.json", _json(self._header()))

    def _sample(self, row: Scored) -> dict[str, Any]:
        head: dict[str, Any] = {"id": row.id, "epoch": 1}
        if row.sample is None or row.critique is None:
            self.unread += 1
            error = {"message": row.problem or "not read", "traceback": "", "traceback_ansi": ""}
            return head | {"input": "", "target": "", "error": error}
        sample, critique = row.sample, row.critique
        self.judgments += len(critique.judgments)
        model = str(sample.tags.get("model", "unknown"))
        self._models.add(model)
        turns = [_message(turn) for turn in sample.conversation]
        said = _reply(sample, model)
        metadata: dict[str, Any] = dict(sample.tags)
        if critique.text is not None:
            metadata["judge_reply"] = critique.text
        return head | {
            "input": turns,
            "target": sample.reference or "",
            "messages": [*turns, *(choice["message"] for choice in said["choices"])],
            "output": said,
            "scores": {
                **_row_scores(scores_of(sample, critique, self._scoring)),
                **_verdicts(sample.checklist, critique.judgments),
            },
            "metadata": metadata,
        }

    def _header(self) -> dict[str, Any]:
        summary = self._summary
        name = self._run.directory.resolve().name
        rows = summary["rows"]
        results = {
            "total_samples": rows["read"] + rows["failed"],
            "completed_samples": rows["read"],
            "scores": [
                _metric(f"{family}.{name}", measure)
                for family, measures in summary["metrics"].items()
                for name, measure in measures.items()
            ],
        }
        about = {key: summary[key] for key in ("judge", "scoring", "format", "seed", "coverage")}
        spec = {
            "eval_id": f"{name}-{self._time}",
            "created": self._time,
            "task": name,
            "dataset": {"name": _files(summary), "samples": results["total_samples"]},
            "model": next(iter(self._models)) if len(self._models) == 1 else "several",
            "config": {},
            "packages": {"heedful": summary["heedful"]},
            "metadata": about | {"verdicts": summary["verdicts"]},
        }
        return {
            "version": _VERSION,
            "status": "success",
            "eval": spec,
            "plan": {},
            "results": results,
            "stats": {},
        }


def _message(turn: Message) -> dict[str, Any]:
    """Lay out a turn; a role that Inspect doesn't know becomes metadata of a user's turn."""
    if turn.role in _ROLES:
        said = {"role": turn.role, "content": turn.content}
        return said | _tool_calls(turn.tool_calls)
    return {"role": "user", "content": turn.content, "metadata": {"role": turn.role}}


def _reply(sample: Sample, model: str) -> dict[str, Any]:
    if sample.response is None:
        return {"model": model, "choices": [], "completion": ""}
    completion = (sample.model_extra or {}).get("completion")
    ended = completion.get("finish_reason") if isinstance(completion, dict) else None
    message = {"role": "assistant", "content": sample.response, "model": model}
    message |= _tool_calls(sample.tool_calls)
    choice = {"message": message, "stop_reason": "max_tokens" if is_cut_off(ended) else "stop"}
    return {"model": model, "choices": [choice], "completion": sample.response}


def _tool_calls(calls: Sequence[ToolCall]) -> dict[str, Any]:
    laid_out = [
        {
            "id": call.id or f"call_{number}",
            "function": call.name,
            "arguments": call.arguments if isinstance(call.arguments, dict) else {},
            **({"parse_error": call.arguments} if isinstance(call.arguments, str) else {}),
        }
        for number, call in enumerate(calls, start=1)
    ]
    return {"tool_calls": laid_out} if calls else {}


def _row_scores(scores: Mapping[str, float | None]) -> dict[str, dict[str, Any]]:
    return {
        name: {
            "value": math.nan if value is None else value,
            "explanation": f"{_MEANINGS.get(name, name)}{': not decided' if value is None else ''}",
        }
        for name, value in scores.items()
    }


_MEANINGS = {
    "csr": "the share of the constraints met",
    "isr": "whether all constraints are met",
    "score": "the weighted score of the rubric, 0 to 1",
    "psr": "whether the response passes by priority",
    "strict": "whether all constraints are met, read strictly",
    "loose": "whether all constraints are met, read loosely",
}
"""Meanings of the scores of a row; see :func:`heedful.metrics.scores`."""


def _verdicts(
    checklist: Iterable[Constraint], judgments: Iterable[Judgment]
) -> dict[str, dict[str, Any]]:
    """Make a score of each judgment, named by the constraint's number."""
    return {
        f"constraint {number}": {
            "value": _VALUES.get(judgment.status, math.nan),
            "explanation": f"**{constraint.text}**\n\n{judgment.explanation}",
            "reason": _REASONS.get(judgment.status),
            "metadata": {
                "constraint": constraint.model_dump(mode="json", exclude_defaults=True),
                **judgment.model_dump(mode="json", exclude_defaults=True, exclude={"explanation"}),
            },
        }
        for number, (constraint, judgment) in enumerate(zip(checklist, judgments, strict=True), 1)
    }


_REASONS = {
    "unparsed": "grader_failed",
    "failed": "grader_failed",
    "unsupported": "scoring_failed",
    "not_applicable": "scoring_failed",
}
"""Reasons for a missing verdict, in Inspect's words."""


def _metric(name: str, measure: Mapping[str, Any]) -> dict[str, Any]:
    least, most = measure["bounds"] or (None, None)
    low, high = measure["interval"] or (None, None)
    values = {"mean": measure["value"], "least": least, "most": most, "low": low, "high": high}
    values["coverage"] = measure["coverage"]
    return {
        "name": name,
        "scorer": name,
        "metrics": {
            key: {"name": key, "value": math.nan if value is None else value}
            for key, value in values.items()
        },
        "metadata": dict(measure),
    }


def _in_a_list(sample: Mapping[str, Any]) -> dict[str, Any]:
    """Shorten a sample to what a list of samples shows."""
    prompt = next((turn for turn in reversed(sample["input"]) if turn["role"] == "user"), None)
    short = {key: sample[key] for key in ("id", "epoch", "target")}
    short["input"] = prompt["content"][:_SHOWN] if prompt else ""
    if "error" in sample:
        return short | {"error": sample["error"]["message"], "completed": False}
    scores = {name: {"value": score["value"]} for name, score in sample["scores"].items()}
    metadata = {key: value for key, value in sample["metadata"].items() if key != "judge_reply"}
    size = len(sample["messages"])
    return short | {
        "scores": scores, "metadata": metadata, "completed": True, "message_count": size
    }  # fmt: skip


def _files(summary: Mapping[str, Any]) -> str:
    paths = (path.replace("\\", "/").split("/")[-1] for path in summary["input"] or ())
    return " with ".join(paths) or "samples"


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
