"""Adapters as their trainers call them: verl 0.9, OpenRLHF 0.11, verifiers 0.4, and TRL's columns.

Where a trainer is installed ``tests/test_rewards_frameworks.py`` runs it. These tests make the
calls that the trainers' released code makes: verl's ``NaiveRewardManager.run_single``, OpenRLHF's
``SingleTurnAgentExecutor`` and ``SamplesGenerator``, verifiers' ``Task.score``.
"""

import asyncio
import functools
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from types import MethodType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from heedful import InputError, UsageError
from heedful.judges.model import Checklist
from heedful.judges.prompts.plain import Plain
from heedful.models import ScriptedModel
from heedful.rewards import (
    Reward,
    for_openrlhf,
    for_rows,
    for_trl,
    for_verifiers,
    for_verl,
    trl_rewards,
)

STRUCT = [{"编号": "1", "要求": "不出现逗号"}, {"编号": "2", "要求": "语气礼貌"}]
CHECKLIST: list[dict[str, Any]] = [
    {"text": "No commas.", "check": {"id": "punctuation:no_comma"}},
    {"text": "It is polite."},
]
TRUTH = json.dumps({"prompt_id": "7", "checklist": CHECKLIST})


@pytest.fixture
def model() -> ScriptedModel:
    """A critic that finds everything met."""
    return ScriptedModel(
        lambda messages, _: "\n".join(
            f"<c{at}>\nYes.\nVERDICT: MET\n</c{at}>" if "不出现" not in messages[-1].content else
            f"<c{at}>\n有。\n结论：满足\n</c{at}>" for at in (1, 2)
            if at == 1 or "语气礼貌" in messages[-1].content
        )
    )  # fmt: skip


@pytest.fixture
def reward(model: ScriptedModel) -> Iterator[Reward]:
    with Reward(Checklist(model, Plain()), undecided=0.25) as made:
        yield made


# --- TRL: flat lists, columns beside them (tests/test_rewards_trl.py trains with it) -------------


def trl(reward: Reward, **columns: Any) -> list[float | None]:
    function = for_trl(reward, blocking=True)
    given: dict[str, Any] = {"prompts": ["Greet."], "completions": ["Hi, you."], **columns}
    result: list[float | None] = function(completion_ids=[[1]], trainer_state=None, **given)
    return result


def filled(check: dict[str, Any] | None) -> dict[str, Any]:
    """A constraint as Arrow gives it back: with the keys of all rows, most of them null."""
    return {"text": "c", "type": None, "priority": None, "check": check}


def test_trl_gets_flat_lists_and_none_for_what_is_undecided(model: ScriptedModel) -> None:
    logged: dict[str, Any] = {}
    with Reward(Checklist(ScriptedModel(""), Plain(), reasks=0)) as reward:
        function: Any = for_trl(reward, name="critic")
        assert inspect.iscoroutinefunction(function.__call__)  # as TRL tells
        assert function.__name__ == "critic"
        result = function(
            prompts=["Greet.", "Greet."],
            completions=["Hi, you.", "Hi you."],
            completion_ids=[[1], [2]],
            checklist=[CHECKLIST, CHECKLIST[:1]],
            trainer_state=None,
            log_metric=logged.__setitem__,
            log_extra=logged.__setitem__,
        )
    assert result == [None, 1.0]
    assert logged["critic/undecided"] == 0.5
    assert logged["critic/coverage"] == 0.75
    assert logged["critic/gated"] == 0
    assert logged["critic_verdicts"] == ["unmet unparsed", "met"]
    assert not model.calls


SAID = [{"type": "text", "text": "Hi, "}, {"type": "output_text", "text": "you."}]
THOUGHT = [{"type": "thinking", "thinking": "No commas, so I write: Hi you."}]
PARTS: list[Any] = [
    [{"role": "assistant", "content": SAID}],
    [{"role": "assistant", "content": THOUGHT + SAID}],
    [{"content": np.array(SAID, dtype=object)}],
    SAID,
]
"""A completion in parts, as multimodal policies and servers write it."""


def test_a_gate_that_stops_all_is_seen_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    logged: dict[str, Any] = {}
    columns = {"checklist": [CHECKLIST] * 8, "log_metric": logged.__setitem__}
    with Reward() as reward, caplog.at_level("WARNING", "heedful"):
        function = for_trl(reward, name="critic", blocking=True)
        for _ in range(2):
            given: dict[str, Any] = {"log_extra": logged.__setitem__, **columns}
            assert function(["Greet."] * 8, ["..."] * 8, **given) == [0] * 8
    shares = [logged[f"critic/{name}"] for name in ("gated", "gated_empty", "gated_echo")]
    assert shares == [1, 1, 0]
    assert "the gate empty" in logged["critic_verdicts"][0]
    warned = [record.getMessage() for record in caplog.records]
    first, second = (said for said in warned if "gate" in said)
    assert first == (
        "the gate empty stopped 8 of 8 responses, whose reward is 0: it has only punctuation"
    )
    assert second.startswith("gates stopped all of the first 8 responses (empty 8)")


def test_what_rewards_cost_is_logged(model: ScriptedModel) -> None:
    logged: dict[str, float] = {}
    with Reward(Checklist(model, Plain()), undecided=0.0) as reward:
        function = for_trl(reward, name="critic", blocking=True)
        columns = {"checklist": [CHECKLIST] * 3, "log_metric": logged.__setitem__}
        function(["Greet."] * 3, ["Hi, you.", "Hi, you.", "..."], **columns)
        calls = reward.summary()["cost"]
    assert logged["critic/calls"] == pytest.approx(calls["calls"] / 3) == pytest.approx(1 / 3)
    tokens = calls["prompt_tokens"] + calls["completion_tokens"]
    assert logged["critic/tokens"] == pytest.approx(tokens / 3)
    assert logged["critic/seconds"] > 0
    assert "critic/dollars" not in logged  # the scripted model has no price


@pytest.mark.parametrize("stopped", [3, 4])
def test_a_run_that_gates_stop_everywhere_says_so_in_its_first_step(
    stopped: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Trainers that score each response by itself are told as well."""
    with Reward(undecided=0.0) as reward, caplog.at_level("WARNING", "heedful"):
        score = for_rows(reward)
        for response in ["..."] * stopped + ["Hi you."] * 4:
            asyncio.run(score({"prompt": "Greet.", "checklist": CHECKLIST}, response))
    said = [record.getMessage() for record in caplog.records if "all of" in record.getMessage()]
    assert len(said) == (stopped == 4)
    assert all("empty 4" in message for message in said)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"checklist": [CHECKLIST]}, 0.5),
        ({"checklist": [json.dumps(CHECKLIST)]}, 0.5),
        ({"constraints": [["It is polite."]]}, 1),
        ({"checklist_struct": [STRUCT], "prompts": ["问好。"]}, 1),
        ({"checklist": [np.array(CHECKLIST, dtype=object)]}, 0.5),
        ({"checklist": [CHECKLIST], "prompts": [[{"role": "user", "content": "Greet."}]],
          "completions": [[{"role": "assistant", "content": "Hi, you."}]]}, 0.5),
        *[({"checklist": [CHECKLIST], "completions": [parts]}, 0.5) for parts in PARTS],
        ({"checklist": [[filled({"id": "length_constraints:number_words", "args":
          {"num_words": 9, "relation": "less than", "keywords": None}})]]}, 1),
    ],
)  # fmt: skip
def test_columns_come_in_several_spellings(
    reward: Reward, columns: dict[str, Any], expected: float
) -> None:
    assert trl(reward, **columns) == [expected]


@pytest.mark.parametrize("broken", ["nonsense", [{"no": "text"}], 7, []])
def test_a_broken_row_is_undecided_and_costs_no_other(broken: Any) -> None:
    with Reward() as reward:
        function = for_trl(reward, blocking=True)
        result = function(["a", "b"], ["x", "y"], checklist=[broken, CHECKLIST[:1]])
        assert reward.summary()["undecided_rate"] == 0.5
    assert result == [None, 1]


def test_a_data_set_without_checklists_is_refused_at_once(reward: Reward) -> None:
    with pytest.raises(UsageError, match="checklists"):
        trl(reward)


def called(function: Any, *completions: str, **columns: Any) -> list[float | None]:
    count = len(completions)
    given: dict[str, Any] = {
        "prompts": ["Greet."] * count,
        "checklist": [CHECKLIST[:1]] * count,
        **columns,
    }
    returned = function(completions=list(completions), **given)
    result: list[float | None] = (
        asyncio.run(returned) if inspect.iscoroutine(returned) else returned
    )
    return result


async def brevity(completions: list[str], **_: Any) -> list[float | None]:
    """Applies to no response of one word."""
    return [1 / len(each.split()) if " " in each else None for each in completions]


def constant(completions: list[str], **_: Any) -> list[float]:
    return [1.0] * len(completions)


def test_functions_of_trl_are_summed_with_their_weights() -> None:
    logged: dict[str, float] = {}
    with Reward() as reward:
        function = trl_rewards([for_trl(reward), brevity, constant], [1, 0.5, 2], name="all")
        result = called(function, "Hi you", "Hi, you", "Hi", log_metric=logged.__setitem__)
    assert function.__name__ == "all"
    assert result == [3.25, 2.25, 3]
    assert logged["rewards/heedful/mean"] == pytest.approx(2 / 3)
    assert logged["rewards/brevity/mean"] == 0.5
    assert logged["rewards/constant/std"] == 0


def test_a_plain_function_may_have_a_loop_of_its_own() -> None:
    def asking(completions: list[str], **_: Any) -> list[float]:
        return [asyncio.run(asyncio.sleep(0, 0.5)) for _ in completions]

    assert called(trl_rewards([asking]), "Hi", "Hi") == [0.5, 0.5]


@pytest.mark.parametrize("nested", [False, True])
def test_a_sum_is_none_where_a_reward_is_undecided_and_where_nothing_applies(
    *, nested: bool
) -> None:
    with Reward() as reward:
        function = trl_rewards([for_trl(reward, blocking=True), brevity], [0, 1])
        if nested:
            function = trl_rewards([function, constant], name="outer")
        known = CHECKLIST[:1]
        result = called(function, "Hi you", "Hi you", checklist=[known, CHECKLIST])
        assert result == [1.5 if nested else 0.5, None]
    assert called(trl_rewards([brevity, constant]), "Hi") == [1]
    assert called(trl_rewards([brevity]), "Hi", "Hi you") == [None, 0.5]


@pytest.mark.slow
def test_functions_that_cannot_be_summed_are_refused(reward: Reward) -> None:
    torch = pytest.importorskip("torch")
    refused: list[tuple[list[Any], dict[str, Any]]] = [
        ([], {}),
        ([constant], {"weights": [1, 2]}),
        ([constant], {"weights": [float("nan")]}),
        ([constant, constant], {}),
        ([constant], {"name": "constant"}),
        (["a reward model's name"], {}),
        ([torch.nn.Linear(1, 1)], {}),
    ]
    for functions, options in refused:
        with pytest.raises(UsageError):
            trl_rewards(functions, **options)
    with pytest.raises(UsageError, match="returned 1 rewards"):
        called(trl_rewards([lambda **_: [1.0]]), "a", "b")
    assert called(trl_rewards([for_trl(reward)]), "a") == [1]


def test_a_trainer_that_cannot_be_asked_for_its_functions_gets_no_open_reward() -> None:
    state = SimpleNamespace(global_step=1)
    with Reward() as reward, Reward(undecided=0.0) as closed:
        for function in (for_trl(reward), trl_rewards([for_trl(reward), constant])):
            with pytest.raises(UsageError, match="undecided"):
                called(function, "Hi", trainer_state=state)
        assert called(for_trl(closed), "Hi", trainer_state=state) == [1]


class Trainer:
    """Combines rewards as TRL 1.16 does in ``GRPOTrainer._generate_and_score_completions``."""

    def __init__(self, *functions: Any) -> None:
        self.reward_funcs = functions
        self.reward_weights = [1.0] * len(functions)
        self.logged: dict[str, float] = {}

    def log_metric(self, name: str, value: float) -> None:
        self.logged[name] = value

    def rewards(self, *completions: str, **columns: Any) -> list[float]:
        async def call() -> Any:
            given = {"trainer_state": SimpleNamespace(), "log_metric": self.log_metric, **columns}
            prompts = ["Greet."] * len(completions)
            for function in self.reward_funcs:
                returned = function(prompts=prompts, completions=list(completions), **given)
                yield await returned if inspect.isawaitable(returned) else returned

        async def all_of_them() -> list[Any]:
            return [values async for values in call()]

        by_function = np.array(asyncio.run(all_of_them()), dtype=float).T
        total = np.nansum(by_function * np.array(self.reward_weights), axis=1)
        total[np.isnan(by_function).all(axis=1)] = np.nan
        return [float(value) for value in total]


KNOWN_AND_OPEN = {"checklist": [CHECKLIST[:1], CHECKLIST]}
"""A row that code decides, and one with a constraint that nobody judges."""


@pytest.mark.parametrize("wrap", [lambda function: function, functools.partial])
def test_a_reward_that_may_be_undecided_is_refused_beside_a_second_function(wrap: Any) -> None:
    with Reward() as reward, Reward(undecided=0.25) as closed:
        for function in (
            wrap(for_trl(reward, name="critic")),
            trl_rewards([wrap(for_trl(reward, name="critic"))]),
            wrap(trl_rewards([for_trl(reward, name="critic"), brevity])),
        ):
            with pytest.raises(UsageError, match="2 reward functions"):
                Trainer(function, constant).rewards("Hi", "Hi", **KNOWN_AND_OPEN)
        function = wrap(for_trl(closed))
        assert Trainer(function, constant).rewards("Hi", "Hi", **KNOWN_AND_OPEN) == [2, 1.25]


def test_a_wrapper_that_judges_other_rows_than_the_sum_is_refused() -> None:
    with Reward() as reward:
        function = for_trl(reward, name="critic")

        async def first_only(prompts: Any, completions: Any, checklist: Any, **_: Any) -> Any:
            values = await function(prompts[:1], completions[:1], checklist=checklist[:1])
            return [*values, *[0.0] * (len(prompts) - 1)]

        with pytest.raises(UsageError, match=r"'critic'.* 1 "):
            called(trl_rewards([first_only, constant]), "Hi", "Hi")


def told(result: dict[str, float]) -> dict[str, float]:
    return {name: result[name] for name in ("score", "undecided", "gated", "coverage")}


# --- verl ---------------------------------------------------------------------------------------


def test_verl_awaits_a_real_coroutine_function_and_reads_its_score(reward: Reward) -> None:
    compute_score = for_verl(reward)
    assert inspect.iscoroutinefunction(compute_score)
    result = asyncio.run(
        compute_score(
            data_source="if",
            solution_str="Hi, you.",
            ground_truth=TRUTH,
            extra_info={"question": "Greet.", "num_turns": 2, "rollout_reward_scores": {}},
            reward_router_address="127.0.0.1:1",
        )
    )
    assert told(result) == {"score": 0.5, "undecided": 0, "gated": 0, "coverage": 1}
    assert (result["calls"], result["gated_echo"]) == (1, 0)


def test_verl_takes_the_rows_of_if_critic(reward: Reward, model: ScriptedModel) -> None:
    marked = "\n\n".join(
        f"[要求{row['编号']}-开始]\n要求：{row['要求']}\n[要求{row['编号']}-结束]" for row in STRUCT
    )
    truth = json.dumps({"prompt_id": 1, "checklist": marked, "checklist_struct": STRUCT})
    asked = {"extra_info": {"prompt": [{"role": "user", "content": "问好。"}]}}
    result = asyncio.run(for_verl(reward)("if", "你好。", truth, **asked))
    assert result["score"] == 1
    assert "问好。" in model.calls[0].messages[-1].content


def if_critic_rows(folder: Path, *instructions: str, kind: str = "parquet") -> list[Any]:
    """Write rows as IF-Critic's ``if_prompts.py`` does; the prompt is in its own column only."""
    marked = "\n\n".join(
        f"[要求{row['编号']}-开始]\n要求：{row['要求']}\n[要求{row['编号']}-结束]" for row in STRUCT
    )
    rows: list[dict[str, Any]] = [
        {
            "data_source": "if",
            "prompt": [{"role": "user", "content": instruction}],
            "ability": "if",
            "reward_model": {
                "style": "rm",
                "ground_truth": json.dumps(
                    {"prompt_id": at // 2, "checklist": marked, "checklist_struct": STRUCT}
                ),
            },
            "extra_info": {"split": "train", "index": at},
        }
        for at, instruction in enumerate(instructions)
    ]
    if kind == "parquet":
        pa = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pa.Table.from_pylist(rows), folder / "train.parquet")
    else:
        (folder / "train.json").write_text(json.dumps(rows), encoding="utf-8")
    return rows


def scored(compute_score: Any, row: Any, response: str = "你好。") -> dict[str, float]:
    """Call the function as verl's reward manager does: without the row's prompt."""
    result: dict[str, float] = asyncio.run(
        compute_score(
            data_source=row["data_source"],
            solution_str=response,
            ground_truth=row["reward_model"]["ground_truth"],
            extra_info={**row["extra_info"], "num_turns": None, "rollout_reward_scores": {}},
        )
    )
    return result


@pytest.mark.parametrize("kind", ["parquet", "json"])
def test_verl_looks_the_prompts_of_if_critics_authors_up_in_their_file(
    reward: Reward, model: ScriptedModel, tmp_path: Path, kind: str
) -> None:
    row = if_critic_rows(tmp_path, "向女王问好。", kind=kind)[0]
    result = scored(for_verl(reward, data=tmp_path / f"train.{kind}"), row)
    assert told(result) == {"score": 1, "undecided": 0, "gated": 0, "coverage": 1}
    assert "向女王问好。" in model.calls[0].messages[-1].content


def test_verl_gets_the_fallback_for_rows_whose_prompt_nobody_knows(
    reward: Reward, model: ScriptedModel, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = if_critic_rows(tmp_path, "问好。", "道别。", kind="json")
    undecided = {"score": 0.25, "undecided": 1, "gated": 0, "coverage": 0}
    assert told(scored(for_verl(reward), rows[0])) == undecided
    # Two prompts with the same ground truth: either would be a guess.
    unknown = scored(for_verl(reward, data=[tmp_path / "train.json"]), rows[0])
    assert told(unknown) == undecided
    assert not model.calls
    assert "no instruction" in caplog.text


def test_verl_data_without_prompts_is_refused_at_once(reward: Reward, tmp_path: Path) -> None:
    if_critic_rows(tmp_path, "", kind="json")
    with pytest.raises(InputError, match="prompt"):
        for_verl(reward, data=tmp_path / "train.json")


# --- rows without an instruction, and empty responses, in every adapter --------------------------


BLANK = ["", " \n", "\u200b\ufeff", "\u3164"]


class Trace(SimpleNamespace):
    """As ``verifiers.v1.Trace``, as far as a reward goes."""

    def record_metrics(self, values: dict[str, float]) -> None:
        self.metrics = values


def every_adapter(reward: Reward, prompt: str, response: str) -> dict[str, float | None]:
    """Score a response to a prompt in each of the adapters that pass them on as they are."""
    task = TaskData(prompt=prompt, checklist=CHECKLIST[1:])
    truth = json.dumps({"prompt": prompt, "checklist": CHECKLIST[1:]})
    about = {"question": prompt}
    return {
        "trl": trl(reward, prompts=[prompt], completions=[response], checklist=[CHECKLIST[1:]])[0],
        "verl": asyncio.run(for_verl(reward)("if", response, truth, extra_info=about))["score"],
        "verifiers": asyncio.run(for_verifiers(reward)(task, Trace(last_reply=response))),
    }


@pytest.mark.parametrize("prompt", BLANK)
def test_no_adapter_judges_without_an_instruction(
    reward: Reward, model: ScriptedModel, prompt: str
) -> None:
    assert set(every_adapter(reward, prompt, "Hi.").values()) == {0.25}
    assert not model.calls
    assert set(every_adapter(reward, "Greet.", "Hi.").values()) == {1}


def test_adapters_pass_on_that_a_response_was_cut_off(reward: Reward) -> None:
    task = TaskData(prompt="Greet.", checklist=CHECKLIST[1:])
    truth = json.dumps({"prompt": "Greet.", "checklist": CHECKLIST[1:], "finish_reason": "stop"})
    trainer = SimpleNamespace(reward_funcs=[1], max_completion_length=2, eos_token_id=0)
    trainer.log_metric = MethodType(lambda *_: None, trainer)
    columns = {"checklist": [CHECKLIST[1:]] * 3, "finish_reason": ["length"] * 3}
    cut = for_trl(reward)(
        prompts=["Greet."] * 3,
        completions=["Hi there"] * 3,
        completion_ids=[[1], [1, 0], [1, 2]],
        log_metric=trainer.log_metric,
        **columns,
    )
    assert cut == [1, 1, 0]
    cut_off = {"finish_reason": "length"}
    assert asyncio.run(for_verl(reward)("if", "Hi there", truth, extra_info=cut_off))["score"] == 0
    assert asyncio.run(for_verl(reward)("if", "Hi there", truth, extra_info={}))["score"] == 1
    trace = Trace(last_reply="Hi there", is_truncated=True)
    assert asyncio.run(for_verifiers(reward)(task, trace)) == 0


# --- OpenRLHF -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_openrlhf_gets_tensors_and_the_reply_is_cut_out_of_the_query(
    reward: Reward, model: ScriptedModel
) -> None:
    torch = pytest.importorskip("torch")
    prompt = "<|user|>Greet.<|end|><|assistant|>"
    result = for_openrlhf(reward)([prompt + "Hi you.<|end|></s>"], [prompt], [TRUTH])
    assert float(torch.tensor([result["rewards"]])) == 1
    assert float(result["scores"].flatten()[0]) == 1
    logs = {name: float(value) for name, value in result["extra_logs"].items()}
    assert told({"score": 1, **logs}) == {"score": 1, "undecided": 0, "gated": 0, "coverage": 1}
    shown = model.calls[0].messages[-1].content
    assert "Hi you.\n" in shown
    assert "Hi you.<|end|>" not in shown


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "reply"),
    [
        ("<s> [INST] Greet everyone here. [/INST] Hi, you.</s>", "Hi, you."),
        ("everyone here. [/INST]Hi, you.", "Hi, you."),
        ("<s>[INST]Greet everyone here.[/INST]", ""),
        ("Something else. [/INST]Hi, you.", None),
        ("[/INST]Hi, you.", None),
        ("", None),
    ],
)
def test_openrlhf_finds_the_reply_after_a_prompt_that_tokens_changed(
    reward: Reward, model: ScriptedModel, query: str, reply: str | None
) -> None:
    pytest.importorskip("torch")
    result = for_openrlhf(reward)([query], ["<s>[INST] Greet everyone here. [/INST]"], [TRUTH])
    assert float(result["extra_logs"]["undecided"][0]) == (reply is None)
    assert float(result["rewards"][0]) == (0.25 if reply is None else 0.5 if reply else 0)
    shown = [call.messages[-1].content for call in model.calls]
    assert [text.count("everyone here.") for text in shown] == ([1] if reply else [])


# --- verifiers ----------------------------------------------------------------------------------


class TaskData(BaseModel):
    """As ``verifiers.v1.TaskData``, with the field that a task of one's own adds."""

    idx: int | None = None
    prompt: Any = None
    system_prompt: str | None = None
    checklist: list[dict[str, Any]] = []


def test_verifiers_awaits_a_number_for_a_task_and_a_trace(
    reward: Reward, model: ScriptedModel
) -> None:
    task = TaskData(idx=3, prompt="Greet.", system_prompt="Be brief.", checklist=CHECKLIST)
    score = for_verifiers(reward)
    trace = Trace(last_reply="Hi, you.")
    assert asyncio.run(score(task=task, trace=trace)) == 0.5
    assert (trace.metrics["heedful_coverage"], trace.metrics["heedful_calls"]) == (1, 1)
    assert "Be brief." in model.calls[0].messages[-1].content


@pytest.mark.parametrize("adapter", [for_verl, for_openrlhf, for_verifiers, for_rows])
def test_trainers_that_take_no_none_need_a_stated_fallback(adapter: Any) -> None:
    with pytest.raises(UsageError, match="takes numbers only"):
        adapter(Reward())
