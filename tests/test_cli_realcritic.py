"""``heedful bench realcritic build | run | report`` against a server."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import commands
from fault_server import Answer, completion, refusal, serving

pytest.importorskip("math_verify", reason="the extra 'reasoning' is not installed")

# Whole commands, with servers, files and processes.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("empty_folder")]


def run(command: str, *words: str) -> int:
    return commands.run("bench", "realcritic", command, *words)


def write(count: int) -> None:
    with Path("sums.jsonl").open("w", encoding="utf-8") as file:
        for number in range(count):
            right = number % 2
            row = {
                "idx": number,
                "question": f"What is {number} + 1?",
                "gt": str(number + 1),
                "reasoning": f"\\boxed{{{number + right}}}",
                "model": "m",
                "previous_score": [bool(right)],
            }
            file.write(json.dumps(row) + "\n")


def answer(_: int, body: dict[str, Any]) -> Answer:
    asked = body["messages"][0]["content"]
    number = int(re.findall(r"What is (\d+) \+ 1", asked)[0])
    box = f"\\boxed{{{number + 1}}}"
    if "You are checking" not in asked:
        box = f"It is {box}"  # a solution of its own, not the given one word for word
        return completion(box if body["model"] == "toy" or number % 3 else "It is \\boxed{0}")
    return completion(
        f"## Critique\nSeen.\n## Conclusion\nThe solution is Incorrect.\nFirst wrong step: 1\n"
        f"## Correction\n{box}"
    )


def asking(url: str, *words: str) -> list[str]:
    return ["sums.jsonl", "--model", "toy", "--base-url", url, "-k", "x", *words]


def test_run_report_and_the_same_run_again(capsys: pytest.CaptureFixture[str]) -> None:
    write(4)
    with serving(script=answer) as server:
        assert run("run", *asking(server.url, "--dry-run")) == 0
        assert "12" in capsys.readouterr().out
        assert not server.bodies
        assert not Path("heedful-runs").exists()
        assert run("run", *asking(server.url)) == 0
        shown = capsys.readouterr().out
        assert re.search(r"cross +100\.0 .*4 / 4 +\+50\.0", shown)
        assert "12 calls" in shown
        assert max(map(len, shown.splitlines()[:30])) <= 80
        assert run("run", *asking(server.url)) == 0
        assert "4 rows were" in capsys.readouterr().out
        assert run("run", *asking(server.url, "--rounds", "2", "--run", "mine")) == 0
        assert len(server.bodies) == 12 + 20
    (made,) = Path("heedful-runs").iterdir()
    capsys.readouterr()
    assert run("report", str(made), "-o", "out") == 0
    assert "Verdict × quality" in capsys.readouterr().out
    assert Path("out/rounds-cross.svg").is_file()
    assert run("report", "mine", "--scoring", "faithful", "-q") == 0
    report = json.loads(Path("mine/report.json").read_text(encoding="utf-8"))
    assert report["scoring"] == "faithful"
    assert len(report["critics"]["toy"]["cross"]) == 2


def test_a_set_is_built_and_run_on(capsys: pytest.CaptureFixture[str]) -> None:
    write(12)
    with serving(script=answer) as server:
        words = asking(server.url, "-m", "small", "-o", "sets")
        assert run("build", *words) == 0
        shown = capsys.readouterr().out
        assert re.search(r"toy +100\.0", shown)
        assert max(map(len, shown.splitlines()[:20])) <= 80
        manifest = json.loads(Path("sets/manifest.json").read_text(encoding="utf-8"))
        assert manifest["sets"]["sums"]["chosen_wrong"] == 2
        again = ["sets/sums.jsonl", *asking(server.url)[1:]]
        assert run("run", *again, "--modes", "cross") == 0


def test_bad_rows_and_failed_calls_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    write(2)
    with Path("sums.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"question": "What is 9 + 1?", "gt": "10"}\n{"question": \n')

    refused: list[int] = []

    def broken(number: int, body: dict[str, Any]) -> Answer:
        if "What is 1 +" in body["messages"][0]["content"] and not refused:
            refused.append(number)
            return refusal(400, "no")
        return answer(number, body)

    with serving(script=broken) as server:
        words = asking(server.url, "--modes", "cross", "--run", "r")
        assert run("run", *words) == 1
        said = capsys.readouterr()
        assert "line 3: sums/row-3@toy: " in said.err
        assert "line 4: sums/row-4@toy: " in said.err
        assert "sums/1@toy" in said.err
        assert "--retry-failed" in said.err
        asked = len(server.bodies)
        assert run("run", *words, "--retry-failed") == 1  # two rows cannot be read
        assert len(server.bodies) == asked + 1
        assert "--retry-failed" not in capsys.readouterr().err


def test_wrong_use_is_refused_before_any_call(capsys: pytest.CaptureFixture[str]) -> None:
    write(2)
    with serving(script=answer) as server:
        wrong = [
            ("run", ["sums.jsonl"], "no critic"),
            ("run", asking(server.url, "--modes", "magic"), "magic"),
            ("run", asking(server.url, "--rounds", "0"), "0 rounds"),
            ("run", ["gone.jsonl", *asking(server.url)[1:]], "No such file"),
            ("run", asking(server.url, "--max-cost", "1"), "price is not known"),
            ("build", asking(server.url, "-o", "sets"), "two or more"),
            ("report", ["sums.jsonl"], "no such run"),
            ("report", ["."], "holds no run"),
        ]
        for command, words, message in wrong:
            assert run(command, *words) == 2
            said = capsys.readouterr()
            assert message in said.out + said.err
        assert not server.bodies


def test_a_protocol_of_ones_own_and_corrected_labels(capsys: pytest.CaptureFixture[str]) -> None:
    write(2)
    prompts = Path("published")
    prompts.mkdir()
    (prompts / "critique.system.txt").write_text("You are checking.", encoding="utf-8")
    (prompts / "critique.txt").write_text("{{problem}}\n{{solution}}", encoding="utf-8")

    def critic(_: int, body: dict[str, Any]) -> Answer:
        assert [turn["role"] for turn in body["messages"]] == ["system", "user"]
        assert body["messages"][0]["content"] == "You are checking."
        return completion("## Correction\n\\boxed{0}")

    words = ("--modes", "cross", "--run", "own", "--labels", "corrected")
    with serving(script=critic) as server:
        assert run("run", *asking(server.url, "--prompts", "published", *words)) == 0
        # Other prompts make another run.
        assert run("run", *asking(server.url, *words)) == 2
        assert run("run", *asking(server.url, "--prompts", "gone", *words)) == 2
        assert len(server.bodies) == 2
    capsys.readouterr()
    assert run("report", "own", "--labels", "corrected", "-q") == 0
    report = json.loads(Path("own/report.json").read_text(encoding="utf-8"))
    assert report["labels"] == "corrected"
