"""Choosing instructions, and the data that a checklist generator is trained on."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful import Constraint, Message, Sample
from heedful.core.errors import ModelError
from heedful.critic.data import checklist_data, select
from heedful.critic.data.selection import CATEGORIES, balanced
from heedful.jobs.checklists import make
from heedful.models import ScriptedModel
from jsonl import read_rows


def sample(key: str, *, prompt: str = "", **fields: Any) -> Sample:
    conversation = (Message(role="user", content=prompt or f"Question {key}."),)
    return Sample.model_validate({"id": key, "conversation": conversation} | fields)


def tagged(category: str, complexity: int, count: int) -> list[Sample]:
    tags = {"category": category, "complexity": complexity}
    return [sample(f"{category}-{complexity}-{n}", tags=tags) for n in range(count)]


def chosen(samples: list[Sample], **options: Any) -> list[str]:
    return [row.id for row in select(samples, **options)]


def test_as_many_of_each_category_and_complexity_are_chosen_as_can_be() -> None:
    samples = tagged("code", 1, 50) + tagged("code", 4, 5) + tagged("writing", 2, 50)
    selection = select([*samples, *tagged("poems", 3, 4)], count=40)
    result = Counter(row.id.rsplit("-", 1)[0] for row in selection)
    assert result == {"writing-2": 18, "poems-3": 4, "code-1": 13, "code-4": 5}
    assert selection.summary["selection"]["chosen"] == 40
    assert selection.summary["selection"]["categories"]["code"]["4"] == {"of": 5, "chosen": 5}


def test_the_choice_depends_on_the_ids_and_the_seed_alone() -> None:
    samples = tagged("code", 1, 60)
    first = chosen(samples, count=20)
    assert {*chosen(samples[::-1], count=20)} == {*first}
    assert first == sorted(first, key=[item.id for item in samples].index)  # in input order
    assert chosen(samples, count=20, seed=1) != first
    assert chosen(samples) == [item.id for item in samples]


def test_a_model_says_what_has_no_tags(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    model = ScriptedModel(
        {
            "Question 1": "CATEGORY: Role play\nCOMPLEXITY: 4",
            "Question 2": "I think it is code.",
            "问题": "类别：**translation**\n复杂度：2",
        }
    )
    samples = [
        sample("1", tags={"split": "hard"}),
        sample("2"),
        sample("3", prompt="问题三：翻译下面的话。"),
        sample("4", tags={"category": "mine", "complexity": "5"}),
    ]
    selection = select(samples, model=model, output=out)
    rows = read_rows(out)
    assert [row["tags"] for row in rows] == [
        {"split": "hard", "category": "role play", "complexity": 4},
        {"category": "translation", "complexity": 2},
        {"category": "mine", "complexity": "5"},
    ]
    assert selection.summary["rows"] == {"completed": 2, "unchanged": 1, "failed": 1, "unread": 0}
    assert "names no category" in selection.summary["problems"][0]["problem"]
    asked = [call.messages[-1].content for call in model.calls]
    assert len(asked) == 4  # the second is asked twice
    assert all(name in asked[0] for name in CATEGORIES)
    assert "你的任务是给指令分类" in asked[-1]


def test_without_a_model_rows_without_tags_are_named() -> None:
    selection = select([sample("1"), *tagged("code", 3, 1)])
    assert [row.id for row in selection] == ["code-3-0"]
    assert "name a model" in selection.summary["problems"][0]["problem"]


def test_a_call_that_fails_leaves_its_row_out_until_it_is_made_again(tmp_path: Path) -> None:
    options: dict[str, Any] = {"run": tmp_path / "run", "concurrency": 1}
    reply = "CATEGORY: code\nCOMPLEXITY: 1"
    broken = ScriptedModel(reply, fail={0: ModelError("busy")}.get)
    samples = [sample("1"), sample("2")]
    assert chosen(samples, model=broken, **options) == ["2"]
    model = ScriptedModel(reply)
    assert chosen(samples, model=model, retry_failed=True, **options) == ["1", "2"]
    assert len(model.calls) == 1


@given(st.dictionaries(st.text(), st.integers(0, 50), max_size=8), st.integers(0, 300))
def test_shares_are_as_even_as_the_sizes_allow(sizes: dict[str, int], count: int) -> None:
    quotas = balanced(sizes, count)
    assert sum(quotas.values()) == min(count, sum(sizes.values()))
    assert all(0 <= quotas[group] <= size for group, size in sizes.items())
    full = max(quotas.values(), default=0)
    # Nobody has less than the largest share but who has no more, or for what does not divide.
    assert all(quotas[group] in (size, full, full - 1) for group, size in sizes.items())


# --- data for a checklist generator -------------------------------------------------------------

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
