"""The command line: what it prints, what it writes, how it exits; bad input above all."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from commands import run
from jsonl import read_rows, write_rows

pytestmark = pytest.mark.usefixtures("empty_folder")

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "quickstart.jsonl"

GOOD = json.dumps(
    {
        "id": "good",
        "prompt": "No commas, please.",
        "checklist": [{"text": "No commas.", "check": "punctuation:no_comma"}],
        "response": "None here.",
    }
)


@pytest.mark.slow
def test_the_example_is_judged_and_the_same_command_resumes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("evaluate", EXAMPLE) == 0
    shown = capsys.readouterr().out
    assert "21 met, 6 unmet, 1 unparsed" in shown
    assert "96.4 %" in shown
    (directory,) = Path("heedful-runs").iterdir()
    assert {path.name for path in directory.iterdir()} >= {
        "run.sqlite",
        "results.jsonl",
        "summary.json",
    }
    assert run("evaluate", EXAMPLE) == 0
    assert "8 rows were" in capsys.readouterr().out
    assert run("evaluate", EXAMPLE, "--judge", "rules", "--quiet") == 0
    assert capsys.readouterr().out == ""
    assert len(list(Path("heedful-runs").iterdir())) == 2


def test_a_changed_input_makes_another_run_unless_the_run_is_named() -> None:
    Path("rows.jsonl").write_text(GOOD + "\n", encoding="utf-8")
    assert run("evaluate", "rows.jsonl", "-q") == 0
    assert run("evaluate", "rows.jsonl", "--run", "named", "-q") == 0
    Path("rows.jsonl").write_text(GOOD.replace("None here", "None, here") + "\n", encoding="utf-8")
    assert run("evaluate", "rows.jsonl", "-q") == 0
    assert len(list(Path("heedful-runs").iterdir())) == 2
    assert run("evaluate", "rows.jsonl", "--run", "named", "-q") == 2


def test_min_coverage_decides_the_exit_code() -> None:
    assert run("evaluate", EXAMPLE, "--min-coverage", "0.96", "-q") == 0
    assert run("evaluate", EXAMPLE, "--min-coverage", "0.97", "-q") == 1
    assert run("evaluate", EXAMPLE, "--judge", "recorded", "--run", "r", "-q") == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        (b"", "empty"),
        (b"\x00\x01\x02\x03", "not a text file"),
        (b"prompt,response\n", "no rows"),
        (b'{"colour": "green"}\n', "not in a known format"),
        (b"not json at all\n", "not in a known format|no rows"),
    ],
)
def test_a_file_that_is_none_is_refused_in_one_line(
    content: bytes | None, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        Path("bad.jsonl").write_bytes(content)
    assert run("evaluate", "bad.jsonl") == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("heedful: bad.jsonl")
    assert len(said.err.splitlines()) == 1
    assert any(part in said.err for part in message.split("|"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "bad", "prompt": "p", "response": ', "broken JSON"),
        ('{"id": "bad", "response": "r"}', "conversation is missing"),
        ('{"id": "bad", "prompt": "p", "response": [42]}', "response is a list"),
        ('{"id": "bad", "prompt": "p", "checklist": 1}', "not a list"),
        ('{"id": "good", "prompt": "p"}', "duplicate id 'good'"),
        ("42", "not an object"),
        ('{"id": "bad", "prompt": "\\ud800"}', "surrogate"),
    ],
)
def test_a_bad_row_is_named_with_its_line_and_costs_no_other(
    line: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    other = GOOD.replace('"good"', '"other"')
    Path("rows.jsonl").write_text(f"{GOOD}\n{line}\n{other}\n", encoding="utf-8")
    assert run("evaluate", "rows.jsonl", "-o", "out.jsonl") == 1
    said = capsys.readouterr()
    assert "line 2: " in said.err
    assert message in said.err
    assert "1 row could not" in said.out
    result = read_rows("out.jsonl")
    assert [row["scores"].get("isr") for row in result] == [1.0, None, 1.0]
    assert message in result[1]["problem"]
    summary = json.loads(next(Path("heedful-runs").rglob("summary.json")).read_text())
    assert summary["samples"] == 3
    assert summary["rows"] == {"read": 2, "failed": 1}
    assert summary["coverage"] == pytest.approx(2 / 3)


def test_byte_order_mark_windows_line_ends_and_bad_bytes() -> None:
    bad = b'{"id": "bad", "prompt": "caf\xe9", "response": "r"}'
    Path("rows.jsonl").write_bytes(b"\xef\xbb\xbf" + GOOD.encode() + b"\r\n" + bad + b"\r\n")
    assert run("evaluate", "rows.jsonl", "-o", "out.jsonl") == 1
    good, failed = read_rows("out.jsonl")
    assert good["scores"]["isr"] == 1.0
    assert "invalid UTF-8" in failed["problem"]


@pytest.mark.slow
def test_csv_with_a_ragged_row_and_a_cell_of_ten_megabytes() -> None:
    with Path("rows.csv").open("w", encoding="utf-8-sig", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "prompt", "response", "checklist"])
        check = json.dumps([{"text": "No commas.", "check": "punctuation:no_comma"}])
        table.writerow(["big", "p", "word " * 2_000_000, check])
        file.write("ragged,p\r\n")
        table.writerow(["small", "p", "a, b", check])
    assert run("evaluate", "rows.csv", "-o", "out.jsonl") == 1
    result = {row["id"]: row for row in read_rows("out.jsonl")}
    assert result["big"]["scores"]["isr"] == 1.0
    assert result["small"]["scores"]["isr"] == 0.0
    (problem,) = (row["problem"] for row in result.values() if "problem" in row)
    assert re.findall(r"\d+", problem)[-2:] == ["2", "4"]


def test_a_prompt_without_response_and_a_response_without_prompt_are_counted_and_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def prompt(key: int) -> dict[str, Any]:
        ids = ["punctuation:no_comma"]
        return {"key": key, "prompt": f"p{key}", "instruction_id_list": ids, "kwargs": [{}]}

    Path("p.jsonl").write_text("".join(json.dumps(prompt(k)) + "\n" for k in (1, 2, 3)))
    answers = [{"prompt": f"p{k}", "response": "fine"} for k in (1, 3, 9)]
    write_rows("r.jsonl", answers)
    assert run("evaluate", "p.jsonl", "--responses", "r.jsonl", "--run", "run") == 1
    said = capsys.readouterr().err
    assert "2" in said
    assert "r.jsonl" in said
    summary = json.loads(Path("run/summary.json").read_text())
    assert summary["rows"] == {"read": 2, "failed": 2}


def advancedif(**fields: Any) -> dict[str, Any]:
    reply = {"rubrics_check": {"question_1": "YES - it does"}, "SATISFIED_ALL_REQUIREMENTS": "YES"}
    return {
        "conversation_history": json.dumps([{"role": "user", "content": "Say hello."}]),
        "response": json.dumps([{"role": "assistant", "content": "Hello!"}]),
        "prompt_metadata": json.dumps({"rubrics": json.dumps(["Does it say hello?"])}),
        "benchmark_name": "complex_if_single_turn_v5",
        "judge_raw_output": json.dumps(reply),
    } | fields


def test_advancedif_is_written_back_in_its_own_format() -> None:
    table = [advancedif(), advancedif(benchmark_name="if_carried_context_oss", response="42")]
    write_rows("in.jsonl", table)
    assert run("evaluate", "in.jsonl", "-o", "out.jsonl", "--run", "run") == 0
    first, second = read_rows("out.jsonl")
    assert first["judge_result"]["satisfied_all_requirements"] == "YES"
    assert first["conversation_history"] == table[0]["conversation_history"]
    assert second["judge_result"]["rubric_level_pass_rate"] == 1.0
    summary = json.loads(Path("run/summary.json").read_text())
    assert summary["metrics"]["advancedif"]["overall"]["value"] == 1.0
    assert run("evaluate", "in.jsonl", "-o", "out.csv", "--task", "if_complex_if_oss") == 0
    with Path("out.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["judge_success"] == "True"
    assert row["judge_rubric_1_decision"].startswith("YES")


@pytest.mark.parametrize(
    "flags",
    [
        "--judge rules --prompt plain",
        "--judge rules --model m",
        "--judge checklist --model m --reasks -1",
        "--judge checklist --model m --votes 0",
        "--judge checklist --model m --min-confidence 2",
        "--judge checklist --model m --temperature -1",
        "--judge checklist --model m --max-completion-tokens 0",
        "--min-coverage 90",
        "--min-coverage -1",
    ],
)
def test_flags_without_effect_or_out_of_range_are_wrong_use(
    flags: str, capsys: pytest.CaptureFixture[str]
) -> None:
    *_, flag, _value = flags.split()
    assert run("evaluate", EXAMPLE, *flags.split()) == 2
    assert flag in capsys.readouterr().err
    assert not Path("heedful-runs").exists()
