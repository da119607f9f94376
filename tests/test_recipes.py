"""The recipes of examples/recipes: their data is read as it was meant, their flags exist."""

import asyncio
import importlib
import importlib.util
import json
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

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


# --- recipes of trainers that don't install beside the rest --------------------------------------
#
# Each is loaded with the trainer's own base classes where the trainer is installed, and else with
# stand-ins of the signatures that its recipe names, and is called as the trainer calls it.

CHECKLIST: list[dict[str, Any]] = [
    {"text": "No commas.", "check": {"id": "punctuation:no_comma"}},
    {"text": "It says hi.", "check": {"id": "keywords:existence", "args": {"keywords": ["hi"]}}},
]
TURNS = [{"role": "user", "content": "Greet."}]


class BaseTextEnv:
    """As in SkyRL Gym 0.4."""


class VerifyRequest(BaseModel):
    """As in NeMo Gym."""

    responses_create_params: dict[str, Any]
    response: dict[str, Any]


class VerifyResponse(VerifyRequest):
    reward: float
    mask_sample: bool = False


@dataclass
class StepResult:
    """As in Tinker's cookbook 0.6."""

    reward: float
    episode_done: bool
    next_observation: Any
    next_stop_condition: Any
    metrics: dict[str, float] = field(default_factory=dict)


@dataclass
class VerificationResult:
    """As in open-instruct."""

    score: float
    cost: float = 0.0
    reasoning: str | None = None


class VerifierFunction:
    def __init__(self, name: str, **_: Any) -> None:
        self.name = name


class Judge:
    """As in verifiers 0.4."""

    def __class_getitem__(cls, _: Any) -> Any:
        return cls


STAND_INS: dict[str, dict[str, Any]] = {
    "skyrl_gym.envs.base_text_env": {"BaseTextEnv": BaseTextEnv, "BaseTextEnvStepOutput": dict},
    "nemo_gym.base_resources_server": {
        "BaseResourcesServerConfig": object,
        "BaseVerifyRequest": VerifyRequest,
        "BaseVerifyResponse": VerifyResponse,
        "SimpleResourcesServer": object,
    },
    "tinker": {"ModelInput": SimpleNamespace(empty=list)},
    "tinker_cookbook": {
        "renderers": SimpleNamespace(get_text_content=lambda turn: turn["content"])
    },
    "tinker_cookbook.rl.types": {"Env": object, "StepResult": StepResult},
    "open_instruct.ground_truth_utils": {
        "VerificationResult": VerificationResult,
        "VerifierFunction": VerifierFunction,
    },
    "swift.rewards": {"ORM": object, "orms": {}},
    "verifiers.v1": {"Judge": Judge},
    "verl.experimental.reward_loop.reward_manager.naive": {"NaiveRewardManager": object},
}


INSTALLED = {
    root
    for root in {name.partition(".")[0] for name in STAND_INS}
    if importlib.util.find_spec(root) is not None
}


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Load a recipe, with stand-ins for trainers that aren't installed; code is the only judge."""
    from heedful.rewards import Divergence, Reward, for_rows

    for name, attributes in STAND_INS.items():
        if name.partition(".")[0] in INSTALLED:
            continue
        parts = name.split(".")
        for at in range(1, len(parts)):
            if ".".join(parts[:at]) not in sys.modules:
                monkeypatch.setitem(sys.modules, ".".join(parts[:at]), ModuleType(parts[at - 1]))
        stand_in = ModuleType(name)
        vars(stand_in).update(attributes)
        monkeypatch.setitem(sys.modules, name, stand_in)
        for at in range(1, len(parts)):
            parent = sys.modules[".".join(parts[:at])]
            setattr(parent, parts[at], sys.modules[".".join(parts[: at + 1])])
    monkeypatch.syspath_prepend(str(RECIPES))
    monkeypatch.delitem(sys.modules, "reward", raising=False)
    shared = importlib.import_module("reward")
    coded = Reward(undecided=0.0)
    monkeypatch.setattr(shared, "REWARD", coded)
    monkeypatch.setattr(shared, "ALARM", Divergence(coded, share=1.0))
    monkeypatch.setattr(shared, "score", for_rows(coded, divergence=shared.ALARM))

    def load(name: str) -> Any:
        monkeypatch.delitem(sys.modules, name, raising=False)
        return importlib.import_module(name)

    with coded:
        yield load


def test_slime_gets_numbers_and_says_what_was_cut_off(recipe: Any) -> None:
    reward = recipe("slime_reward").reward
    label = json.dumps(CHECKLIST)

    def sample(response: str, status: str) -> Any:
        status_ = SimpleNamespace(value=status)
        return SimpleNamespace(prompt="Greet.", response=response, label=label, status=status_)

    states = ("completed", "truncated")
    half, cut = (asyncio.run(reward(None, sample("hi, you", state))) for state in states)
    assert (half["score"], half["compared"], half["gap"], half["alarm"]) == (0.5, 1, 0, 0)
    assert (cut["score"], cut["gated_cut_off"]) == (0, 1)


def test_skyrl_steps_once(recipe: Any) -> None:
    env = recipe("skyrl_env").ChecklistEnv({}, {"reward_spec": {"ground_truth": CHECKLIST}})
    assert env.init(TURNS) == (TURNS, {})
    step = env.step("hi, you")
    assert (step["reward"], step["done"], step["observations"]) == (0.5, True, [])
    assert env.get_metrics()["coverage"] == 1


def test_nemo_gym_verifies_the_last_message(recipe: Any) -> None:
    module = recipe("nemo_gym_server")
    parts = [{"type": "output_text", "text": "hi, "}, {"type": "output_text", "text": "you"}]
    output = [{"type": "reasoning"}, {"type": "message", "content": parts}]
    for checklist, expected in ((CHECKLIST, (0.5, False)), (["It is polite."], (0, True))):
        body = module.ChecklistRequest(
            responses_create_params={"input": TURNS}, response={"output": output},
            checklist=checklist,
        )  # fmt: skip
        reply = asyncio.run(module.ChecklistServer.verify(None, body))
        assert (reply.reward, reply.mask_sample) == expected


def test_tinker_steps_once(recipe: Any) -> None:
    renderer = SimpleNamespace(
        build_generation_prompt=lambda turns: turns,
        get_stop_sequences=lambda: ["<end>"],
        parse_response=lambda ids: (
            {"role": "assistant", "content": "hi, you"}, SimpleNamespace(is_clean=bool(ids))
        ),
    )  # fmt: skip
    env = recipe("tinker_env").ChecklistEnv(renderer, TURNS, CHECKLIST)
    assert asyncio.run(env.initial_observation()) == (TURNS, ["<end>"])
    done, cut = (asyncio.run(env.step(ids)) for ids in ([1], []))
    assert (done.reward, done.episode_done, done.metrics["coverage"]) == (0.5, True, 1)
    assert (cut.reward, cut.metrics["gated_cut_off"]) == (0, 1)


def test_open_instruct_gets_a_result_in_both_ways(recipe: Any) -> None:
    verifier = recipe("open_instruct_verifier").ChecklistVerifier()
    assert verifier.name == "checklist"
    for result in (
        verifier([1], "hi, you", json.dumps(CHECKLIST), "Greet."),
        asyncio.run(verifier.async_call([1], "hi, you", CHECKLIST, "Greet.")),
    ):
        assert result.score == 0.5
        assert "coverage 1" in result.reasoning


def test_art_gets_a_reward_and_metrics(recipe: Any) -> None:
    turns = [*TURNS, {"role": "assistant", "content": "hi, you"}]
    trajectory = SimpleNamespace(messages=lambda: turns, reward=0.0, metrics={"duration": 1})
    asyncio.run(recipe("art_rollout").rewarded(trajectory, CHECKLIST))
    assert (trajectory.reward, trajectory.metrics["coverage"]) == (0.5, 1)
    assert trajectory.metrics["duration"] == 1


def test_swift_gets_a_list(recipe: Any) -> None:
    module = recipe("swift_plugin")
    said = ["hi, you", "hi you", "hi you"]
    rewards = module.orms["checklist"]()(
        said,
        checklist=[CHECKLIST] * 3,
        messages=[[*TURNS, {"role": "assistant", "content": each}] for each in said],
        is_truncated=[False, False, True],
        trainer_state=None,
    )
    assert rewards == [0.5, 1, 0]


def test_verifiers_plugs_the_judge_in(recipe: Any) -> None:
    class Task(BaseModel):
        prompt: str = "Greet."
        checklist: list[Any] = CHECKLIST

    recorded: dict[str, float] = {}
    trace = SimpleNamespace(last_reply="hi, you", record_metrics=recorded.update)
    module = recipe("heedful_judge")
    assert module.__all__ == ["HeedfulJudge"]
    assert asyncio.run(module.HeedfulJudge().score(Task(), trace)) == 0.5
    assert (recorded["heedful_coverage"], recorded["heedful_alarm"]) == (1, 0)


@pytest.mark.parametrize(
    ("ids", "cut"), [([7, 8, 9, 1, 2, 5], 5), ([1, 2, 3, 1, 2], 5), ([7, 1], 0), ([], 0)]
)
def test_verl_cuts_tools_and_earlier_turns_off(recipe: Any, ids: list[int], cut: int) -> None:
    module = recipe("verl_last_turn")
    assert module.last_turn(ids, [1, 2]) == cut

    class Tokenizer:
        def apply_chat_template(self, _: Any, **options: Any) -> Any:
            return [7, 8, 1, 2] if options.get("add_generation_prompt") else [7, 8]

    assert module.turn_start(Tokenizer()) == [1, 2]
