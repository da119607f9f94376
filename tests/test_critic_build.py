"""``heedful critic build``: one file makes a critic, and only what changed is done again."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commands import run
from extras import needs
from heedful import Constraint, read
from heedful.critic.building import BuildResult, build, load_config
from heedful.critic.data.known import blind_rates
from tiny_model import save_tiny_model

needs("trl", extra="train")

WORDS = [
    "tea",
    "water",
    "leaf",
    "cup",
    "river",
    "stone",
    "light",
    "bread",
    "green",
    "small",
    "warm",
    "old",
]


def rows(count: int) -> Iterator[dict[str, Any]]:
    """Give rows with responses whose constraints code decides, about half of them met."""
    choice = random.Random(0)
    for number in range(count):
        words = [choice.choice(WORDS) for _ in range(choice.randint(3, 9))]
        most = choice.randint(3, 9)
        yield {
            "id": str(number),
            "prompt": f"Write a line, number {number}.",
            "checklist": [f"Use at most {most} words.", f'Mention "{choice.choice(WORDS)}".'],
            "response": " ".join(words),
        }


CONFIG = """
data = "data.jsonl"
model = "tiny"
evaluation_share = 0.3
test_share = 0.3
[export]
prompt = "short"
prompt_file = "prompt.txt"
per_call = 1
cross = 3
[sft]
max_steps = {steps}
select = "last"
max_completion_tokens = 4
"""

DPO = """
[dpo]
samples = 2
method = "expert"
[dpo.settings]
max_steps = 1
batch_size = 1
select = "last"
max_completion_tokens = 4
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_tiny_model(tmp_path / "tiny", width=0.1)
    lines = [json.dumps(row) + "\n" for row in rows(40)]
    (tmp_path / "data.jsonl").write_text("".join(lines), encoding="utf-8")
    (tmp_path / "prompt.txt").write_text("{{response}}\n{{checklist}}", encoding="utf-8")
    return tmp_path


def built(folder: Path, steps: int = 2, more: str = "") -> BuildResult:
    file = folder / "critic.toml"
    file.write_text(CONFIG.format(steps=steps) + more, encoding="utf-8")
    return build(load_config(file), folder / "build")


@pytest.mark.training
@pytest.mark.filterwarnings("ignore")
def test_a_build_makes_a_critic_and_does_again_only_what_changed(folder: Path) -> None:
    first = built(folder)
    assert [step.name for step in first.steps] == ["verdicts", "divide", "export", "sft"]
    assert not any(step.before for step in first.steps)
    card = (first.folder / "README.md").read_text(encoding="utf-8")
    judged = first.report["test"]["verdicts"]
    total = sum(judged.values()) if isinstance(judged, dict) else judged
    assert f"{total:,} verdicts on instructions that were not trained on" in card
    assert "blind: by type, direction and text only" in card
    assert "heedful critic" not in card.split("---")[1]
    assert (first.folder / "model.safetensors").is_file()
    assert not (first.folder / "checkpoints").exists()
    again = built(folder)
    assert all(step.before for step in again.steps)
    assert [step.seconds for step in again.steps] == [step.seconds for step in first.steps]
    other = built(folder, steps=3)
    assert [step.before for step in other.steps] == [True, True, True, False]
    lines = (folder / "data.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "data.jsonl").write_text("".join(lines[:-1]), encoding="utf-8")
    assert not any(step.before for step in built(folder).steps)


@pytest.mark.training
@pytest.mark.filterwarnings("ignore")
def test_no_instruction_is_in_two_parts_of_a_build_with_preferences(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A critic that decides nothing gives no pair; one that is always wrong gives one a row."""
    result = built(folder, more=DPO)
    assert (result.steps[-1].name, result.steps[-1].made) == ("pairs", "0 pairs")
    assert result.report["stage"] == "sft"

    def wrong(known: Path, *, output: Path, **_: object) -> None:
        lines = []
        for line in known.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            said = row["recording"]["text"]
            old, new = "VERDICT: MET", "VERDICT: UNMET"
            other = said.replace(old, new) if old in said else said.replace(new, old)
            row["recording"]["others"] = [other]
            lines.append(json.dumps(row) + "\n")
        output.write_text("".join(lines), encoding="utf-8")

    monkeypatch.setattr("heedful.critic.data.sample_critiques", wrong)
    result = built(folder, more=DPO.replace("samples = 2", "samples = 3"))
    assert [step.name for step in result.steps][-2:] == ["pairs", "dpo"]
    assert [step.before for step in result.steps][-3:] == [True, False, False]
    asked = json.loads((result.folder / "heedful.json").read_text("utf-8"))
    assert (asked["prompt"], asked["prompt_file"], asked["per_call"]) == (
        "short",
        "heedful.prompt.txt",
        1,
    )
    (parts,) = (folder / "build" / "steps").glob("divide-*")
    files = ("train/sft.jsonl", "dpo/preference.jsonl", "evaluation.jsonl", "test.jsonl")
    prompts = [{row.conversation[-1].content for row in read(parts / name)} for name in files]
    assert all(prompts)
    assert len(set().union(*prompts)) == sum(map(len, prompts))
    assert result.report["stage"] == "dpo"


@pytest.mark.training
@pytest.mark.filterwarnings("ignore")
def test_an_interrupted_build_resumes_and_the_hub_gets_the_critic_only_if_asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from huggingface_hub import HfApi

    from heedful.critic import training

    sent: list[tuple[str, set[str]]] = []
    monkeypatch.setattr(HfApi, "create_repo", lambda *_, **__: None)
    monkeypatch.setattr(
        HfApi,
        "upload_folder",
        lambda _, repo_id, folder_path: sent.append(
            (repo_id, {each.name for each in Path(folder_path).iterdir()})
        ),
    )
    with monkeypatch.context() as stopped:

        def stop(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        stopped.setattr(training, "train_sft", stop)
        with pytest.raises(KeyboardInterrupt):
            built(folder)
    result = built(folder)
    assert [step.before for step in result.steps] == [True, True, True, False]
    assert not sent
    words = ["critic", "build", folder / "critic.toml", "-o", folder / "build"]
    assert run(*words, "--push-to-hub", "me/critic") == 0
    ((name, files),) = sent
    assert name == "me/critic"
    assert {"README.md", "model.safetensors", "heedful.json"} <= files
    assert "divide" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("data = 'a'\nmodel = 'b'\nshare = 1", "share"),
        ("data = 'a'\nmodel = 'b'\ntest_share = 1.5", "test_share"),
        ("data = 'a'\nmodel = 'b'\n[sft]\nepocs = 1", "epocs"),
        ("data =", "not TOML"),
    ],
)
def test_a_configuration_that_makes_no_sense_is_refused(
    tmp_path: Path, text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "critic.toml"
    file.write_text(text, encoding="utf-8")
    assert run("critic", "build", file, "-o", tmp_path / "build") == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "build").exists()


def test_the_blind_baseline_knows_text_and_direction_and_no_response() -> None:
    """Of one text 3 of 4 are met in training: it says met; of another 1 of 4."""
    often, seldom = (
        Constraint(text="Use at most 9 words."),
        Constraint(text="Use at least 9 words."),
    )
    learnt = [(often, met) for met in (True, True, True, False)]
    learnt += [(seldom, met) for met in (False, False, False, True)]
    judged = [(often, True), (often, False), (seldom, False), (seldom, False)]
    rates = blind_rates(learnt, judged)
    assert rates["f1_met"] == pytest.approx(2 / 3)
    assert rates["f1_unmet"] == pytest.approx(4 / 5)
    assert rates["kappa"] == pytest.approx((3 / 4 - 1 / 2) / (1 - 1 / 2))
