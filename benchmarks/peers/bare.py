"""A loop that posts and decodes, nothing else: what no judge can beat."""

from __future__ import annotations

import asyncio
import json

import aiohttp
from common import Stopwatch, arguments, question, read


async def main() -> None:
    """Post."""
    path, url, in_flight = arguments()
    turns = [[{"role": "user", "content": question(row)}] for row in read(path)]
    pending = iter([json.dumps({"model": "bench", "messages": turn}).encode() for turn in turns])
    watch = Stopwatch()
    answered = 0
    headers = {"Content-Type": "application/json"}
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

        async def post() -> None:
            nonlocal answered
            for body in pending:
                async with session.post(f"{url}/chat/completions", data=body) as response:
                    json.loads(await response.read())
                    answered += 1

        await asyncio.gather(*(post() for _ in range(in_flight)))
    watch.report(answered)


if __name__ == "__main__":
    asyncio.run(main())
