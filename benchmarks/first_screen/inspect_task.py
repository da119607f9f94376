"""Inspect: recorded responses, one grade a row by its ``model_graded_qa``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspect_ai import Task, task
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import model_graded_qa
from inspect_ai.solver import Generate, Solver, TaskState, solver

if TYPE_CHECKING:
    from collections.abc import Mapping


def sample(row: Mapping[str, Any]) -> Sample:
    """Take the checklist as what the answer is graded by."""
    target = "\n".join(row["checklist"])
    metadata = {"response": row["response"]}
    return Sample(id=row["id"], input=row["prompt"], target=target, metadata=metadata)


@solver
def recorded() -> Solver:
    """Take the response from the row."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        state.output = ModelOutput.from_content("recorded", state.metadata["response"])
        return state

    return solve


@task
def checklist() -> Task:
    """Grade the six rows."""
    rows = json_dataset(str(Path(__file__).with_name("rows.jsonl")), sample)
    return Task(dataset=rows, solver=recorded(), scorer=model_graded_qa())
