"""Ray: the results of a local run, whatever dies on the way."""

from __future__ import annotations

import json
import os
import re
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import extras
from heedful.core.errors import UsageError
from heedful.judges import prompts
from heedful.judges.model import Checklist
from heedful.models import ScriptedModel
from numbered_rows import judge, rows, serving, usage, verdicts

if TYPE_CHECKING:
    from collections.abc import Iterator


extras.needs("ray", extra="ray")
pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]  # Ray's own

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A cluster of two CPUs on this machine, to which this process is connected."""
    import ray

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    options: dict[str, Any] = {"include_dashboard": False, "object_store_memory": 100 * 2**20}
    context = ray.init("local", num_cpus=2, log_to_driver=False, **options)
    yield context.address_info["gcs_address"]
    ray.shutdown()


def workers(name: bytes = b"ray::RayWorker") -> list[int]:
    """Find the processes of our actors, or tasks, by the name that Ray gives them."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            title = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if title.startswith(name):
            found.append(int(folder.name))
    return found


def none_works(seconds: float = 20.0) -> bool:
    ends = time.monotonic() + seconds
    while workers() and time.monotonic() < ends:
        time.sleep(0.1)
    return not workers()


def wait_for(counts: Counter[str], calls: int) -> None:
    ends = time.monotonic() + 60
    while counts.total() < calls and time.monotonic() < ends:
        time.sleep(0.01)
    assert counts.total() >= calls


@pytest.mark.usefixtures("address")
def test_ray_comes_to_what_a_local_run_comes_to(tmp_path: Path) -> None:
    sides: dict[str, Any] = {}
    counts: Counter[str] = Counter()
    with serving(counts) as url:
        for executor in ("local", "ray"):
            counts.clear()
            run = tmp_path / executor
            summary = judge(url, 60, run, executor=executor).summary
            results = (run / "results.jsonl").read_bytes()
            sides[executor] = summary, dict(counts), results, verdicts(run), usage(run)
    assert sides["local"] == sides["ray"]
    assert none_works()


@pytest.mark.usefixtures("address")
def test_a_worker_that_dies_costs_its_calls_in_flight(tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    with serving(counts, delay_s=0.05) as url:
        whole = judge(url, 300, tmp_path / "whole").summary
        counts.clear()

        def kill() -> None:
            wait_for(counts, 30)
            os.kill(workers()[0], signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        summary = judge(url, 300, tmp_path / "killed", executor="ray").summary
        killer.join()
    assert summary["verdicts"] == whole["verdicts"]
    assert verdicts(tmp_path / "whole") == verdicts(tmp_path / "killed")
    results = [(tmp_path / run / "results.jsonl").read_bytes() for run in ("whole", "killed")]
    assert results[0] == results[1]
    lost = summary["cost"].pop("lost")
    assert 0 < lost <= 16  # half of what is in flight
    assert summary["cost"].pop("judges")[0].pop("lost") == lost
    del whole["cost"]["judges"]
    # What it was answered, and reported, for unfinished rows is used again.
    assert 0 <= summary["cost"].pop("reused") - whole["cost"].pop("reused") <= 32
    assert summary["cost"] == whole["cost"]
    assert counts.total() <= 151 + lost + 1  # the row that is malformed at first


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_stopped_is_resumed(
    tmp_path: Path, address: str, number: signal.Signals
) -> None:
    counts: Counter[str] = Counter()
    environment = os.environ | {"RAY_ADDRESS": address}
    with serving(counts, delay_s=0.05) as url:
        command = [sys.executable, __file__, url, "400", str(tmp_path / "stopped")]
        process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        wait_for(counts, 40)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
        assert process.returncode != 0
        if number == signal.SIGINT:
            assert errors.splitlines()[-1] == "KeyboardInterrupt"
        assert none_works()
        made = counts.total()
        assert made < 200
        subprocess.run(command, env=environment, check=True, timeout=100)
        assert counts.total() <= 201 + 32 + 1  # what was in flight is made again
        counts.clear()
        judge(url, 400, tmp_path / "whole")
    assert verdicts(tmp_path / "whole") == verdicts(tmp_path / "stopped")
    results = [(tmp_path / run / "results.jsonl").read_bytes() for run in ("whole", "stopped")]
    assert results[0] == results[1]


@pytest.mark.usefixtures("address")
def test_a_model_that_cannot_be_sent_is_refused(tmp_path: Path) -> None:
    from heedful import evaluate

    lock = threading.Lock()
    checklist = Checklist(ScriptedModel(lambda *_: str(lock)), prompts.make("plain"))
    with pytest.raises(UsageError, match="cannot be sent"):
        evaluate(rows(2), judge=checklist, run=tmp_path, executor="ray")


@pytest.mark.usefixtures("address")
def test_files_that_are_judged_in_tasks_come_to_what_a_local_run_comes_to(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from heedful import evaluate

    files = [tmp_path / f"shard-{number}.parquet" for number in range(3)]
    texts = [sample.model_dump_json(exclude_defaults=True) for sample in rows(120)[:-1]]
    samples = [*map(json.loads, texts)]
    for number, file in enumerate(files):
        pq.write_table(pa.Table.from_pylist(samples[40 * number :][:40]), file)
    counts: Counter[str] = Counter()
    with serving(counts, delay_s=0.2) as url:
        options: dict[str, Any] = {"judge": "checklist", "model": "m", "base_url": url}
        options |= {"max_concurrency": 4, "prompt": "plain", "api_key_env": "NONE"}
        whole = evaluate(files, run=tmp_path / "whole", **options).summary
        counts.clear()

        def kill() -> None:
            wait_for(counts, 10)
            while not (tasks := workers(b"ray::judge")):
                time.sleep(0.01)
            os.kill(tasks[0], signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        recipe = runpy.run_path(str(EXAMPLES / "ray_shards" / "judge_files.py"))
        summary = recipe["judge_all"](files, tmp_path / "runs", **options)
        killer.join()
    results = [tmp_path / run / "results.jsonl" for run in ("whole", "runs/whole")]
    assert results[0].read_bytes() == results[1].read_bytes()
    assert summary["metrics"] == whole["metrics"]
    assert (
        61 <= counts.total() <= 61 + 3 * 4
    )  # what was in flight is requested again, 3 times at most


@pytest.mark.usefixtures("address")
def test_the_recipe_for_ray_data_comes_to_what_a_server_comes_to(tmp_path: Path) -> None:
    import ray

    from heedful import evaluate

    samples = [sample for sample in rows(12) if sample.id not in {"14", "15"}]
    recipe = runpy.run_path(str(EXAMPLES / "ray_data" / "judge.py"))

    def answer(row: dict[str, Any]) -> dict[str, Any]:
        assert row["messages"][-1]["role"] == "user"
        (number,) = re.findall(r"about number (\d+)\.", row["messages"][-1]["content"])
        verdict = "MET" if int(number) % 3 else "UNMET"
        return {**row, "generated_text": f"<c1>\nSeen.\nVERDICT: {verdict}\n</c1>"}

    lines = tmp_path / "samples.jsonl"
    lines.write_text("".join(s.model_dump_json() + "\n" for s in samples if s.id != "empty"))
    data = ray.data.read_text(str(lines)).map(recipe["request"]).map(answer)
    judged = tmp_path / "judged.jsonl"
    judged.write_text(
        "".join(row["text"] + "\n" for row in data.map(recipe["recorded"]).take_all())
    )
    offline = evaluate(judged, judge="recorded", run=tmp_path / "offline").summary
    with serving(Counter()) as url:
        served = judge(url, 12, tmp_path / "served").summary
    for status in ("met", "unmet"):
        assert offline["verdicts"][status] == served["verdicts"][status] > 0


def test_the_recipe_makes_a_processor_with_vllm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    recipe = runpy.run_path(str(EXAMPLES / "ray_data" / "judge.py"))
    assert "vLLMEngineStage" in recipe["processor"](str(tmp_path), 2).list_stage_names()


if __name__ == "__main__":
    where, size, directory = sys.argv[1:]
    judge(where, int(size), Path(directory), executor="ray")
