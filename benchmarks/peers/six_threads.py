"""AdvancedIF's way of judging: six threads, the openai SDK, one call a sample, JSON back."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

from common import Row, Stopwatch, arguments, question, read
from openai import OpenAI

THREADS = 6


def main() -> None:
    """Judge."""
    path, url, _ = arguments()
    watch = Stopwatch()
    client = OpenAI(base_url=url, api_key="none")

    def judge(row: Row) -> int:
        messages = [{"role": "user", "content": question(row)}]
        answer = client.chat.completions.create(model="bench", messages=messages, temperature=0)
        checks = json.loads(answer.choices[0].message.content)["rubrics_check"]
        return sum(check["answer"] == "Yes" for check in checks.values())

    with ThreadPoolExecutor(THREADS) as pool:
        met = sum(pool.map(judge, read(path)))
    watch.report(met)


if __name__ == "__main__":
    main()
