"""AdvancedIF's results files read again: as the verdicts that they were written from."""

from __future__ import annotations

import asyncio
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.core.nouns import Constraint, Critique, Judgment, Sample, Status
from heedful.data import formats
from heedful.data.formats import advancedif
from heedful.data.formats.advancedif import results
from heedful.judges import prompts
from heedful.judges.model import Checklist
from heedful.judges.prompts import AdvancedIF
from heedful.models import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from heedful.core.nouns import Message
    from heedful.data.formats.base import Reply


@dataclass(frozen=True)
class Row:
    id: str
    sample: Sample | None
    critique: Critique | None
    problem: str | None = None
    reply: Reply | None = None


def sample(rubrics: Sequence[str]) -> Sample:
    record = {
        "conversation_history": [{"role": "user", "content": "Hi"}],
        "response": "Hello",
        "prompt_metadata": {"rubrics": list(rubrics)},
    }
    return advancedif.sample(record, 1)


def judged(
    rubrics: Sequence[str], replies: Sequence[str], *, reasks: int, per_call: int | None = None
) -> Critique:
    """Have a judge say one reply after another, the last one again and again."""
    said = iter(replies)

    def reply(_: Sequence[Message], __: int) -> str:
        return next(said, replies[-1])

    judge = Checklist(ScriptedModel(reply), AdvancedIF(), reasks=reasks, per_call=per_call)
    return asyncio.run(judge.judge(sample(rubrics)))


def written(rubrics: Sequence[str], critique: Critique) -> dict[str, Any]:
    """Lay out a row as a run's output has it; return its results."""
    of = sample(rubrics)
    result: dict[str, Any] = results(
        of, critique, prompts.reply("advancedif", critique, of.checklist)
    )["judge_result"]
    return result


def decided(judgments: Iterable[Judgment]) -> list[Status | None]:
    return [judgment.status if judgment.status.decided else None for judgment in judgments]


def read_again(rubrics: Sequence[str], critique: Critique, suffix: str) -> list[Status | None]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"out{suffix}"
        writer = advancedif.FORMAT.writer(path)
        assert writer
        of = sample(rubrics)
        reply = prompts.reply("advancedif", critique, of.checklist)
        rows = [Row("1", of, critique, reply=reply)]
        writer(path, lambda: iter(rows))
        (row,) = formats.read(path)
        assert row.sample
        assert row.sample.recording
        return decided(prompts.read(row.sample.recording, row.sample.checklist))


def reply(*answers: str) -> str:
    checks = {f"question_{number}": answer for number, answer in enumerate(answers, start=1)}
    return json.dumps({"rubrics_check": checks, "SATISFIED_ALL_REQUIREMENTS": "NO"})


ANSWERS = st.sampled_from(
    ["YES", "NO", "no, it fails", "It is there: YES", "Not there", "perhaps", "YES and NO", "_Yes_"]
)
REPLIES = st.one_of(
    st.lists(ANSWERS, min_size=1, max_size=5).map(lambda answers: reply(*answers)),
    st.sampled_from(["I cannot say.", '{"rubrics_check": {"question_1": "YES', "", reply()]),
)


@pytest.mark.slow
@given(
    rubrics=st.integers(1, 5),
    replies=st.lists(REPLIES, min_size=1, max_size=5),
    reasks=st.integers(0, 4),
    per_call=st.sampled_from([None, 1, 2]),
    suffix=st.sampled_from([".jsonl", ".csv"]),
)
def test_what_is_written_reads_as_the_same_verdicts(
    rubrics: int, replies: list[str], reasks: int, per_call: int | None, suffix: str
) -> None:
    texts = [f"Rubric {number}?" for number in range(1, rubrics + 1)]
    critique = judged(texts, replies, reasks=reasks, per_call=per_call)
    verdicts = decided(critique.judgments)
    assert read_again(texts, critique, suffix) == verdicts


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_rubrics_keep_their_numbers_after_a_re_ask(suffix: str) -> None:
    texts = ["First?", "Second?", "Third?"]
    replies = [reply("YES", "perhaps", "NO"), reply("hm"), reply("NO, it is not")]
    critique = judged(texts, replies, reasks=2)
    assert decided(critique.judgments) == [Status.MET, Status.UNMET, Status.UNMET]
    assert read_again(texts, critique, suffix) == [Status.MET, Status.UNMET, Status.UNMET]
    answers = {"question_1": "YES", "question_2": "NO, it is not", "question_3": "NO"}
    result = written(texts, critique)
    assert result["rubrics_check"] == answers
    assert json.loads(result["raw_output"]) == {
        "rubrics_check": answers,
        "SATISFIED_ALL_REQUIREMENTS": "NO",
    }


def test_one_reply_that_reads_well_is_written_as_it_came() -> None:
    answers = ("It is there. Yes", "Four sentences. No")
    said = f"Let me see.\n```json\n{reply(*answers)}\n```"
    texts = ["First?", "Second?"]
    result = written(texts, judged(texts, [said], reasks=3))
    assert result["raw_output"] == said
    assert tuple(result["rubrics_check"].values()) == answers


def test_what_was_not_decided_is_not_decided_again_and_the_whole_stays_open() -> None:
    texts = ["First?", "Second?"]
    critique = judged(texts, [reply("YES", "perhaps"), reply("hm")], reasks=1)
    result = written(texts, critique)
    assert json.loads(result["raw_output"]) == {"rubrics_check": {"question_1": "YES"}}


@given(
    words=st.lists(
        st.sampled_from(["yes", "no", "not", "or", "and", " ", ".", "/", "\n", "x"])
    ).map("".join),
    status=st.sampled_from([Status.MET, Status.UNMET]),
)
def test_any_explanation_can_be_written_and_reads_as_its_verdict(
    words: str, status: Status
) -> None:
    judgment = Judgment(status=status, explanation=words)
    rubric = Constraint(text="First?")
    (read,) = prompts.make("advancedif").parse(
        prompts.make("advancedif").write([judgment], [rubric]), [rubric]
    )
    assert read.status is status
    assert words.strip() in read.explanation


def test_an_explanation_that_begins_like_a_verdict_gets_its_verdict() -> None:
    unmet = Judgment(status=Status.UNMET, explanation="Not there")
    met = Judgment(status=Status.MET, explanation="Yesterday it was")
    texts = ["First?", "Second?"]
    critique = Critique(judgments=(unmet, met))
    assert list(written(texts, critique)["rubrics_check"].values()) == [
        "Not there (verdict: NO)",
        "Yesterday it was YES",
    ]
    for suffix in (".jsonl", ".csv"):  # read again though no judge has replied
        assert read_again(texts, critique, suffix) == [Status.UNMET, Status.MET]
