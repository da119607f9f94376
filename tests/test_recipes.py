"""The recipes of examples/recipes: their data is read as it was meant, their flags exist."""

import importlib.util
import json
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from heedful.rewards import rows
from jsonl import read_rows
from tiny_model import save_tiny_model

EXAMPLES = Path(__file__).parents[1] / "examples"
RECIPES = EXAMPLES / "recipes"


def run(*command: object) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    folder = tmp_path_factory.mktemp("data")
    run(RECIPES / "prepare.py", EXAMPLES / "quickstart.jsonl", "-o", folder, "--held-out", "2")
    return folder


@pytest.mark.slow
def test_each_trainer_gets_the_same_checklists(prepared: Path) -> None:
    import pyarrow.parquet as pq

    trl = read_rows(prepared / "trl.jsonl")
    openrlhf = read_rows(prepared / "openrlhf.jsonl")
    verl = pq.read_table(prepared / "verl.parquet").to_pylist()
    assert len(trl) == len(openrlhf) == len(verl) == 6
    assert len(read_rows(prepared / "held-out.jsonl")) == 2
    for first, second, third in zip(trl, openrlhf, verl, strict=True):
        read = [
            rows.labelled(first, "Hello.", {}),
            rows.labelled(second["label"], "Hello.", {}),
            rows.labelled(third["reward_model"]["ground_truth"], "Hello.", {}),
        ]
        assert all(sample.checklist and sample.conversation for sample in read)
        assert all(sample.checklist == read[0].checklist for sample in read)
        assert all(sample.conversation == read[0].conversation for sample in read)
        assert second["input"] == third["prompt"] == first["prompt"]


def flags(script: str) -> list[str]:
    """The arguments of the one command that a script runs."""
    text = (RECIPES / script).read_text(encoding="utf-8")
    command = text[text.index("python3 -m") :].replace("\\\n", " ")
    command = re.sub(r'"?\$\{(\w+):-([^}]*)\}"?', r"\2", command)
    return [word.replace("$", "") for word in shlex.split(command)[3:]]


def source_of(package: str) -> Path:
    result = importlib.util.find_spec(package)
    if result is None or not result.submodule_search_locations:
        pytest.skip(f"{package} is not installed; pip install --no-deps {package}")
    return Path(next(iter(result.submodule_search_locations)))


def test_verl_knows_the_settings_of_its_recipe() -> None:
    hydra = pytest.importorskip("hydra", reason="hydra, which verl needs, is not installed")
    folder = source_of("verl") / "trainer" / "config"
    with hydra.initialize_config_dir(str(folder), version_base=None):
        config = hydra.compose("ppo_trainer", overrides=flags("verl_grpo.sh"))
    assert config.actor_rollout_ref.rollout.n == 32
    assert config.reward.custom_reward_function.path.endswith("reward.py")
    assert config.algorithm.adv_estimator == "grpo"


def test_openrlhf_knows_the_flags_of_its_recipe() -> None:
    text = (source_of("openrlhf") / "cli" / "train_ppo_ray.py").read_text(encoding="utf-8")
    known = set(re.findall(r'add_argument\(\s*"(--[\w.]+)"', text))
    known |= {
        f"--actor{name}" for name in re.findall(r'add_argument\(\s*f"--\{prefix\}([\w.]+)"', text)
    }
    given = [flag for flag in flags("openrlhf_grpo.sh") if flag.startswith("--")]
    assert len(given) > 15
    assert set(given) <= known


@pytest.fixture(scope="module")
def mock_server() -> Iterator[str]:
    sys.path.insert(0, str(EXAMPLES))
    try:
        from mock_server import Handler, Server
    finally:
        sys.path.remove(str(EXAMPLES))
    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()


@pytest.mark.training
def test_trl_trains_by_the_recipes(prepared: Path, tmp_path: Path, mock_server: str) -> None:
    pytest.importorskip("trl", reason="TRL is not installed; pip install trl")
    model = save_tiny_model(tmp_path / "model")
    said = run(
        *(RECIPES / "trl_grpo.py", "--data", prepared / "trl.jsonl", "--model", model),
        *("--critic", "large", "--critic-url", mock_server, "--reference", "medium", "--cpu"),
        *("-o", tmp_path / "policy", "--prompts", 2, "--rollouts", 4, "--batch", 4),
        *("--tokens", 16, "--steps", 2),
    )
    assert re.search(r"rewards: 16 in 2 steps", said)
    assert (tmp_path / "policy" / "config.json").is_file()
    pairs = tmp_path / "pairs"
    pairs.mkdir()
    turn = {"role": "user", "content": "Greet."}
    pair = {
        "prompt": [turn],
        "chosen": [{"role": "assistant", "content": "Hello."}],
        "rejected": [{"role": "assistant", "content": "No."}],
    }
    (pairs / "train.jsonl").write_text(f"{json.dumps(pair)}\n" * 4, encoding="utf-8")
    run(
        *(RECIPES / "trl_dpo.py", "--data", pairs, "--model", tmp_path / "policy", "--cpu"),
        *("-o", tmp_path / "dpo", "--pairs", 2, "--steps", 1),
    )
    assert (tmp_path / "dpo" / "config.json").is_file()
