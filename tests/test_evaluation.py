"""The main job through its Python API."""

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_json

from heedful import (
    Cascade,
    Check,
    Constraint,
    Recorded,
    Recording,
    RunError,
    Sample,
    Status,
    UsageError,
    evaluate,
    evaluate_async,
)
from jsonl import read_rows
from properties import of_a_hundred
from told import Told

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "quickstart.jsonl"


def sample(key: str = "1", response: str | None = "One, two.", **fields: Any) -> Sample:
    constraint = Constraint(text="No commas.", check=Check(id="punctuation:no_comma"))
    return Sample(id=key, checklist=(constraint,), response=response, **fields)


def test_code_and_recorded_judgments_decide_the_example(tmp_path: Path) -> None:
    result = evaluate(EXAMPLE, run=tmp_path / "run")
    assert result.summary["samples"] == 8
    assert result.summary["constraints"] == 28
    assert result.summary["verdicts"] == {
        "met": 21,
        "unmet": 6,
        "unparsed": 1,
        "failed": 0,
        "unsupported": 0,
    }
    first = read_rows(tmp_path / "run" / "results.jsonl")[0]
    assert [judgment["judge"] for judgment in first["judgments"]] == [
        "example-judge",
        "rules",
        "rules",
    ]
    assert all(judgment["explanation"] for judgment in first["judgments"])


def test_results_are_in_input_order_and_can_be_scored_again(tmp_path: Path) -> None:
    once = evaluate(EXAMPLE, run=tmp_path / "one", output=tmp_path / "results.jsonl")
    rows = read_rows(tmp_path / "results.jsonl")
    assert [row["id"] for row in rows] == [row["id"] for row in read_rows(EXAMPLE)]
    assert rows == read_rows(tmp_path / "one" / "results.jsonl")
    again = evaluate(tmp_path / "results.jsonl", judge="recorded", run=tmp_path / "two")
    for key in ("verdicts", "metrics", "coverage"):
        assert again.summary[key] == once.summary[key]


def test_a_finished_run_is_summarised_again_without_judging(tmp_path: Path) -> None:
    evaluate(EXAMPLE, run=tmp_path)
    before = (tmp_path / "summary.json").read_bytes(), (tmp_path / "results.jsonl").read_bytes()
    (tmp_path / "summary.json").unlink()
    result = evaluate(EXAMPLE, run=tmp_path)
    assert result.progress.resumed == 8
    after = (tmp_path / "summary.json").read_bytes(), (tmp_path / "results.jsonl").read_bytes()
    assert after == before


def test_a_run_is_not_resumed_under_another_configuration(tmp_path: Path) -> None:
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(EXAMPLE.read_bytes())
    evaluate(EXAMPLE, run=tmp_path / "run")
    evaluate(copy, run=tmp_path / "run")  # the same content elsewhere is the same input
    with pytest.raises(RunError, match=r"judge.*rules,recorded,compiled.* rules"):
        evaluate(EXAMPLE, judge="rules", run=tmp_path / "run")
    with copy.open("a", encoding="utf-8") as file:
        file.write('{"prompt": "p", "response": "r"}\n')
    with pytest.raises(RunError, match="the input"):
        evaluate(copy, run=tmp_path / "run")


def test_it_works_inside_a_running_event_loop() -> None:
    async def notebook() -> tuple[Any, Any]:
        return evaluate([sample()]).summary, (await evaluate_async([sample()])).summary

    first, second = asyncio.run(notebook())
    assert first == second


def test_a_cascade_asks_the_next_judge_only_for_what_is_undecided() -> None:
    recording = Recording(prompt="native", verdicts=({"status": "met"}, {"status": "unparsed"}))
    constraints = (Constraint(text="a"), Constraint(text="b"))
    row = Sample(id="1", checklist=constraints, response="r", recording=recording)
    last = Told(lambda *_: Status.UNMET)
    critique = asyncio.run(Cascade(Recorded(), last).judge(row))
    assert [judgment.status for judgment in critique.judgments] == [Status.MET, Status.UNMET]
    assert last.asked == [("1", [1])]


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        (Status.UNSUPPORTED, Status.UNPARSED, Status.UNPARSED),
        (Status.FAILED, Status.UNSUPPORTED, Status.FAILED),
        (Status.UNPARSED, Status.FAILED, Status.UNPARSED),
    ],
)
def test_an_undecided_constraint_keeps_the_most_telling_reason(
    first: Status, second: Status, kept: Status
) -> None:
    cascade = Cascade(Told(lambda *_: first), Told(lambda *_: second))
    assert asyncio.run(cascade.judge(sample())).judgments[0].status is kept


def test_a_judge_that_raises_fails_its_row_and_no_other() -> None:
    def fragile(row: Sample, _: int) -> Status:
        if row.id == "2":
            raise RuntimeError("out of memory")
        return Status.MET

    rows = [sample("1"), sample("2"), sample("3")]
    coverages: list[float | None] = []
    result = evaluate(
        rows,
        judge=Told(fragile),
        on_progress=lambda item: coverages.append(item.coverage()),
    )
    assert coverages[-1] == result.summary["coverage"] == pytest.approx(2 / 3)
    assert result.summary["verdicts"]["met"] == 2
    assert result.summary["verdicts"]["failed"] == 1
    assert "out of memory" in result.summary["problems"][0]["problem"]


# --- published numbers -------------------------------------------------------------------------


def counts(summary: dict[str, Any], family: str) -> dict[str, tuple[float, float]]:
    measures = summary["metrics"][family]
    return {name: (one["numerator"], one["denominator"]) for name, one in measures.items()}


@pytest.mark.slow
def test_ifeval_gpt4_strict(data: Path) -> None:
    result = evaluate(
        data / "ifeval" / "input_data.jsonl",
        responses=data / "ifeval" / "input_response_data_gpt4_20231107_145030.jsonl",
    )
    assert counts(result.summary, "ifeval") == {
        "prompt_strict": (417, 541),
        "instruction_strict": (698, 834),
        "prompt_loose": (431, 541),
        "instruction_loose": (714, 834),
    }


@pytest.mark.slow
def test_sysbench_as_published_and_strict(data: Path) -> None:
    path = data / "sysbench" / "gpt35.jsonl"
    faithful = evaluate(path, scoring="faithful").summary
    values = {name: one["value"] for name, one in faithful["metrics"]["sysbench"].items()}
    assert {name: round(100 * value, 1) for name, value in values.items()} == {
        "csr": 61.6,
        "isr": 43.2,
        "ssr": 20.8,
    }
    strict = evaluate(path).summary
    assert counts(strict, "sysbench")["csr"] == (3668, 5952)
    assert strict["verdicts"]["unparsed"] == 12
    assert strict["contradictions"]["count"] == 7


def test_cfbench_faithful_is_every_shipped_metric_and_strict_reads_every_legible_row(
    data: Path, tmp_path: Path
) -> None:
    rates: dict[str, dict[str, Any]] = {}
    for path in sorted((data / "cfbench" / "judge").glob("*.json")):
        shipped = {
            f"{row['infer_model']}/{row['idx']}": row
            for row in json.loads(path.read_text(encoding="utf-8"))
        }
        run = tmp_path / path.stem
        evaluate(path, scoring="faithful", run=run / "faithful")
        rates[path.stem] = evaluate(path, run=run / "strict").summary
        for row in read_rows(run / "faithful" / "results.jsonl"):
            scores = {name.upper(): value for name, value in row["scores"].items()}
            assert scores == shipped[row["id"]]["judge_metric"]
        for row in read_rows(run / "strict" / "results.jsonl"):
            parsed = shipped[row["id"]]["judge_parsing"] == "1"
            metric = shipped[row["id"]]["judge_metric"]
            assert (row["scores"]["isr"] == metric["ISR"]) is parsed
            assert (row["scores"]["psr"] == metric["PSR"]) is parsed
    assert {summary["coverage"] for summary in rates.values()} == {1.0}
    result = rates["deepseek_v2_eval"]["metrics"]["cfbench"]
    assert [result[rate]["value"] for rate in ("csr", "isr", "psr")] == [
        pytest.approx(0.7625),
        0.0,
        0.5,
    ]
    assert {result[rate]["denominator"] for rate in ("csr", "isr", "psr")} == {4}


def test_every_if_critic_critique_parses(data: Path) -> None:
    verdicts = {}
    for name in ("critiques", "sft_data", "dpo_data"):
        summary = evaluate(data / "if_critic" / f"{name}.json", judge="recorded").summary
        assert summary["coverage"] == 1.0
        verdicts[name] = summary["verdicts"]["met"], summary["verdicts"]["unmet"]
    assert verdicts["critiques"] == (95, 33)


def test_rows_without_a_generated_response_can_be_left_out_and_are_counted(tmp_path: Path) -> None:
    """A failed generation isn't a response that failed."""
    row = {"prompt": "p", "checklist": [{"text": "x", "check": "punctuation:no_comma"}]}
    said = row | {"response": "fine"}
    rows = [
        said | {"id": "a"},
        said | {"id": "b", "response": "", "_generation_error": "timeout"},
        said | {"id": "c", "_generation_error": None},
        row | {"id": "d", "problem": "timeout", "completion": None},
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    everything = evaluate(path).summary
    assert everything["samples"] == 4
    assert "excluded" not in everything
    summary = evaluate(path, exclude_generation_failures=True).summary
    assert (summary["samples"], summary["excluded"]) == (2, 2)
    assert summary["verdicts"]["met"] == 2
    with pytest.raises(UsageError):
        evaluate([], exclude_generation_failures=True)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats() | st.text(max_size=5),
    lambda values: st.lists(values, max_size=2) | st.dictionaries(st.text(max_size=4), values),
    max_leaves=4,
)
FIELDS = st.sampled_from(("scores", "judgments", "declared", "problem", "line", "id2", "source"))


@of_a_hundred(40)
@given(
    st.dictionaries(FIELDS, VALUES, max_size=4),
    st.dictionaries(st.text(max_size=4), st.text() | st.integers(0, 9) | st.floats(0, 1)),
    st.sampled_from((None, "", "One, two.", "é\u2028<|x|>")),
)
def test_lines_of_the_results_are_the_records_as_json(
    fields: dict[str, Any], tags: dict[str, Any], response: str | None
) -> None:
    if not isinstance(fields.get("source", {}), dict):
        del fields["source"]
    checklist = [{"text": "No commas.", "check": {"id": "punctuation:no_comma"}}]
    row = {"id": "1", "checklist": checklist, "response": response, "tags": tags, **fields}
    with tempfile.TemporaryDirectory() as folder:
        result = evaluate([Sample.model_validate(row)], run=folder)
        written = (Path(folder) / "results.jsonl").read_bytes()
    assert written == b"".join(to_json(record) + b"\n" for record in result.records())


def test_rates_are_plotted_by_one_call(tmp_path: Path) -> None:
    result = evaluate(EXAMPLE, run=tmp_path / "run")
    drawn = json.loads(result.plot("type").json())["data"]["values"]
    content = next(row for row in drawn if row["name"] == "Content")
    assert (content["value"], content["counts"]) == (None, "9 of 11; 1 undecided")
    assert content["low"] < content["high"]
    assert [row["name"] for row in json.loads(result.plot("model").json())["data"]["values"]] == [
        "model-a",
        "model-b",
    ]
    assert "responses fully met" in result.plot().json()
    with pytest.raises(UsageError, match="type, priority"):
        result.plot("colour")
