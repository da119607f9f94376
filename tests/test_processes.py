"""Workers on parts of the rows: the results of a local run, whatever dies on the way."""

import json
import os
import signal
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import fault_server
from commands import run
from fault_server import Answer, completion, refusal
from heedful import Constraint, Sample, StopRunError, evaluate, respond
from heedful.core.errors import UsageError
from heedful.data.formats import open_source
from heedful.engine.shards import rows_of_a_part
from heedful.judges import prompts
from heedful.judges.model import Checklist
from heedful.models import OpenAIModel, Price
from numbered_rows import judge, rows, serving, usage
from test_kills import forked

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found by /proc")

PRICES = {"m": Price(prompt=1000.0, completion=1000.0)}


def results(run: Path) -> bytes:
    return (run / "results.jsonl").read_bytes()


def test_rows_are_divided_by_how_many_there_are() -> None:
    assert rows_of_a_part(None, 8) == rows_of_a_part(32_000, 8) == 1000
    assert rows_of_a_part(10, 2) == 16
    assert rows_of_a_part(10**9, 2) == 10_000


def test_lines_that_nobody_wants_are_not_read(tmp_path: Path) -> None:
    data = tmp_path / "rows.jsonl"
    lines = [sample.model_dump_json(exclude_defaults=True) for sample in rows(9)]
    data.write_text("\n\n".join([*lines[:3], "broken", *lines[4:]]))
    source = open_source(data)
    whole = list(source)
    source.wanted = lambda place: place in (2, 3, 7)
    part = list(source)
    assert len(part) == len(whole)
    assert [row for row in part if row.line] == [whole[place] for place in (2, 3, 7)]


@pytest.mark.slow
def test_any_number_of_workers_comes_to_what_a_local_run_comes_to(tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    with serving(counts) as url:
        whole = judge(url, 200, tmp_path / "local")
        for workers in (1, 2, 3, 7):
            counts.clear()
            run = tmp_path / str(workers)
            judged = judge(url, 200, run, executor="processes", workers=workers)
            assert results(run) == results(tmp_path / "local")
            # Equal prompts are requested once in each part, and each prompt comes twice.
            calls = judged.summary["cost"]["calls"]
            assert counts.total() == calls
            assert 0 <= calls - whole.summary["cost"]["calls"] <= 4 * workers
            assert {**judged.summary, "cost": None} == {**whole.summary, "cost": None}
            progress = judged.progress
            assert (progress.read, progress.done, progress.failed) == (201, 201, 0)
            assert not (run / "parts").exists()


@pytest.mark.slow
def test_a_run_goes_on_with_another_executor(tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    with serving(counts) as url:
        judge(url, 100, tmp_path / "whole")
        counts.clear()
        for executor in ("local", "processes", "local"):
            with pytest.raises(StopRunError, match="enough"):
                judge(url, 100, tmp_path / "run", executor=executor, on_progress=after(20))
        judged = judge(url, 100, tmp_path / "run", executor="processes", workers=3)
    assert results(tmp_path / "run") == results(tmp_path / "whole")
    assert judged.progress.resumed > 0
    assert counts.total() <= 51 + 3 * 32


def after(rows_done: int) -> Any:
    def stop(progress: Any) -> None:
        if progress.done - progress.resumed >= rows_done:
            raise StopRunError("enough")

    return stop


@pytest.mark.slow
def test_failed_rows_are_worked_on_again_and_no_others(tmp_path: Path) -> None:
    for executor in ("local", "processes"):
        run = tmp_path / executor
        with fault_server.serving(script=lambda number, _: first_fails(number)) as server:
            model = OpenAIModel("m", base_url=server.url, api_key="none")
            checklist = Checklist(model, prompts.make("plain"))
            options: dict[str, Any] = {"judge": checklist, "run": run, "executor": executor}
            samples = [*rows(70)[:-1:2]]
            assert evaluate(samples, **options).summary["verdicts"]["failed"] == 3
            before = len(server.bodies)
            judged = evaluate(samples, **options, retry_failed=True)
        assert judged.summary["verdicts"]["met"] == 35
        assert (before, len(server.bodies)) == (35, 38)


def first_fails(number: int) -> Answer:
    return refusal(400, "too long") if number < 3 else completion("<c1>\nS.\nVERDICT: MET\n</c1>")


@pytest.mark.slow
def test_an_id_that_comes_again_in_another_part_is_refused_as_in_a_local_run(
    tmp_path: Path,
) -> None:
    constraint = Constraint(text="Use at most 3 words.")
    samples = [
        Sample(id=str(number % 40), prompt="Hi.", checklist=(constraint,), response="Hello.")
        for number in range(60)
    ]
    sides = []
    for executor in ("local", "processes"):
        judged = evaluate(samples, judge="compiled", run=tmp_path / executor, executor=executor)
        done = judged.progress.read, judged.progress.done, judged.progress.failed
        sides.append((judged.summary, results(tmp_path / executor), done))
    assert sides[0] == sides[1]
    assert sides[0][0]["rows"] == {"read": 40, "failed": 20}


@pytest.mark.slow
def test_counts_of_parts_add_up_to_those_of_all_rows(tmp_path: Path) -> None:
    kinds = ("length", "style", "content")
    samples = [
        Sample(
            id=str(number),
            prompt=f"Say {number // 4}.",
            checklist=tuple(
                Constraint(text=text, type=kinds[(number + place) % 3], priority="primary")
                for place, text in enumerate(["At most 3 words.", "No commas.", "Be kind."])
            ),
            response=("Yes.", "Yes, and no, and more.", "No, no.")[number % 3],
            tags={"task": "abc"[number % 3], "model": f"m{number % 2}", "language": "en"},
            labels=(True, number % 5 > 0, None),
            instruction_id=number // 4,
        )
        for number in range(90)
    ]
    sides = []
    for executor in ("local", "processes"):
        judged = evaluate(samples, judge="compiled", run=tmp_path / executor, executor=executor)
        sides.append((judged.summary, results(tmp_path / executor)))
    assert sides[0] == sides[1]
    assert {"task", "type", "model"} <= sides[0][0]["by"].keys()
    assert sides[0][0]["labels"]["disagreements"]


@pytest.mark.slow
def test_rows_that_can_be_read_once_are_divided_too() -> None:
    constraint = Constraint(text="Use at most 3 words.")
    samples = (Sample(prompt="Hi.", checklist=(constraint,), response="Hello.") for _ in range(50))
    judged = evaluate(samples, judge="compiled", executor="processes")
    assert judged.summary["verdicts"]["met"] == 50
    assert sum(1 for _ in judged) == 50


@pytest.mark.slow
def test_workers_share_one_budget(tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    dollars = 0.64 * 21  # of 600 + 40 tokens each
    options: dict[str, Any] = {"max_cost": dollars, "prices": PRICES}
    with serving(counts) as url, pytest.raises(StopRunError, match="--max-cost"):
        judge(url, 200, tmp_path / "run", executor="processes", workers=3, **options)
    assert 10 <= counts.total() <= 21
    assert sum(row[4] for row in usage(tmp_path / "run")) == counts.total()


def test_workers_are_at_least_one() -> None:
    with pytest.raises(UsageError, match="--workers is 0"):
        evaluate(rows(2), judge="compiled", executor="processes", workers=0)


@pytest.mark.slow
def test_responses_are_those_of_a_local_run(tmp_path: Path) -> None:
    def answer(_: int, body: dict[str, Any]) -> Answer:
        return completion(f"I heard: {body['messages'][-1]['content']}")

    sides = []
    with fault_server.serving(script=answer) as server:
        for executor in ("local", "processes"):
            model = OpenAIModel("m", base_url=server.url, api_key="none")
            options: dict[str, Any] = {"executor": executor, "run": tmp_path / executor}
            made = respond(rows(40), models=model, samples=2, workers=3, **options)
            made.write(tmp_path / f"{executor}.jsonl")
            written = (tmp_path / f"{executor}.jsonl").read_bytes()
            sides.append((written, made.progress.done, made.progress.failed, made.summary))
    assert sides[0] == sides[1]


@pytest.mark.slow
def test_an_error_that_stops_a_run_stops_it_from_a_worker(tmp_path: Path) -> None:
    with (
        fault_server.serving(refusal(401, "who are you?")) as server,
        pytest.raises(StopRunError, match="who are you"),
    ):
        judge(server.url, 40, tmp_path, executor="processes")


@pytest.mark.slow
def test_a_row_that_kills_whoever_works_on_it_ends_the_run(tmp_path: Path) -> None:
    def kill(*_: Any) -> Answer:
        for worker in forked(os.getpid()):
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        return completion("nobody is left to read this")

    with (
        fault_server.serving(script=kill) as server,
        pytest.raises(StopRunError, match="have died"),
    ):
        judge(server.url, 40, tmp_path, executor="processes")


@pytest.mark.slow
def test_a_command_uses_all_cores_where_code_judges_many_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("heedful.engine.job.available_cores", lambda *_: 2)
    data = tmp_path / "rows.jsonl"
    row = {"prompt": "Hi.", "checklist": ["Use at most 3 words."], "response": "Hello."}
    data.write_text("".join(json.dumps({"id": str(at), **row}) + "\n" for at in range(600)))
    for name, flags in (("all", ""), ("one", "--executor local"), ("few", "--limit 599")):
        run(*f"evaluate {data} --run {tmp_path / name} {flags}".split())
        assert capsys.readouterr().err.startswith("2 processes: code decides") == (name == "all")
    assert results(tmp_path / "all") == results(tmp_path / "one")
