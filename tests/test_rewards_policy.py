"""``heedful reward``: pairs and the best of n, from runs and from files."""

import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import run
from heedful import evaluate
from heedful.rewards.policy_pairs import ScoredResponse, pair_up
from jsonl import read_rows, write_rows

pytestmark = pytest.mark.usefixtures("empty_folder")


def row(
    name: str, verdicts: str, response: str | None = None, prompt: str | None = "Say it."
) -> dict[str, Any]:
    """A judged response: ``+`` met, ``-`` unmet, ``?`` not decided."""
    status = {"+": "met", "-": "unmet", "?": "unparsed"}
    return {
        "id": name,
        "instruction_id": name.split("#", maxsplit=1)[0],
        "prompt": prompt,
        "checklist": [
            {"text": f"c{at}", "priority": "primary" if at == 0 else "secondary"}
            for at in range(len(verdicts))
        ],
        "response": name if response is None else response,
        "judgments": [{"status": status[verdict]} for verdict in verdicts],
    }


def write(*rows: dict[str, Any], path: str = "judged.jsonl") -> None:
    write_rows(path, rows)


def make_pairs(*flags: str) -> tuple[list[tuple[str, str]], int]:
    code = run("reward", "pairs", "judged.jsonl", "-o", "pairs.jsonl", *flags)
    return [(pair["id"], pair["rejected_id"]) for pair in read_rows("pairs.jsonl")], code


# --- pairs --------------------------------------------------------------------------------------


def test_the_best_and_the_worst_make_a_pair_in_trls_format() -> None:
    write(row("a#1", "+-"), row("b#1", "++"), row("a#2", "++"), row("a#3", "--"), row("b#2", "-+"))
    assert make_pairs() == ([("a#2", "a#3"), ("b#1", "b#2")], 0)
    assert read_rows("pairs.jsonl")[0] == {
        "id": "a#2",
        "prompt": [{"role": "user", "content": "Say it."}],
        "chosen": [{"role": "assistant", "content": "a#2"}],
        "rejected": [{"role": "assistant", "content": "a#3"}],
        "rejected_id": "a#3",
        "chosen_reward": 1.0,
        "rejected_reward": 0.0,
    }


def test_every_instruction_without_a_pair_has_its_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(
        row("one#1", "++"),
        row("equal#1", "+-"), row("equal#2", "-+"),
        row("undecided#1", "+?"), row("undecided#2", "++"),
        row("same#1", "++", "x"), row("same#2", "++", "x"),
        row("also#1", "--", "x"), row("also#2", "--", "x"),
        row("close#1", "+++++"), row("close#2", "++++-"),
        row("bare#1", "+", prompt=None), row("bare#2", "-", prompt=None),
        row("fine#1", "+"), row("fine#2", "-"),
    )  # fmt: skip
    found, code = make_pairs("--margin", "0.5")
    assert (found, code) == ([("fine#1", "fine#2")], 0)
    printed = capsys.readouterr().out
    for reason in (
        "without a pair:",
        "1: one response",
        "1: all rewards equal",
        "1: fewer than two decided",
        "2: all the same text",
        "1: below the margin",
        "1: no prompt",
    ):
        assert reason in printed
    assert "1 reward undecided" in printed


def test_a_margin_is_met_by_what_equals_it_in_decimals() -> None:
    write(row("a#1", "++++-"), row("a#2", "+++--"))
    assert make_pairs("--margin", "0.2")[0] == [("a#1", "a#2")]
    assert make_pairs("--margin", "0.21") == ([], 1)


def test_several_pairs_share_no_response() -> None:
    write(*(row(f"a#{at}", "+" * at + "-" * (5 - at)) for at in range(6)))
    found, _ = make_pairs("--pairs", "9")
    assert set(found) == {("a#5", "a#0"), ("a#4", "a#1"), ("a#3", "a#2")}


def test_ties_by_length_pair_the_likest_and_random_ones_follow_the_seed() -> None:
    write(
        row("a#1", "+", "x" * 100), row("a#2", "+", "x" * 10),
        row("a#3", "-", "y" * 11), row("a#4", "-", "y" * 300),
    )  # fmt: skip
    assert make_pairs("--gates", "none", "--ties", "length")[0] == [("a#2", "a#3")]
    drawn = {make_pairs("--gates", "none", "--seed", str(seed))[0][0] for seed in range(12)}
    assert len(drawn) > 1
    same = ("--gates", "none", "--seed", "5")
    assert make_pairs(*same) == make_pairs(*same)


def test_the_aggregate_decides_who_wins() -> None:
    write(row("a#1", "-++"), row("a#2", "+--"), row("a#3", "+++"))
    assert make_pairs()[0] == [("a#3", "a#2")]
    found, _ = make_pairs("--aggregate", "psr", "--ties", "length")
    assert found[0][0] == "a#3"


def test_a_fallback_takes_part_and_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    write(row("a#1", "+?"), row("a#2", "++"))
    assert make_pairs() == ([], 1)
    assert make_pairs("--undecided", "0")[0] == [("a#2", "a#1")]
    assert "fallback" in capsys.readouterr().out


def test_responses_without_instruction_ids_go_together_by_conversation() -> None:
    rows = [row("a#1", "+"), row("b#1", "-"), row("c#1", "+", prompt="Say another.")]
    write(
        *({key: value for key, value in item.items() if key != "instruction_id"} for item in rows)
    )
    assert make_pairs()[0] == [("a#1", "b#1")]


def test_a_run_and_its_results_file_give_the_same_pairs() -> None:
    write(row("a#1", "+-"), row("a#2", "++"), row("a#3", "--"))
    assert run("evaluate", "judged.jsonl", "--judge", "recorded", "--run", "run", "-q") == 0
    expected, _ = make_pairs()
    for judged in ("run", "run/results.jsonl"):
        assert run("reward", "pairs", judged, "-o", "again.jsonl", "-q") == 0
        assert [(line["id"], line["rejected_id"]) for line in read_rows("again.jsonl")] == expected


@given(
    st.lists(
        st.tuples(st.sampled_from([None, 0.0, 0.25, 0.5, 1.0]), st.integers(0, 3)), max_size=9
    ),
    st.sampled_from([0.0, 0.3, 0.5]),
    st.integers(1, 4),
    st.sampled_from(["random", "length"]),
)
def test_pairs_differ_by_the_margin_and_never_in_nothing(
    drawn: list[tuple[float | None, int]], margin: float, pairs: int, ties: Any
) -> None:
    group = [
        ScoredResponse(at, str(at), value, text, bytes([text]))
        for at, (value, text) in enumerate(drawn)
    ]
    found, reason = pair_up(
        group, margin=margin, pairs=pairs, ties=ties, generator=random.Random(0)
    )
    assert bool(found) == (reason is None)
    assert len(found) <= pairs
    used = [side.position for item in found for side in (item.better, item.worse)]
    assert len(used) == len({*used})
    for item in found:
        assert item.better.value is not None
        assert item.worse.value is not None
        assert item.better.value - item.worse.value >= max(margin, 1e-9)
        assert item.better.text != item.worse.text


# --- best of n ----------------------------------------------------------------------------------


def test_the_best_is_kept_as_a_sample_that_can_be_judged_again() -> None:
    write(row("a#1", "+-"), row("a#2", "++"), row("b#1", "??"), row("b#2", "?+"), row("c#1", "--"))
    assert run("reward", "best", "judged.jsonl", "-o", "best.jsonl") == 0
    kept = read_rows("best.jsonl")
    assert [(item["id"], item["reward"]) for item in kept] == [("a#2", 1), ("c#1", 0)]
    assert "recording" not in kept[0]
    assert run("evaluate", "best.jsonl", "--judge", "rules", "--run", "again", "-q") in (0, 1)


# --- data sets for training tools ---------------------------------------------------------------


def data_set(command: str, to: str, *flags: str) -> list[dict[str, Any]]:
    assert run("reward", command, "judged.jsonl", "--to", to, "-o", to, "-q", *flags) == 0
    return read_rows(f"{to}/train.jsonl")


USER = {"role": "user", "content": "Say it."}


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text}]


def test_the_best_are_laid_out_to_fine_tune_on() -> None:
    write(row("a#1", "+-"), row("a#2", "++"), row("b#1", "??"), row("c#1", "+", prompt=None))
    assert data_set("best", "trl") == [
        {"id": "a#2", "prompt": [USER], "completion": said("a#2"), "reward": 1.0}
    ]
    assert data_set("best", "openai") == [{"messages": [USER, *said("a#2")]}]
    assert "1 instruction without a prompt" in Path("openai/README.md").read_text("utf-8")


def test_the_card_says_what_the_choice_rests_on() -> None:
    write(row("a#1", "++"), row("a#2", "-+"), row("a#3", "?+"), row("b#1", "+"))
    run("evaluate", "judged.jsonl", "--judge", "recorded", "--run", "run", "-q")
    flags = ("--aggregate", "psr", "--margin", "0.5", "--ties", "length")
    length = ("--length-free", "100", "--length-full", "1000", "--length-penalty", "0.25")
    assert run("reward", "pairs", "run", *flags, *length, "--to", "trl", "-o", "mine") == 0
    card = Path("mine/README.md").read_text("utf-8")
    assert card.startswith('---\npretty_name: "mine"\n')
    for said_so in (
        "| run | recorded |",
        "| aggregate | psr |",
        "| gates | all |",
        "| length penalty | up to 0.25 from 100 to 1,000 characters |",
        "| undecided rewards | left out |",
        "| margin | 0.5 |",
        "| ties | length |",
        "- 1 pair, mean difference",
        " % of the verdicts decided",
        "- 1: one response",
    ):
        assert said_so in card
    assert str(Path.cwd()) not in card


@pytest.mark.slow
def test_three_models_on_ifeval_make_pairs_where_they_differ(data: Path) -> None:
    folder = data / "mifeval_en"
    models = sorted(path.name for path in folder.iterdir() if path.is_dir())
    for model in models:
        verdicts = folder / model / "eval_results_strict.jsonl"
        evaluate(folder / "en_input_data.jsonl", responses=verdicts, judge="rules", run=model)
    assert run("reward", "pairs", *models, "-o", "pairs.jsonl", "-q") == 0
    pairs = read_rows("pairs.jsonl")
    assert len({str(pair["prompt"]) for pair in pairs}) == len(pairs) > 100
    assert all(pair["chosen_reward"] > pair["rejected_reward"] for pair in pairs)


# --- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pairs", "nothing.jsonl", "-o", "p.jsonl"], "no such file"),
        (["pairs", ".", "-o", "p.jsonl"], "holds no run"),
        (["pairs", "judged.jsonl", "-o", "none/p.jsonl"], "there is no such folder"),
        (["pairs", "judged.jsonl", "-o", "."], "say with --to for which tool"),
        (["best", "judged.jsonl", "-o", "p.jsonl", "--to", "trl"], "an export is a folder"),
        (["best", "judged.jsonl", "-o", ".", "--to", "trl"], "isn't part of an export"),
        (["pairs", "judged.jsonl", "-o", "p.jsonl", "--margin", "-1"], "the margin is -1"),
        (["pairs", "judged.jsonl", "-o", "p.jsonl", "--pairs", "0"], "pairs is 0"),
        (["best", "judged.jsonl", "-o", "p.jsonl", "--length-free", "9"], "give both"),
        (["best", "judged.jsonl", "-o", "p.jsonl", "--length-full", "0"], "makes no sense"),
    ],
)
def test_wrong_use_is_said_in_a_line(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(row("a#1", "+"))
    assert run("reward", *words) == 2
    assert message in capsys.readouterr().err


def test_rows_that_come_to_nothing_are_named_and_cost_no_other(
    capsys: pytest.CaptureFixture[str],
) -> None:
    unjudged = {key: value for key, value in row("a#3", "+").items() if key != "judgments"}
    write(row("a#1", "+"), row("a#2", "-"), unjudged, {"id": "x", "prompt": 7})
    found, code = make_pairs()
    assert (found, code) == ([("a#1", "a#2")], 1)
    said = capsys.readouterr().err
    assert re.findall(r"^(line \d): .*(evaluate|prompt)", said, re.MULTILINE) == [
        ("line 3", "evaluate"),
        ("line 4", "prompt"),
    ]
