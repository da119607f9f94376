"""Batch endpoints: half the price, the same results, and nothing bought twice."""

import json
import random
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from batch_model import KINDS, Scripted, judge, verdict
from batch_model import rows as rows_of
from batch_server import KEY, BatchServer, serving
from commands import run
from heedful import StopRunError, dry_run
from heedful.core.errors import RunError
from heedful.models import Sampling

pytestmark = pytest.mark.slow  # whole commands, with servers, files and processes

COUNT = 12


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heedful.engine.batches.SETTLED_S", 2.0)
    monkeypatch.setattr("heedful.engine.batches.PAUSE_S", 0.2)
    monkeypatch.setattr("heedful.engine.batches.FEWEST", 1)


def outputs(run: Path) -> list[Any]:
    with closing(sqlite3.connect(run / "run.sqlite")) as db:
        return [*db.execute("SELECT * FROM outputs ORDER BY position")]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("per_call", [None, 1])
def test_a_batch_run_ends_as_a_local_one_at_half_the_price(
    kind: str, per_call: int | None, tmp_path: Path
) -> None:
    local = judge(Scripted(), COUNT, tmp_path / "local", per_call=per_call).summary
    with serving(verdict) as server:
        model = Scripted(kind, server.url)
        options: dict[str, Any] = {"executor": "batch", "per_call": per_call}
        summary = judge(model, COUNT, tmp_path / "batch", **options).summary
    assert len(server.batches) == 1
    assert set(server.bought.values()) == {1}
    ours, theirs = ((tmp_path / name / "results.jsonl").read_bytes() for name in ("local", "batch"))
    assert ours == theirs
    assert outputs(tmp_path / "local") == outputs(tmp_path / "batch")
    cost, full = summary.pop("cost"), local.pop("cost")
    assert summary == local
    assert (
        cost["batched"] == cost["calls"] == full["calls"] == COUNT * (1 if per_call is None else 3)
    )
    assert cost["dollars"] == pytest.approx(full["dollars"] / 2)
    names = ("prompt_tokens", "cached_tokens", "completion_tokens", "reused", "reasks")
    assert all(cost[name] == full[name] for name in names)


@pytest.mark.parametrize("fate", ["!lost", "!expired", "!500 try again"])
def test_what_a_batch_leaves_out_is_asked_again(kind: str, fate: str, tmp_path: Path) -> None:
    def script(prompt: str, asked: int) -> str:
        return fate if "number 3." in prompt and asked < 2 else verdict(prompt, asked)

    with serving(script) as server:
        summary = judge(Scripted(kind, server.url), 5, tmp_path, executor="batch").summary
    assert len(server.batches) == 3
    assert [batch["count"] for batch in server.batches.values()] == [5, 1, 1]
    assert set(server.bought.values()) == {1}
    assert summary["coverage"] == 1


def test_a_request_that_is_refused_costs_its_own_row_only(kind: str, tmp_path: Path) -> None:
    def script(prompt: str, asked: int) -> str:
        return "!400 the prompt is too long" if "number 3." in prompt else verdict(prompt, asked)

    with serving(script) as server:
        evaluation = judge(Scripted(kind, server.url), 5, tmp_path, executor="batch")
    statuses = [row.critique.judgments[0].status for row in evaluation if row.critique is not None]
    assert statuses == ["met", "met", "met", "failed", "met"]
    (reason,) = evaluation.summary["undecided"]
    assert "the prompt is too long" in reason["reason"]
    assert len(server.batches) == 1


def test_a_parameter_that_the_model_refuses_is_left_out(tmp_path: Path) -> None:
    with serving(verdict) as server:
        server.unsupported = "temperature"
        summary = judge(Scripted("openai", server.url), 4, tmp_path, executor="batch").summary
    assert [batch["count"] for batch in server.batches.values()] == [4, 4]
    assert summary["coverage"] == 1


@pytest.mark.parametrize(("requests", "size"), [(3, 10**9), (10**6, 9000)])
def test_batches_keep_to_the_limits_of_the_provider(
    kind: str, requests: int, size: int, tmp_path: Path
) -> None:
    class Small(Scripted):
        def batches(self) -> Any:
            service = super().batches()
            service.requests, service.size = requests, size
            return service

    with serving(verdict) as server:
        summary = judge(Small(kind, server.url), 8, tmp_path, executor="batch").summary
    counts = [batch["count"] for batch in server.batches.values()]
    assert sum(counts) == 8
    assert len(counts) > 1
    assert max(counts) <= 3
    assert summary["coverage"] == 1
    assert set(server.bought.values()) == {1}


def test_requests_too_large_for_one_body_go_as_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heedful.models.batches.gemini.INLINE_BYTES", 1000)
    with serving(verdict) as server:
        summary = judge(Scripted("gemini", server.url), 8, tmp_path, executor="batch").summary
    assert len(server.files) == 1
    assert summary["coverage"] == 1


def test_answers_that_the_provider_deleted_are_bought_again_only_when_told(tmp_path: Path) -> None:
    with serving(verdict) as server:
        server.gone = {"batch-0"}
        model = Scripted("openai", server.url)
        for _ in range(2):
            with pytest.raises(StopRunError, match=r"no longer has.*No such File.*--retry-failed"):
                judge(model, 3, tmp_path, executor="batch")
        assert len(server.batches) == 1
        summary = judge(model, 3, tmp_path, executor="batch", retry_failed=True).summary
    assert summary["coverage"] == 1
    assert (summary["cost"]["calls"], summary["cost"]["lost"]) == (3, 3)


@pytest.mark.interrupted
@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a POSIX signal")
def test_what_is_in_batches_is_neither_counted_nor_bought_again(tmp_path: Path) -> None:
    run, other = tmp_path / "run", tmp_path / "other"
    with serving(verdict, lasts_s=3600) as server:
        submit_and_kill(server, "openai", 4, run)
        model = Scripted("openai", server.url)
        estimate = dry_run(judge, model, 4, run, executor="batch")
        assert (estimate["calls"], estimate["submitted"]) == (0, 4)
        with pytest.raises(RunError, match="paid for twice"):
            judge(model, 4, other, executor="batch", reuse=run)
        with pytest.raises(RunError, match=r"another configuration.*batches"):
            judge(model, 4, run, executor="batch", per_call=1)


@pytest.mark.parametrize("room", [1, 3, 7])
def test_a_run_larger_than_the_providers_queue_goes_through_it_in_parts(
    room: int, tmp_path: Path
) -> None:
    class Small(Scripted):
        def batches(self) -> Any:
            service = super().batches()
            service.requests = 5
            return service

    with serving(verdict, lasts_s=0.1) as server:
        server.room = room
        summary = judge(Small("openai", server.url), 12, tmp_path, executor="batch").summary
    assert summary["coverage"] == 1
    assert set(server.bought.values()) == {1}
    assert max(batch["count"] for batch in server.batches.values()) <= min(room, 5)


def test_a_wrong_key_stops_the_run_and_nothing_is_left_open(kind: str, tmp_path: Path) -> None:
    with serving(verdict) as server:
        server.refuse = [(401, "who are you?")]
        with pytest.raises(StopRunError, match="who are you"):
            judge(Scripted(kind, server.url), 3, tmp_path, executor="batch")
        summary = judge(Scripted(kind, server.url), 3, tmp_path, executor="batch").summary
    assert summary["coverage"] == 1
    assert set(server.bought.values()) == {1}


def test_the_limit_on_cost_holds_before_a_batch_is_submitted(tmp_path: Path) -> None:
    sampling = Sampling(max_tokens=1000)
    options: dict[str, Any] = {"executor": "batch", "sampling": sampling}
    with serving(verdict) as server:
        model = Scripted("openai", server.url)
        with pytest.raises(StopRunError, match="--max-cost"):
            judge(model, 10, tmp_path, max_cost=0.04, **options)
        assert not server.batches
        with pytest.raises(StopRunError, match="--max-cost"):
            judge(model, 10, tmp_path, max_cost=0.1, **options)
        assert 0 < len(server.bought) < 10
        summary = judge(model, 10, tmp_path, max_cost=0.6, **options).summary
        assert summary["cost"]["dollars"] <= 0.6
        assert set(server.bought.values()) == {1}
    with pytest.raises(StopRunError, match="--max-completion-tokens"):
        judge(model, 10, tmp_path / "unbounded", max_cost=0.6, executor="batch")
    with pytest.raises(StopRunError, match="price is not known"):
        judge(model, 10, tmp_path / "unpriced", max_cost=0.6, prices={}, **options)


def test_a_server_without_batches_says_so_and_holds_nothing(tmp_path: Path) -> None:
    with serving(verdict) as server:
        server.refuse = [(404, "<html>Not here</html>")]
        with pytest.raises(StopRunError, match=r"no batch endpoint.*--executor local"):
            judge(Scripted("openai", server.url), 2, tmp_path, executor="batch")
        summary = judge(Scripted("openai", server.url), 2, tmp_path, executor="batch").summary
    assert summary["coverage"] == 1


def test_a_run_that_was_left_is_resumed_and_only_by_batch(kind: str, tmp_path: Path) -> None:
    with serving(verdict, lasts_s=3600) as server:
        submit_and_kill(server, kind, 7, tmp_path)
        with pytest.raises(RunError, match="--executor batch"):
            judge(Scripted(), 7, tmp_path)
        server.lasts_s = 0
        summary = judge(Scripted(kind, server.url), 7, tmp_path, executor="batch").summary
    assert summary["coverage"] == 1
    assert summary["cost"]["calls"] == 7
    assert summary["cost"]["reused"] == 0
    assert set(server.bought.values()) == {1}


@pytest.mark.interrupted
@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a POSIX signal")
def test_a_batch_that_is_listed_late_is_not_submitted_again(tmp_path: Path) -> None:
    with serving(verdict) as server:
        server.slow_upload_s, server.slow_s, server.listed_after_s = 2.5, 1.5, 1.0
        submit_and_kill(server, "openai", 7, tmp_path, after_s=0)
        model = Scripted("openai", server.url)
        summary = judge(model, 7, tmp_path, executor="batch").summary
    assert summary["cost"]["calls"] == 7
    assert set(server.bought.values()) == {1}


@pytest.mark.interrupted
@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a POSIX signal")
def test_a_thousand_rows_and_ten_kills_buy_each_call_once(kind: str, tmp_path: Path) -> None:
    count, draw, kills = 1000, random.Random(kind), 0
    with serving(verdict, lasts_s=12, slow_s=0.3) as server:
        command = [sys.executable, "tests/batch_model.py", kind, server.url, str(count)]
        command += [str(tmp_path / "killed"), "100"]
        for _ in range(10):
            process = subprocess.Popen(command)
            seen = len(server.batches)
            until(lambda: len(server.batches) > seen, 1.2)  # noqa: B023 - called here
            time.sleep(0.6 * draw.random())
            kills += process.poll() is None
            process.kill()
            process.wait()
        subprocess.run(command, check=True, timeout=120)
    assert kills > 4  # on a slow machine the last sessions come to the end
    assert len(server.bought) == count
    assert set(server.bought.values()) == {1}
    local = judge(Scripted(), count, tmp_path / "local").summary
    assert outputs(tmp_path / "local") == outputs(tmp_path / "killed")
    summary = json.loads((tmp_path / "killed" / "summary.json").read_text())
    assert summary["cost"]["calls"] == count
    assert summary["cost"]["dollars"] == pytest.approx(local["cost"]["dollars"] / 2)


def submit_and_kill(
    server: BatchServer, kind: str, count: int, run: Path, after_s: float = 0.3
) -> None:
    command = [sys.executable, "tests/batch_model.py", kind, server.url, str(count), str(run)]
    process = subprocess.Popen(command)
    until(lambda: server.batches)
    time.sleep(after_s)
    process.kill()
    process.wait()


def until(holds: Any, longest_s: float = 20.0) -> None:
    ends = time.monotonic() + longest_s
    while not holds() and time.monotonic() < ends:
        time.sleep(0.02)


def test_a_server_that_names_another_for_the_upload_gets_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heedful.models.batches.gemini.INLINE_BYTES", 0)
    with serving(verdict) as server:
        model = Scripted("gemini", server.url)
        server.url = "http://elsewhere.example"
        with pytest.raises(StopRunError, match="another server"):
            judge(model, 2, tmp_path, executor="batch")
    assert not server.batches


def test_the_command_line_runs_in_batches_and_prices_both_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data, prices = tmp_path / "rows.jsonl", tmp_path / "prices.json"
    lines = [row.model_dump_json(exclude_defaults=True) for row in rows_of(3)]
    data.write_text("\n".join(lines))
    prices.write_text('{"m": {"prompt": 1000, "completion": 1000}}')
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    words = ["evaluate", data, "--judge", "checklist", "--model", "m", "--prices", prices]
    words += ["--run", tmp_path / "run", "--executor", "batch"]
    with serving(verdict) as server:
        words += ["--base-url", f"{server.url}/v1"]
        assert run(*words, "--dry-run") == 0
        assert "with --executor batch: $" in capsys.readouterr().out
        assert run(*words) == 0
    assert "3 in batches" in capsys.readouterr().out
    assert len(server.batches) == 1
