"""lm-eval: prompts made beforehand as a task of its own, whose results count the verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from common import Stopwatch, arguments, question, read
from lm_eval import simple_evaluate


def verdicts(doc: dict[str, Any], results: list[str]) -> dict[str, float]:
    """Count what is met."""
    del doc
    return {"met": results[0].count("VERDICT: MET")}


def main() -> None:
    """Judge."""
    path, url, in_flight = arguments()
    watch = Stopwatch()
    prompts = Path("prompts.jsonl")
    lines = [json.dumps({"prompt": question(row)}) + "\n" for row in read(path)]
    prompts.write_text("".join(lines), encoding="utf-8")
    task = {
        "task": "judge",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(prompts.resolve())}},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "{{prompt}}",
        "doc_to_target": "",
        "generation_kwargs": {"until": [], "max_gen_toks": 1024},
        "process_results": verdicts,
        "metric_list": [{"metric": "met", "aggregation": "mean", "higher_is_better": True}],
    }
    done = simple_evaluate(
        model="local-chat-completions",
        model_args={
            "model": "bench",
            "base_url": f"{url}/chat/completions",
            "num_concurrent": in_flight,
            "tokenized_requests": False,
        },
        tasks=[task],
        apply_chat_template=True,
        bootstrap_iters=0,
    )
    watch.report(round(done["results"]["judge"]["met,none"] * len(lines)))


if __name__ == "__main__":
    main()
