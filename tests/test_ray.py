"""Ray: the results of a local run, whatever dies on the way."""

import json
import os
import re
import runpy
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import extras
from heedful import BatchJudge, evaluate
from heedful.core.errors import UsageError
from heedful.judges import prompts
from heedful.judges.model import Checklist
from heedful.models import ScriptedModel
from numbered_rows import judge, rows, serving
from test_kills import tasks

extras.needs("ray", extra="ray")
pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]  # Ray's own

EXAMPLES = Path(__file__).parents[1] / "examples"


def none_works(seconds: float = 20.0) -> bool:
    ends = time.monotonic() + seconds
    while tasks() and time.monotonic() < ends:
        time.sleep(0.1)
    return not tasks()


def wait_for(counts: Counter[str], calls: int) -> None:
    ends = time.monotonic() + 180
    while counts.total() < calls and time.monotonic() < ends:
        time.sleep(0.01)
    assert counts.total() >= calls


@pytest.mark.usefixtures("ray_cluster")
def test_ray_comes_to_what_a_local_run_comes_to(tmp_path: Path) -> None:
    with serving(Counter()) as url:
        sides = {
            executor: judge(url, 60, tmp_path / executor, executor=executor, workers=2).summary
            for executor in ("local", "ray")
        }
    results = [(tmp_path / run / "results.jsonl").read_bytes() for run in sides]
    assert results[0] == results[1]
    assert {**sides["local"], "cost": None} == {**sides["ray"], "cost": None}
    assert none_works()


@pytest.mark.usefixtures("ray_cluster")
def test_a_model_that_cannot_be_sent_is_refused(tmp_path: Path) -> None:
    lock = threading.Lock()
    checklist = Checklist(ScriptedModel(lambda *_: str(lock)), prompts.make("plain"))
    with pytest.raises(UsageError, match="cannot be sent"):
        evaluate(rows(2), judge=checklist, run=tmp_path, executor="ray")


@pytest.mark.usefixtures("ray_cluster")
def test_files_that_are_judged_in_tasks_come_to_what_a_local_run_comes_to(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

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
            while not (judging := tasks(name=b"ray::judge")):
                time.sleep(0.01)
            os.kill(judging[0], signal.SIGKILL)

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


@pytest.mark.usefixtures("ray_cluster")
def test_the_recipe_for_ray_data_comes_to_what_a_server_comes_to(tmp_path: Path) -> None:
    import ray

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


@pytest.mark.usefixtures("ray_cluster")
def test_ray_data_has_batches_judged() -> None:
    import ray

    texts = ["Hi!", "Hi, you!", "Hello to all of you"]
    samples = [
        {"id": str(number), "checklist": ["No commas.", "At most 2 words."], "response": text}
        for number, text in enumerate(texts * 8)
    ]
    data = ray.data.from_items(samples, override_num_blocks=3)
    options: dict[str, Any] = {"fn_constructor_kwargs": {"judge": "compiled"}, "concurrency": 1}
    records = list(evaluate(samples, judge="compiled").records())
    for judged in (
        data.map_batches(BatchJudge(judge="compiled"), batch_size=4),
        data.map_batches(BatchJudge, batch_size=8, **options),
    ):
        by_place = sorted(judged.take_all(), key=lambda row: int(row["id"]))
        assert [json.loads(row["judgments"]) for row in by_place] == [
            record["judgments"] for record in records
        ]
        assert [row["csr"] for row in by_place] == [record["scores"]["csr"] for record in records]
