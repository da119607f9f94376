"""Blocks of a response: headings with their sections, titles, opening remarks, copies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.core.errors import UndecidedError
from heedful.verify import Response, check
from heedful.verify.compiler.compile import compile_constraint

SENTENCES = ["Rain fell on the town.", "It was a cold night.", "A dog barked twice.", "Dawn came."]


def verdict(text: str, response: str) -> bool | None:
    """Whether a response meets a text; ``None`` where code does not decide it."""
    compiled = compile_constraint(text)
    if compiled.check is None:
        return None
    try:
        return check(compiled.check, Response(response)).met
    except UndecidedError:
        return None


# --- headings and what stands under them --------------------------------------------------------

CONTENTS = {
    "{} bullets": lambda number: "\n".join(f"- {each}" for each in SENTENCES[:number]),
    "{} sentences": lambda number: " ".join(SENTENCES[:number]),
    "{} paragraphs": lambda number: "\n\n".join(SENTENCES[:number]),
}
HEADINGS = {
    "## {}\n\n": "## {}\n\n",
    "{}\n----\n\n": "{}\n----\n\n",
    "**{}**\n\n": "**{}**\n\n",
}
EACH = [
    "Use {headings} headings with {content} each.",
    "Each heading must have exactly {content}.",
    "Under each heading write {content}.",
    "{headings} headings, max {content} each",
]


@given(
    st.sampled_from(EACH),
    st.sampled_from(sorted(CONTENTS)),
    st.sampled_from(sorted(HEADINGS)),
    st.integers(2, 4),
    st.integers(2, 3),
    st.integers(0, 3),
)
def test_each_heading_is_the_section_under_it(
    text: str, content: str, heading: str, headings: int, number: int, longer: int
) -> None:
    asked = text.format(headings=headings, content=content.format(number))
    sizes = [number] * headings
    sections = [
        heading.format(f"Part {at}") + CONTENTS[content](size) for at, size in enumerate(sizes)
    ]
    assert verdict(asked, "\n\n".join(sections)) is not False
    sections[longer % headings] += (
        "\n\n" * (content == "{} paragraphs")
        + ("\n- One more." if content == "{} bullets" else " One more came. And one.")
        + ("\n\nAnd one." if content == "{} paragraphs" else "")
    )
    assert verdict(asked, "\n\n".join(sections)) is not True


@pytest.mark.parametrize("heading", ["# {}\n\n", "{}\n====\n\n"])
def test_a_title_is_no_subheading(heading: str) -> None:
    title = heading.format("Rain")
    three = "\n\n".join(f"## Part {at}\n\nIt fell." for at in range(3))
    for above in (title, ""):
        assert verdict("恰好三个小标题", above + three) is True
        assert verdict("No subheadings.", above + three) is False
        assert verdict("No subheadings.", f"{above}It fell.") is True
    assert verdict("Use 3 headings.", title + three) is not False


# --- what leads to the text ---------------------------------------------------------------------

REMARKS = [
    "Sure, I'd be happy to help! 😊",
    "Certainly! Here is your story.",
    "Here's what I wrote:",
    "好的，这是为您写的文章。",
    "Of course! 🎉\n\nHere it is:",
]


@given(st.sampled_from(REMARKS), st.sampled_from(["# {}", "**{}**", "{}", "{}\n===="]))
def test_an_opening_remark_is_no_title(remark: str, form: str) -> None:
    for title, expected in (("THE RAIN", True), ("The Rain", False)):
        response = f"{remark}\n\n{form.format(title)}\n\nIt fell on the town. Dawn came."
        assert verdict("The title should be in all caps.", response) is expected
    untitled = f"{remark}\n\nIt fell on the town. Dawn came."
    assert verdict("The title should be in all caps.", untitled) is None


# --- several texts in one -----------------------------------------------------------------------

COPY = "今天下雨了，我们都在家里看书喝茶。" * 3
DIVIDED = ["1. {}\n2. {}\n3. {}", "**一**\n{}\n\n**二**\n{}\n\n**三**\n{}", "{}\n\n---\n\n{}\n\n{}"]


@pytest.mark.parametrize("form", DIVIDED)
def test_the_length_of_a_copy_is_open_where_there_are_several(form: str) -> None:
    asked = "文案字数是否在40 到 80之间"
    assert verdict(asked, COPY) is True
    assert verdict(asked, COPY * 3) is False
    assert verdict(asked, form.format(COPY, COPY, COPY)) is None


@pytest.mark.parametrize(
    "text",
    [
        "Write a 200-word story and a 50-word summary.",
        "Write a 100-word poem and a 200-word story.",
        "Write two sentences and three bullet points.",
        "3 bullet points and 2 sentences",
    ],
)
def test_counts_of_two_texts_are_not_those_of_the_whole(text: str) -> None:
    assert compile_constraint(text).check is None


# --- names and numbers --------------------------------------------------------------------------


@given(st.sampled_from(["keyword", "word", "phrase"]), st.sampled_from(".,"))
def test_a_stop_inside_the_quotes_is_the_constraints_own(noun: str, stop: str) -> None:
    for response, used in (("The rain fell all night", True), ("The sun shone", False)):
        assert verdict(f"Include the {noun} 'rain{stop}'", response) is used
        assert verdict(f"Do not use the {noun} 'rain{stop}'", response) is not used


@given(st.sampled_from(["Python", "Version", "GPT"]), st.integers(1, 9), st.integers(0, 99))
def test_a_version_may_be_one_of_the_version_that_is_named(
    name: str, major: int, minor: int
) -> None:
    within, other = f"Use {name} {major}.{minor} here.", f"Use {name} {major}{minor:02} here."
    assert verdict(f"Do not mention '{name} {major}'.", within) is not True
    assert verdict(f"Do not mention '{name} {major}'.", other) is True
    assert verdict(f"Include '{name} {major}'.", within) is not False


def test_the_length_of_a_title_is_exact() -> None:
    for number, expected in ((9, False), (10, True), (11, False)):
        response = f"# {'今天下雨我们都在家里看'[:number]}\n\n外面风很大。"
        assert verdict("标题字数是否为10个字", response) is expected
    assert verdict("标题字数在10字左右", "# 今天下雨我们都在家\n\n外面风很大。") is True
