"""Inspect's ``model_graded_qa`` on responses that are at hand."""

from __future__ import annotations

from common import Stopwatch, arguments, read
from inspect_ai import Task
from inspect_ai import eval as run
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import model_graded_qa
from inspect_ai.solver import Generate, Solver, TaskState, solver


@solver
def recorded() -> Solver:
    """Take the response from the sample."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        state.output = ModelOutput.from_content("recorded", state.metadata["response"])
        return state

    return solve


def main() -> None:
    """Judge."""
    path, url, in_flight = arguments()
    watch = Stopwatch()
    samples = [
        Sample(
            id=row.id,
            input=row.prompt,
            target="\n".join(row.rubrics),
            metadata={"response": row.response},
        )
        for row in read(path)
    ]
    model = get_model("openai/bench", base_url=url, api_key="none", responses_api=False)
    scorer = model_graded_qa(model=model)
    (log,) = run(
        Task(dataset=MemoryDataset(samples), solver=recorded(), scorer=scorer),
        model=model,
        display="none",
        log_dir="logs",
        adaptive_connections=False,
        max_connections=in_flight,
        max_samples=in_flight,
    )
    watch.report(sum(sample.scores["model_graded_qa"].value == "C" for sample in log.samples))


if __name__ == "__main__":
    main()
