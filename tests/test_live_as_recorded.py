"""A reply is read alike, live or recorded: shipped replies are served, and the rates compared."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_shipped_replies_of_cfbench(path: Path, server: tuple[FaultServer, list[str]]) -> None:
    rows = json.loads(path.read_text(encoding="utf-8"))
    live, recorded = rates(rows, [row["judge_response"] for row in rows], "cfbench", server)
    assert values(live, "cfbench") == values(recorded, "cfbench")
    assert set(live["by"]["split"]) == set(recorded["by"]["split"]) == {r["split"] for r in rows}
    if path.stem.startswith("deepseek_v2"):
        assert values(live, "cfbench") == pytest.approx(PUBLISHED)


ANSWERS = st.sampled_from(["YES", "No.", "It has three. NO", "It does, yes", "Partly.", "no; yes"])
KEYS = st.sampled_from(["question_1", "question_2", "question_3", "question_7", "question_x"])
REPLIES = st.builds(
    lambda answers, whole, frame: frame.format(json.dumps({"rubrics_check": answers} | whole)),
    st.dictionaries(KEYS, ANSWERS, max_size=5),
    st.sampled_from(["YES", "NO", None]).map(
        lambda word: {} if word is None else {"SATISFIED_ALL_REQUIREMENTS": word}
    ),
    st.sampled_from(["{}", "```json\n{}\n```", "Here:\n{}", "no answer"]),
)


def advancedif_row(number: int, rubrics: int, reply: str) -> dict[str, Any]:
    return {
        "id": f"r{number}",
        "conversation_history": [{"role": "user", "content": f"Write poem {number}."}],
        "response": f"Poem {number}.",
        "prompt_metadata": {"rubrics": [f"Rubric {each}?" for each in range(rubrics)]},
        "benchmark_name": "complex_if_single_turn_v5",
        "judge_result": {"raw_output": reply},
    }


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 3), REPLIES), min_size=1, max_size=6))
def test_replies_in_advancedif_s_form(
    server: tuple[FaultServer, list[str]], drawn: list[tuple[int, str]]
) -> None:
    rows = [advancedif_row(at, *each) for at, each in enumerate(drawn)]
    live, recorded = rates(rows, [reply for _, reply in drawn], "advancedif", server)
    assert values(live, "advancedif") == values(recorded, "advancedif")
    for measure in live["metrics"]["advancedif"].values():
        low, high = measure["bounds"] or (0, 1)
        assert low - 1e-9 <= (measure["value"] or low) <= high + 1e-9
        start, end = measure["interval"] or (0, 1)
        assert start <= (measure["value"] or start) <= end


def test_a_surplus_answer_is_no_further_rubric(server: tuple[FaultServer, list[str]]) -> None:
    answers = {"question_1": "YES", "question_2": "YES"}
    reply = json.dumps({"rubrics_check": answers, "SATISFIED_ALL_REQUIREMENTS": "YES"})
    live, _ = rates([advancedif_row(1, 1, reply)], [reply], "advancedif", server)
    read = values(live, "advancedif")
    assert (read["overall"], read["micro"], read["row_rate"]) == (1, 1, 1)
