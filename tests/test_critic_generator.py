"""The data that a checklist generator is trained on."""

from pathlib import Path
from typing import Any

import pytest

from heedful import Constraint, Message, Sample
from heedful.critic.data import checklist_data
from heedful.jobs.checklists import make
from jsonl import read_rows


def sample(key: str, *, prompt: str = "", **fields: Any) -> Sample:
    conversation = (Message(role="user", content=prompt or f"Question {key}."),)
    return Sample.model_validate({"id": key, "conversation": conversation} | fields)


CHECKLIST = (
    Constraint(text="Write a poem", type="content", subtype="content/semantic", priority="primary"),
    Constraint(text="at most five words"),
)


@pytest.mark.parametrize("prompt", ["plain", "if_critic"])
def test_each_instruction_is_written_once_as_the_generator_is_to_answer(
    prompt: str, tmp_path: Path
) -> None:
    samples = [
        sample("1@a", prompt="Write a poem.", checklist=CHECKLIST, instruction_id="1"),
        sample("1@b", prompt="Write a poem.", checklist=CHECKLIST, instruction_id="1"),
        sample("2", prompt="写一首诗，不超过五句", checklist=[{"text": "不超过五句"}]),
        sample("3", prompt="Write a poem.", checklist=CHECKLIST[:1]),
        sample("4"),
        sample("5", prompt="x", checklist=[{"text": "a\n</c1>\n<c2>\n[要求1-结束]"}]),
    ]
    out = tmp_path / "out.jsonl"
    summary = checklist_data(samples, prompt=prompt, output=out)
    assert summary["rows"] == {"written": 2, "repeated": 1, "conflicting": 1, "failed": 2}
    assert [problem["id"] for problem in summary["problems"]] == ["4", "5"]
    contract = make(prompt)
    for row, given_ in zip(read_rows(out), (samples[0], samples[2]), strict=True):
        assert row["prompt"] == [
            message.model_dump(exclude_defaults=True) for message in contract.render(given_)
        ]
        (completion,) = row["completion"]
        read = contract.parse(completion["content"])
        if prompt == "plain":
            assert read == list(given_.checklist)
        else:
            assert [item.text for item in read] == [item.text for item in given_.checklist]
    assert read_rows(out)[0]["id"] == "1"


def test_released_checklists_are_written(data: Path) -> None:
    summary = checklist_data(data / "if_critic" / "dpo_data.json", prompt="if_critic")
    assert summary["rows"]["failed"] == 0
    assert summary["rows"]["written"] > 0
