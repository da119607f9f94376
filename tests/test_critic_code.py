"""Verdicts of code as training data: as critiques, balanced, and in minimal pairs."""

import json
import random
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import run
from heedful import Check, Constraint, Message, Sample, verify
from heedful.critic.data import Expert, sample_critiques
from heedful.critic.data.code_verdicts import CodeVerdicts, kind
from heedful.critic.data.contrast import VERSIONS, contrasted, decide
from heedful.critic.data.export import Examples
from heedful.critic.data.options import ExportSettings
from heedful.critic.data.pairs import Pairs
from heedful.judges import Measurement, prompts
from heedful.judges.model import Checklist
from heedful.models import ScriptedModel
from jsonl import read_rows
from properties import of_a_hundred

WORDS = {"id": "length_constraints:number_words", "args": {"relation": "at least", "num_words": 5}}
CHECKLIST: list[dict[str, Any]] = [
    {"text": "At least 5 words.", "check": WORDS},
    {"text": "Use no commas.", "check": {"id": "punctuation:no_comma"}},
    {"text": "It is witty."},
]
RESPONSES = (
    "One two three four five six.",
    "One, two.",
    "Three short words.",
    "Four words, not more.",
    "Here are six words of text.",
    "Here, too, are six words, no?",
)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """The results of a run that code judged: of each check some met, some unmet."""
    rows = [
        {"id": f"r{n}", "prompt": f"Write {n}.", "checklist": CHECKLIST, "response": response}
        for n, response in enumerate(RESPONSES)
    ]
    data = tmp_path / "rows.jsonl"
    data.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    assert run("evaluate", data, "--judge", "rules", "--run", tmp_path / "run", "-q") in (0, 1)
    return tmp_path / "run" / "results.jsonl"


def exported(results: Path, *flags: object) -> list[dict[str, Any]]:
    folder = results.parent / "sft"
    assert run("critic", "export", results, "-o", folder, *flags) == 0
    return read_rows(folder / "train.jsonl")


def critique(signs: str) -> str:
    return "\n\n".join(
        f"<c{k}>\nSeen.\nVERDICT: {'MET' if sign == '+' else 'UNMET'}\n</c{k}>"
        for k, sign in enumerate(signs, start=1)
    )


def verdicts(rows: list[dict[str, Any]], constraint: str) -> Counter[str]:
    """Count what the critiques of single constraints say on one of them."""
    prompt = prompts.make("short")
    asked = [row for row in rows if f"1. {constraint}\n" in row["prompt"][0]["content"]]
    return Counter(
        prompt.parse(row["completion"][0]["content"], [Constraint(text=constraint)])[0].status.value
        for row in asked
    )


def test_code_s_verdicts_become_critiques_balanced_by_type(results: Path) -> None:
    rows = exported(results, "--prompt", "short", "--per-call", 1)
    assert verdicts(rows, CHECKLIST[0]["text"]) == {"met": 3, "unmet": 3}
    assert verdicts(rows, CHECKLIST[1]["text"]) == {"met": 3, "unmet": 3}
    assert len(rows) == 12  # what code does not decide isn't there
    every = exported(results, "--prompt", "short", "--no-balance")
    assert len(every) == len(RESPONSES)
    assert "VERDICT" in every[0]["completion"][0]["content"]


def test_what_is_trained_on_is_what_is_asked(results: Path) -> None:
    """The exported prompt is, message for message, that of a judge with the same protocol."""
    rows = exported(results, "--prompt", "short", "--per-call", 1, "--measure")
    assert all(row["measure"] is True and row["per_call"] == 1 for row in rows)
    model = ScriptedModel(["<c1>\nVERDICT: MET\n</c1>"])
    judge = Checklist(model, prompts.make("short"), per_call=1, measure=Measurement())
    wanted = set()
    for n, response in enumerate(RESPONSES):
        sample = Sample(
            id=f"r{n}",
            conversation=(Message(role="user", content=f"Write {n}."),),
            checklist=tuple(Constraint.model_validate(each) for each in CHECKLIST),
            response=response,
        )
        wanted |= {judge.request(sample, [at]) for at in range(2)}
    assert {row["prompt"][0]["content"] for row in rows} <= wanted
    counted = [row for row in rows if "Counted by code:" in row["prompt"][0]["content"]]
    assert len(counted) >= 6


def test_constraints_that_compile_are_balanced_by_what_they_say_and_crossed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = ("No commas.", "At least 5 words.", "At most one sentence.")
    data = tmp_path / "rows.jsonl"
    rows = [
        {"id": str(n), "prompt": f"Write {n}.", "checklist": [text], "response": f"Two {n}."}
        for n, text in enumerate(texts)
    ]
    data.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    run("evaluate", data, "--judge", "rules,compiled", "--run", tmp_path / "run", "-q")
    results = tmp_path / "run" / "results.jsonl"
    assert run("critic", "export", results, "-o", tmp_path / "none") == 2
    assert "only one verdict occurs" in capsys.readouterr().err
    crossed = exported(results, "--cross", 2, "--no-balance", "--per-call", 1)
    assert [verdicts(crossed, text) for text in texts] == [{"met": 3}, {"unmet": 3}, {"met": 3}]


def judged_by_code(texts: Sequence[str], met: Sequence[Sequence[bool]]) -> list[Sample]:
    """Make rows of constraints that compile, each with one verdict for each constraint."""
    return [
        Sample.model_validate(
            {
                "id": str(n),
                "checklist": [{"text": text} for text in texts],
                "response": "x",
                "recording": {
                    "prompt": "native",
                    "verdicts": [
                        {"status": "met" if each else "unmet", "judge": "compiled"} for each in row
                    ],
                },
            }
        )
        for n, row in enumerate(met)
    ]


def taken(samples: Sequence[Sample]) -> Counter[tuple[str, str]]:
    code = CodeVerdicts(lambda: iter(samples), ExportSettings())
    both = (each for sample in samples for _, group in code.asked(sample) for each in group)
    return Counter((each.constraint.text, each.judgment.status.value) for each in both)


def test_neither_a_direction_nor_a_text_gives_the_verdict_away() -> None:
    least, most = "At least 5 words.", "At most 5 words."
    met = [(True, False)] * 6 + [(False, True)] * 2
    counts = taken(judged_by_code([least, most], met))
    assert counts == {(text, each): 2 for text in (least, most) for each in ("met", "unmet")}
    other = judged_by_code(["At least 3 words.", "At most 3 words."], [(True, False)])
    assert taken([*judged_by_code([least, most], met), *other]).keys() == counts.keys()


def test_texts_that_occur_once_are_balanced_by_type_and_direction() -> None:
    samples = [
        judged_by_code([f"At {way} {n} words."], [[n % 3 == 0 if way == "least" else n % 3 != 0]])[
            0
        ]
        for n in range(2, 11)
        for way in ("least", "most")
    ]
    counts = taken(samples)
    for way in ("least", "most"):
        said = [status for text, status in counts if f" {way} " in text]
        assert Counter(said) == {"met": 3, "unmet": 3}


def test_verdicts_of_a_model_are_not_taken_for_right(tmp_path: Path) -> None:
    row = {
        "prompt": "Write.",
        "checklist": ["It is witty."],
        "response": "Ha.",
        "judgments": [{"status": "met", "explanation": "Funny.", "judge": "some-model"}],
    }
    data = tmp_path / "results.jsonl"
    data.write_text(f"{json.dumps(row)}\n", encoding="utf-8")
    assert run("critic", "export", data, "-o", tmp_path / "sft") == 2


def test_calls_have_any_number_of_constraints_up_to_the_most() -> None:
    texts = [f"At least {n} words." for n in range(2, 40)]
    (sample,) = judged_by_code(texts, [[False] * len(texts)])
    settings = ExportSettings(balance=False, per_call=4)
    asked = list(CodeVerdicts(lambda: iter([sample]), settings).asked(sample))
    assert {len(group) for _, group in asked} == {1, 2, 3, 4}
    assert [each.text for row, _ in asked for each in row.checklist] == texts
    assert len({row.id for row, _ in asked}) == len(asked)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.booleans()), max_size=40), st.integers(0, 9))
def test_of_each_type_as_many_are_met_as_unmet(said: list[tuple[str, bool]], seed: int) -> None:
    samples = [
        Sample.model_validate(
            {
                "id": str(n),
                "checklist": [{"text": f"{name}.", "type": name}],
                "response": "x",
                "recording": {
                    "prompt": "native",
                    "verdicts": [{"status": "met" if met else "unmet", "judge": "rules"}],
                },
            }
        )
        for n, (name, met) in enumerate(said)
    ]
    code = CodeVerdicts(lambda: iter(samples), ExportSettings(seed=seed))
    passes = []
    for _ in range(2):
        code.begin()
        taken = [each for sample in samples for _, group in code.asked(sample) for each in group]
        counts = Counter((kind(each.constraint), each.judgment.status.value) for each in taken)
        for name in "ab":
            fewest = min(said.count((name, True)), said.count((name, False)))
            assert counts[name, "met"] == counts[name, "unmet"] == fewest
        passes.append(taken)
    assert passes[0] == passes[1]


def test_counts_are_in_the_samples_of_a_measured_critic_and_in_its_pairs(tmp_path: Path) -> None:
    sample = Sample.model_validate(
        {
            "id": "1",
            "conversation": [{"role": "user", "content": "Write."}],
            "checklist": CHECKLIST[:2],
            "response": "Two words.",
            "recording": {"prompt": "plain", "text": critique("-+")},
        }
    )
    asked = []

    def reply(messages: Sequence[Message], _: int) -> str:
        asked.append(messages[0].content)
        return critique("++" if len(asked) == 1 else "-+")

    expert = Expert(ScriptedModel(reply), "plain", measure=Measurement())
    rows = list(sample_critiques([sample], expert=expert, samples=2))
    assert all("Counted by code: " in text for text in asked)
    source = tmp_path / "pairs.jsonl"
    made = Pairs([row.sample for row in rows if row.sample])
    made.write(source)
    (pair,) = read_rows(source)
    assert pair["measure"] is True
    assert pair["prompt"][0]["content"] == asked[0]
    (example,) = Examples(source)
    assert example.beside["measure"] is True


RESPONSE = (
    "Here is a poem, my friend. The sky is blue! I love the sea, and it loves me. Will you come?"
)
LETTER = Check(
    id="keywords:letter_frequency",
    args={"let_relation": "at least", "letter": "e", "let_frequency": 9},
)
CONSTRAINTS = [
    *(
        Constraint(text=text)
        for text in (
            "Write at least 40 words.",
            "Use fewer than 9 sentences.",
            "Include the word 'peace'.",
            "Do not mention 'sea'.",
            "Use no exclamation marks.",
            "End with a question mark.",
            "Include a numbered list.",
            "Use exactly 2 placeholders in square brackets.",
            "It is witty.",
        )
    ),
    Constraint(text="Use the letter 'e' at least 9 times.", check=LETTER),
]


def numberless(text: str) -> str:
    return re.sub(r"\d+", "#", text)


@of_a_hundred(15)
@given(st.integers(0, 30), st.lists(st.sampled_from(CONSTRAINTS), max_size=6, unique_by=str))
def test_each_constraint_is_met_as_often_as_unmet_by_code_s_own_word(
    seed: int, constraints: list[Constraint]
) -> None:
    versions = contrasted(RESPONSE, constraints, random.Random(seed))
    assert versions[0][0] == RESPONSE
    assert len(versions) <= 1 + VERSIONS
    said: Counter[tuple[str, bool]] = Counter()
    for text, decided in versions:
        for constraint, judgment in decided:
            again = decide(constraint, verify.Response(text))
            assert again is not None
            assert again.judgment == judgment
            said[numberless(constraint.text), again.met] += 1
    assert {numberless(each.text) for each in constraints} >= {text for text, _ in said}
    assert all(said[text, not met] == count for (text, met), count in said.items())


@pytest.mark.parametrize(
    ("constraint", "turns"),
    [(CONSTRAINTS[0], (21, 22)), (CONSTRAINTS[1], (4, 5)), (CONSTRAINTS[-1], (12, 13))],
)
def test_a_limit_moves_to_either_side_of_what_is_counted(
    constraint: Constraint, turns: tuple[int, int]
) -> None:
    """21 words, 4 sentences and 12 letters are in the response; text and check move together."""
    limits = set()
    for seed in range(20):
        for text, decided in contrasted(RESPONSE, [constraint], random.Random(seed)):
            for moved, _ in decided if text == RESPONSE else ():
                (number,) = map(int, re.findall(r"\d+", moved.text))
                limits.add(number)
                assert moved.check is not None
                assert {number, number - 1} & set(moved.check.args.values())
    assert limits >= set(turns)
    assert all(turns[0] * 0.75 <= limit <= turns[1] * 1.25 for limit in limits)
