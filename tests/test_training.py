"""Training: a tiny model learns, is measured, is served; a killed training goes on."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import pytest

from commands import run
from critiques import write
from extras import needs
from heedful.critic.data.export import export
from heedful.critic.data.options import ExportSettings
from heedful.critic.training import Step
from heedful.judges import Measurement, make_judge
from heedful.judges.model import Checklist
from tiny_model import save_tiny_model
from trainings import FEW, PROMPT, QUICK, VERDICTS, exported, losses, own_text, report, samples

needs("trl", extra="train")

pytestmark = [pytest.mark.training, pytest.mark.filterwarnings("ignore")]

CRITIQUE_LEARNT = 160
"""Steps in which the tiny model learns one critique by heart."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("models") / "tiny", width=0.1)


@pytest.fixture
def sft(tmp_path: Path) -> Path:
    return exported(tmp_path, samples(VERDICTS * 2))


@pytest.fixture
def dpo(tmp_path: Path) -> Path:
    return exported(tmp_path, samples(VERDICTS * 2, others=["+-", "-+", "++", "--"]), pairs=True)


def command(stage: str, data: Path, model: Path, output: Path, *more: object) -> list[object]:
    words = ["critic", "train", stage, data, *own_text(data), "-m", model, "-o", output]
    return [*words, *QUICK, *more]


@pytest.mark.slow
def test_from_an_export_to_a_judge_that_picks_its_prompt(model: Path, tmp_path: Path) -> None:
    """One critique is learnt by heart, so what the critic says of any response is known."""
    data = exported(tmp_path, samples(["+-"] * 4))
    held_out = write(tmp_path / "held_out.jsonl", samples(["+-", "+-", "--"]))
    prompt = tmp_path / "prompt.txt"
    critic = tmp_path / "critic"
    steps = ["--max-steps", CRITIQUE_LEARNT, "--learning-rate", 1e-2, "--eval-every", 80]
    words = ["critic", "train", "sft", data, "-m", model, "-o", critic, *steps, *FEW]
    words += ["--prompt-file", prompt]
    test = write(tmp_path / "test.jsonl", samples(["+-", "++", "++", "++"]))
    assert run(*words, "--evaluation", held_out, "--test", test, "-q") == 0
    result = report(critic)
    assert result["test"]["pooled"]["cells"] == {"tp": 4, "fp": 0, "fn": 3, "tn": 1}
    assert result["test_rows"]["judged"] == 4
    assert result["held_out"]["coverage"] == 1
    assert result["held_out"]["pooled"]["cells"] == {"tp": 2, "fp": 1, "fn": 0, "tn": 3}
    assert result["held_out"]["by_constraint_type"]["content"]["verdicts"] == 6
    assert (
        result["checkpoint"]["step"]
        in {item["step"] for item in result["evaluations"]}
        == {80, 160}
    )
    assert len(result["curve"]) == CRITIQUE_LEARNT
    assert result["curve"][-1]["loss"] < result["curve"][0]["loss"] / 10
    page = (critic / "training.md").read_text(encoding="utf-8")
    assert "On the test samples it has positive F1 72.7, negative F1 40.0" in page
    assert "positive F1 80.0" in page
    assert "They chose the weights" in page
    assert "negative F1 85.7" in page
    assert (critic / "f1.svg").is_file()
    flags = ["--judge", "checklist", "--model", critic, "--prompt-file", prompt, "--reasks", 0]
    assert run("evaluate", held_out, *flags, "--run", tmp_path / "run") == 0
    rows = (tmp_path / "run" / "results.jsonl").read_text(encoding="utf-8").splitlines()
    said = [judgment for row in rows for judgment in json.loads(row)["judgments"]]
    assert [judgment["status"] for judgment in said] == ["met", "unmet"] * 3
    assert {judgment["judge"] for judgment in said} == {"critic/if_critic"}
    assert run("judge-accuracy", held_out, *flags, "-o", tmp_path / "meta.json") == 0
    (judge,) = json.loads((tmp_path / "meta.json").read_text())["judges"]
    assert judge["pooled"]["mean_f1"] == result["held_out"]["pooled"]["mean_f1"]


def test_a_trained_critic_says_how_sure_it_is_as_held_out_labels_say(
    model: Path, tmp_path: Path
) -> None:
    """It says MET, UNMET of all by heart, and 5 of 6 labels agree, however sure it was."""
    prompt = tmp_path / "prompt.txt"
    prompt.write_text(PROMPT, encoding="utf-8")
    source = write(tmp_path / "critiques.jsonl", samples(["+-"] * 4, prompt="short"))
    data, critic = tmp_path / "sft", tmp_path / "critic"
    export(source, data, settings=ExportSettings(prompt="short", prompt_file=prompt))
    held_out = write(tmp_path / "held_out.jsonl", samples(["+-", "+-", "--"], prompt="short"))
    steps = ["--max-steps", CRITIQUE_LEARNT, "--learning-rate", 1e-2, *FEW, "-q"]
    words = ["critic", "train", "sft", data, "-m", model, "-o", critic, "--prompt-file", prompt]
    assert run(*words, *steps, "--evaluation", held_out) == 0
    assert json.loads((critic / "heedful.json").read_text())["confidence_temperature"] > 1
    flags = ["--judge", "checklist", "--model", critic, "-o", tmp_path / "meta.json"]
    assert run("judge-accuracy", held_out, *flags) == 0
    (judge,) = json.loads((tmp_path / "meta.json").read_text())["judges"]
    (group,) = (each for each in judge["calibration"]["bins"] if each["verdicts"])
    assert (group["verdicts"], group["accuracy"]) == (6, pytest.approx(5 / 6))
    assert group["confidence"] == pytest.approx(
        (5 * 6 / 7 + 1 / 3) / 6, abs=0.02
    )  # Platt's targets


@pytest.mark.parametrize(
    ("stage", "more"),
    [
        ("sft", []),
        ("sft", ["--lora-rank", 4, "--lora-dropout", 0.1]),
        ("dpo", []),
        ("dpo", ["--sft-weight", 0.1]),
    ],
    ids=["sft", "lora", "dpo", "dpo-sft"],
)
def test_what_goes_on_from_a_checkpoint_comes_to_the_same(
    stage: str, more: list[object], model: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    data = request.getfixturevalue(stage)
    steps = ["--max-steps", 6, "--save-every", 2, "--keep", 3, *more]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert run(*command(stage, data, model, whole, *steps)) == 0
    # As a kill leaves it: a checkpoint that is not complete, and the one before.
    shutil.copytree(whole / "checkpoints", killed / "checkpoints")
    for name in ("checkpoint-6", "last"):
        shutil.rmtree(killed / "checkpoints" / name)
    (killed / "checkpoints" / "checkpoint-4" / "trainer_state.json").write_text('{"global_')
    assert run(*command(stage, data, model, killed, *steps)) == 0
    assert losses(killed) == losses(whole)
    weights = [path / "model.safetensors" for path in (killed, whole)]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_ctrl_c_leaves_a_checkpoint_and_the_same_call_goes_on(
    model: Path, sft: Path, tmp_path: Path
) -> None:
    from heedful.critic.training import SftSettings, train_sft

    settings = SftSettings(
        max_steps=6,
        batch_size=2,
        gradient_accumulation=1,
        learning_rate=1e-3,
        save_every=100,
        prompt_file=sft.parent / "prompt.txt",
    )
    whole = train_sft(sft, tmp_path / "whole", model=model, settings=settings)

    pressed: list[int] = []

    def press(step: Step) -> None:
        if step.step == 3 and not pressed:
            pressed.append(step.step)
            os.kill(os.getpid(), signal.SIGINT)

    output = tmp_path / "stopped"
    with pytest.raises(KeyboardInterrupt):
        train_sft(sft, output, model=model, settings=settings, on_progress=press)
    assert (output / "checkpoints" / "checkpoint-3").is_dir()
    went_on = train_sft(sft, output, model=model, settings=settings, on_progress=press)
    assert went_on.report["curve"] == whole.report["curve"]
    assert went_on.report["configuration"] == whole.report["configuration"]


def test_a_finished_training_says_so_and_another_is_refused(
    model: Path, sft: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "critic"
    steps = ["--max-steps", 1]
    assert run(*command("sft", sft, model, output, *steps)) == 0
    before = (output / "training.json").read_bytes()
    capsys.readouterr()
    assert run(*command("sft", sft, model, output, *steps)) == 0
    assert "finished" in capsys.readouterr().out
    assert run(*command("sft", sft, model, output, *steps, "--keep", 2)) == 0
    other = save_tiny_model(tmp_path / "other", seed=1)
    for words, different in (
        (command("sft", sft, model, output, *steps, "--seed", 5), "seed was 0 and is 5"),
        (command("sft", sft, other, output, *steps), "content of the model was"),
        (
            command("sft", write(tmp_path / "c.jsonl", samples()), model, output, *steps),
            "content of the data was",
        ),
    ):
        capsys.readouterr()
        assert run(*words) == 2
        said = capsys.readouterr().err
        assert different in said
        assert "another --output" in said
    assert (output / "training.json").read_bytes() == before


def test_an_adapter_is_merged_into_an_ordinary_model(
    model: Path, sft: Path, tmp_path: Path
) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    output = tmp_path / "critic"
    flags = ["--max-steps", 3, "--lora-rank", 2, "--keep-adapter"]
    assert run(*command("sft", sft, model, output, *flags)) == 0
    assert (output / "adapter" / "adapter_config.json").is_file()
    before, after = (
        AutoModelForCausalLM.from_pretrained(path).state_dict() for path in (model, output)
    )
    assert before.keys() == after.keys()
    changed = {name for name, weights in before.items() if not torch.equal(weights, after[name])}
    assert changed
    assert all("proj" in name for name in changed)


def test_settings_come_from_a_file_and_flags_win(model: Path, sft: Path, tmp_path: Path) -> None:
    config = tmp_path / "train.toml"
    config.write_text('max_steps = 2\nscheduler = "linear"\nprompt_file = "prompt.txt"\nseed = 3\n')
    output = tmp_path / "critic"
    assert run(*command("sft", sft, model, output, "--config", config, "--seed", 4)) == 0
    settings = report(output)["settings"]
    assert (settings["max_steps"], settings["scheduler"], settings["seed"]) == (2, "linear", 4)
    assert Path(settings["prompt_file"]).read_text() == PROMPT
    # Whoever loads the critic asks it as it was trained.
    from heedful.models.folder import find_folder

    protocol = find_folder(str(output)).protocol
    assert protocol is not None
    assert protocol.prompt_file is not None
    assert protocol.prompt_file.read_text() == PROMPT


def test_a_critic_of_code_is_asked_as_it_was_trained(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check = {"id": "punctuation:no_comma"}
    row = {
        "prompt": "Write.",
        "checklist": [{"text": "At most 9 words, no commas.", "check": check}],
    }
    data = tmp_path / "rows.jsonl"
    rows = [row | {"id": str(n), "response": "a, b" if n % 2 else "a b"} for n in range(4)]
    data.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert run("evaluate", data, "--judge", "rules", "--run", tmp_path / "run", "-q") == 0
    results, exported = tmp_path / "run" / "results.jsonl", tmp_path / "exported"
    asked = ("--prompt", "short", "--measure", "--per-call", 1)
    assert run("critic", "export", results, "-o", exported, *asked) == 0
    step = ("--max-steps", 1)
    for name, source, how in (("a", exported, ()), ("b", results, asked)):
        output = tmp_path / name
        assert run(*command("sft", source, model, output, *step, *how)) == 0
        about = json.loads((output / "heedful.json").read_text())
        assert (about["prompt"], about["per_call"], about["measure"]) == ("short", 1, True)
        judge = make_judge("checklist", model=str(output))
        assert isinstance(judge, Checklist)
        assert judge.config["measure"] == Measurement().version
    assert losses(tmp_path / "a") == losses(tmp_path / "b")
    other = command("sft", exported, model, tmp_path / "c", *step, "--per-call", 3)
    assert run(*other) == 2
    assert "--per-call is 3" in capsys.readouterr().err


def test_a_checklist_generator_is_trained_alike(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = write(tmp_path / "rows.jsonl", samples())
    data = tmp_path / "generator.jsonl"
    assert run("critic", "checklists", rows, "-o", data) == 0
    output = tmp_path / "generator"
    assert run(*command("sft", data, model, output, "--max-steps", 2)) == 0
    about = json.loads((output / "heedful.json").read_text())
    assert about.pop("max_completion_tokens") > 0
    assert about == {"prompt": "plain", "task": "checklist", "stage": "sft"}
    capsys.readouterr()
    assert run(*command("sft", data, model, tmp_path / "x", "--evaluation", rows)) == 2
    assert "--evaluation" in capsys.readouterr().err


def in_two_processes(*words: object, sharded: Literal["", "fsdp", "zero"] = "") -> str:
    """Run the command line in two processes; return what it printed."""
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    program = (
        [str(Path(__file__).with_name("sharded_on_cpus.py"))] if sharded else ["-m", "heedful"]
    )
    environment = {"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    if sharded == "fsdp":  # as accelerate launch sets it
        wrap = {"FSDP_AUTO_WRAP_POLICY": "TRANSFORMER_BASED_WRAP"}
        environment |= {"ACCELERATE_USE_FSDP": "true", "FSDP_VERSION": "2", **wrap}
    elif sharded == "zero":
        environment |= {"ACCELERATE_USE_DEEPSPEED": "true", "DS_ACCELERATOR": "cpu"}
        environment |= {"ACCELERATE_DEEPSPEED_ZERO_STAGE": "3"}
    done = subprocess.run(
        [sys.executable, *launch, *program, *map(str, words)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["sft", "dpo"])
@pytest.mark.parametrize("kind", ["fsdp", "zero"])
def test_sharded_weights_are_trained_like_whole_ones_and_resume(
    kind: Literal["fsdp", "zero"],
    stage: str,
    model: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    import torch
    from safetensors.torch import load_file

    if kind == "zero":
        pytest.importorskip("deepspeed")
    data = request.getfixturevalue(stage)
    held_out = write(tmp_path / "held_out.jsonl", samples(["+-", "-+", "++"]))
    more = ["--max-steps", 4, "--save-every", 2, "--eval-every", 2, "--keep", 2]
    more += ["--evaluation", held_out, "--max-completion-tokens", 4]
    whole, sharded = tmp_path / "whole", tmp_path / "sharded"
    in_two_processes(*command(stage, data, model, whole, *more))
    words = command(stage, data, model, sharded, *more)
    in_two_processes(*words, sharded=kind)
    shards = {"fsdp": "pytorch_model_fsdp_0/*.distcp", "zero": "global_step4/zero_pp_rank_1_*"}
    assert list((sharded / "checkpoints" / "checkpoint-4").glob(shards[kind]))
    assert losses(sharded) == pytest.approx(losses(whole), abs=1e-4)
    weights = [load_file(path / "model.safetensors") for path in (whole, sharded)]
    assert all(torch.allclose(weights[0][name], weights[1][name], atol=1e-4) for name in weights[0])
    assert len(report(sharded)["evaluations"]) == 2
    if stage == "dpo":  # resumed alike
        return
    (sharded / "training.json").unlink()
    shutil.rmtree(sharded / "checkpoints" / "checkpoint-4")
    before = losses(whole)
    in_two_processes(*words, sharded=kind)
    assert losses(sharded) == pytest.approx(before, abs=1e-4)


def curve(folder: Path, key: str) -> list[Any]:
    return [step[key] for step in report(folder)["curve"]]


def test_dpo_begins_at_its_reference(model: Path, sft: Path, tmp_path: Path) -> None:
    """The reference is the model that is given, not what that was once loaded from."""
    dpo = exported(tmp_path, samples(["+-"] * 8, others=["--", "+-"]), pairs=True)
    critic = tmp_path / "critic"
    assert run(*command("sft", sft, model, critic, "--max-steps", 5)) == 0
    output = tmp_path / "preferring"
    assert run(*command("dpo", dpo, critic, output, "--max-steps", 8, "--warmup", 0)) == 0
    chosen, margins = curve(output, "reward_chosen"), curve(output, "reward_margin")
    assert chosen[0] == pytest.approx(0, abs=1e-5)
    assert margins[0] == pytest.approx(0, abs=1e-5)
    assert margins[-1] > 0
