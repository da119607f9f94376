"""Judge with vLLM inside Ray Data, without a server: judge.py CRITIC SAMPLES.jsonl JUDGED.jsonl.

SAMPLES are rows in heedful's own format; several files can be given by a pattern. What comes out is
the same rows, each with the critic's reply, which `heedful evaluate JUDGED.jsonl` reads.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from heedful import Sample
from heedful.core.nouns import Recording
from heedful.judges import prompts

PROMPT = "plain"


def request(row: dict[str, Any]) -> dict[str, Any]:
    """Render the prompt of a row, which holds a sample as JSON under ``text``."""
    sample = Sample.model_validate_json(row["text"])
    turns = prompts.make(PROMPT).render(sample, sample.checklist)
    messages = [{"role": turn.role, "content": turn.content} for turn in turns]
    return {**row, "messages": messages, "sampling_params": {"temperature": 0, "max_tokens": 4096}}


def recorded(row: dict[str, Any]) -> dict[str, Any]:
    """Put the reply that came under ``generated_text`` beside its sample."""
    sample = Sample.model_validate_json(row["text"])
    recording = Recording(prompt=PROMPT, text=row["generated_text"])
    judged = sample.model_copy(update={"recording": recording})
    return {"text": judged.model_dump_json(exclude_none=True)}


def processor(critic: str, replicas: int) -> Any:
    """Make what takes a dataset of samples to one with replies."""
    from ray.data.llm import build_processor, vLLMEngineProcessorConfig

    config = vLLMEngineProcessorConfig(
        model_source=critic,
        engine_kwargs={"enable_prefix_caching": True, "max_model_len": 8192},
        concurrency=replicas,
        batch_size=64,
    )
    return build_processor(config, preprocess=request, postprocess=recorded)


def main() -> None:
    """Read, judge on the cluster's GPUs, write."""
    import ray

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("critic")
    parser.add_argument("samples")
    parser.add_argument("judged", type=Path)
    parser.add_argument("--replicas", type=int, default=1)
    options = parser.parse_args()
    if options.judged.exists():
        sys.exit(f"{options.judged} exists")
    judge = processor(options.critic, options.replicas)
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    with options.judged.open("w", encoding="utf-8") as file:
        for row in judge(ray.data.read_text(options.samples)).iter_rows():
            file.write(row["text"] + "\n")


if __name__ == "__main__":
    main()
