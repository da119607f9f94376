"""Classes of wrong verdicts over generated texts: negation, each and total.

What is decided must be what the text says; it may stay undecided, and a text may not compile.
"""

from itertools import cycle, islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.core.errors import UndecidedError
from heedful.verify import Response, check
from heedful.verify.compiler.compile import compile_constraint
from plain_responses import characters

pytestmark = pytest.mark.slow  # many cases

WORDS = ["rain", "falls", "on", "old", "town", "and", "people", "walk", "home", "under", "clouds"]
SETTINGS = settings(max_examples=50, deadline=None)


def sentence(number: int) -> str:
    return " ".join(islice(cycle(WORDS), number)).capitalize() + "."


def verdict(text: str, response: str) -> bool | None:
    """What code decides; nothing where the text does not compile."""
    compiled = compile_constraint(text).check
    try:
        return None if compiled is None else check(compiled, Response(response)).met
    except UndecidedError:
        return None


def decided(text: str, response: str) -> bool:
    found = verdict(text, response)
    assert found is not None, (text, response)
    return found


# --- negation -------------------------------------------------------------------------------------

DO = [
    "Use {}.", "Include {}.", "The response must contain {}.", "Make sure to use {}.",
    "Does the response contain {}?",
]  # fmt: skip
DO_NOT = [
    "Do not use {}.", "Don't include {}.", "Never use {}.", "Avoid {}.", "No {}.",
    "Write without {}.",
    "The response must not contain {}.", "Refrain from using {}.", "{} are not allowed.",
    "The answer should be free of {}.", "Does the response avoid {}?", "Make sure not to use {}.",
]  # fmt: skip
THINGS = {
    "emojis": "Rain 🌧️🌧️🌧️ fell.",
    "exclamation marks": "Rain fell! And! Fell!",
    "question marks": "Rain? Wind? Snow?",
    "hashtags": "Rain #wet #cold #grey",
    "commas": "Rain, wind, snow, hail.",
    "semicolons": "Rain; wind; snow; hail.",
    'the word "rain"': "Rain fell on rain.",
    'the phrase "old town"': "An old town in the old town.",
    "bullet points": "- wet\n- cold\n- grey",
    "headings": "# Wet\n\nIt fell.\n\n# Cold\n\nIt froze.\n\n# Grey\n\nIt is.",
}
WITHOUT = "It fell on us."


@SETTINGS
@given(st.sampled_from(DO), st.sampled_from(DO_NOT), st.sampled_from(sorted(THINGS)))
def test_what_is_asked_for_and_what_is_forbidden_are_opposites(
    do: str, do_not: str, thing: str
) -> None:
    for text, wanted in ((do, True), (do_not, False)):
        assert verdict(text.format(thing), THINGS[thing]) in {wanted, None}
        assert verdict(text.format(thing), WITHOUT) in {not wanted, None}


# --- each, some, all together ---------------------------------------------------------------------

EACH = [
    "Each {part} must have at most {n} words.", "No {part} may exceed {n} words.",
    "Use at most {n} words in each {part}.", "{part}s of at most {n} words each.",
    "Every {part} should be no longer than {n} words.", "Limit each {part} to {n} words.",
    "Keep {part}s under {more} words each.",
]  # fmt: skip
TOTAL = [
    "Use at most {n} words in total.", "The whole response must not exceed {n} words.",
    "At most {n} words altogether.", "Your answer must have no more than {n} words.",
]  # fmt: skip
JOINED = {"paragraph": "\n\n", "sentence": " "}


@SETTINGS
@given(
    st.lists(st.integers(10, 60), min_size=2, max_size=5),
    st.integers(31, 200),
    st.sampled_from(sorted(JOINED)),
    st.sampled_from(EACH),
    st.sampled_from(TOTAL),
)
def test_each_is_of_each_and_a_total_of_all(
    sizes: list[int], number: int, part: str, each: str, total: str
) -> None:
    response = JOINED[part].join(map(sentence, sizes))
    values = {"n": number, "more": number + 1, "part": part}
    of_each = each.format(**values)
    assert verdict(of_each[0].upper() + of_each[1:], response) in {max(sizes) <= number, None}
    assert decided(total.format(**values), response) is (sum(sizes) <= number)


EACH_ZH = ["每段不超过{n}字", "每个段落{n}字以内", "每段最多{n}字", "各段不得超过{n}字"]
TOTAL_ZH = ["全文不超过{n}字", "总字数不超过{n}字", "回答一共不超过{n}字"]


@SETTINGS
@given(
    st.lists(st.integers(20, 90), min_size=2, max_size=4),
    st.integers(31, 300),
    st.sampled_from(EACH_ZH),
    st.sampled_from(TOTAL_ZH),
)
def test_each_and_total_differ_in_chinese(
    sizes: list[int], number: int, each: str, total: str
) -> None:
    response = "\n\n".join(map(characters, sizes))
    # A full stop may count.
    of_each = {max(sizes) <= number, max(sizes) + 1 <= number, None}
    of_all = {sum(sizes) <= number, sum(sizes) + len(sizes) <= number, None}
    assert verdict(each.format(n=number), response) in of_each
    assert verdict(total.format(n=number), response) in of_all
