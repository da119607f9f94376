"""AdvancedIF's command line and its Python use, as docs/judging.md shows them, are run."""

import csv
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands import run
from fault_server import FaultServer, serving, verdicts
from jsonl import read_rows

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "judging.md").read_text(encoding="utf-8")
SECTION = PAGE.split("## Migrating from AdvancedIF")[1].split("\n## ")[0]
KEY = "sk-very-secret-0123456789"


def row(task: str, *history: tuple[str, str]) -> str:
    turns = [{"role": role, "content": content} for role, content in history]
    record = {
        "conversation_history": json.dumps(turns),
        "response": json.dumps([{"role": "assistant", "content": "RHINE, ELBE"}]),
        "prompt_metadata": json.dumps({"rubrics": '["Two rivers?", "In capitals?"]'}),
        "benchmark_name": task,
    }
    return json.dumps(record) + "\n"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    user = ("user", "Name two rivers, in capitals.")
    Path("data.jsonl").write_text(
        row("if_complex_if_oss", user)
        + row("complex_if_single_turn_v5", user, ("assistant", "No."), ("user", "Please!"))
        + row("if_system_steerability_oss", ("system", "Only capitals."), user)
        + row("if_carried_context_oss", ("user", "Hello."), ("assistant", "Hello."), user)
    )
    with serving(script=verdicts) as served:
        yield served


def test_the_command_line_of_the_page(server: FaultServer) -> None:
    theirs, ours = re.findall(r"^(?:python|heedful) .* --task .*$", SECTION, re.MULTILINE)
    words = shlex.split(ours)[1:]
    # Everything that is said to AdvancedIF can be said to heedful in the same words.
    assert set(shlex.split(theirs)[4:]) <= set(words)
    assert run(*words, "--base-url", server.url) == 0
    assert len(server.bodies) == 2
    body = server.bodies[0]
    assert body["model"] == "o3-mini-2025-01-31"
    assert body["response_format"] == {"type": "json_object"}
    assert 32768 in (body.get("max_tokens"), body.get("max_completion_tokens"))
    results = read_rows("results.jsonl")
    for result in results:
        judged = result["judge_result"]
        assert judged["success"] is True
        assert judged["satisfied_all_requirements"] == "YES"
        assert judged["rubric_level_pass_rate"] == 1.0
    log = Path("debug.log").read_text(encoding="utf-8")
    assert "DEBUG model o3-mini-2025-01-31 answered" in log
    assert KEY not in log


def test_the_short_flags_and_the_other_spellings(server: FaultServer) -> None:
    words = (
        "evaluate -j checklist --prompt advancedif -i data.jsonl -o results.csv -t carried_context"
    )
    words += f" -k {KEY}-other -m judge --max_concurrency 2 --max-completion-tokens 99"
    words += " --log_level INFO --log_file run.log"
    assert run(*words.split(), "--base-url", server.url) == 0
    assert [body["max_tokens"] for body in server.bodies] == [99]
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}-other"
    assert Path("results.csv").read_text().count("YES") >= 1
    assert KEY not in Path("run.log").read_text()


def test_the_python_of_the_page(server: FaultServer, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
    code = code.replace('31")', f'31", base_url={server.url!r})')
    exec(compile(code, "docs/judging.md", "exec"), {})  # noqa: S102 - the page's own code
    shown = capsys.readouterr().out
    assert "100.0% of 4 rows" in shown
    assert "plain ['met', 'met']" in shown
    assert "steered ['met']" in shown
    assert len(server.bodies) == 6
    systems = [
        body for body in server.bodies if "follows the system prompt" in str(body["messages"])
    ]
    assert len(systems) == 2  # one in the file, one made here
    assert Path("results.jsonl").exists()


def test_both_published_prompts_can_be_used_and_stand_in_the_results(server: FaultServer) -> None:
    """The files are the published texts with the places in double braces."""
    Path("if.txt").write_text(
        "HISTORY\n{{full_conversation}}\nLAST {{user_prompt_last_turn}}\n"
        "SAID {{response_text}}\n{{rubrics_text}}"
    )
    Path("system.txt").write_text(
        "SYSTEM {{system_prompt}}\nLAST {{user_prompt_last_turn}}\n"
        "SAID {{response_text}}\n{{rubrics_text}}"
    )
    words = "evaluate -i data.jsonl -o out.jsonl -j checklist --prompt advancedif -m judge --run r"
    files = ("--prompt-file", "if.txt", "--system-prompt-file", "system.txt", "--reasks", "0")
    run(*words.split(), *files, "--base-url", server.url)
    sent = {body["messages"][0]["content"] for body in server.bodies}
    last = "LAST Name two rivers, in capitals.\nSAID RHINE, ELBE\n"
    rubrics = '[\n    "Two rivers?",\n    "In capitals?"\n]'
    assert f"SYSTEM Only capitals.\n{last}{rubrics}" in sent
    assert f"HISTORY\nuser [1]: Hello.\nassistant [1]: Hello.\n{last}{rubrics}" in sent
    results = [
        json.loads(line)["judge_result"] for line in Path("out.jsonl").read_text().splitlines()
    ]
    assert {result["judge_prompt"] for result in results} == sent


def test_the_judge_of_a_system_prompt_sees_no_earlier_turn(server: FaultServer) -> None:
    turns = (("system", "Only capitals."), ("user", "HIDDEN-1"), ("assistant", "HIDDEN-2"))
    Path("one.jsonl").write_text(
        row("system_steerability_v2", *turns, ("user", "Name two rivers."))
    )
    words = "evaluate -i one.jsonl -o one.csv -j rules,checklist --prompt advancedif -m judge"
    assert run(*words.split(), "--base-url", server.url) == 0
    (body,) = server.bodies
    prompt = body["messages"][0]["content"]
    assert "Only capitals." in prompt
    assert "Name two rivers." in prompt
    assert "HIDDEN" not in prompt
    with Path("one.csv").open(newline="") as file:
        assert next(csv.DictReader(file))["judge_prompt"] == prompt
