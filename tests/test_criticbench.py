"""``heedful bench criticbench``: built, run, reported at the command line; nothing bought twice."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import commands
from critic_population import answers, judgments, questions, the_sum
from fault_server import Answer, completion, refusal, serving
from heedful.bench.criticbench.build import BuildPlan, build, reasoning_steps
from heedful.bench.criticbench.items import read_samples, read_triplets
from heedful.bench.grading.problems import posed
from heedful.bench.grading.sandbox import Sandbox
from heedful.core.problems import Problem
from heedful.models import ScriptedModel
from jsonl import write_rows

pytest.importorskip("math_verify", reason="the extra 'reasoning' is not installed")

# Whole commands, with servers, files and processes.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("empty_folder")]

GENERATORS = {"small": answers("small", 0.4), "large": answers("large", 0.8)}
CRITICS = {"small": judgments("small", 0.6), "large": judgments("large", 0.9)}
SAMPLES = 6
BUILD = ("build", "sums.jsonl", "-m", "small", "-m", "large", "--samples", str(SAMPLES))
RUN = ("run", "bench", "-m", "small", "-m", "large", "--repeats", "2")


def run(*words: str | Path) -> int:
    return commands.run("bench", "criticbench", *words)


def write(rows: list[dict[str, Any]], name: str = "sums.jsonl") -> Path:
    return write_rows(name, rows)


def population(delay_s: float = 0.0) -> Callable[[int, dict[str, Any]], Answer]:
    """A server of all models; the same prompt again is the next sample."""
    asked: Counter[tuple[str, str]] = Counter()

    def script(_: int, body: dict[str, Any]) -> Answer:
        name, prompt = body["model"], body["messages"][-1]["content"]
        replies = CRITICS if "Judgment:" in prompt else GENERATORS
        text = replies[name](prompt, asked[name, prompt])
        asked[name, prompt] += 1
        answer = completion(text)
        return Answer(body={**answer.body, "model": name}, delay_s=delay_s)

    return script


def test_from_questions_to_a_report(capsys: pytest.CaptureFixture[str]) -> None:
    write(questions(12))
    with serving(script=population()) as server:
        at = ("--base-url", server.url)
        assert run(*BUILD, *at, "--queries", "8", "--run", "bench", "-o", "triplets.jsonl") == 0
        said = capsys.readouterr().out
        assert "How generators answered" in said
        assert "8 most separating" in " ".join(said.split())
        assert len(server.bodies) == 12 * 2 * SAMPLES
        assert {body["temperature"] for body in server.bodies} == {0.6}
        # Selecting anew asks nobody.
        assert run(*BUILD, *at, "--run", "bench", "--ranking", "certain", "--queries", "6") == 0
        assert run(*BUILD, *at, "--run", "bench", "--queries", "8", "-q") == 0
        assert len(server.bodies) == 12 * 2 * SAMPLES
        triplets = read_triplets(Path("bench"))
        assert [t.id for t in triplets] == [t.id for t in read_triplets(Path("triplets.jsonl"))]
        before = len(server.bodies)
        words = (*RUN, *at, "--check", "own", "--run", "judged", "-o", "report")
        assert run(*words, "--size", "small=2", "--size", "large=30") == 0
        said = capsys.readouterr().out
        for title in ("How good critics are", "by generator", "Self-consistency with self-check"):
            assert title in said
        bought = len(server.bodies) - before
        assert run(*words) == 0
        capsys.readouterr()
        assert run("run", "judged", "-m", "small", *at) != 0  # a run that is no benchmark
        assert "bench criticbench build" in capsys.readouterr().err
        assert len(server.bodies) - before == bought
    summary = json.loads(Path("bench/summary.json").read_text(encoding="utf-8"))
    assert summary["triplets"] == len(triplets)
    assert summary["cost"]["calls"] == 12 * 2 * SAMPLES
    assert summary["selection"]["tasks"]["gsm8k"]["selected"] == 8
    assert json.loads(Path("judged/summary.json").read_text(encoding="utf-8"))["critics"]
    rows = Path("judged/results.jsonl").read_text(encoding="utf-8").splitlines()
    judged = [row for row in map(json.loads, rows) if "id" in row]
    assert len(judged) == 2 * len(triplets)
    assert {len(row["verdicts"]) for row in judged} == {2}
    assert "Judgment: " in judged[0]["verdicts"][0]["text"]
    result = json.loads(Path("report/report.json").read_text(encoding="utf-8"))
    assert {name: len(one["runs"]) for name, one in result["critics"].items()} == {
        "small": 2,
        "large": 2,
    }
    assert result["critics"]["large"]["accuracy"]["value"] > 0.75
    assert {item["critic"] for item in result["self_consistency"]} == {"small", "large"}
    text = Path("report/report.md").read_text(encoding="utf-8")
    for name in ("scaling", "heat_map", "certainty", "self_check"):
        assert f"({name}.svg)" in text
        ET.parse(f"report/{name}.svg")  # noqa: S314 - we have just written it


def test_every_triplet_is_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    write(questions(25))
    with serving(script=population()) as server:
        assert run(*BUILD, "--base-url", server.url, "--run", "bench") == 0
    capsys.readouterr()
    triplets = read_triplets(Path("bench"))
    samples = {(item.query, item.generator): item for item in read_samples(Path("bench"))}
    assert len(samples) == 25 * 2
    assert sum(t.correct for t in triplets) * 2 == len(triplets) > 20
    for triplet in triplets:
        origin, one = triplet.provenance, samples[triplet.query, triplet.generator]
        assert origin is not None
        assert triplet.response == one.responses[origin.sample_index - 1].text
        assert triplet.correct == (f"{{{the_sum(triplet.question)}}}" in triplet.response)
        if not triplet.correct:
            wrong = Counter(draw.answer for draw in one.responses if draw.correct is False)
            assert origin.support == wrong[origin.answer] == max(wrong.values())
        alike = [
            d for d in one.responses if d.answer == origin.answer and d.correct == triplet.correct
        ]
        assert origin.steps == max(draw.steps for draw in alike)


def test_a_dry_run_counts_what_the_run_then_asks(capsys: pytest.CaptureFixture[str]) -> None:
    write(questions(5))
    prices = json.dumps({name: {"prompt": 1, "completion": 2} for name in CRITICS})
    Path("prices.json").write_text(prices, encoding="utf-8")
    money = ("--prices", "prices.json")
    with serving(script=population()) as server:
        at = ("--base-url", server.url)
        assert run(*BUILD, *at, *money, "--dry-run", "--run", "bench") == 0
        assert capsys.readouterr().out.split(" all ")[1].split()[0] == "60"
        assert not server.bodies
        assert not Path("bench").exists()
        assert run(*BUILD, *at, *money, "--max-cost", "0.0001", "--run", "bench") == 2
        assert "stopped before --max-cost" in capsys.readouterr().err
        assert len(server.bodies) < 60
        assert run(*BUILD, *at, *money, "--max-cost", "1", "--run", "bench") == 0
        assert len(server.bodies) == 60
        capsys.readouterr()
        assert run(*RUN, *at, *money, "--dry-run", "--run", "judged") == 0
        shown = capsys.readouterr().out.split(" all ")[1].split()[0]
        assert run(*RUN, *at, *money, "--run", "judged") == 0
        assert len(server.bodies) - 60 == int(shown)
        assert "$" in capsys.readouterr().out


@pytest.mark.interrupted
@pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")
def test_stages_that_are_killed_buy_nothing_twice() -> None:
    asked = 10
    write(questions(asked))
    in_flight = 4
    limit = ("--max-concurrency", str(in_flight), "-q")
    with serving(script=population(delay_s=0.02)) as server:
        at = ("--base-url", server.url)
        for words in ((*BUILD, *at, "--run", "bench", *limit), (*RUN, *at, "--run", "r", *limit)):
            before = len(server.bodies)
            command = [sys.executable, "-m", "heedful", "bench", "criticbench", *words]
            with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
                while len(server.bodies) - before < 20 and running.poll() is None:
                    time.sleep(0.01)
                os.kill(running.pid, signal.SIGKILL)
                running.communicate(timeout=30)
            assert len(server.bodies) - before < 50
            assert run(*words) == 0
            once = asked * 2 * SAMPLES if words[0] == "build" else 2 * 2 * different_triplets()
            assert once <= len(server.bodies) - before <= once + 2 * in_flight
        before = len(server.bodies)
        assert run(*RUN, *at, "--run", "r", *limit) == 0
        assert len(server.bodies) == before


def different_triplets() -> int:
    """Two generators may have written the same response; a critic is asked about it once."""
    return len({(triplet.question, triplet.response) for triplet in read_triplets(Path("bench"))})


def test_draws_that_fail_cost_no_other_and_are_asked_for_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(questions(3))
    whole, broken = population(), [True]

    def failing(number: int, body: dict[str, Any]) -> Answer:
        return refusal(400, "no") if broken[0] and number % 5 == 0 else whole(number, body)

    with serving(script=failing) as server:
        at = ("--base-url", server.url, "--run", "bench")
        run(*BUILD, *at)
        assert "--retry-failed" in capsys.readouterr().err
        result = read_samples(Path("bench"))
        failed = sum(item.failed for item in result)
        assert failed == len(range(0, 3 * 2 * SAMPLES, 5))
        assert sum(len(item.responses) for item in result) == 3 * 2 * SAMPLES - failed
        broken[0] = False
        before = len(server.bodies)
        assert run(*BUILD, *at, "--retry-failed") == 0
        assert len(server.bodies) - before == failed
        assert not any(read_sample.failed for read_sample in read_samples(Path("bench")))


def test_failed_critiques_are_in_no_rate_until_they_are_asked_for_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(questions(12))
    whole, broken = population(), [True]

    def failing(number: int, body: dict[str, Any]) -> Answer:
        judging = "Judgment:" in body["messages"][-1]["content"]
        return refusal(400, "no") if judging and broken[0] and number % 4 else whole(number, body)

    with serving(script=failing) as server:
        at = ("--base-url", server.url)
        assert run(*BUILD, *at, "--run", "bench", "-q") == 0
        assert run(*RUN, *at, "--run", "r", "-o", "report") == 1
        result = json.loads(Path("report/report.json").read_text(encoding="utf-8"))
        small = result["critics"]["small"]
        assert small["failed"] > 0
        assert small["accuracy"]["coverage"] < 1
        assert "--retry-failed" in capsys.readouterr().err
        broken[0] = False
        assert run(*RUN, *at, "--run", "r", "--retry-failed", "-o", "report") == 0
        result = json.loads(Path("report/report.json").read_text(encoding="utf-8"))
        assert result["critics"]["small"]["failed"] == 0
        assert result["critics"]["small"]["accuracy"]["coverage"] == 1


def test_runs_over_one_benchmark_are_reported_together(capsys: pytest.CaptureFixture[str]) -> None:
    write(questions(12))
    with serving(script=population()) as server:
        at = ("--base-url", server.url, "--repeats", "2", "-q")
        assert run(*BUILD, *at[:2], "-q", "--run", "bench") == 0
        assert run("run", "bench", "-m", "small", *at, "--run", "a") == 0
        assert run("run", "bench", "-m", "large", *at, "--run", "b") == 0
        assert run("run", "bench", "-m", "other", *at, "--check", "own") == 2
        assert "small, large" in capsys.readouterr().err
        assert run(*BUILD, *at[:2], "-q", "--queries", "2", "--run", "bench") == 0
        assert run("run", "bench", "-m", "large", *at, "--run", "c") == 0
    capsys.readouterr()
    assert run("report", "a", "b", "-o", "report") == 0
    result = json.loads(Path("report/report.json").read_text(encoding="utf-8"))
    assert list(result["critics"]) == ["small", "large"]
    assert [item["run"] for item in result["runs"]] == ["a", "b"]
    for words, message in (
        (("a", "c"), "over another benchmark"),
        (("a", "a"), "in two of the runs"),
        (("bench",), "a run of heedful bench criticbench build"),
        (("gone",), "no such run"),
        (("a", "--size", "small"), "--size 'small'"),
        (("a", "--size", "tiny=1"), "'tiny'"),
    ):
        assert run("report", *words) == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("build", "sums.jsonl"), "no generator is named"),
        (("build", "sums.jsonl", "-m", "a", "-m", "a"), "named twice"),
        (("build", "gone.jsonl", "-m", "a"), "no such file"),
        (("build", "sums.jsonl", "./sums.jsonl", "-m", "a"), "two files are called sums"),
        (("build", "odd.jsonl", "-m", "a"), "not in a known format"),
        (("build", "sums.jsonl", "-m", "a", "--temperature", "0"), "temperature"),
        (("build", "sums.jsonl", "-m", "a", "--samples", "0"), "samples is 0"),
        (("build", "sums.jsonl", "-m", "a", "--queries", "3"), "one generator cannot tell"),
        (("build", "sums.jsonl", "-m", "a", "-o", "no/such/file.jsonl"), "no such folder"),
        (("run", "sums.jsonl", "-m", "a"), "id is missing"),
        (("run", "own.jsonl", "-m", "a", "--check", "own"), "samples.jsonl is not there"),
        (("run", "own.jsonl"), "no critic is named"),
        (("run", "own.jsonl", "-m", "a", "--temperature", "0"), "one and the same"),
        (("run", "twice.jsonl", "-m", "a"), "is there twice"),
        (("run", "loose.jsonl", "-m", "a"), "correct is"),
        (("run", "gone", "-m", "a"), "no such file"),
    ],
)
def test_wrong_use_is_refused_before_any_call(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(questions(2))
    write([{"a": 1}], "odd.jsonl")
    own = {"id": "1", "question": "Q", "response": "R", "correct": True}
    write([own], "own.jsonl")
    write([own, own], "twice.jsonl")
    write([{**own, "correct": "yes"}], "loose.jsonl")
    with serving(script=population()) as server:
        assert run(*words, "--base-url", server.url) == 2
        assert not server.bodies
    assert message in capsys.readouterr().err


def test_triplets_of_your_own_need_four_fields(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {
            "id": n,
            "question": "What is 1 plus 2?",
            "response": rf"\boxed{{{n}}}",
            "correct": n == "3",
        }
        for n in ("3", "4")
    ]
    write(rows, "own.jsonl")
    with serving(script=population()) as server:
        assert run("run", "own.jsonl", "-m", "large", "--base-url", server.url, "-o", "r") == 0
        assert len(server.bodies) == 2 * 8
    assert "large" in capsys.readouterr().out
    assert Path("r/scaling.svg").exists()
    assert not Path("r/heat_map.svg").exists()


def test_choices_that_the_question_does_not_state_are_shuffled_below_it() -> None:
    choices = {letter: f"choice {letter}" for letter in "ABCDEF"}
    problem = Problem(id="1", question="Which?", kind="choice", answers=("A",), choices=choices)
    result = [posed(problem.model_copy(update={"id": str(n)})) for n in range(20)]
    for item in result:
        assert item.choices[item.answers[0]] == "choice A"
        assert list(item.choices) == list("ABCDEF")
        assert f"\n({item.answers[0]}) choice A" in item.question
    assert len({item.answers[0] for item in result}) > 3
    assert posed(problem) == posed(problem)
    assert posed(problem, seed=1) != posed(problem, seed=2)
    stated = problem.model_copy(update={"question": " ".join(choices.values())})
    assert posed(stated) == stated


@pytest.mark.parametrize(
    ("text", "steps"),
    [("One. Two.\nThree 3.5 of it", 3), ("\n\n", 0), ("So x = 1.5. Then (b) holds! Done?", 3)],
)
def test_steps_are_sentences_and_lines(text: str, steps: int) -> None:
    assert reasoning_steps(Problem(id="1", question="", kind="open"), text) == steps


PROGRAM = {
    "task_id": "T/0",
    "prompt": 'def half(n):\n    """Halve a number, rounding down."""\n',
    "test": (
        "def check(candidate):\n"
        "    assert candidate(4) == 2\n"
        "    assert candidate(0) == 0\n"
        "    for n in range(3):\n"
        "        assert candidate(2 * n + 1) == n\n"
    ),
    "entry_point": "half",
}
HALVES = {
    "    return n // 2\n": 5,
    "    return n / 2\n": 2,
    "    return 2\n": 2,
    "    return int(n / 2 + .5)\n": 2,
    "    raise ValueError\n": 0,
}


def test_programs_are_tested_and_the_most_convincing_is_chosen(sandbox: Sandbox) -> None:
    del sandbox  # there is one
    texts = list(HALVES)
    path = write([PROGRAM], "code.jsonl")
    model = ScriptedModel(lambda _, sample: texts[sample], name="g")
    made = build(BuildPlan([path], [model], samples=len(texts)), run="bench")
    (samples,) = read_samples(Path("bench"))
    assert [draw.correct for draw in samples.responses] == [True, False, False, False, False]
    assert [draw.tests_passed for draw in samples.responses] == [None, *list(HALVES.values())[1:]]
    right, wrong = made.triplets
    assert (right.response, wrong.response) == (texts[0], texts[1])
    assert wrong.provenance is not None
    assert wrong.provenance.tests_passed == 2


def test_answers_that_are_equal_are_one_answer() -> None:
    path = write([{"problem": "Half of one?", "solution": r"\boxed{\frac{1}{2}}"}], "math.jsonl")
    texts = ["1/2", "0.5", "1/3", r"\frac{1}{3}", "2", "", r"\frac{2}{4}"]
    model = ScriptedModel(
        lambda _, sample: texts[sample] and rf"\boxed{{{texts[sample]}}}", name="g"
    )
    made = build(BuildPlan([path], [model], samples=len(texts)), run="bench")
    (samples,) = read_samples(Path("bench"))
    assert samples.empty == 1
    assert [(answer.support, answer.correct) for answer in samples.answers()] == [
        (3, True),
        (2, False),
        (1, False),
    ]
    result = made.summary["tasks"]["math"]["g"]
    assert (result["accuracy"]["numerator"], result["accuracy"]["denominator"]) == (3, 7)
    assert result["accuracy"]["coverage"] == pytest.approx(6 / 7)
