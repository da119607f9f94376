"""The small world of examples/nano_critic: its truth, its experts, and a run of everything."""

import asyncio
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful import Sample, Status
from heedful.critic.data import STAGES, FilterSettings, filter_critiques, sample_critiques
from heedful.critic.data import Expert as Sampler
from heedful.judges import prompts
from heedful.models import Sampling

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "nano_critic"


@pytest.fixture(scope="module", autouse=True)
def _on_the_path() -> Iterator[None]:
    sys.path.insert(0, str(EXAMPLE))
    yield
    sys.path.remove(str(EXAMPLE))


def plain() -> Any:
    return prompts.make("plain", prompt_file=EXAMPLE / "prompt.txt")


@given(st.integers(0, 10**9))
def test_what_words_decide_is_what_the_verifiers_say(seed: int) -> None:
    import world

    rng = random.Random(seed)
    texts = world.draw_checklist(rng)
    response = world.draw_response(rng, texts, tries=2)
    for text in texts:
        item = world.constraint(text)
        truth = world.met(text, response)
        assert world.holds(item, world.relevant(item, response)) is truth
        assert not (truth and world.near_miss(item, response))


def test_samples_are_the_same_for_the_same_seed_and_have_no_checks() -> None:
    import world

    first, again = (list(world.samples(30, 1, "a")) for _ in range(2))
    assert first == again != list(world.samples(30, 2, "a"))
    assert all(item.check is None for sample in first for item in sample.checklist)
    met = [label for sample in first for label in sample.labels or ()]
    assert 0.3 < sum(map(bool, met)) / len(met) < 0.8


@pytest.mark.slow
def test_the_filters_make_the_experts_critiques_better(tmp_path: Path) -> None:
    import world
    from experts import Expert, Verifier

    expert = Expert("expert", 0)
    critiques = tmp_path / "critiques.jsonl"
    sample_critiques(world.samples(150, 0, "a"), expert=Sampler(expert, plain()), output=critiques)
    errors = {}
    for name, skip in {"filtered": (), "raw": STAGES}.items():
        kept = filter_critiques(
            critiques,
            verifiers=[Verifier("a", 0), Verifier("b", 0)],
            expert=expert,
            settings=FilterSettings(skip=skip),
        )
        wrong = [
            (judgment.status is Status.MET) is not label
            for row in kept
            if row.sample and row.sample.recording
            for judgment, label in zip(
                prompts.read(row.sample.recording, row.sample.checklist),
                row.sample.labels or (),
                strict=True,
            )
        ]
        errors[name] = sum(wrong) / len(wrong)
    assert errors["filtered"] < 0.05
    assert errors["raw"] > 0.1


def test_the_same_question_gets_the_same_answer_and_another_sample_another() -> None:
    import world
    from experts import Expert

    sample = next(iter(world.samples(1, 3, "a")))
    messages = plain().render(sample, sample.checklist)

    def said(number: int) -> str:
        answer = Expert("expert", 0).generate(messages, Sampling(), sample=number)
        return asyncio.run(answer).text

    assert said(0) == said(0)
    assert len({said(number) for number in range(5)}) > 1


@pytest.mark.training
def test_the_tokenizer_writes_critiques_as_they_were(tmp_path: Path) -> None:
    pytest.importorskip("trl", reason="TRL is not installed; pip install trl")
    from transformers import AutoTokenizer

    import world
    from base import make_random
    from experts import Expert

    prompt = plain()
    make_random(tmp_path / "model", prompt, size="smoke")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "model")
    for sample in world.samples(40, 5, "a"):
        messages = prompt.render(sample, sample.checklist)
        text = asyncio.run(Expert("expert", 0).generate(messages, Sampling())).text
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert tokenizer.unk_token_id not in ids
        assert tokenizer.decode(ids) == text
        ids = tokenizer(messages[0].content, add_special_tokens=False)["input_ids"]
        assert tokenizer.unk_token_id not in ids


@pytest.mark.training
@pytest.mark.slow
def test_a_run_of_everything_and_the_same_command_again(tmp_path: Path) -> None:
    pytest.importorskip("trl", reason="TRL is not installed; pip install trl")
    command = [sys.executable, str(EXAMPLE / "run.py"), "--smoke", "--out", str(tmp_path)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}

    def run() -> str:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=900
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "policy.json" in run()
    out = tmp_path / "smoke"
    report = (out / "report.md").read_text(encoding="utf-8")
    assert "1. fine-tuning only" in report
    assert "truth, first" in report
    assert (out / "critics.svg").is_file()
    steps = json.loads((out / "seed-0" / "policy.json").read_text(encoding="utf-8"))["steps"]
    assert all(0 <= step["truth"] <= 1 for step in steps)
    sample = json.loads((out / "seed-0" / "test.jsonl").read_text("utf-8").splitlines()[0])
    assert len(Sample.model_validate(sample).labels or ()) == len(sample["checklist"])
    assert run().strip() == str(out / "report.md")
