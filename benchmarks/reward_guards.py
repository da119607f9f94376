"""Gates: what they stop of a set written to game a reward, and of real responses.

    python benchmarks/reward_guards.py
    python benchmarks/reward_guards.py --data DIR [--show GATE]

The first prints, by trick, the mean reward (all or nothing) that ``examples/gamed.jsonl`` gets
without gates and with them. With ``DIR``, the benchmarks' real files, it also counts the responses
of models that each gate stops. ``--show`` prints what a gate stops, to be read.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful import Sample
from heedful.data import formats
from heedful.rewards import Reward
from heedful.rewards.gates import GATES, violation

if TYPE_CHECKING:
    from collections.abc import Iterator

GAMED = Path(__file__).resolve().parents[1] / "examples" / "gamed.jsonl"

PROMPTED = {
    "GPT-4 on IFEval": "ifeval/input_response_data_gpt4_20231107_145030.jsonl",
    "GPT-4o on IFEval": "mifeval_en/gpt-4o-2024-08-06/eval_results_strict.jsonl",
    "Claude 3 Haiku on IFEval": "mifeval_en/claude-3-haiku-20240307/eval_results_strict.jsonl",
    "Qwen2.5 1.5B on IFEval": (
        "mifeval_en/Qwen__Qwen2.5-1.5B-Instruct-GPTQ-Int4/eval_results_strict.jsonl"
    ),
    "a model on IFBench": "ifbench/sample_output.jsonl",
}
"""Files of JSON lines with ``prompt`` and ``response``."""

SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {"gates": "none"},
    "gates": {},
}


def gamed() -> None:
    """Print the rewards of the gamed set by trick."""
    samples = [row.sample for row in formats.open_source(GAMED) if row.sample is not None]
    rewards: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for name, options in SETTINGS.items():
        with Reward(aggregate="all_or_nothing", **options) as reward:
            scored = reward.score_sync(samples)
        for sample, result in zip(samples, scored, strict=True):
            if result.value is not None:  # code decides all of them
                rewards[str(sample.tags["trick"])][name].append(result.value)
    print(f"{'trick':24}{'responses':>10}" + "".join(f"{name:>12}" for name in SETTINGS))
    for trick, values in rewards.items():
        means = (sum(values[name]) / len(values[name]) for name in SETTINGS)
        print(f"{trick:24}{len(values['plain']):10}" + "".join(f"{mean:12.2f}" for mean in means))


def sample(turns: list[tuple[str, str]], response: str, checklist: list[str]) -> Sample:
    """Make a sample of a response to a conversation."""
    conversation = [{"role": role, "content": text} for role, text in turns]
    constraints = [{"text": text} for text in checklist]
    fields = {"conversation": conversation, "checklist": constraints, "response": response}
    return Sample.model_validate({"id": "", **fields})


def responses(data: Path) -> Iterator[tuple[str, Sample]]:
    """Yield the real responses, each with its conversation and checklist, by model."""
    for name, file in PROMPTED.items():
        for line in (data / file).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if isinstance(row.get("response"), str):
                yield name, sample([("user", row["prompt"])], row["response"], [row["prompt"]])
    yield from _of_conversations(data)
    for path in sorted(data.glob("llmbar/**/dataset.json")):
        for row in json.loads(path.read_text(encoding="utf-8")):
            for output in ("output_1", "output_2"):
                yield "LLMBar", sample([("user", row["input"])], row[output], [row["input"]])


def _of_conversations(data: Path) -> Iterator[tuple[str, Sample]]:
    turns: list[tuple[str, str]] = []
    for line in (data / "sysbench" / "gpt35.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        turns = [("system", row["system_prompt"])] if row["turn"] == 1 else turns
        turns = [*turns, ("user", row["prompt"])]
        yield "GPT-3.5 on SysBench", sample(turns, row["response"], list(row["criteria"]))
        turns.append(("assistant", row["response"]))
    for path in sorted(data.glob("structflow/*_evaluate.json")):
        for row in json.loads(path.read_text(encoding="utf-8")):
            turns = []
            for turn in row["whole_conv"]:
                turns.append(("user", turn["user prompt"]))
                checklist = [each["content"] for each in turn["constraints"]]
                if isinstance(turn.get("response"), str):
                    model = path.name.removesuffix("_evaluate.json")
                    yield f"{model} on StructFlow", sample(turns, turn["response"], checklist)
                turns = [*turns, ("assistant", turn["assistant answer"])]


def alarms(data: Path, show: str | None) -> None:
    """Print how many responses of models each gate stops."""
    totals: Counter[str] = Counter()
    stopped: dict[str, Counter[str]] = {name: Counter() for name in GATES}
    for model, row in responses(data):
        totals[model] += 1
        for name in GATES:
            found = violation(row, {name})
            if found is not None:
                stopped[name][model] += 1
                if name == show:
                    print(f"{model}: {found.reason}: {(row.response or '')[:150]!r}")
    print(f"\n{totals.total():,} responses\n")
    print("| gate | stopped | % | of them |\n| --- | --- | --- | --- |")
    for name, counts in stopped.items():
        models = ", ".join(f"{model} {count}" for model, count in counts.most_common(3) if count)
        share = 100 * counts.total() / totals.total()
        print(f"| `{name}` | {counts.total()} | {share:.2f} | {models} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--show")
    given = parser.parse_args()
    gamed()
    if given.data is not None:
        alarms(given.data, given.show)
