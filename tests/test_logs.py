"""The log: what is in it, where it goes, and what is never in it."""

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import commands
from fault_server import Answer, FaultServer, refusal, serving, verdicts
from heedful import Sample, evaluate
from jsonl import write_rows

KEY = "sk-very-secret-0123456789"

ROW = {"prompt": "Say hello.", "checklist": ["Says hello."], "response": "Hello!"}


def troubled(number: int, body: dict[str, Any]) -> Answer:
    """Refuse the temperature, then be overloaded once, then fail a row for good, then answer."""
    if "temperature" in body:
        error = {"param": "temperature", "code": "unsupported_parameter"}
        return refusal(400, "Unsupported parameter: 'temperature'", **error)
    if number == 1:
        answer = refusal(503, f"too much for {KEY}")
        return Answer(answer.status, answer.body, headers={"Retry-After": "0.01"})
    if "Say no." in body["messages"][-1]["content"]:
        return refusal(400, f"the prompt is bad, and so is {KEY}")
    return verdicts(number, body)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    monkeypatch.chdir(tmp_path)
    rows = [{**ROW, "id": "good"}, {**ROW, "id": "bad", "prompt": "Say no."}, {"id": "broken"}]
    write_rows("rows.jsonl", rows)
    with serving(script=troubled) as served:
        yield served


def run(server: FaultServer, *words: str) -> int:
    asked = ["evaluate", "rows.jsonl", "--judge", "checklist", "--model", "m", "-q"]
    asked += ["--base-url", server.url, "--api-key", KEY, "--max-concurrency", "1"]
    return commands.run(*asked, *words)


def test_the_log_tells_what_happened_and_never_the_key(server: FaultServer) -> None:
    assert run(server, "--log-level", "DEBUG", "--log-file", "log.txt") == 1
    log = Path("log.txt").read_text(encoding="utf-8")
    for told in (
        "INFO judging with m/plain",
        "WARNING model m: temperature is left out, m refuses it",
        "WARNING model m: trying again in ",
        "too much for [key]",
        "DEBUG model m answered m/plain in ",
        "600 + 40 tokens",
        "ERROR a call failed: model m at ",
        "WARNING line 3: ",
        "INFO 3 rows done, 0 of them before, 1 failed",
    ):
        assert told in log
    assert KEY not in log


def test_the_level_decides_what_is_told(
    server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(server, "--log_file", "log.txt", "--log_level", "error") == 1
    lines = Path("log.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1
    assert " ERROR " in lines[0]
    capsys.readouterr()
    assert run(server, "--log-level", "INFO", "--run", "second") == 1
    assert " INFO judging with " in capsys.readouterr().err
    assert len(Path("log.txt").read_text(encoding="utf-8").splitlines()) == 1


def test_a_run_that_is_stopped_says_so_in_the_log(server: FaultServer) -> None:
    Path("prices.json").write_text('{"m": {"prompt": 10, "completion": 100}}')
    limit = ["--prices", "prices.json", "--max-cost", "0.000001"]
    assert run(server, *limit, "--log-file", "log.txt") == 2
    assert re.search("CRITICAL .*--max-cost", Path("log.txt").read_text())


def test_without_the_flags_nothing_is_logged(
    server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(server) == 1
    first, *others = capsys.readouterr().err.splitlines()
    assert first.startswith("line 3: ")  # the row that could not be read
    assert not [line for line in others if "HTTP" in line]
    logger = logging.getLogger("heedful")
    assert all(isinstance(handler, logging.NullHandler) for handler in logger.handlers)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--log-level", "LOUD"], "--log-level is 'LOUD' (give one of DEBUG, INFO"),
        (["--log-file", "no/such/folder/log.txt"], "no/such/folder/log.txt: the log cannot be"),
    ],
)
def test_a_log_that_cannot_be_is_refused_before_any_work(
    words: list[str], told: str, server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(server, *words) == 2
    assert told in capsys.readouterr().err
    assert not server.bodies
    assert not Path("heedful-runs").exists()


def test_in_python_the_logger_is_the_package_s(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        name = "broken"
        config: dict[str, str] = {"judge": "broken"}  # noqa: RUF012 - a constant here

        async def judge(self, row: Sample, requested: object = None) -> Any:  # noqa: ARG002
            raise ZeroDivisionError(row.id)

    with caplog.at_level(logging.DEBUG, logger="heedful"):
        evaluate([Sample(id="a", response="r")], judge=Broken())
    assert "line 1: a: ZeroDivisionError: a" in caplog.text
    assert "Traceback" in caplog.text
