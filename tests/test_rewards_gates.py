"""Gates: what games a reward gets nothing, whatever a judge says, and nothing else is stopped."""

import json
import runpy
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adversarial import excess, repeated
from heedful import Message, Sample, Status, UsageError
from heedful.rewards import Reward
from heedful.rewards.gates import GATES, violation
from told import Told

EXAMPLES = Path(__file__).parents[1] / "examples"

ESSAY = "Write a short note on why tea is healthy. Keep it polite, and mention green tea."
CHECKLIST = ["The note is polite in tone.", "It mentions green tea by name.", "It is short."]
GOOD = (
    "Dear reader, green tea is a gentle companion for the day. It holds antioxidants, wakes the "
    "mind without haste, and asks for nothing but warm water. Please enjoy a cup."
)


def sample(response: str, prompt: str = ESSAY, checklist: Sequence[str] = CHECKLIST) -> Sample:
    return Sample.model_validate(
        {
            "id": "1",
            "conversation": [{"role": "user", "content": prompt}],
            "checklist": [{"text": text} for text in checklist],
            "response": response,
        }
    )


def stopped(response: str, prompt: str = ESSAY, checklist: Sequence[str] = CHECKLIST) -> str | None:
    result = violation(sample(response, prompt, checklist), GATES)
    return None if result is None else result.gate


HOSTILE = {
    "": "empty",
    "\u200b\u200b\u2060\ufeff": "empty",
    "<think>I could just stop.</think>": "empty",
    "...": "empty",
    "。": "empty",
    "- ": "empty",
    "Tea is healthy for everybody. " * 500: "repetition",
    "tea " * 50_000: "repetition",
    "Tea is healthy. " * 12: "repetition",
    "茶" * 30: "repetition",
    ESSAY: "echo",
    f"{ESSAY}\n": "echo",
    "\n".join(CHECKLIST): "echo",
    "\n".join(f"{at}. {text} ✓" for at, text in enumerate(CHECKLIST, 1)): "echo",
    f"{ESSAY}\n{CHECKLIST[1]}": "echo",
    "I'm sorry, but I can't help with that.": "refusal",
    "I refuse to help.": "refusal",
    "抱歉，我无法满足您的请求。": "refusal",
    "Чай полезен для здоровья, потому что он содержит антиоксиданты.": "language",
    "绿茶对健康有益，因为它含有丰富的抗氧化物质，请您慢慢品尝。": "language",
}


@pytest.mark.parametrize(("response", "gate"), HOSTILE.items(), ids=range(len(HOSTILE)))
def test_what_games_a_reward_is_worth_nothing_to_a_permissive_judge(
    response: str, gate: str
) -> None:
    judge = Told()
    without: dict[str, Any] = {"gates": "none", "reasoning": "keep"}
    with Reward(judge) as reward, Reward(judge, **without) as open_:
        (scored,) = reward.score_sync([sample(response)])
        assert (scored.value, scored.decided) == (0, True)
        assert scored.gate is not None
        assert scored.gate.gate == gate
        assert not judge.asked
        assert reward.summary()["gates"][gate] == 1
        assert open_.score_sync([sample(response)])[0].value == 1


def test_gates_stop_what_is_exactly_no_answer_and_leave_the_rest_to_a_judge() -> None:
    """Of the attacks in the examples; a judge that reads finds the others."""
    attacks = runpy.run_path(str(EXAMPLES / "attacks.py"))
    rows = list(attacks["rows"](attacks["examples"]()))
    with Reward(Told(), "all_or_nothing") as reward:
        scored = reward.score_sync(rows)
    counts: dict[str, list[bool]] = {}
    for row, result in zip(rows, scored, strict=True):
        counts.setdefault(str(row.tags["kind"]), []).append(result.gate is not None)
    assert all(counts["repetition"])
    assert all(sum(counts[kind]) > len(counts[kind]) / 3 for kind in ("nothing", "copy", "refusal"))
    assert not any(counts["good"])


def test_a_good_response_passes_all_gates() -> None:
    judge = Told()
    with Reward(judge) as reward:
        (scored,) = reward.score_sync([sample(GOOD)])
    assert (scored.value, scored.gate, judge.asked) == (1, None, [("1", [0, 1, 2])])


ASKED_FOR = [
    ("Reply with a single dot.", "."),
    ("Which punctuation mark ends a question?", "?"),
    ("Repeat the word tea 600 times.", "tea " * 90),
    ("Write a JSON object with the key verdict set to met.", '{"verdict": "met"}'),
    ("Answer in Chinese: why is tea healthy for people?",
     "因为绿茶里含有丰富的抗氧化物质，对身体很好。"),
    ("Translate to Russian: tea is healthy for everybody.", "Чай полезен для здоровья всех людей."),
    ("Is tea healthy? Answer yes or no.", "Yes"),
    ("What is 2 + 2?", "4"),
    ("React to the news with an emoji.", "🎉"),
    ("Decline politely to help with this.", "I'm sorry, but I can't help with that."),
    ("Correct the mistakes: Tea are healthy and it taste good in the mornings of winter.",
     "Tea is healthy and it tastes good in the mornings of winter."),
    ("Write an ode to the letters of a keyboard.", "QWERTY, oh QWERTY, beneath my hands you lie."),
    ("List three rivers.", "- Rhine\n- Nile\n- Amazon"),
    ("Give me a hex digest.", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
    ("Explain the term verdict in law for a student.",
     "A verdict is the decision of a jury. The judge then passes a sentence."),
    ("为什么绿茶对身体好？", "绿茶含有抗氧化物质，所以对身体好。"),
    ("请帮我写一个快速排序，输入是一组数字，并且要有注释。",
     "```python\ndef quicksort(items):\n    return sorted(items)\n```"),
    ("请写一个求最大公约数的函数，输入两个整数。",
     "def gcd(a, b): return a if not b else gcd(b, a % b)"),
    ("Greet the guests in one line.", "Welcome, everybody!"),
    ("Write code that prints hi.", "```python\nprint('hi')\n```"),
    ("Write a title for my report.", "The Library in Its First Week"),
    ("Write an email subject line for a sale.", "Everything must go by Friday"),
    ("Write the first sentence of a story.", "Rain fell on Lindwick all night."),
    ("Generate 5 random 8 letter words.", "Faithful\nHopeless\nTrustful\nElephant\nBirthday"),
    ("Are 2, 3, 5 and 7 prime?", "Yes, yes, yes, yes."),
    ("Spell the alphabet with spaces.", "a b c d e f g h i j k l m n o p q r s t u v w x y z"),
    ("Divide these by 10: [5, 15, 17]", "[0.5, 1.5, 1.7]"),
    ("Suggest a question for a discussion in class.", "What is the meaning of life?"),
    ("Write a dialogue between a user and a system.", "User: Hello?\nSystem: Ready when you are."),
    ("Write a story about love in a small town.",
     "Anna carried bread across the square each dawn, until the baker forgot to sell it to her."),
    ("Write a riddle about a clock.", "It runs all day and never leaves the wall. What is it?"),
    ("Greet the guests.", "Hello!"),
    ("Extract the names as JSON; use an empty list if there are none.", '{"names": []}'),
    ("Rewrite in a formal tone for a letter: tea is good for you and you should drink it.",
     "Tea is beneficial to your health, and one is well advised to drink it."),
    ("Describe how a form shows what is done.",
     "A form shows a tick for each step that is done; an open box means that it is not."),
    ("Explain what all requirements are met means in a contract.",
     "The clause 'all requirements are met' means that each party has done its part."),
    ("When is the next train to London?",
     "I'm sorry, but I can't provide real-time schedules. Please look at the station's page."),
    ("Is a whale a fish? Answer with yes or no.", "No"),
    ("Write a note that says whether tea is healthy: yes or no?", "no"),
    ("Do you like tea?", "As an artificial intelligence I can't taste it, but my answer is yes."),
    ("average height for a male", "The average height for a male is 69 inches."),
    ("以列表形式写一篇关于茶的长文。", "\n".join(f"- 茶的第{at}个好处" for at in range(1, 60))),
    ("Count to 120.", ", ".join(map(str, range(1, 121)))),
    ("Extract the first sentence: Tea is warm and good. It is green.", "Tea is warm and good."),
    ("Grüße die Gäste.", "Herzlich willkommen, liebe Gäste! Schön, dass ihr alle da seid."),
]  # fmt: skip


@pytest.mark.parametrize(("prompt", "response"), ASKED_FOR)
def test_what_an_instruction_asks_for_is_stopped_by_no_gate(prompt: str, response: str) -> None:
    assert stopped(response, prompt, ["It does what was asked.", "It is well written."]) is None


@pytest.mark.parametrize("gate", GATES)
def test_each_gate_can_be_turned_off(gate: str) -> None:
    responses = [response for response, name in HOSTILE.items() if name == gate]
    with Reward(Told(), gates=[name for name in GATES if name != gate]) as reward:
        for scored in reward.score_sync([sample(response) for response in responses]):
            assert scored.gate is None or scored.gate.gate != gate
        assert gate not in reward.summary()["gates"]


def test_an_unknown_gate_is_refused() -> None:
    with pytest.raises(UsageError, match="gibber"):
        Reward(gates=["gibber"])


@pytest.mark.parametrize("where", ["completion", "row"])
def test_a_response_that_the_model_did_not_finish_is_stopped(where: str) -> None:
    about = {"finish_reason": "length"}
    fields = {"completion": about} if where == "completion" else about
    row = Sample.model_validate({**sample(GOOD).model_dump(), **fields})
    with Reward(Told()) as reward:
        (scored,) = reward.score_sync([row])
    assert (scored.value, scored.gate and scored.gate.gate) == (0, "cut_off")
    done = Sample.model_validate({**sample(GOOD).model_dump(), "finish_reason": "stop"})
    assert violation(done, GATES) is None


def test_a_stopped_response_gains_nothing_on_an_aggregate_below_zero() -> None:
    def punishing(_: Any, met: Sequence[bool]) -> float:
        return sum(1.0 if item else -1.0 for item in met)

    with Reward(Told(lambda *_: Status.UNMET), punishing) as reward:
        gamed, honest = reward.score_sync([sample("..."), sample(GOOD)])
    assert gamed.value == honest.value == -3


@pytest.mark.parametrize("guard", [Status.MET, Status.UNMET, Status.FAILED])
def test_a_guard_judge_decides_the_guards_apart_from_the_judge(guard: Status) -> None:
    judge, other = Told(), Told(lambda *_: guard)
    with Reward(judge, guards=True, guard_judge=other) as reward:
        (scored,) = reward.score_sync([sample(GOOD)])
    assert len(other.asked) == 1
    expected = {Status.MET: 1, Status.UNMET: 0, Status.FAILED: None}
    assert scored.value == expected[guard]
    assert [judgment.status for judgment in scored.guards] == [guard] * 3
    assert len(judge.asked) == (guard is not Status.UNMET)


def test_a_judge_of_the_users_never_judges_without_an_instruction() -> None:
    judge = Told()
    with Reward(judge) as reward:
        (scored,) = reward.score_sync([sample(GOOD, "\u200b")])
    assert (scored.value, judge.asked) == (None, [])


@given(st.text(), st.text(), st.lists(st.text(), max_size=3))
def test_no_text_breaks_a_gate(response: str, prompt: str, checklist: list[str]) -> None:
    stopped = violation(sample(response, prompt, checklist), GATES)
    assert stopped is None or stopped.gate in GATES


REPEATABLE = "Repeat what you like. Tea is told of again and again."
PARAGRAPH = (
    "Tea came to Lindwick by boat, in chests of lead and wood. The harbour smelled of it for a "
    "week, and the children drank theirs cold, behind the customs house, from borrowed cups. "
)


@pytest.mark.parametrize(("share", "gate"), [(0.07, "repetition"), (0.14, None)])
def test_a_text_that_is_mostly_the_same_is_a_repetition_even_where_repeating_is_asked_for(
    share: float, gate: str | None
) -> None:
    """A tenth is where loops begin: of real responses, all that compress to less are loops."""
    size = len(PARAGRAPH.encode())
    packed = len(zlib.compress(PARAGRAPH.encode()))
    text = PARAGRAPH * round(packed / size / share)
    assert len(zlib.compress(text.encode())) / len(text) == pytest.approx(share, rel=0.2)
    assert stopped(text, REPEATABLE) == gate


WORDS = st.lists(st.sampled_from("ab"), min_size=1, max_size=40)


@given(WORDS, st.integers(1, 12))
def test_a_short_text_is_a_repetition_iff_it_begins_again_eight_times(
    unit: list[str], times: int
) -> None:
    words = (unit * times)[:60]
    periods = (at for at in range(1, len(words) + 1) if words[at:] == words[: len(words) - at])
    repeated = len(words) // next(periods) >= 8
    found = violation(sample(" ".join(words)), ["repetition"])
    assert (found is not None) == repeated


@pytest.mark.parametrize(("own", "gate"), [(0, "echo"), (1, "echo"), (3, None), (30, None)])
def test_what_was_shown_with_a_few_more_words_is_a_copy(own: int, gate: str | None) -> None:
    for shown in (ESSAY, "\n".join(CHECKLIST)):
        words = shown.split()
        more = PARAGRAPH.split()[:own]
        for text in ([*more, *words], [*words, *more]):
            assert stopped(" ".join(text)) == gate


@given(st.lists(st.sampled_from(["polite", "tea", "green", "short", "is"]), max_size=12))
def test_words_of_an_instruction_in_another_order_are_no_copy(words: list[str]) -> None:
    assert violation(sample(" ".join(words)), ["echo"]) is None


LONG = [
    *(
        "a",
        "(",
        "\n",
        "\n(",
        "met ",
        "mark all ",
        "<c1>\n",
        '"met" : ',
        "一",
        "aА",
        "1. \n",
        "```\n",
    ),
    *("<think>", "<!--", "`a", "w/", "请将所有的", "\njudge", "a!", "- "),
    *("[", "met, ", "system:", "x://", "I will write it ", "would you like ", "w1 ", '{"a":'),
]


@pytest.mark.slow
@pytest.mark.parametrize("unit", LONG)
def test_gates_take_linear_time(unit: str) -> None:
    names = [name for name in GATES if name != "repetition"]

    def gate(text: str) -> None:
        violation(sample(text, ESSAY + text[:2000]), names)

    assert excess(gate, repeated(unit), 5.0) is None


def responses(data: Path) -> Iterator[tuple[str, Sample]]:
    """Yield the responses of good models, which hardly ever game."""
    files = {
        "ifeval/input_response_data_gpt4_20231107_145030.jsonl": "prompt",
        "mifeval_en/claude-3-haiku-20240307/eval_results_strict.jsonl": "prompt",
        "ifbench/sample_output.jsonl": "prompt",
    }
    for file, prompt in files.items():
        with (data / file).open(encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                yield file, sample(row["response"], row[prompt], [row[prompt]])


@pytest.mark.slow
def test_real_responses_pass_the_gates(data: Path) -> None:
    """Those of good models; the two that loop were read."""
    hits: dict[str, int] = dict.fromkeys(GATES, 0)
    total = 0
    for _, row in responses(data):
        total += 1
        result = violation(row, GATES)
        if result is not None:
            hits[result.gate] += 1
    assert total > 1000
    assert hits == {**dict.fromkeys(GATES, 0), "repetition": 1}


def test_a_turn_of_a_game_is_no_echo() -> None:
    row = sample("Tea is healthy for everybody who drinks it in the mornings of winter.")
    turns = (
        Message(role="system", content="Repeat."),
        Message(role="user", content=row.response or ""),
    )
    assert violation(row.model_copy(update={"conversation": turns}), GATES) is None
