"""Seconds by the clock that judging a response takes, by protocol, beside its tokens.

    python benchmarks/judging_seconds.py            # a scripted server
    python benchmarks/judging_seconds.py --real     # SmolLM2-135M behind llama.cpp, on this machine

Judged are responses of ours with five constraints: whole checklists, three constraints a call, one
a call; each without reasoning and with it. Replies have a set length (tokens a constraint, tokens
of reasoning a call), as in ``judging_compute.py``, so that protocols are compared and not how
much a model happens to write. The scripted server takes its time for each token of prompt and
reply, has 64 slots, no prefix cache, and slows down by nothing when they are full. *Alone* is one
response at a time, with all its calls at once; *together* is all of them at once.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiohttp import web

from heedful import Constraint, Message, Sample
from heedful.judges.model import Checklist
from heedful.judges.prompts.plain import Plain
from heedful.models import OpenAIModel, Sampling
from heedful.models.pricing import estimate_tokens
from heedful.rewards import Reward

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heedful.models import Completion

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

PROMPT_S, REPLY_S, SLOTS = 1 / 5000, 1 / 50, 64
"""Seconds that the scripted server takes for a token of the prompt and of the reply, and how many
requests it answers at a time."""

CONSTRAINTS = 5
SIZES = (None, 3, 1)
WORDS = "the plan for the trip changes since rain is expected and we go to the museum first"
_NUMBERED = re.compile(r"^(\d+)\. ", re.MULTILINE)


class Paced:
    """A model whose replies have the length that a protocol's would have.

    Attributes:
        prompt, reply: tokens of all calls.
    """

    def __init__(self, model: OpenAIModel, each: int, reasoning: int) -> None:
        self.name = model.name
        self.config: Mapping[str, Any] = {"model": model.name, "each": each, "reasoning": reasoning}
        self._model, self._each, self._reasoning = model, each, reasoning
        self.calls = self.prompt = self.reply = 0

    async def generate(
        self, messages: Sequence[Message], sampling: Sampling, *, sample: int = 0
    ) -> Completion:
        """Generate so many tokens for each constraint in the prompt."""
        size = len(_NUMBERED.findall(messages[-1].content))
        length = self._reasoning + self._each * size
        extra = {"ignore_eos": True}
        sampling = sampling.model_copy(update={"max_tokens": length, "extra": extra})
        completion = await self._model.generate(messages, sampling, sample=sample)
        self.calls += 1
        self.prompt += completion.usage.prompt_tokens or 0
        self.reply += completion.usage.completion_tokens or 0
        return completion

    async def close(self) -> None:
        """Close the connections."""
        await self._model.close()


async def answer(request: web.Request) -> web.Response:
    """Answer as a judge to whom all is met, after the time that the tokens take."""
    body = await request.json()
    prompt = body["messages"][-1]["content"]
    blocks = [f"<c{n}>\nSeen.\nVERDICT: MET\n</c{n}>" for n in _NUMBERED.findall(prompt)]
    usage = {
        "prompt_tokens": estimate_tokens(prompt),
        "completion_tokens": body["max_tokens"],
    }
    async with request.app[SLOT]:
        await asyncio.sleep(
            usage["prompt_tokens"] * PROMPT_S + usage["completion_tokens"] * REPLY_S
        )
    message = {"role": "assistant", "content": "\n".join(blocks)}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    return web.json_response({"model": body["model"], "choices": choices, "usage": usage})


SLOT = web.AppKey("slot", asyncio.Semaphore)


def samples(count: int, name: str) -> list[Sample]:
    """Make responses of about 150 words that nobody has judged yet."""
    draw = random.Random(name)

    def prose(words: int) -> str:
        return " ".join(draw.choice(WORDS.split()) for _ in range(words)).capitalize() + "."

    kinds = ("polite", "warm", "clear", "complete", "about the trip")
    checklist = [Constraint(text=f"The text is {kind} from end to end.") for kind in kinds]
    return [
        Sample(id=f"{name}{at}", prompt=prose(40), checklist=checklist, response=prose(150))
        for at in range(count)
    ]


async def measure(url: str, given: argparse.Namespace) -> None:
    """Print a line for each protocol."""
    print("| checklist | reasoning | calls | prompt | reply | alone, s | together, s a response |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    first: tuple[float, float] | None = None
    for reasoning in (0, given.reasoning):
        for size in SIZES:
            model = Paced(OpenAIModel("judge", base_url=url), given.each, reasoning)
            judge = Checklist(model, Plain(), per_call=size, reasks=0)
            with Reward(judge, gates="none", undecided=0.0) as reward:
                name = f"{size} {reasoning} "
                started = time.perf_counter()
                for sample in samples(given.alone, f"{name}alone"):
                    await reward.score([sample])
                alone = (time.perf_counter() - started) / given.alone
                started = time.perf_counter()
                await reward.score(samples(given.together, f"{name}together"))
                together = (time.perf_counter() - started) / given.together
            first = first or (alone, together)
            count = given.alone + given.together
            cells = (
                "whole" if size is None else f"{size} a call",
                f"{reasoning:,}",
                *(f"{total / count:,.0f}" for total in (model.calls, model.prompt, model.reply)),
                f"{alone:.2f} ({alone / first[0]:.2f}×)",
                f"{together:.2f} ({together / first[1]:.2f}×)",
            )
            print("| " + " | ".join(cells) + " |", flush=True)


async def scripted(given: argparse.Namespace) -> None:
    """Measure on the scripted server."""
    app = web.Application()
    app[SLOT] = asyncio.Semaphore(SLOTS)
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        await measure(f"http://{host}:{port}/v1", given)
    finally:
        await runner.cleanup()


def main() -> None:
    """Measure on a server."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--real", action="store_true", help="SmolLM2 behind llama.cpp")
    parser.add_argument("--alone", type=int, default=1, help="responses judged one at a time")
    parser.add_argument("--together", type=int, default=64, help="responses judged at once")
    parser.add_argument("--each", type=int, default=150, help="tokens of a reply a constraint")
    parser.add_argument("--reasoning", type=int, default=1000, help="tokens of reasoning a call")
    given = parser.parse_args()
    if not given.real:
        asyncio.run(scripted(given))
        return
    from llama_server import serving_smollm2

    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        url = stack.enter_context(serving_smollm2(Path(folder) / "log"))
        asyncio.run(measure(url, given))


if __name__ == "__main__":
    main()
