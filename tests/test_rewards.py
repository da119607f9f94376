"""Rewards: what a critique is worth, what is asked for it, and what cannot be decided."""

import asyncio
import itertools
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful import Check, Constraint, Critique, Judgment, Sample, Status, StopRunError, UsageError
from heedful.core import rubric
from heedful.core.errors import ModelError, RowError
from heedful.core.nouns import Message
from heedful.core.reasoning import answered
from heedful.core.scale import Level, Scale
from heedful.judges.model import Checklist
from heedful.judges.prompts.plain import Plain
from heedful.models import OpenAIModel, ScriptedModel
from heedful.rewards import (
    AGGREGATES,
    LengthPenalty,
    Reward,
    Terms,
    for_trl,
    trl_rewards,
)
from heedful.rewards.gates import GATES, shows_nothing

NO_COMMAS = Constraint(text="No commas.", check=Check(id="punctuation:no_comma"))
POLITE = Constraint(text="It is polite.")
WARM = Constraint(text="It is warm.")

STATUSES = st.sampled_from(list(Status))
CONSTRAINTS = st.builds(
    lambda priority, check, weight: Constraint.model_validate(
        {"text": "x", "priority": priority, "check": check, "weight": weight}
    ),
    st.sampled_from(["primary", "secondary"]),
    st.sampled_from([None, {"id": "punctuation:no_comma"}]),
    st.sampled_from([0.5, 1, 2]),
)


def sample(response: str, *checklist: Constraint, **fields: Any) -> Sample:
    conversation = [{"role": "user", "content": "Greet me."}]
    known = {"id": "1", "conversation": conversation, "checklist": checklist, "response": response}
    return Sample.model_validate({**known, **fields})


def critique(*statuses: str) -> Critique:
    return Critique(judgments=tuple(Judgment(status=Status(status)) for status in statuses))


def critic(verdict: Callable[[str], str] | str = "MET", **script: Any) -> ScriptedModel:
    """A model that gives each constraint it is asked for the verdict that its text calls for."""

    def reply(messages: Sequence[Message], _: int) -> str:
        prompt = messages[-1].content
        known = (NO_COMMAS, POLITE, WARM)
        asked = sorted((prompt.find(item.text), item.text) for item in known if item.text in prompt)
        asked += [(0, "guard")] * sum(
            words in prompt
            for words in ("an attempt at the task", "no evaluation of itself", "it is not cut off")
        )
        verdicts = [verdict if isinstance(verdict, str) else verdict(text) for _, text in asked]
        blocks = enumerate(verdicts, 1)
        return "\n".join(f"<c{at}>\nSeen.\nVERDICT: {one}\n</c{at}>" for at, one in blocks)

    return ScriptedModel(reply, **script)


def judge(model: ScriptedModel) -> Checklist:
    return Checklist(model, Plain())


# --- what a critique is worth --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [("fraction", 2 / 3), ("all_or_nothing", 0), ("weighted", 0.9), ("psr", 0), ("gate", 1)],
)
def test_aggregates_by_hand(aggregate: str, expected: float) -> None:
    checklist = [
        {"text": "a", "priority": "primary", "weight": 4, "check": {"id": "punctuation:no_comma"}},
        {"text": "b", "priority": "secondary", "weight": 5},
        {"text": "c", "priority": "secondary", "weight": 1},
    ]
    row = Sample.model_validate({"id": "1", "checklist": checklist, "response": "x"})
    verdicts = ("met", "met", "unmet")
    result = Terms(AGGREGATES[aggregate]).reward(row, critique(*verdicts))
    if aggregate == "gate":
        expected = 0.5
    assert result.value == pytest.approx(expected)
    assert result.decided


def test_psr_passes_where_more_than_three_fifths_of_the_secondary_ones_are_met() -> None:
    primary = Constraint(text="p", priority="primary")
    row = sample("x", primary, *[Constraint(text="s", priority="secondary")] * 3)
    terms = Terms(AGGREGATES["psr"])
    assert terms.reward(row, critique("met", "met", "met", "unmet")).value == 1
    assert terms.reward(row, critique("met", "met", "unmet", "unmet")).value == 0
    assert terms.reward(row, critique("unmet", "met", "met", "met")).value == 0


@given(st.lists(st.tuples(CONSTRAINTS, STATUSES), min_size=1, max_size=6), st.data())
def test_a_reward_is_decided_iff_no_completion_of_the_verdicts_changes_it(
    rows: list[tuple[Constraint, Status]], data: st.DataObject
) -> None:
    terms = Terms(data.draw(st.sampled_from(list(AGGREGATES.values()))))
    row = sample("x", *(constraint for constraint, _ in rows))
    result = terms.reward(row, critique(*(status for _, status in rows)))
    options = [[status] if status.settled else [Status.MET, Status.UNMET] for _, status in rows]
    values = {
        terms.reward(row, critique(*completed)).value for completed in itertools.product(*options)
    }
    if {status for _, status in rows} == {Status.NOT_APPLICABLE}:
        assert values == {None}
        return
    assert result.decided == (len(values) == 1)
    assert result.bounds == (min(values), max(values))  # type: ignore[type-var]
    assert result.value == (values.pop() if result.decided else None)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"checklist": []}, "the checklist is empty"),
        ({"checklist": [{"text": "a"}], "response": None}, "has no response"),
        ({"checklist": [{"text": "a", "weight": 1e12}]}, "constraint 1 has the weight 1e+12"),
        ({"checklist": [{"text": "a", "weight": 0}]}, "all weights are 0"),
    ],
)
def test_what_cannot_be_computed_has_no_reward_and_says_why(
    fields: dict[str, Any], problem: str
) -> None:
    row = Sample.model_validate({"id": "1", "response": "x", **fields})
    result = Terms(AGGREGATES["weighted"]).reward(row, critique(*["met"] * len(row.checklist)))
    assert (result.value, result.decided) == (None, False)
    assert problem in str(result.problem)


@pytest.mark.parametrize(
    ("level", "weight", "expected"),
    [("bad", 1, 0.5), ("fair", 1, 0.75), ("good", 1, 1), ("fair", -1, 0.75), ("good", -1, 0.5)],
)
def test_a_level_earns_its_share(level: str, weight: float, expected: float) -> None:
    """Beside a constraint that is met; of a mistake, the share that wasn't made."""
    levels = tuple(
        Level(label=label, value=at / 2) for at, label in enumerate(("bad", "fair", "good"))
    )
    scale = Scale(levels=levels)
    scaled = Constraint(text="tone", weight=weight, scale=scale)
    judged = Judgment(status=Status.MET), rubric.judgment_at(scale, level)
    result = Terms(AGGREGATES["fraction"]).reward(
        sample("x", POLITE, scaled), Critique(judgments=judged)
    )
    assert result.value == pytest.approx(expected)


WEIGHTS = st.none() | st.integers(-3, 3).filter(bool)


@given(st.lists(st.tuples(WEIGHTS, st.booleans()), min_size=1, max_size=6))
def test_weights_reward_what_is_met_and_take_for_mistakes(
    given_weights: list[tuple[int | None, bool]],
) -> None:
    """A criterion with a negative weight names a mistake: it is met where the mistake is made."""
    checklist = [Constraint(text="x", weight=weight) for weight, _ in given_weights]
    rows = [(1 if weight is None else weight, met) for weight, met in given_weights]
    statuses = ["met" if met else "unmet" for _, met in rows]
    result = Terms(AGGREGATES["weighted"]).reward(sample("x", *checklist), critique(*statuses))
    best = sum(weight for weight, _ in rows if weight > 0)
    points = sum(weight for weight, met in rows if met)
    worst = sum(weight for weight, _ in rows)
    expected = points / best if best else 1 - points / worst
    assert result.value == pytest.approx(min(1, max(0, expected)))


def test_psr_without_priorities_is_not_decided() -> None:
    result = Terms(AGGREGATES["psr"]).reward(sample("x", POLITE), critique("met"))
    assert "priority" in str(result.problem)


def test_a_length_penalty_grows_in_proportion() -> None:
    penalty = LengthPenalty(100, 200, 0.5)
    assert [penalty("x" * n) for n in (0, 100, 150, 200, 999)] == [0, 0, 0.25, 0.5, 0.5]
    result = Terms(length=penalty).reward(sample("x" * 150, POLITE), critique("met"))
    assert result.value == 0.75
    with pytest.raises(UsageError, match="makes no sense"):
        LengthPenalty(200, 100)


def test_a_stopped_response_pays_for_its_length_too() -> None:
    """Else a long response would gain by being stopped."""
    terms = Terms(length=LengthPenalty(100, 200, 0.5), gates=frozenset({"repetition"}))
    loop = sample("Tea is warm. " * 40, POLITE)
    assert terms.gate(loop) is not None
    assert terms.judged(loop, critique("met")).value == -0.5
    assert terms.judged(loop, critique("unmet")).value == -0.5


# --- empty responses -----------------------------------------------------------------------------

EMPTY = ["", " \n\t", "\u200b" * 9, "\ufeff", "\u2060\u00ad\u200d", "\u3164", "\u2800", "\u034f"]
EMPTY += ["\ufffc"]
REASONING = ["<think>long</think>", "<think>only", "<think>\n\n</think>\n\n", "So.\n</think>\n"]
EMPTY += ["<!-- -->", "<!-- a\n", "<!-->", "```\n```", "```python\n```", "~~~~", "``````"]
EMPTY += ["<|im_end|>", "<|endoftext|>", "</s>", "<｜end▁of▁sentence｜>", "<end_of_turn>\n"]
EMPTY += ["<Reasoning>a</Reasoning>\u200b<!-- b -->\n```\n\n```\n<|im_end|>\n</s>"]


@pytest.mark.parametrize("response", EMPTY + REASONING)
@pytest.mark.parametrize("aggregate", ["fraction", "all_or_nothing", "gate", "weighted"])
def test_an_empty_response_is_worth_nothing_whatever_the_judge_says(
    aggregate: str, response: str
) -> None:
    model = critic("MET")
    checklist = (NO_COMMAS, POLITE)
    with Reward(judge(model), aggregate) as reward:
        empty, full = reward.score_sync([sample(response, *checklist), sample("Hi!", *checklist)])
        summary = reward.summary()
    assert (empty.value, empty.decided, empty.gate and empty.gate.gate) == (0, True, "empty")
    assert (full.value, full.gate) == (1, None)
    assert len(model.calls) == 1
    assert (summary["gates"]["empty"], summary["mean"]) == (1, 0.5)
    assert Terms().judged(answered(sample(response, POLITE)), critique("met")).value == 0


@pytest.mark.parametrize("response", EMPTY)
def test_an_empty_response_is_judged_where_that_is_asked_for(response: str) -> None:
    model = critic("MET")
    with Reward(judge(model), gates=[name for name in GATES if name != "empty"]) as reward:
        (result,) = reward.score_sync([sample(response, POLITE)])
    assert (result.value, result.gate, len(model.calls)) == (1, None, 1)
    terms = Terms(gates=frozenset())
    assert terms.judged(sample(response, POLITE), critique("met")).value == 1


_HIDDEN = ["<!-- a -->", "<|im_end|>", "</s>", "\u200b", "\n```\n```\n", " "]


@given(st.lists(st.sampled_from(_HIDDEN)), st.lists(st.sampled_from(_HIDDEN)))
def test_what_no_reader_sees_makes_no_response(before: list[str], after: list[str]) -> None:
    assert shows_nothing("".join(before + after))
    assert not shows_nothing("".join([*before, "0", *after]))


def test_a_row_without_an_instruction_has_no_reward_unless_code_decides_it_all() -> None:
    model = critic("MET")
    with Reward(judge(model)) as reward:
        open_, coded = reward.score_sync(
            [
                sample("a b", NO_COMMAS, POLITE, conversation=[]),
                sample("a b", NO_COMMAS, conversation=[]),
            ]
        )
    assert (open_.value, open_.bounds, coded.value) == (None, (0.5, 1), 1)
    assert "no instruction" in open_.critique.judgments[1].explanation
    assert "no instruction" in str(open_.problem)
    assert not model.calls


ROWS = st.fixed_dictionaries(
    {"prompt": st.sampled_from(["Greet.", "Go."]), "checklist": st.sampled_from([["a"], ["b"], 3])},
    optional={
        "id": st.sampled_from(["x", "", 7, True, None, []]),
        "response": st.sampled_from(["Hi.", "<think>a</think>b", None, 3]),
        "reasoning": st.sampled_from(["why", None]),
    },
)


@given(st.lists(ROWS, max_size=6))
def test_rows_of_a_request_are_read_as_each_by_itself(rows: list[dict[str, Any]]) -> None:
    app = pytest.importorskip("heedful.rewards.server.app")
    together = app.RequestRows()

    def outcome(read: Callable[..., Sample], at: int) -> object:
        try:
            return read(rows[at], at)
        except RowError as error:
            return str(error)

    for at in range(len(rows)):
        assert outcome(together.read, at) == outcome(app.read_row, at)


# --- asking -------------------------------------------------------------------------------------


def test_code_goes_first_and_the_judge_is_asked_only_for_the_rest() -> None:
    model = critic()
    with Reward(judge(model)) as reward:
        both, coded = reward.score_sync(
            [sample("a, b", NO_COMMAS, POLITE), sample("a b", NO_COMMAS)]
        )
        summary = reward.summary()
    assert (both.value, coded.value) == (0.5, 1)
    assert [item.judge for item in both.critique.judgments] == ["rules", "scripted/plain"]
    assert len(model.calls) == 1
    assert NO_COMMAS.text not in model.calls[0].messages[-1].content
    assert (summary["mean"], summary["coverage"], summary["cost"]["calls"]) == (0.75, 1, 1)


@pytest.mark.parametrize("aggregate", ["all_or_nothing", "gate"])
def test_where_code_settles_the_reward_nobody_is_asked(aggregate: str) -> None:
    model = critic()
    with Reward(judge(model), aggregate) as reward:
        (result,) = reward.score_sync([sample("a, b", NO_COMMAS, POLITE, WARM)])
    assert (result.value, result.decided, result.skipped, result.coverage) == (0, True, 2, 1)
    assert not model.calls


def test_equal_askings_cost_one_call_and_a_cache_outlives_the_reward(tmp_path: Path) -> None:
    model = critic(latency_s=0.01)
    for _ in range(2):
        with Reward(judge(model), cache=tmp_path / "cache") as reward:
            result = reward.score_sync([sample("a", POLITE)] * 20)
            again = reward.score_sync([sample("a", POLITE)])
            assert {item.value for item in result + again} == {1}
    assert len(model.calls) == 1


def test_concurrency_is_bounded_over_all_batches() -> None:
    flying = most = 0

    class Counting:
        name = "counting"
        config: dict[str, Any] = {}  # noqa: RUF012 - a constant

        async def judge(self, row: Sample, requested: Sequence[int] | None = None) -> Critique:
            nonlocal flying, most
            flying += 1
            most = max(most, flying)
            await asyncio.sleep(0.002)
            flying -= 1
            return critique(*["met"] * len(requested or row.checklist))

    async def batches(reward: Reward) -> None:
        rows = [sample(str(at), POLITE) for at in range(10)]
        await asyncio.gather(*(reward.score(rows) for _ in range(3)))

    with Reward(Counting(), concurrency=4) as reward:
        asyncio.run(batches(reward))
    assert most == 4


def test_one_reward_serves_loops_and_threads_at_the_same_time() -> None:
    model = critic(latency_s=0.005)
    rows = [sample(str(at), POLITE) for at in range(5)]

    def in_a_loop(_: int) -> list[float | None]:
        async def score() -> list[float | None]:
            inside = reward.score_sync(rows)  # blocks this loop, and deadlocks nothing
            awaited = await reward.score(rows)
            return [item.value for item in inside + awaited]

        return asyncio.run(score())

    with Reward(judge(model)) as reward, ThreadPoolExecutor(4) as pool:
        result = list(pool.map(in_a_loop, range(4)))
    assert result == [[1.0] * 10] * 4
    assert len(model.calls) == 5


def test_a_closed_reward_can_be_used_again() -> None:
    reward = Reward(judge(critic()))
    for _ in range(2):
        assert reward.score_sync([sample("a", POLITE)])[0].value == 1
        reward.close()


@pytest.mark.slow
def test_a_reward_that_is_never_closed_ends_with_its_process() -> None:
    code = (
        "from heedful import Check, Constraint, Reward, Sample\n"
        "check = Check(id='punctuation:no_comma')\n"
        "row = Sample(id='1', checklist=(Constraint(text='c', check=check),), response='a')\n"
        "kept = Reward()\n"
        "print(Reward().score_sync([row])[0].value, kept.score_sync([row])[0].value)\n"
    )
    words = [sys.executable, "-X", "dev", "-W", "error", "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    said = [line for line in done.stderr.splitlines() if not line.startswith("Executing")]
    assert (done.returncode, done.stdout, said) == (0, "1.0 1.0\n", [])


def test_a_session_judges_in_the_running_loop_and_goes_on_when_nobody_waits() -> None:
    model = critic(latency_s=0.05)
    row = sample("a, b", NO_COMMAS, POLITE)

    async def judged(reward: Reward) -> None:
        async with reward.session() as session:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(asyncio.shield(session.reward(row)), 0.01)
            found, critique = await asyncio.gather(session.reward(row), session.critique(row))
            assert found.value == 0.5
            assert [item.status for item in critique.judgments] == [Status.UNMET, Status.MET]
            with pytest.raises(UsageError, match="in use"):
                reward.score_sync([row])
            with pytest.raises(UsageError, match="in use"):
                async with reward.session():
                    pass
            assert reward.summary()["cost"]["calls"] == len(model.calls) == 1

    reward = Reward(judge(model))
    asyncio.run(judged(reward))
    assert reward.score_sync([row])[0].value == 0.5
    reward.close()


def test_waiting_can_be_given_up() -> None:
    async def give_up(reward: Reward) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reward.score([sample("a", POLITE)]), 0.01)

    model = critic(latency_s=0.1)
    with Reward(judge(model)) as reward:
        asyncio.run(give_up(reward))
        assert reward.score_sync([sample("a", POLITE)])[0].value == 1
    assert len(model.calls) == 1


# --- failures -----------------------------------------------------------------------------------


def test_a_failed_call_leaves_the_reward_undecided_and_counted() -> None:
    model = critic(fail=lambda call: ModelError("the server is down") if call else None)
    with Reward(judge(model)) as reward:
        first, second = reward.score_sync([sample("a", POLITE), sample("b", POLITE)])
        summary = reward.summary()
    assert first.value == 1
    assert (second.value, second.bounds, second.statuses) == (None, (0, 1), (Status.FAILED,))
    assert "the server is down" in second.critique.judgments[0].explanation
    assert (summary["undecided_rate"], summary["coverage"]) == (0.5, 0.5)


def test_a_stated_fallback_takes_the_place_and_is_no_verdict() -> None:
    model = critic(fail=lambda _: ModelError("down"))
    with Reward(judge(model), undecided=-0.5) as reward:
        (result,) = reward.score_sync([sample("a", POLITE)])
        summary = reward.summary()
    assert (result.value, result.decided) == (-0.5, False)
    assert (summary["fallback"], summary["undecided_rate"], summary["mean"]) == (-0.5, 1, None)


def test_a_wrong_key_stops_training_before_it_begins_but_not_later() -> None:
    with (
        Reward(judge(critic(fail=lambda _: StopRunError("the key is wrong")))) as reward,
        pytest.raises(StopRunError, match="the key is wrong"),
    ):
        reward.score_sync([sample(str(at), POLITE) for at in range(5)])
    late = critic(fail=lambda call: StopRunError("no money is left") if call else None)
    with Reward(judge(late)) as reward:
        assert reward.score_sync([sample("a", POLITE)])[0].value == 1
        (result,) = reward.score_sync([sample("b", POLITE)])
    assert result.value is None
    assert "no money is left" in result.critique.judgments[0].explanation


def test_a_judge_with_a_defect_costs_its_row_only() -> None:
    class Broken:
        name = "broken"
        config: dict[str, Any] = {}  # noqa: RUF012 - a constant

        async def judge(self, row: Sample, requested: Sequence[int] | None = None) -> Critique:
            raise ZeroDivisionError(str((row.id, requested)))

    class Terse(Broken):
        async def judge(self, row: Sample, requested: Sequence[int] | None = None) -> Critique:
            return critique() if requested else await super().judge(row)

    for defective, reason in (
        (Broken(), "ZeroDivisionError"),
        (Terse(), "0 judgments for 1 constraint"),
    ):
        with Reward(defective) as reward:
            coded, broken = reward.score_sync([sample("a", NO_COMMAS), sample("a", POLITE)])
        assert (coded.value, broken.value) == (1, None)
        assert reason in broken.critique.judgments[0].explanation


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"aggregate": "mean"}, "'mean'"),
        ({"guards": "judge"}, "guards is 'judge'"),
        ({"guards": True}, "guards need a judge"),
        ({"undecided": float("nan")}, "the fallback is nan"),
        ({"concurrency": 0}, "concurrency is 0"),
        ({"judge": 1}, "the judge is 1"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Reward(**options)


# --- guards -------------------------------------------------------------------------------------


@pytest.mark.parametrize("guard", range(3))
@pytest.mark.parametrize("verdict", ["MET", "UNMET", "unsure"])
def test_the_judge_decides_the_guards_in_the_same_call(verdict: str, guard: int) -> None:
    """Each of the three criteria takes the whole reward."""
    blocks = [f"<c{at}>\nSeen.\nVERDICT: {verdict if at == guard + 2 else 'MET'}\n</c{at}>"
              for at in range(1, 5)]  # fmt: skip
    model = ScriptedModel("\n".join(blocks))
    with Reward(Checklist(model, Plain(), reasks=0), guards=True) as reward:
        (result,) = reward.score_sync([sample("Tea is warm.", POLITE)])
    assert result.value == {"MET": 1, "UNMET": 0, "unsure": None}[verdict]
    assert result.statuses == (Status.MET,)
    assert len(result.guards) == 3
    assert len(model.calls) == 1


def test_guards_are_judged_where_code_decides_the_checklist_and_not_where_it_fails() -> None:
    model = critic()
    with Reward(judge(model), "all_or_nothing", guards=True) as reward:
        kept, failed = reward.score_sync(
            [sample("Tea is warm.", NO_COMMAS), sample("Tea, warm.", NO_COMMAS)]
        )
    assert (kept.value, failed.value, failed.skipped) == (1, 0, 0)
    assert len(model.calls) == 1


# --- other processes ---


@pytest.mark.parametrize("blocking", [False, True])
def test_a_reward_and_its_functions_can_be_sent_to_another_process(*, blocking: bool) -> None:
    """TRL's asynchronous trainer pickles them for the process that generates."""
    judge = Checklist(OpenAIModel("critic", base_url="http://127.0.0.1:1/v1"), Plain())
    row = sample("Hello, you.", NO_COMMAS)
    with Reward(judge, "all_or_nothing", undecided=0.0) as reward:
        assert reward.score_sync([row])[0].value == 0  # at work
        sent = pickle.dumps(reward)
        functions = pickle.dumps(trl_rewards([for_trl(reward, name="critic", blocking=blocking)]))
    with pickle.loads(sent) as other:  # noqa: S301 - our own
        assert other.terms == reward.terms
        assert other.score_sync([row])[0].value == 0
        assert other.summary()["responses"] == 1
    total = pickle.loads(functions)  # noqa: S301 - our own
    assert total.__name__ == "total"
    columns = {"checklist": [[NO_COMMAS.model_dump(mode="json")]] * 2}
    said = total(prompts=["Greet."] * 2, completions=["Hello there.", "Hi, you."], **columns)
    assert asyncio.run(said) == [1.0, 0.0]


def test_code_reads_constraints_in_plain_words_as_evaluate_does() -> None:
    rows = [sample("Hello there.", Constraint(text="No commas.")), sample("Hello there.", POLITE)]
    with Reward() as reward, Reward("rules") as checks_alone:
        assert [each.value for each in reward.score_sync(rows)] == [1.0, None]
        assert [each.value for each in checks_alone.score_sync(rows)] == [None, None]


# --- what is given --------------------------------------------------------------------------------


def test_fields_stand_for_a_sample() -> None:
    fields: dict[str, Any] = {
        "prompt": "Greet.",
        "checklist": [{"text": "No commas.", "check": "punctuation:no_comma"}],
        "response": "Hello there, Ann.",
    }
    with Reward(gates="none") as reward:
        given, made = reward.score_sync([fields, Sample(**fields)])
    assert given.value == made.value == 0


@pytest.mark.parametrize(
    "samples",
    [Sample(response="A"), {"response": "A"}, "A", 3, None, ["A"], [None], [{"reponse": "A"}]],
)
def test_what_holds_no_samples_is_refused(samples: Any) -> None:
    with Reward() as reward, pytest.raises(UsageError):
        reward.score_sync(samples)
