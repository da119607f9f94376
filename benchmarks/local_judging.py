"""Judge in this process with and without what saves work, side by side, in CPU seconds.

    python benchmarks/local_judging.py --model FOLDER --data FILE [--verdicts 64] [--tokens 64]

FILE holds samples with responses. Each constraint is asked by itself, with the prompt that the
folder names. "Whole" computes every prompt from its first token and keeps a batch together until
its longest reply is written, as transformers does by itself.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from heedful.engine.inputs import items, open_data
from heedful.judges import prompts
from heedful.models.base import Sampling
from heedful.models.engine import Engine
from heedful.models.folder import find_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.models.engine import Draft


def main() -> None:
    """Measure both ways in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--verdicts", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=64, help="of a reply at most")
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    torch.set_num_threads(1)
    folder = find_folder(given.model)
    engine = Engine.load(folder, "cpu")
    prompt = prompts.make(
        folder.protocol.prompt if folder.protocol else "short",
        prompt_file=folder.protocol.prompt_file if folder.protocol else None,
    )
    sampling = {
        "replies": Sampling(max_tokens=given.tokens),
        "one token": Sampling(max_tokens=1, top_logprobs=20),
    }
    samples = [item.value for item in items(open_data(given.data) or ()) if item.value]
    messages = [
        prompt.render(sample, [constraint])
        for sample in samples
        for constraint in sample.checklist
        if sample.response
    ][: given.verdicts]
    for name, how in sampling.items():
        drafts = [engine.draft(each, how, 0, lambda: False) for each in messages]
        compare(engine, name, drafts, given.batch_size, given.rounds)


def compare(
    engine: Engine, name: str, drafts: Sequence[Draft], batch_size: int, rounds: int
) -> None:
    """Time both ways in turn, and count the replies that are the same."""
    seconds: dict[str, list[float]] = {"whole": [], "shared": []}
    texts: dict[str, list[str]] = {}
    cache = engine._cache  # noqa: SLF001 - what is measured has no option
    for _ in range(rounds):
        for way, used in (("whole", None), ("shared", cache)):
            engine._cache = used  # noqa: SLF001
            started = time.process_time()
            texts[way] = [
                f"{answer.text}{answer.first_tokens and max(answer.first_tokens.items())[0]}"
                for at in range(0, len(drafts), batch_size)
                for answer in engine.complete(drafts[at : at + batch_size])
            ]
            seconds[way].append(time.process_time() - started)
    best = {way: min(each) for way, each in seconds.items()}
    same = sum(one == other for one, other in zip(*texts.values(), strict=True))
    speeds = ", ".join(f"{way} {len(drafts) / best[way]:.2f}" for way in best)
    tokens = sum(len(draft.prompt) for draft in drafts)
    print(
        f"{name}: {len(drafts)} verdicts, {tokens:,} prompt tokens; verdicts a CPU second: {speeds}"
        f" ({best['whole'] / best['shared']:.2f} times); {same} replies the same"
    )


if __name__ == "__main__":
    main()
