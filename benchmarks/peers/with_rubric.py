"""The package ``rubric``: its one-shot grader; the call is the user's, here by the openai SDK."""

from __future__ import annotations

import asyncio

from common import Row, Stopwatch, arguments, read
from openai import AsyncOpenAI
from rubric import Criterion, Rubric
from rubric.autograders import PerCriterionOneShotGrader
from rubric.autograders.schemas import OneShotOutput


async def main() -> None:
    """Judge."""
    path, url, in_flight = arguments()
    watch = Stopwatch()
    client = AsyncOpenAI(base_url=url, api_key="none")
    room = asyncio.Semaphore(in_flight)

    async def generate(system: str, user: str, **_: object) -> OneShotOutput:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        async with room:
            answer = await client.chat.completions.create(model="bench", messages=messages)
        return OneShotOutput.model_validate_json(answer.choices[0].message.content)

    grader = PerCriterionOneShotGrader(generate_fn=generate)

    async def judge(row: Row) -> int:
        rubric = Rubric([Criterion(weight=1.0, requirement=text) for text in row.rubrics])
        report = await rubric.grade(row.response, autograder=grader, query=row.prompt)
        return sum(each.verdict == "MET" for each in report.report)

    watch.report(sum(await asyncio.gather(*map(judge, read(path)))))


if __name__ == "__main__":
    asyncio.run(main())
