"""Judges that ask models: protocols, votes, re-asking, what is kept and what it costs."""

import asyncio
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful import Check, Constraint, Message, Sample, Status, evaluate
from heedful.core.errors import ModelError
from heedful.jobs.evaluate_tables import notes
from heedful.judges import Cascade, Panel, Rules, make_judge, prompts
from heedful.judges.model import Checklist
from heedful.models import ScriptedModel

PLAIN = prompts.make("plain")


def sample(*texts: str, key: str = "1", response: str | None = "A response.") -> Sample:
    return Sample(
        id=key,
        conversation=(Message(role="user", content=f"Question {key}."),),
        checklist=tuple(Constraint(text=text) for text in texts),
        response=response,
    )


def numbers(messages: Sequence[Message]) -> list[int]:
    """The numbers of the constraints in a plain prompt."""
    listed = messages[-1].content.rsplit("CHECKLIST", 2)[1]
    return [int(number) for number in re.findall(r"^(\d+)\. ", listed, re.MULTILINE)]


def block(number: int, verdict: str) -> str:
    return f"<c{number}>\nBecause of what it says.\nVERDICT: {verdict}\n</c{number}>"


def replying(
    verdict: Callable[[int], str], fail: Callable[[int], Exception | None] = lambda _: None
) -> ScriptedModel:
    def reply(messages: Sequence[Message], number: int) -> str:
        return "\n\n".join(block(k, verdict(number)) for k in numbers(messages))

    return ScriptedModel(reply, fail=fail)


def met(_: int) -> str:
    return "MET"


def judge(judge: Any, row: Sample) -> Any:
    return asyncio.run(judge.judge(row))


@pytest.mark.parametrize(("per_call", "calls"), [(None, 1), (1, 5), (2, 3), (9, 1)])
def test_the_protocol_decides_how_many_calls_are_made(per_call: int | None, calls: int) -> None:
    model = replying(met)
    critique = judge(Checklist(model, PLAIN, per_call=per_call), sample(*"abcde"))
    assert len(model.calls) == calls
    assert [judgment.status for judgment in critique.judgments] == [Status.MET] * 5
    assert critique.judgments[0].explanation == "Because of what it says."
    assert sum(expense.calls for expense in critique.expenses) == calls


def test_what_a_reply_leaves_out_is_asked_for_again_and_only_that() -> None:
    model = ScriptedModel([block(1, "MET"), block(1, "UNMET")])
    critique = judge(Checklist(model, PLAIN), sample("a", "b"))
    assert [judgment.status for judgment in critique.judgments] == [Status.MET, Status.UNMET]
    assert numbers(model.calls[1].messages) == [1]
    assert [expense.reasks for expense in critique.expenses] == [0, 1]


def test_a_call_that_fails_fails_its_own_constraints() -> None:
    def second(call: int) -> Exception | None:
        return ModelError("the server is on fire") if call == 1 else None

    model = ScriptedModel(block(1, "MET"), fail=second)
    critique = judge(Checklist(model, PLAIN, per_call=1), sample("a", "b", "c"))
    assert [item.status for item in critique.judgments] == [Status.MET, Status.FAILED, Status.MET]
    assert "on fire" in critique.judgments[1].explanation
    alone = judge(
        Checklist(ScriptedModel("", fail=lambda _: ModelError("off")), PLAIN), sample("a")
    )
    assert alone.text is None


def test_a_row_without_a_response_costs_no_call() -> None:
    model = replying(met)
    asked = Checklist(model, PLAIN)
    row = sample("a", response=None)
    assert judge(asked, row).judgments[0].status is Status.FAILED
    assert asked.request(row, [0]) is None
    assert not model.calls


def test_the_last_user_turn_must_say_something() -> None:
    model = replying(met)
    turns = [Message(role="user", content=text) for text in ("Write.", " ")]
    row = sample("a").model_copy(update={"conversation": (*turns,)})
    critique = judge(Checklist(model, PLAIN), row)
    assert critique.judgments[0].status is Status.FAILED
    assert critique.text is None
    asked = row.model_copy(update={"conversation": (turns[1], turns[0])})
    assert judge(Checklist(model, PLAIN), asked).judgments[0].status is Status.MET


def vote(*verdicts: str, min_confidence: float = 0.0) -> Any:
    model = replying(lambda number: verdicts[number % 1000])  # an asking again adds 1000
    draws = [Checklist(model, PLAIN, sample_index=draw) for draw in range(len(verdicts))]
    return judge(Panel(*draws, min_confidence=min_confidence), sample("a")).judgments[0]


def test_a_vote_takes_the_majority_and_keeps_the_votes() -> None:
    result = vote("MET", "UNMET", "MET")
    assert result.status is Status.MET
    assert result.confidence == pytest.approx(2 / 3)
    assert [item["status"] for item in result.votes] == ["met", "unmet", "met"]
    assert result.judge == "3 x scripted/plain"


def test_ties_and_small_majorities_decide_nothing() -> None:
    assert vote("MET", "UNMET").status is Status.UNPARSED
    assert vote("MET", "UNMET", "MET", min_confidence=0.75).status is Status.UNPARSED
    assert vote("MET", "MET", "MET", min_confidence=0.75).status is Status.MET


def test_a_cascade_asks_the_model_only_for_what_code_leaves_open() -> None:
    check = Check(id="punctuation:no_comma")
    row = sample("Friendly.").model_copy(
        update={"checklist": (Constraint(text="No commas.", check=check), Constraint(text="b"))}
    )
    model = replying(met)
    critique = judge(Cascade(Rules(), Checklist(model, PLAIN)), row)
    assert [judgment.judge for judgment in critique.judgments] == ["rules", "scripted/plain"]
    assert len(numbers(model.calls[0].messages)) == 1


def test_the_summary_counts_votes_and_how_often_they_were_split() -> None:
    """Three members on two constraints: the first is split 2 to 1, the second unanimous."""

    def member(draw: int, *verdicts: str) -> Checklist:
        reply = "\n".join(block(k, verdict) for k, verdict in enumerate(verdicts, start=1))
        return Checklist(ScriptedModel(reply), PLAIN, reasks=0, sample_index=draw)

    panel = Panel(member(0, "MET", "MET"), member(1, "UNMET", "MET"), member(2, "UNMET", "maybe"))
    votes = evaluate([sample("a", "b")], judge=panel).summary["votes"]
    assert (votes["disagreement"]["numerator"], votes["disagreement"]["denominator"]) == (1, 2)
    counts = votes["judges"]["scripted/plain"]
    assert (counts["met"], counts["unmet"], counts["unparsed"]) == (3, 2, 1)
    assert counts["with_majority"] == 4 / 5  # all but the first member's first vote
    assert evaluate([sample("a")], judge=member(0, "MET")).summary["votes"] == {}


class Letters:
    """Counts letters for constraints that speak of them."""

    version = "letters 1"

    def __call__(self, sample: Sample, constraint: Constraint) -> str | None:
        letters = sum(map(str.isalpha, sample.response or ""))
        return f"the response has {letters} letters" if "letters" in constraint.text else None


def test_what_code_counted_stands_beside_its_constraint_and_only_there() -> None:
    model = replying(met)
    judge(Checklist(model, PLAIN, measure=Letters()), sample("Friendly.", "Few letters."))
    listed = model.calls[0].messages[-1].content.rsplit("CHECKLIST", 2)[1]
    lines = listed.strip().splitlines()
    assert lines[1:4] == [
        "1. Friendly.",
        "2. Few letters.",
        "Counted by code: the response has 9 letters",
    ]
    assert Checklist(model, PLAIN, measure=Letters()).config["measure"] == "letters 1"


def test_a_retry_asks_again_for_the_undecided_and_only_for_that(tmp_path: Path) -> None:
    rows = [sample("a", "b", key=str(key)) for key in range(4)]
    judging: dict[str, Any] = {"run": tmp_path, "concurrency": 1}

    def first(call: int) -> Exception | None:
        return ModelError("busy") if call == 0 else None

    def one_is_shy(messages: Sequence[Message], _: int) -> str:
        shy = any("Question 2." in message.content for message in messages)
        return "Hm." if shy else "\n".join(block(k, "MET") for k in numbers(messages))

    before = ScriptedModel(one_is_shy, fail=first)
    result = evaluate(rows, judge=Checklist(before, PLAIN), **judging).summary
    assert (result["verdicts"]["failed"], result["verdicts"]["unparsed"]) == (2, 2)
    same = replying(met)
    evaluate(rows, judge=Checklist(same, PLAIN), **judging)
    assert not same.calls
    again = replying(met)
    result = evaluate(rows, judge=Checklist(again, PLAIN), retry_failed=True, **judging).summary
    assert result["verdicts"]["met"] == 8
    assert len(again.calls) == 2


@given(st.lists(st.booleans(), min_size=2, max_size=2))
def test_what_code_contradicts_is_not_accepted(says: list[bool]) -> None:
    """Code finds the first met, the second unmet; the third isn't for code."""
    row = sample("At most 5 words.", "At least 300 words.", "It is witty.")
    words = ["MET" if met else "UNMET" for met in says]

    def reply(messages: Sequence[Message], _: int) -> str:
        return "\n\n".join(block(k, [*words, "MET"][k - 1]) for k in numbers(messages))

    options: dict[str, Any] = {"reasks": 0, "model": ScriptedModel(reply)}
    loose = judge(make_judge("checklist", **options), row)
    assert [each.status.value for each in loose.judgments] == [*map(str.lower, words), "met"]
    strict = judge(make_judge("checklist", reject_contradictions=True, **options), row)
    right = [says[0], not says[1], True]
    assert [each.status.decided for each in strict.judgments] == right
    for before, after, stays in zip(loose.judgments, strict.judgments, right, strict=True):
        assert (after == before) is stays
        assert stays or after.status is Status.UNPARSED


def test_what_its_own_words_contradict_is_not_accepted() -> None:
    reply = "<c1>\nSo the constraint is not met.\nVERDICT: MET\n</c1>"
    options: dict[str, Any] = {"reasks": 0, "model": ScriptedModel([reply] * 9)}
    for reject, status in ((False, Status.MET), (True, Status.UNPARSED)):
        made = make_judge("checklist", reject_contradictions=reject, **options)
        (judgment,) = judge(made, sample("It is witty.")).judgments
        assert judgment.status is status
        assert (judgment.model_extra or {})["contradiction"]
        summary = evaluate([sample("It is witty.")], judge=made).summary
        assert ("1 verdict contradicted by" in "".join(notes(summary))) is not reject


def test_one_constraint_is_asked_for_with_a_schema_that_ends() -> None:
    formats = []
    model = ScriptedModel(['{"constraint": 1, "verdict": "met"}'] * 2)
    generate = model.generate

    async def watched(messages: Any, sampling: Any, **rest: Any) -> Any:
        formats.append(sampling.response_format["json_schema"]["schema"])
        return await generate(messages, sampling, **rest)

    model.generate = watched  # type: ignore[method-assign]
    asked = Checklist(model, prompts.make("structured", explain=False), per_call=1)
    critique = judge(asked, sample("Short.", "Polite."))
    assert [each.status for each in critique.judgments] == [Status.MET, Status.MET]
    assert all(each["properties"]["constraint"]["enum"] == [1] for each in formats)
