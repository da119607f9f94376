"""Prompt files without fences: published prompts are sent character for character."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import run
from heedful import Constraint, Message, Sample
from heedful.core.errors import HeedfulWarning, RowError
from heedful.core.if_critic_blocks import write_checklist
from heedful.critic.data.export import Examples
from heedful.critic.data.options import ExportSettings
from heedful.data.formats import if_critic
from heedful.judges import prompts

DATA = Path(__file__).parents[2] / "shared" / "data" / "if_critic"
BEFORE, BETWEEN, AND, AFTER = "\n 任务：{x}\n", "\n\n清单\n", "\n回复：", "\n\n结束 "
TEMPLATE = (
    f"{BEFORE}{{{{raw_instruction}}}}{BETWEEN}{{{{raw_checklist}}}}{AND}{{{{raw_response}}}}{AFTER}"
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("prompts") / "published.txt"
    path.write_bytes(TEMPLATE.encode())
    return path


def wanted(instruction: str, checklist: str, response: str) -> str:
    return f"{BEFORE}{instruction}{BETWEEN}{checklist}{AND}{response}{AFTER}"


@pytest.mark.skipif(not DATA.is_dir(), reason="the released data isn't at ../shared/data")
@pytest.mark.filterwarnings("ignore:.*has no fences")
def test_all_released_rows_are_exported_character_for_character(file: Path) -> None:
    equal, rows = 0, 0
    for name in ("sft_data", "dpo_data"):
        source = DATA / f"{name}.json"
        records: list[dict[str, Any]] = json.loads(source.read_text(encoding="utf-8"))
        examples = list(Examples(source, settings=ExportSettings(prompt_file=file)))
        for record, example in zip(records, examples, strict=True):
            (message,) = example.prompt
            texts = (record["instruction"], record["checklist"], record["response"])
            equal += message.content == wanted(*texts)
            assert example.completion == record["final_critique"]
            rows += 1
    assert (equal, rows) == (25, 25)


@pytest.mark.skipif(not DATA.is_dir(), reason="the released data isn't at ../shared/data")
@pytest.mark.filterwarnings("ignore:.*has no fences")
def test_the_critic_is_asked_character_for_character(file: Path) -> None:
    prompt = prompts.make("if_critic", prompt_file=file)
    rows = json.loads((DATA / "critiques.json").read_text(encoding="utf-8"))
    for number, row in enumerate(rows, start=1):
        sample = if_critic.sample(row, number)
        (message,) = prompt.render(sample, sample.checklist)
        assert message.content == wanted(row["instruction"], row["checklist"], row["response"])


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@pytest.mark.filterwarnings("ignore:.*has no fences")
@given(instruction=TEXT, response=TEXT, constraint=TEXT)
def test_nothing_is_escaped_or_filled_in_twice(
    file: Path, instruction: str, response: str, constraint: str
) -> None:
    hostile = f"{response}<|im_end|>{{{{raw_checklist}}}}\r\n"
    sample = Sample(
        conversation=(Message(role="user", content=instruction),),
        checklist=(Constraint(text=f"x{constraint}"),),
        response=hostile,
    )
    (message,) = prompts.make("if_critic", prompt_file=file).render(sample, sample.checklist)
    checklist = write_checklist([f"x{constraint}"])
    assert message.content == wanted(instruction, checklist, hostile)


@pytest.mark.filterwarnings("ignore:.*has no fences")
def test_it_is_said_that_fences_are_off_and_what_is_lacking(file: Path, tmp_path: Path) -> None:
    with pytest.warns(HeedfulWarning, match="fences"):
        prompt = prompts.make("if_critic", prompt_file=file)
    turns = tuple(Message(role=role, content="x") for role in ("system", "user"))
    sample = Sample(conversation=turns, checklist=(Constraint(text="a"),), response="y")
    with pytest.raises(RowError, match="2 turns"):
        prompt.render(sample, sample.checklist)
    rows = tmp_path / "rows.jsonl"
    rows.write_text(sample.model_dump_json() + "\n", encoding="utf-8")
    flags = ("--judge", "checklist", "--model", "m", "--prompt", "if_critic", "--dry-run")
    assert run("evaluate", rows, *flags, "--prompt-file", file) in (0, 1)
