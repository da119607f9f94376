"""A model that answers from a script, here or through a batch endpoint on the loopback."""

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import batch_server
from batch_server import KEY
from heedful import Constraint, Message, Sample, evaluate
from heedful.engine import batches
from heedful.jobs.evaluate import Evaluation
from heedful.judges import prompts
from heedful.judges.model import Checklist
from heedful.models import Completion, OpenAIModel, Price, Sampling, Usage
from heedful.models.batches.anthropic import AnthropicBatches
from heedful.models.batches.base import BatchService
from heedful.models.batches.gemini import GeminiBatches
from heedful.models.batches.openai import OpenAIBatches

KINDS = ("openai", "anthropic", "gemini")
PRICES = {"m": Price(prompt=10.0, cached=1.0, completion=100.0)}


def verdict(prompt: str, asked: int) -> str:
    """Judge a prompt of :func:`rows`, always alike."""
    del asked
    number = int(prompt.partition("Tell me about number ")[2].split(".")[0])
    asked_for = re.findall(r"^\d+\. It is true (\d) times", prompt, re.MULTILINE)
    lines = [
        f"<c{place}>\nSeen.\nVERDICT: {'UN' * (number % int(k) > 1)}MET\n</c{place}>"
        for place, k in enumerate(asked_for, 1)
    ]
    return "\n".join(lines)


class Scripted:
    """The model; ``kind`` names the protocol of its batch endpoint."""

    name = "m"
    config: Mapping[str, Any] = {"model": "m"}

    def __init__(self, kind: str = "", url: str = "") -> None:
        self.kind = kind
        self.url = url

    async def generate(
        self, messages: Sequence[Message], sampling: Sampling, *, sample: int = 0
    ) -> Completion:
        del sampling, sample
        assert not self.kind, "a batch run calls no model"
        usage = Usage(
            prompt_tokens=batch_server.PROMPT_TOKENS,
            cached_tokens=batch_server.CACHED_TOKENS,
            completion_tokens=batch_server.COMPLETION_TOKENS,
        )
        return Completion(text=verdict(messages[-1].content, 0), usage=usage, model="m")

    async def close(self) -> None:
        pass

    def batches(self) -> BatchService:
        if self.kind == "openai":
            model = OpenAIModel("m", base_url=f"{self.url}/v1", api_key=KEY)
            return OpenAIBatches(model, backoff_s=0.01)
        made = AnthropicBatches if self.kind == "anthropic" else GeminiBatches
        return made("m", api_key=KEY, base_url=self.url, backoff_s=0.01)


def rows(count: int) -> list[Sample]:
    return [
        Sample(
            id=str(number),
            prompt=f"Tell me about number {number}.",
            checklist=tuple(Constraint(text=f"It is true {k} times.") for k in (1, 2, 3)),
            response=f"{number} is a number.",
        )
        for number in range(count)
    ]


def judge(model: Any, count: int, run: Path, **options: Any) -> Evaluation:
    sampling = options.pop("sampling", None)
    checklist = Checklist(
        model, prompts.make("plain"), per_call=options.pop("per_call", None), sampling=sampling
    )
    return evaluate(rows(count), judge=checklist, run=run, **{"prices": PRICES, **options})


if __name__ == "__main__":
    kind, url, size, directory, *most = sys.argv[1:]
    batches.SETTLED_S = 5.0

    class Small(Scripted):
        def batches(self) -> BatchService:
            service = super().batches()
            service.requests = int(most[0]) if most else service.requests
            return service

    judge(Small(kind, url), int(size), Path(directory), executor="batch")
