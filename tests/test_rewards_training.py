"""What training adds to a reward: an alarm, and a critic that is trained."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful import Check, Constraint, Critique, Message, Sample, Status, UsageError
from heedful.judges.model import Checklist
from heedful.judges.prompts.plain import Plain
from heedful.models import ScriptedModel
from heedful.rewards import (
    Divergence,
    Reward,
    Rewarded,
    critic_rows,
    for_rows,
    for_trl,
    for_trl_critic,
)
from told import Told

COMMA = {"id": "punctuation:no_comma"}
NO_COMMAS = Constraint(text="No commas.", check=Check(id="punctuation:no_comma"))


def sample(response: str | None, *texts: str, prompt: str = "Greet me.") -> Sample:
    return Sample(
        id="1",
        conversation=(Message(role="user", content=prompt),),
        checklist=tuple(Constraint(text=text) for text in texts or ("It is polite.",)),
        response=response,
    )


# --- the alarm ---


def rewarded(value: float | None) -> Rewarded:
    decided = value is not None
    return Rewarded(value, decided, None if value is None else (value, value), Critique())


def gaps(divergence: Divergence, *steps: float) -> list[int | None]:
    """Record steps of four responses with these gaps around them; return the alarms."""
    alarms = []
    for step, gap in enumerate(steps):
        references = [0.2, 0.4, 0.4, 0.6]
        noise = [0.01 * ((step + at) % 3 - 1) for at in range(4)]
        divergence.record(
            step,
            [rewarded(other + gap + each) for other, each in zip(references, noise, strict=True)],
            [rewarded(other) for other in references],
        )
        alarms.append(divergence.alarm)
    return alarms


def test_a_growing_gap_is_an_alarm_and_a_constant_one_is_none() -> None:
    grown = gaps(Divergence(Reward(), window=5, patience=2), *[0.1] * 10, *[0.4] * 10)
    assert grown[9] is None
    assert grown[-1] is not None
    assert grown[-1] == next(step for step, alarm in enumerate(grown) if alarm is not None)
    assert gaps(Divergence(Reward(), window=5), *[0.4] * 40)[-1] is None
    assert gaps(Divergence(Reward(), window=5), *[0.4] * 20, *[0.1] * 20)[-1] is None
    assert gaps(Divergence(Reward(), window=5, limit=0.5), *[0.1] * 10, *[0.4] * 10)[-1] is None


def test_single_responses_are_watched_and_eight_of_them_are_a_step() -> None:
    """The reward finds all met and its reference nothing, from the 40th response on."""
    judged = iter([Status.MET] * 40 + [Status.UNMET] * 80)
    with (
        Reward(Told(), gates="none", undecided=0.0) as reward,
        Reward(Told(lambda *_: next(judged)), gates="none") as other,
    ):
        divergence = Divergence(other, share=1.0, window=5, patience=2)
        score = for_rows(reward, divergence=divergence)
        label = {"prompt": "Greet.", "checklist": ["It is polite."]}
        found = [asyncio.run(score(label, "Hi.")) for _ in range(120)]
    assert [each["gap"] for each in found] == [0] * 40 + [1] * 80
    assert [gap for _, gap, _ in divergence.gaps] == [0] * 5 + [1] * 10
    # The last five steps of ten are all gamed at the 80th response, and in the step after it too.
    assert [each["alarm"] for each in found] == [0] * 87 + [1] * 33


def test_only_a_share_of_single_responses_is_judged_again() -> None:
    told = Told()
    with Reward(gates="none") as reward, Reward(told) as other:
        divergence = Divergence(other, share=0.25)
        row = sample("Hi.", "It is polite.")
        (scored,) = reward.score_sync([row])
        seen = [asyncio.run(divergence.watch(row, scored)) for _ in range(200)]
    assert 30 < len(told.asked) < 70
    assert {each["compared"] for each in seen} == {0}  # the reward decides none


def test_undecided_rewards_are_not_compared() -> None:
    divergence = Divergence(Reward(), window=5)
    pairs = [(0.5, None), (None, 0.5), (0.75, 0.5), (0.5, 0.25)]
    logs = divergence.record(1, *([rewarded(pair[side]) for pair in pairs] for side in (0, 1)))
    assert (logs["compared"], logs["gap"], logs["reference"]) == (2, 0.25, 0.375)
    logs = divergence.record(2, [rewarded(None)], [rewarded(0.5)])
    assert logs == {"compared": 0, "alarm": 0}
    assert [step for step, _, _ in divergence.gaps] == [1]


@given(st.integers(0, 300), st.integers(0, 1000), st.floats(0.01, 1))
def test_a_part_of_each_batch_is_drawn(size: int, step: int, share: float) -> None:
    drawn = Divergence(Reward(), share=share).draw(size, step)
    assert drawn == sorted(set(drawn))
    assert len(drawn) == (max(1, round(share * size)) if size else 0)
    assert all(0 <= at < size for at in drawn)
    assert drawn == Divergence(Reward(), share=share).draw(size, step)


@pytest.mark.parametrize(
    "options", [{"share": 0}, {"share": 1.1}, {"window": 4}, {"patience": 0}, {"limit": -1}]
)
def test_an_alarm_that_cannot_work_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        Divergence(Reward(), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("blocking", [False, True], ids=["async", "sync"])
def test_the_adapter_of_trl_logs_the_gap(*, blocking: bool) -> None:
    divergence = Divergence(Reward(gates="none"), share=1.0)
    lenient = Reward(Checklist(ScriptedModel("<c1>\nVERDICT: MET\n</c1>"), Plain()), gates="none")
    function = for_trl(lenient, name="critic", blocking=blocking, divergence=divergence)
    logged: dict[str, float] = {}
    rows = [[{"text": "No commas.", "check": COMMA}], [{"text": "It is kind."}]]
    # To the trainer's judge both are met; code knows that the first isn't, and nothing of the rest.
    texts = ["Greet me."] * 2, ["Hi, you.", "Hi you."]

    async def trained() -> Any:
        answer = function(*texts, checklist=rows, log_metric=logged.__setitem__)
        return answer if blocking else await answer

    answer = asyncio.run(trained())
    lenient.close()
    divergence.reference.close()
    assert answer == [0, 1]
    assert (logged["critic/compared"], logged["critic/gap"]) == (1, 0)
    assert logged["critic/alarm"] == 0


# --- a critic in training ---


def test_a_critic_is_rewarded_for_agreeing_with_labels() -> None:
    labels = (True, False, None, True)
    row = sample("Hello.", "a", "b", "c", "d").model_copy(update={"labels": labels})
    (made,) = critic_rows([row, sample("Hello.", "a"), sample(None, "a")])
    assert made["labels"] == list(labels)
    assert "Hello." in made["prompt"][-1]["content"]

    def critique(*verdicts: str) -> str:
        return "\n".join(f"<c{at}>\n{each}\n</c{at}>" for at, each in enumerate(verdicts, 1))

    met, unmet = "VERDICT: MET", "VERDICT: UNMET"
    completions = [
        critique(met, unmet, met, met),  # all that is labelled
        critique(met, met, met, unmet),
        critique(met, "I can't say.", met, met),  # without a verdict, it doesn't agree
        "",
        [{"role": "assistant", "content": critique(unmet, met, unmet, met)}],
    ]
    logged: dict[str, float] = {}
    function = for_trl_critic()
    columns = {key: [made[key]] * len(completions) for key in ("checklist", "labels")}
    values = function(completions=completions, prompts=[], **columns, log_metric=logged.__setitem__)
    assert values == pytest.approx([1, 1 / 3, 2 / 3, 0, 1 / 3])
    assert logged["agreement/parsed"] == pytest.approx((3 + 3 + 2 + 0 + 3) / 15)
    assert function(completions=["x"], checklist=[made["checklist"]], labels=[None]) == [None]
    with pytest.raises(UsageError):
        function(completions=["x"], checklist=[made["checklist"]])
