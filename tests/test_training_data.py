"""What is trained on: tokens and masks, and what is refused in clear words."""

import math
import random
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from commands import run
from critiques import write
from extras import needs
from heedful.core.errors import RowError, UsageError
from heedful.core.nouns import Message
from heedful.critic.training.rows import Chat
from heedful.models.engine import Engine
from tiny_model import TEMPLATE, save_tiny_model
from trainings import FEW, PROMPT, QUICK, VERDICTS, critique, exported, own_text, report, samples

needs("trl", extra="train")

pytestmark = [pytest.mark.training, pytest.mark.filterwarnings("ignore")]

SAID = "<|assistant|>{{ message.content }}"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("models") / "tiny", width=0.1)


@pytest.fixture(scope="module")
def chat(model: Path) -> Chat:
    return opened(model)


def opened(model: Path, template: str | None = None) -> Chat:
    from transformers import AutoTokenizer

    from heedful.critic.training.rows import Chat

    return Chat(AutoTokenizer.from_pretrained(model), set(), template, "the model")


def train(stage: str, data: Path, model: Path, output: Path, *flags: object) -> int:
    words = ["critic", "train", stage, data, *own_text(data), "-m", model, "-o", output]
    return run(*words, *flags)


def asked(text: str = "Ask.") -> list[Message]:
    return [Message(role="user", content=text)]


@pytest.fixture
def trainer(model: Path, tmp_path: Path) -> Any:
    """TRL's trainer of one row."""
    from heedful.critic.training import SftSettings
    from heedful.critic.training.rows import Rows, open_chat, tokenised
    from heedful.critic.training.trainer import sft_trainer
    from heedful.models.folder import find_folder

    folder = exported(tmp_path, samples(["+-"]))
    settings = SftSettings(batch_size=1)
    chat, _ = open_chat(find_folder(str(model)), settings)
    tokens = tokenised(Rows(folder / "train.jsonl", pairs=False), chat, None)
    return sft_trainer(model, chat, tokens.rows, tmp_path / "out", settings)


def test_a_prompt_is_not_in_the_loss_of_fine_tuning(trainer: Any) -> None:
    (batch,) = trainer.get_train_dataloader()
    learnt = batch["labels"][0][batch["labels"][0] != -100]
    assert trainer.processing_class.decode(learnt) == critique("+-") + "<|end|>"


def test_logits_of_a_prompt_are_not_computed_and_change_nothing(trainer: Any) -> None:
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from heedful.critic.training.trainer import learnt_positions_only

    (batch,) = trainer.get_train_dataloader()
    found = []
    for where in (nullcontext(), learnt_positions_only()):
        trainer.model.zero_grad()
        with where, FlopCounterMode(display=False) as counter:
            loss = trainer.compute_loss(trainer.model, dict(batch))
            loss.backward()
        gradients = [each.grad for each in trainer.model.parameters()]
        found.append((loss.detach(), gradients, counter.get_total_flops()))
    (loss, gradients, every), (same_loss, same_gradients, fewer) = found
    torch.testing.assert_close(same_loss, loss)
    torch.testing.assert_close(same_gradients, gradients)
    prompts = int((batch["labels"] == -100).sum()) - 1  # the last of them says the first answer
    logits = 2 * trainer.model.lm_head.weight.numel()
    assert every - fewer >= 2 * prompts * logits  # of hidden states and of weights at least


ROW = {"prompt": [{"role": "user", "content": "Ask."}], "prompt_name": "plain"}
ANSWER = [{"role": "assistant", "content": "<c1>\nSo.\nVERDICT: MET\n</c1>"}]
OTHER = [{"role": "assistant", "content": "<c1>\nNo.\nVERDICT: UNMET\n</c1>"}]
PAIR = {**ROW, "chosen": ANSWER, "rejected": OTHER}


def turns(question: str, answer: list[dict[str, str]]) -> list[dict[str, str]]:
    return [{"role": "user", "content": question}, *answer]


@pytest.mark.parametrize(
    ("stage", "row", "said"),
    [
        ("sft", ROW, "has no completion"),
        ("sft", PAIR, "heedful critic train dpo"),
        ("sft", {**ROW, "completion": ROW["prompt"]}, "has messages of user"),
        ("dpo", {**PAIR, "chosen": turns("A?", ANSWER)}, "has messages of user, assistant"),
        ("sft", {**ROW, "completion": "MET"}, "completion"),
        ("sft", {"prompt": ROW["prompt"], "completion": ANSWER}, "name it with --prompt"),
        ("sft", {"messages": turns("Ask.", ANSWER)}, "laid out for another tool"),
        ("dpo", {**ROW, "completion": ANSWER}, "heedful critic train sft"),
        ("dpo", {**PAIR, "rejected": ANSWER}, "are the same"),
        ("sft", {**ROW, "completion": ANSWER, "prompt_version": "3-other"}, "another text"),
    ],
)
def test_a_row_that_cannot_be_trained_on_is_refused_with_its_place(
    stage: str,
    row: dict[str, Any],
    said: str,
    model: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = write(tmp_path / "data.jsonl", [row])
    assert run("critic", "train", stage, data, "-m", model, "-o", tmp_path / "out") == 2
    err = capsys.readouterr().err
    assert said in err
    assert "data.jsonl" in err
    assert "(" in err  # a hint
    assert not (tmp_path / "out").exists()


def test_rows_left_out_are_counted_and_named(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long = {**ROW, "completion": [{**ANSWER[0], "content": "long " * 100}]}
    rows = [{**ROW, "completion": ANSWER}, long, ROW, {**ROW, "completion": ANSWER}]
    data = write(tmp_path / "data.jsonl", rows)
    output = tmp_path / "out"
    flags = ["--max-steps", 1, "--max-length", 80]
    words = ["critic", "train", "sft", data, "-m", model, "-o", output, *QUICK, *flags]
    assert run(*words) == 1
    assert "2 rows of 4" in capsys.readouterr().err
    result = report(output)
    assert result["rows"] == {
        "read": 4,
        "usable": 2,
        "trained_on": 2,
        "passes": 1.0,
        "left_out": {"too long": 1, "unreadable": 1},
    }
    assert [problem["line"] for problem in result["problems"]] == [2, 3]
    assert "more than 80" in result["problems"][0]["problem"]
    tight = [*words[:6], "-o", tmp_path / "none", "--max-length", 10]
    assert run(*tight) == 2
    assert "more than 10" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("template", "said"),
    [
        (None, "no chat template"),
        ("{% for message in messages %}" + SAID + "<|end|>{% endfor %}", "has no mark"),
        (TEMPLATE.replace("<|end|>", ""), "sets no end"),
        (TEMPLATE.replace("<|{{ message.role }}|>", ""), "does not put the answer behind"),
        ("{{ raise_exception('never') }}", "refuses the conversation"),
    ],
)
def test_a_chat_template_that_cannot_be_trained_with_is_refused(
    template: str | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = save_tiny_model(tmp_path / "model")
    file = model / "chat_template.jinja"
    if template is None:
        file.unlink()
    else:
        file.write_text(template)
    data = exported(tmp_path, samples())
    words = ["critic", "train", "sft", data, *own_text(data), "-m", model, *FEW, "--max-steps", 1]
    assert run(*words, "-o", tmp_path / "out") == 2
    err = capsys.readouterr().err
    assert said in err
    assert "--chat-template plain" in err
    if template is None:
        assert run(*words, "-o", tmp_path / "out", "--chat-template", "plain") == 0
        assert (tmp_path / "out" / "chat_template.jinja").is_file()


def test_a_critic_stops_where_its_template_ends_an_answer(model: Path, tmp_path: Path) -> None:
    """A base model ends texts on one token; the template of a chat may end turns on another."""
    from transformers import AutoTokenizer, GenerationConfig

    template = tmp_path / "chat.jinja"
    template.write_text(TEMPLATE.replace("<|end|>", "<|system|>"))
    data = exported(tmp_path, samples())
    flags = ["--chat-template", template, "--max-steps", 1]
    output = tmp_path / "out"
    assert train("sft", data, model, output, *FEW, *flags) == 0
    tokenizer = AutoTokenizer.from_pretrained(output)
    ends = tokenizer.convert_tokens_to_ids(["<|end|>", "<|system|>"])
    assert GenerationConfig.from_pretrained(output).eos_token_id == sorted(ends)
    assert tokenizer.chat_template == template.read_text()


def test_a_template_that_changes_the_answer_costs_the_row(model: Path, tmp_path: Path) -> None:
    template = tmp_path / "upper.jinja"
    template.write_text(TEMPLATE.replace("message.content", "message.content.lower()"))
    with pytest.raises(UsageError, match="changes the answer"):
        opened(model, str(template))
    template.write_text(TEMPLATE.replace("message.content", "message.content.strip()"))
    chat = opened(model, str(template))
    encoded = chat.encode(asked(), "  MET ")
    assert chat.tokenizer.decode(encoded.answer).startswith("MET")
    assert chat.mapped == set()
    chat.encode([Message(role="tool", content="x")], "MET")
    assert chat.mapped == {"tool"}
    refusing = "{% if messages[0].content == 'x' %}{{ raise_exception('no x') }}{% endif %}"
    template.write_text(refusing + TEMPLATE)
    with pytest.raises(RowError, match="refuses the conversation"):
        opened(model, str(template)).encode(asked("x"), "MET")


def test_a_loss_that_is_no_number_stops_the_training(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = exported(tmp_path, samples())
    flags = ["--learning-rate", 1e30, "--max-grad-norm", 1e30, "--save-every", 1, "--warmup", 0]
    assert train("sft", data, model, tmp_path / "out", *FEW, *flags, "--max-steps", 20) == 2
    err = capsys.readouterr().err
    assert "is nan" in err
    assert "checkpoint" in err
    assert "lower --learning-rate" in err
    assert not (tmp_path / "out" / "training.json").exists()


def test_memory_that_does_not_suffice_leaves_the_checkpoint(model: Path, tmp_path: Path) -> None:
    import torch

    from heedful.core.errors import RunError
    from heedful.critic.training import SftSettings, Step, train_sft

    def fill(step: Step) -> None:
        if step.step == 3:
            message = "CUDA out of memory. Tried to allocate 20.00 GiB"
            raise torch.OutOfMemoryError(message)

    data = exported(tmp_path, samples())
    settings = SftSettings(
        max_steps=5,
        batch_size=2,
        gradient_accumulation=3,
        save_every=1,
        prompt_file=data.parent / "prompt.txt",
    )
    with pytest.raises(RunError) as stopped:
        train_sft(data, tmp_path / "out", model=model, settings=settings, on_progress=fill)
    said = str(stopped.value)
    assert "Tried to allocate 20.00 GiB" in said
    assert "--batch-size" in said
    assert "checkpoint-2" in said
    assert (tmp_path / "out" / "checkpoints" / "checkpoint-2").is_dir()


def test_a_folder_of_something_else_is_refused(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = exported(tmp_path, samples())
    words = ["critic", "train", "sft", data, *own_text(data), "-m", model, "-o"]
    assert run(*words, model) == 2
    assert str(model) in capsys.readouterr().err
    assert run(*words, tmp_path) == 2
    assert str(tmp_path) in capsys.readouterr().err
    foreign = tmp_path / "foreign" / "checkpoints" / "checkpoint-5"
    foreign.mkdir(parents=True)
    assert run(*words, tmp_path / "foreign") == 2
    assert "'checkpoint-5'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("learning_rat = 1", "learning_rat"),
        ("batch_size = 0", "batch_size"),
        ("batch_size", "train.toml"),
        ("beta = 0.1", "'beta'"),
        ("lora_4bit = true", "--lora-rank"),
        ("lora_alpha = 8", "--lora-rank"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(
    text: str, said: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "train.toml"
    config.write_text(text)
    data = write(tmp_path / "data.jsonl", samples())
    words = ["critic", "train", "sft", data, "-m", model, "-o", tmp_path / "out"]
    assert run(*words, "--config", config) == 2
    err = capsys.readouterr().err
    assert said in err
    assert "train.toml" in err


def test_held_out_samples_must_tell_critics_apart(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = exported(tmp_path, samples())
    alike = write(tmp_path / "alike.jsonl", samples(["++", "++"]))
    words = ["critic", "train", "sft", data, *own_text(data), "-m", model, *QUICK, "--max-steps", 1]
    assert run(*words, "-o", tmp_path / "a", "--evaluation", alike) == 2
    assert "F1" in capsys.readouterr().err
    known = write(tmp_path / "known.jsonl", samples())
    flags = ["--evaluation", known, "--max-completion-tokens", 2]
    assert run(*words, "-o", tmp_path / "b", *flags) == 0
    assert "4 held-out samples" in capsys.readouterr().err
    assert report(tmp_path / "b")["held_out"]["verdicts"]["unparsed"] == 8


def test_a_critic_that_answers_little_does_not_win_by_it() -> None:
    from heedful.core.nouns import Critique
    from heedful.critic.training import SftSettings
    from heedful.critic.training.held_out import HeldOut, score
    from heedful.judges import prompts

    held_out = HeldOut(samples(VERDICTS), SftSettings(prompt="if_critic"))
    prompt = prompts.make("if_critic")

    def judged(said: list[str]) -> dict[str, Any]:
        pairs = zip(held_out.samples, said, strict=True)
        critiques = [
            Critique(judgments=tuple(prompt.parse(text, one.checklist))) for one, text in pairs
        ]
        return held_out.measure(critiques, "critic")

    mostly = judged([critique("+-"), critique("-+"), critique("+-"), critique("--")])
    once = judged([critique("+-"), "?", "?", "?"])
    assert once["pooled"]["mean_f1"]["value"] == 1
    assert once["coverage"] == 0.25
    assert score(once) < score(mostly) == mostly["pooled"]["mean_f1"]["value"]


@pytest.mark.parametrize("true", [0.5, 1.0, 3.0])
def test_a_temperature_makes_confidences_how_often_verdicts_are_right(true: float) -> None:
    from heedful.critic.training.held_out import temperature

    draw = random.Random(1)
    said = []
    for _ in range(3000):
        odds = draw.uniform(0, 4)
        right = draw.random() < 1 / (1 + math.exp(-odds / true))
        said.append((1 / (1 + math.exp(-odds)), right))
    assert temperature(said) == pytest.approx(true, rel=0.15)
    assert 0.1 < temperature([(0.99, True)] * 3) < 10  # few labels make nothing certain


def test_a_reply_of_the_critic_that_was_cut_off_decides_nothing() -> None:
    from heedful.critic.training import SftSettings
    from heedful.critic.training.held_out import HeldOut
    from heedful.models.base import Completion

    class CutOff:
        """An engine whose replies end at the limit, though they look whole."""

        def __init__(self, finish_reason: str) -> None:
            self.finish_reason = finish_reason

        def draft(self, messages: Sequence[Message], *_: object) -> Any:
            return SimpleNamespace(prompt=[0] * len(messages))

        def complete(self, drafts: Sequence[Any]) -> list[Completion]:
            text = critique("+-")
            return [Completion(text=text, finish_reason=self.finish_reason) for _ in drafts]

    held_out = HeldOut(samples(VERDICTS), SftSettings(prompt="if_critic"))
    for finish_reason, decided in (("stop", True), ("length", False)):
        engine = cast("Engine", CutOff(finish_reason))
        for result in held_out.judge(engine, held_out.samples, 9):
            assert [judgment.status.decided for judgment in result.judgments] == [decided] * 2


def test_the_prompt_s_own_text_comes_with_the_export(model: Path, tmp_path: Path) -> None:
    data = exported(tmp_path, samples())
    words = ["critic", "train", "sft", data, "-m", model, *QUICK, "--max-steps", 1]
    assert run(*words, "-o", tmp_path / "critic") == 0
    kept = tmp_path / "critic" / "heedful.prompt.txt"
    assert kept.read_text(encoding="utf-8") == PROMPT
    (data / "heedful.prompt.txt").unlink()
    assert run(*words, "-o", tmp_path / "other") == 2


def test_adapters_learn_faster_by_default() -> None:
    from heedful.critic.training import DpoSettings, SftSettings

    for kind in (SftSettings, DpoSettings):
        alone, adapter = kind(), kind(lora_rank=4)
        assert adapter.learning_rate == pytest.approx(10 * alone.learning_rate)
        assert kind(lora_rank=4, learning_rate=3e-4).learning_rate == 3e-4
    assert SftSettings(lora_rank=4).learning_rate == 1e-4


def test_a_package_that_is_not_installed_is_named(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from heedful.critic.training import plan

    monkeypatch.setattr(plan, "find_spec", lambda name: None if name == "trl" else object())
    words = ["critic", "train", "sft", tmp_path / "data.jsonl", "-m", model, "-o", tmp_path / "o"]
    assert run(*words) == 2
    assert "pip install 'heedful[train]'" in capsys.readouterr().err


def test_a_tracker_gets_losses_and_evaluations(model: Path, tmp_path: Path) -> None:
    needed = "tensorboard.backend.event_processing.event_accumulator"
    reader = pytest.importorskip(needed, reason="tensorboard is not installed")
    data = write(tmp_path / "rows.jsonl", samples())
    held_out = write(tmp_path / "held_out.jsonl", samples(["+-", "-+"]))
    output = tmp_path / "out"
    words = ["critic", "train", "sft", data, "-m", model, "-o", output, *QUICK, "--max-steps", 3]
    more = ["--evaluation", held_out, "--eval-every", 1, "--max-completion-tokens", 2]
    assert run(*words, *more, "--report-to", "tensorboard") == 0
    assert len(report(output)["curve"]) == len(report(output)["evaluations"]) == 3
    (events,) = output.glob("checkpoints/**/*tfevents*")
    logged = reader.EventAccumulator(str(events))
    logged.Reload()
    for name in ("train/loss", "eval/coverage"):
        assert [scalar.step for scalar in logged.Scalars(name)] == [1, 2, 3]
