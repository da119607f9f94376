"""autorubric: its criterion grader with one call a row."""

from __future__ import annotations

import asyncio

from autorubric import LLMConfig, Rubric
from autorubric.graders import CriterionGrader
from common import Row, Stopwatch, arguments, read


async def main() -> None:
    """Judge."""
    path, url, in_flight = arguments()
    watch = Stopwatch()
    config = LLMConfig(
        model="openai/bench", api_base=url, api_key="none", max_parallel_requests=in_flight
    )
    grader = CriterionGrader(judge_model_config=config, llm_calls="per_item")

    async def judge(row: Row) -> int:
        rubric = Rubric.from_dict([{"weight": 1.0, "requirement": text} for text in row.rubrics])
        report = await rubric.grade(to_grade=row.response, grader=grader, query=row.prompt)
        return sum(str(each.final_verdict).endswith("MET") for each in report.report)

    watch.report(sum(await asyncio.gather(*map(judge, read(path)))))


if __name__ == "__main__":
    asyncio.run(main())
