"""The compute that judging takes, by protocol: calls, tokens and floating-point operations.

    python benchmarks/judging_compute.py RESPONSES --parameters 14 [--per-call 3] [--reasoning 1000]

No call is made: the prompts are written for the data at hand, and the lengths of the replies are
those of published critiques (:mod:`heedful.engine.purpose`). A forward pass takes about two
operations for each parameter and token (Kaplan et al., arXiv 2001.08361, section 2.1; attention,
which grows with the context, is left out). Of a mixture of experts, the active parameters count.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from heedful.core.text import amount
from heedful.data import formats
from heedful.engine.purpose import EXPLAINED_TOKENS, VERDICT_TOKENS
from heedful.judges import prompts
from heedful.judges.prompts.base import lacking
from heedful.models.pricing import estimate_tokens
from heedful.reporting.document import Document
from heedful.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from heedful.core.nouns import Sample
    from heedful.judges.prompts import JudgePrompt

OPERATIONS = 2
"""Of a forward pass, for each parameter and token."""


@dataclass(slots=True)
class _Protocol:
    """A way to judge, and what it takes so far."""

    per_call: int | None
    reasoning: int
    calls: int = 0
    prompt: int = 0
    shared: int = 0
    completion: int = 0

    def add(self, sample: Sample, prompt: JudgePrompt) -> None:
        """Add the calls for a response."""
        size = self.per_call or len(sample.checklist)
        groups = [sample.checklist[at : at + size] for at in range(0, len(sample.checklist), size)]
        texts = [
            "\n\n".join(message.content for message in prompt.render(sample, group))
            for group in groups
        ]
        each = EXPLAINED_TOKENS if getattr(prompt, "explain", True) else VERDICT_TOKENS
        self.calls += len(groups)
        self.prompt += sum(map(estimate_tokens, texts))
        self.shared += (len(texts) - 1) * estimate_tokens(_beginning(texts))
        self.completion += len(groups) * self.reasoning + len(sample.checklist) * each

    def result(self, responses: int, parameters: float) -> dict[str, Any]:
        """Return the means a response."""
        tokens = self.prompt + self.completion
        return {
            "per_call": self.per_call,
            "reasoning": self.reasoning,
            "calls": self.calls / responses,
            "prompt_tokens": self.prompt / responses,
            "shared_tokens": self.shared / responses,
            "completion_tokens": self.completion / responses,
            "operations": OPERATIONS * parameters * tokens / responses,
            "operations_cached": OPERATIONS * parameters * (tokens - self.shared) / responses,
        }


def _beginning(texts: Sequence[str]) -> str:
    """Return what texts begin with in common."""
    low, high = min(texts), max(texts)
    same = (at for at, pair in enumerate(zip(low, high, strict=False)) if pair[0] != pair[1])
    return low[: next(same, min(len(low), len(high)))]


def judging_compute(
    samples: Iterable[Sample],
    prompt: JudgePrompt,
    *,
    parameters: float,
    per_call: Sequence[int | None] = (None, 3, 1),
    reasoning: int = 1000,
) -> dict[str, Any]:
    """Estimate the compute of judging whole checklists, parts of them, single constraints."""
    thoughts = [0, reasoning] if reasoning else [0]
    protocols = [_Protocol(size, thought) for thought in thoughts for size in per_call]
    responses = constraints = skipped = 0
    for sample in samples:
        if not sample.checklist or lacking(sample, prompt) is not None:
            skipped += 1
            continue
        responses += 1
        constraints += len(sample.checklist)
        for protocol in protocols:
            protocol.add(sample, prompt)
    if not responses:
        raise SystemExit("no row has an instruction, a response and a checklist")
    return {
        "responses": responses,
        "constraints": constraints,
        "skipped": skipped,
        "parameters": parameters,
        "protocols": [protocol.result(responses, parameters) for protocol in protocols],
    }


def document(result: Mapping[str, Any]) -> Document:
    """Lay out the protocols, each compared with the first."""
    first = result["protocols"][0]["operations"]
    rows = []
    for each in result["protocols"]:
        cells = (f"{each[key]:,.0f}" for key in ("reasoning", "prompt_tokens", "completion_tokens"))
        rows.append(
            (
                "whole" if each["per_call"] is None else f"{each['per_call']} a call",
                f"{each['calls']:.1f}",
                *cells,
                f"{each['operations'] / 1e12:,.1f}",
                f"{each['operations'] / first:.2f}",
                f"{each['operations_cached'] / first:.2f}",
            )
        )
    columns = ("checklist", "calls", "reasoning", "prompt", "reply", "TFLOPs", "relative", "cached")
    note = (
        "Means a response; reasoning in tokens a call, prompt and reply in tokens, all estimates. "
        "Two operations for each active parameter and token, without attention. Cached: relative, "
        "where a prefix cache spares what the calls on one response share."
    )
    intro = (
        f"{amount(result['responses'], 'response')}, "
        f"{amount(result['constraints'], 'constraint')}, a judge of "
        f"{result['parameters'] / 1e9:g} billion active parameters"
    )
    if result["skipped"]:
        intro += f"; {amount(result['skipped'], 'row')} that no model can judge left out"
    return Document("Compute of judging", [intro], [Table("Compute", columns, rows, note=note)])


def main() -> None:
    """Read the command line, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="responses with their checklists")
    parser.add_argument("--parameters", type=float, required=True, help="active ones, in billions")
    parser.add_argument("--per-call", type=int, default=3, help="constraints in a call, between")
    parser.add_argument("--reasoning", type=int, default=1000, help="tokens that a judge thinks")
    parser.add_argument("--prompt", default="plain")
    given = parser.parse_args()
    samples = (row.sample for row in formats.open_source(given.data) if row.sample is not None)
    result = judging_compute(
        samples,
        prompts.make(given.prompt),
        parameters=given.parameters * 1e9,
        per_call=list(dict.fromkeys([None, given.per_call, 1])),
        reasoning=given.reasoning,
    )
    Console().print(document(result).terminal())


if __name__ == "__main__":
    main()
