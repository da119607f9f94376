"""Texts made from pieces, and responses made for them: what code decides, it decides rightly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from heedful.core.errors import UndecidedError
from heedful.verify import Response, check
from heedful.verify.compiler.compile import compile_constraint

if TYPE_CHECKING:
    from collections.abc import Callable


def verdict(text: str, response: str) -> bool | None:
    """Whether a response meets a text; ``None`` where code does not decide it."""
    compiled = compile_constraint(text)
    if compiled.check is None:
        return None
    try:
        return check(compiled.check, Response(response)).met
    except UndecidedError:
        return None


PARTS: dict[str, Callable[[list[str]], str]] = {
    "{} paragraphs": "\n\n".join,
    "Write {} paragraphs": "\n\n".join,
    "{} bullet points": lambda parts: "\n".join(f"- {part}" for part in parts),
    "分成{}段": "\n\n".join,
    "{}个要点": lambda parts: "\n".join(f"- {part}" for part in parts),
}
LIMITS = [", max {} sentences.", ", at most {} sentences.", "; no more than {} sentences."]
LIMITS_ZH = ["，不超过{}句", "，最多{}句话"]


@given(st.sampled_from(sorted(PARTS)), st.data(), st.integers(2, 5), st.integers(1, 5))
def test_a_limit_that_may_be_of_each_part_is_not_of_all(
    part: str, data: st.DataObject, parts: int, most: int
) -> None:
    chinese = not part.isascii()
    limit = data.draw(st.sampled_from(LIMITS_ZH if chinese else LIMITS))
    sentence = "天很好。" if chinese else "The dog ran home."
    each = ("" if chinese else " ").join([sentence] * most)
    text = part.format(parts) + limit.format(most)
    assert verdict(text, PARTS[part]([each] * parts)) is not False


EDGES = {
    "Start with '{}'.": "{} it goes on.",
    "The first word must be '{}'.": "{} it goes on.",
    "以“{}”开头": "{} it goes on.",
    "End with '{}'.": "It goes on {}",
    "The last word must be '{}'.": "It goes on {}.",
    "Start every sentence with '{}'.": "{} goes on. {} ends.",
}


@given(st.sampled_from(sorted(EDGES)), st.text("ABCDEFGH", min_size=2, max_size=4))
def test_an_acronym_is_not_the_same_word_in_small_letters(text: str, word: str) -> None:
    response = EDGES[text]
    asked = text.format(word)
    assert verdict(asked, response.replace("{}", word)) is True
    for other in (word.lower(), word.capitalize()):
        assert verdict(asked, response.replace("{}", other)) is not True
        negated = asked.replace("Start with", "Do not start with").replace("End", "Do not end")
        if negated != asked:
            assert verdict(negated, response.replace("{}", other)) is not False


QUESTIONS: dict[str, Callable[[list[str]], str]] = {
    "Each line must be a question.": "\n".join,
    "Each bullet point must be a question.": lambda parts: "\n".join(f"- {each}" for each in parts),
    "Every paragraph must be a question.": "\n\n".join,
}
ASKED = ["Who are you?", "What is it?", "Where are you now?"]
SAID = ["I am Bob.", "It is a dog.", "We are here now."]


@given(text=st.sampled_from(sorted(QUESTIONS)), at=st.integers(0, 2), first=st.booleans())
def test_a_question_with_its_answer_is_no_question(text: str, at: int, *, first: bool) -> None:
    join = QUESTIONS[text]
    assert verdict(text, join(ASKED)) is True
    assert verdict(text, join([*ASKED[:at], SAID[at], *ASKED[at + 1 :]])) is not True
    both = f"{SAID[at]} {ASKED[at]}" if first else f"{ASKED[at]} {SAID[at]}"
    assert verdict(text, join([*ASKED[:at], both, *ASKED[at + 1 :]])) is not True
    assert verdict(text, join(SAID)) is False
