"""Minimal pairs: constraints and responses that differ in one thing, with opposite verdicts."""

import random
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful import Check, Constraint, verify
from heedful.critic.data.contrast import VERSIONS, contrasted, decide
from properties import of_a_hundred

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
