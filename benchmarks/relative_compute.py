"""Compare one pass over a checklist with one call a constraint and k a call, of the same critic.

    python benchmarks/relative_compute.py --model CRITIC --data FILE [--per-call 0 1 4]

FILE holds samples with responses and labels (such as ``test.jsonl`` of a build). 0 stands for all
constraints in one call. Tokens, FLOPs and CPU seconds are those of this process; a critic should
have been trained for each of the counts.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from heedful.critic.training import SftSettings
from heedful.critic.training.held_out import HeldOut
from heedful.models.engine import Engine
from heedful.models.folder import find_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heedful.models.base import Completion
    from heedful.models.engine import Draft


class Counting:
    """An engine that counts the tokens it is given and those it writes."""

    def __init__(self, engine: Engine) -> None:
        self.draft = engine.draft
        self.calls, self.prompt, self.written = 0, 0, 0
        self._engine = engine

    def complete(self, drafts: Sequence[Draft]) -> list[Completion]:
        """Write the answers of a batch."""
        answers = self._engine.complete(drafts)
        self.calls += len(answers)
        self.prompt += sum(answer.usage.prompt_tokens for answer in answers)
        self.written += sum(answer.usage.completion_tokens for answer in answers)
        return answers


def main() -> None:
    """Measure each protocol in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--per-call", type=int, nargs="+", default=[0, 1, 4])
    parser.add_argument("--samples", type=int, default=None)
    parser.add_argument("--prompt", default="short", help="where the folder names none")
    given = parser.parse_args()
    torch.set_num_threads(1)
    folder = find_folder(given.model)
    engine = Engine.load(folder, None)
    asked: dict[str, Any] = {"prompt": given.prompt}
    limit = 256  # tokens of a reply, for each constraint
    if folder.protocol is not None:
        kept = folder.protocol
        asked = {
            "prompt": kept.prompt,
            "prompt_file": kept.prompt_file,
            "measure": kept.measure or None,
        }
        limit = (kept.max_tokens or limit) // (kept.per_call or 1)
    print("| constraints a call | calls | prompt tokens | written | TFLOP | CPU s | decided | κ |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for count in given.per_call:
        settings = SftSettings(select="last", per_call=count or None, **asked)
        held_out = HeldOut(given.data, settings)
        held_out.samples = held_out.samples[: given.samples]
        counting: Any = Counting(engine)
        started = time.process_time()
        room = max(count, 1) if count else max(len(each.checklist) for each in held_out.samples)
        with FlopCounterMode(display=False) as counter:
            critiques = held_out.judge(counting, held_out.samples, limit * room)
        seconds = time.process_time() - started
        measured = held_out.measure(critiques, folder.name)
        kappa = measured["pooled"]["kappa"]["value"]
        print(
            f"| {count or 'all'} | {counting.calls:,} | {counting.prompt:,} | {counting.written:,}"
            f" | {counter.get_total_flops() / 1e12:.3f} | {seconds:.1f}"
            f" | {measured['coverage']:.1%} | {'–' if kappa is None else f'{kappa:.2f}'} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
