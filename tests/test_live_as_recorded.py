"""A reply is read alike, live or recorded: shipped replies are served, and the rates compared."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from fault_server import FaultServer, completion, serving
from heedful import evaluate

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "cfbench" / "judge"
FILES = sorted(DATA.glob("*.json"))
PUBLISHED = {"csr": 0.845, "isr": 0.25, "psr": 0.75}
"""CFBench's own scores of deepseek_v2."""


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[FaultServer, list[str]]]:
    replies: list[str] = []
    with serving(script=lambda number, _: completion(replies[number])) as served:
        yield served, replies


def rates(
    rows: Sequence[dict[str, Any]],
    replies: Sequence[str],
    prompt: str,
    server: tuple[FaultServer, list[str]],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the metrics of rows that hold their replies, and of the same replies served."""
    recorded = evaluate(rows, judge="recorded", scoring="faithful")
    served, queue = server
    queue[:] = replies
    served.bodies.clear()
    held = ("judge_response", "judge_score", "judge_parsing", "judge_result")
    live = evaluate(
        [{key: value for key, value in row.items() if key not in held} for row in rows],
        judge="checklist",
        prompt=prompt,
        reasks=0,
        model="m",
        base_url=served.url,
        max_concurrency=1,
        scoring="faithful",
    )
    return live.summary, recorded.summary


def values(summary: dict[str, Any], family: str) -> dict[str, float | None]:
    return {name: measure["value"] for name, measure in summary["metrics"][family].items()}


@pytest.mark.skipif(not FILES, reason="the benchmarks' data is not here")
@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_shipped_replies_of_cfbench(path: Path, server: tuple[FaultServer, list[str]]) -> None:
    rows = json.loads(path.read_text(encoding="utf-8"))
    live, recorded = rates(rows, [row["judge_response"] for row in rows], "cfbench", server)
    assert values(live, "cfbench") == values(recorded, "cfbench")
    assert set(live["by"]["split"]) == set(recorded["by"]["split"]) == {r["split"] for r in rows}
    if path.stem.startswith("deepseek_v2"):
        assert values(live, "cfbench") == pytest.approx(PUBLISHED)


def advancedif_row(number: int, rubrics: int, reply: str) -> dict[str, Any]:
    return {
        "id": f"r{number}",
        "conversation_history": [{"role": "user", "content": f"Write poem {number}."}],
        "response": f"Poem {number}.",
        "prompt_metadata": {"rubrics": [f"Rubric {each}?" for each in range(rubrics)]},
        "benchmark_name": "complex_if_single_turn_v5",
        "judge_result": {"raw_output": reply},
    }


def test_a_surplus_answer_is_no_further_rubric(server: tuple[FaultServer, list[str]]) -> None:
    answers = {"question_1": "YES", "question_2": "YES"}
    reply = json.dumps({"rubrics_check": answers, "SATISFIED_ALL_REQUIREMENTS": "YES"})
    live, _ = rates([advancedif_row(1, 1, reply)], [reply], "advancedif", server)
    read = values(live, "advancedif")
    assert (read["overall"], read["micro"], read["row_rate"]) == (1, 1, 1)
