"""What filters of critique data and benchmarks of critics came to, in the viewer."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from critic_population import answers, judgments, questions
from fault_server import completion, serving
from heedful.bench.realcritic.run import RealCriticPlan, run_realcritic
from heedful.cli import main
from heedful.critic.data import filter_critiques, sample_critiques
from heedful.models import ScriptedModel
from jsonl import write_rows
from planted import Population

pytest.importorskip("starlette", reason="the extra 'view' is not installed")
pytest.importorskip("httpx2", reason="Starlette's client needs httpx2")
pytest.importorskip("math_verify", reason="the extra 'reasoning' is not installed")

from viewing import client, keys_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from starlette.testclient import TestClient

    from fault_server import Answer
    from heedful.core.nouns import Message


def plain(text: str) -> str:
    return " ".join(re.sub(r"<script.*?</script>|<[^>]+>", " ", text, flags=re.DOTALL).split())


def drawn(browser: TestClient, page: str) -> list[str]:
    """Give the titles of the charts of a page, whose scripts have to be there."""
    for source in re.findall(r'<script src="([^"]+)"', page):
        assert browser.get(source).status_code == 200
    assert "vega-lite.min.js" in page
    return re.findall(r'<figure data-chart="([^"]+)"', page)


def test_the_funnel_and_the_critiques_that_are_left(tmp_path: Path) -> None:
    population = Population(finds=1, alarms=0, ignores=0)
    given = sample_critiques(population.samples(20), expert=population.expert())
    result = filter_critiques(
        [item.sample for item in given if item.sample],
        expert=population.expert(),
        verifiers=[population.verifier("a")],
        run=tmp_path / "runs" / "filter",
    )
    browser = client(tmp_path / "runs")
    address = keys_of(browser)["filter"]
    page = browser.get(address).text
    kept = result.summary["funnel"]["rows"]["kept"]
    assert f"20 rows: {kept} kept" in plain(page)
    spec = re.search(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    assert spec is not None
    values = json.loads(spec[1])["data"]["values"]
    last = [value["value"] for value in values if value["series"] == "rows"][-1]
    assert last == pytest.approx(100 * kept / 20)
    listed = browser.get(f"{address}/samples?status=unmet").text
    assert "data-row" in listed
    assert "20 samples" in plain(page)
    sample = plain(browser.get(f"{address}/samples/1").text)
    assert "Other fields of the row" in sample


def test_realcritics_rounds_and_transitions(tmp_path: Path) -> None:
    def reply(messages: Sequence[Message], _: int) -> str:
        if "You are checking" in messages[0].content:
            return "## Conclusion\nThe solution is Incorrect.\n## Correction\nSo \\boxed{2}."
        return "\\boxed{3}"

    rows = [
        {"idx": n, "question": "What is 1 + 1?", "gt": "2", "reasoning": f"\\boxed{{{n + 2}}}"}
        for n in range(2)
    ]
    data = tmp_path / "sums.jsonl"
    write_rows(data, rows)
    plan = RealCriticPlan(files=[data], critics=[ScriptedModel(reply)], rounds=2)
    run_realcritic(plan, run=tmp_path / "runs" / "real").summary()
    browser = client(tmp_path / "runs")
    page = browser.get(keys_of(browser)["real"]).text
    text = plain(page)
    for words in ("Accuracy", "Transitions", "cross 1", "self 2", "baseline"):
        assert words in text
    titles = drawn(browser, page)
    assert len(titles) == 4
    assert "by round" in titles[0]
    assert "Samples" not in text


@pytest.mark.slow
def test_criticbenchs_scaling_and_heat_map_of_runs_and_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generators = {name: answers(name, share) for name, share in (("s", 0.4), ("l", 0.8))}
    critics = {name: judgments(name, share) for name, share in (("s", 0.6), ("l", 0.9))}
    asked: dict[tuple[str, str], int] = {}

    def script(_: int, body: dict[str, Any]) -> Answer:
        name, prompt = body["model"], body["messages"][-1]["content"]
        number = asked[name, prompt] = asked.get((name, prompt), -1) + 1
        replies = critics if "Judgment:" in prompt else generators
        answer = completion(replies[name](prompt, number))
        answer.body["model"] = name
        return answer

    runs = tmp_path / "runs"
    runs.mkdir()
    monkeypatch.chdir(runs)
    rows = "".join(json.dumps(row) + "\n" for row in questions(12))
    (tmp_path / "sums.jsonl").write_text(rows, encoding="utf-8")
    with serving(script=script) as server:
        at = ["-m", "s", "-m", "l", "--base-url", server.url, "-q"]
        build = ["build", str(tmp_path / "sums.jsonl"), "--samples", "4", "--run", "bench"]
        run = ["run", "bench", "--run", "judged", "-o", "report", "--size", "s=1", "--size", "l=8"]
        for words in (build, run):
            with pytest.raises(SystemExit) as stopped:
                main(["bench", "criticbench", *words, *at])
            assert stopped.value.code == 0
    browser = client(runs)
    keys = keys_of(browser)
    assert "generators" in browser.get(keys["bench"]).text
    for name in ("judged", "report"):
        page = browser.get(keys[name]).text
        titles = drawn(browser, page)
        assert any("Accuracy by critic" in title for title in titles)
        assert any("framed is self-critique" in title for title in titles)
