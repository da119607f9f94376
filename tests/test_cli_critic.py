"""``heedful critic …``: from prompts to filtered critiques, on the command line."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from commands import run
from fault_server import Answer, completion, serving
from heedful.critic.training.rows import Rows
from jsonl import read_rows
from planted import Population

# Whole commands, with servers, files and processes.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("empty_folder")]

ROWS = 12


def write(population: Population, count: int = ROWS) -> None:
    with Path("in.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(
            sample.model_dump_json(exclude_defaults=True) + "\n"
            for sample in population.samples(count)
        )


def answering(population: Population) -> Any:
    def answer(_: int, body: dict[str, Any]) -> Answer:
        prompt = body["messages"][-1]["content"]
        return completion(population.answer(body["model"], prompt, body.get("seed", 0)))

    return answer


def sampling(url: str, *words: str) -> list[str]:
    common = ["--model", "expert", "--base-url", url, "--seed", "0", "-o", "critiques.jsonl"]
    return ["critic", "sample", "in.jsonl", *common, *words]


def filtering(url: str, *words: str) -> list[str]:
    models = ["--model", "expert", "--verifier", "a", "--verifier", "b", "--base-url", url]
    return ["critic", "filter", "critiques.jsonl", *models, "-o", "filtered.jsonl", *words]


TRAINED = ("filtered.jsonl", "sft.jsonl")


def test_from_responses_to_filtered_critiques(capsys: pytest.CaptureFixture[str]) -> None:
    population = Population()
    write(population)
    with serving(script=answering(population)) as server:
        assert run(*sampling(server.url)) == 0
        assert "12 rows: 12 completed" in capsys.readouterr().out
        assert {body["seed"] for body in server.bodies} == {*range(5)}
        assert run(*filtering(server.url, "--run", "r")) == 0
        said = capsys.readouterr().out
        bought = len(server.bodies)
        first = Path("filtered.jsonl").read_bytes()
        assert run(*filtering(server.url, "--run", "r", "--skip", "judgment,explanation")) == 0
        assert run(*filtering(server.url, "--run", "r", "--threshold", "1")) == 0
        assert run(*filtering(server.url, "--run", "r")) == 0
        assert len(server.bodies) == bought
        assert Path("filtered.jsonl").read_bytes() == first
        capsys.readouterr()
        none = filtering(server.url, "-q", "--run", "r", "--min-votes", "99")
        assert run(*none) == 1
        assert "no row was kept: the stage judgment dropped" in capsys.readouterr().err
        assert run(*filtering(server.url, "-q", "--run", "r")) == 0
    kept, dropped = read_rows("filtered.jsonl"), read_rows("r/dropped.jsonl")
    assert len(kept) + len(dropped) == ROWS
    assert f"{len(kept)} kept, {len(dropped)} dropped" in said
    assert all({"stage", "reason"} <= {*row["filtering"]["dropped"]} for row in dropped)
    funnel = json.loads(Path("r/funnel.json").read_text(encoding="utf-8"))
    assert funnel["rows"] == {"kept": len(kept), "dropped": len(dropped), "failed": 0}
    card = Path("r/funnel.md").read_text(encoding="utf-8")
    assert "| cross-model verification | 300 → " in card
    assert run("critic", "checklists", "critiques.jsonl", "-o", "generator.jsonl") == 0
    assert "12 instructions" in capsys.readouterr().out
    assert len(read_rows("generator.jsonl")) == ROWS
    # What respond writes beside a response goes with it, and the rows can still be trained on.
    about = {"completion": {"model": "a", "finish_reason": "stop"}}
    lines = [json.dumps({**row, **about}) for row in kept]
    Path("sft.jsonl").write_text("\n".join(lines), encoding="utf-8")
    usable = [[example for _, example in Rows(Path(name), pairs=False)] for name in TRAINED]
    assert usable[0] == usable[1]
    assert len(usable[0]) == len(kept)


def test_a_served_critic_is_sampled_as_it_was_trained() -> None:
    population = Population()
    write(population, 1)
    with serving(script=answering(population)) as server:
        assert run(*sampling(server.url, "--samples", "1", "--measure")) == 0
        assert "Counted by code: " in server.bodies[0]["messages"][-1]["content"]
    assert read_rows("critiques.jsonl")[0]["recording"]["measure"] is True


def test_a_dry_run_says_what_would_be_asked_and_asks_nobody(
    capsys: pytest.CaptureFixture[str],
) -> None:
    population = Population()
    write(population, 4)
    prices = Path("prices.json")
    prices.write_text(
        json.dumps({name: {"prompt": 1, "completion": 1} for name in ("expert", "a")})
    )
    words = ["--model", "expert", "--prices", "prices.json", "--base-url"]
    with serving(script=answering(population)) as server:
        assert run("critic", "sample", "in.jsonl", *words, server.url, "--dry-run") == 0
        assert re.search(r"expert/plain +20 +", capsys.readouterr().out)
        assert not server.bodies
        assert run(*sampling(server.url, "-q")) == 0
        asked = len(server.bodies)
        verify = ["critic", "filter", "critiques.jsonl", "--verifier", "a", *words, server.url]
        assert run(*verify, "--dry-run") == 0
        assert re.search(r"verification by a +\d+ +", capsys.readouterr().out)
        assert len(server.bodies) == asked
        assert run(*verify) == 2
        assert "--output" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sample", "in.jsonl", "-o", "out.jsonl"], "no model"),
        (["sample", "in.jsonl", "-m", "x"], "--output"),
        (["sample", "in.jsonl", "-m", "x", "-o", "o.jsonl", "--prompt", "cfbench"], "explanations"),
        (["filter", "in.jsonl", "-o", "out.jsonl"], "skip cross"),
        (["filter", "in.jsonl", "-o", "out.jsonl", "--skip", "cross,rule"], "'rule'"),
        (["filter", "gone.jsonl", "-o", "o.jsonl", "--skip", "cross,rules"], "no such file"),
        (["filter", "in.jsonl", "-m", "x", "-m", "y", "-o", "o.jsonl"], "2 experts"),
        (["checklists", "in.jsonl", "-o", "o.jsonl", "--prompt", "x"], "no such checklist prompt"),
    ],
)
def test_wrong_use_is_refused_before_any_call(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(Population(), 2)
    assert run("critic", *words) == 2
    said = capsys.readouterr()
    assert message in said.out + said.err
    assert not Path("out.jsonl").exists()
