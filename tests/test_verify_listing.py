"""Signs at the end, responses that are one block, points of several lists."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.core.errors import UndecidedError
from heedful.core.nouns import Check
from heedful.verify import Response, check
from heedful.verify.compiler.compile import compile_constraint


def met(id_: str, response: str, **args: Any) -> bool | None:
    try:
        return check(Check(id=f"heedful:{id_}", args=args), Response(response)).met
    except UndecidedError:
        return None


def compiled(text: str) -> Check:
    found = compile_constraint(text).check
    assert found is not None
    return found


@given(st.integers(0, 5), st.integers(0, 3), st.integers(1, 5))
def test_signs_count_at_the_end_where_all_of_them_stand_there(
    last: int, before: int, wanted: int
) -> None:
    tags = " ".join(f"#{each}" for each in "abcde"[:last])
    response = f"{'#early ' * before}Rain fell. {tags}"
    found = met("at_end", response, unit="hashtags", at_least=wanted, at_most=wanted)
    if last + before < wanted:
        assert found is False
    else:
        assert found is (None if before else last == wanted)


def test_emojis_at_the_end_are_counted_as_elsewhere() -> None:
    assert met("at_end", "Rain 🌧️🌧️", unit="emojis", at_least=2, at_most=2) is True
    assert met("at_end", "Rain 🌧️ fell 🌧️.", unit="emojis", at_least=2, at_most=2) is None
    assert met("at_end", "Rain 🌧️", unit="emojis", at_least=2, at_most=2) is False


OF_A_BLOCK = {
    "Use exactly 3 bullet points.": "- a\n- b\n- c",
    "Write at least 5 words.": "Rain fell on the town.",
    "Start with “Rain”.": "Rain fell.",
    "Use exactly 2 headings.": "# A\n\nRain.\n\n# B\n\nWind.",
    "Bold at least one phrase.": "**Rain** fell.",
    "Include a table.": "| a | b |\n|---|---|\n| 1 | 2 |",
}


@pytest.mark.parametrize("text", OF_A_BLOCK)
@pytest.mark.parametrize("fence", ["```markdown", "```md", "~~~markdown", "````markdown"])
def test_a_response_that_is_one_block_of_markdown_is_its_content(text: str, fence: str) -> None:
    content = OF_A_BLOCK[text]
    closing = fence.rstrip("markdown")
    response = Response(f"{fence}\n{content}\n{closing}\n")
    assert check(compiled(text), Response(content)).met is True
    assert check(compiled(text), response).met is True
    assert check(Check(id="punctuation:no_comma", args={}), response).met is True


@pytest.mark.parametrize("text", ["No markdown.", "Do not use code blocks.", "Return valid JSON."])
def test_what_fences_may_matter_to_stays_open_or_unmet(text: str) -> None:
    with suppress(UndecidedError):
        assert check(compiled(text), Response("```markdown\nrain\n```")).met is False


@given(st.lists(st.integers(2, 4), min_size=1, max_size=3), st.sampled_from(["1. ", "- "]))
def test_points_of_several_lists_are_those_of_each_or_of_all(sizes: list[int], mark: str) -> None:
    response = "\n\nAnd again:\n\n".join(
        "\n".join(f"{at if mark[0] == '1' else '-'}{mark[1:]}Rain" for at in range(1, size + 1))
        for size in sizes
    )
    for number in (*sizes, sum(sizes)):
        expected = True if len(sizes) == 1 else None
        assert met("count", response, unit="points", at_least=number, at_most=number) is expected
    assert met("count", response, unit="points", at_least=sum(sizes) + 1) is False
    assert met("count", response, unit="points", at_most=min(sizes) - 1) is False


def test_two_blocks_are_no_single_one() -> None:
    for text in ("```markdown\na\n```\nb\n```\nc\n```", "```md\n```py\na\n```\n```", "```md\na"):
        found = Response(text).unfenced
        assert found is not None
        assert found[1] is False
    assert Response("```python\na\n```").unfenced is None


@pytest.mark.parametrize("text", OF_A_BLOCK)
def test_beside_other_text_a_block_of_markdown_is_decided_only_where_fences_change_nothing(
    text: str,
) -> None:
    try:
        response = Response(f"Here you go:\n\n```markdown\n{OF_A_BLOCK[text]}\n```")
        assert check(compiled(text), response).met is not text.startswith("Start")
    except UndecidedError:
        pass


ARTICLES = {"a hundred": 100, "a thousand": 1000, "a dozen": 12, "two dozen": 24, "half a dozen": 6}


@pytest.mark.parametrize("number", ARTICLES)
@pytest.mark.parametrize("bound", ["at least", "at most", "exactly", "fewer than", "more than"])
@pytest.mark.parametrize("unit", ["sentences", "bullet points", "words"])
def test_a_number_with_an_article_is_that_number(number: str, bound: str, unit: str) -> None:
    text = f"Use {bound} {{}} {unit}."
    expected = compile_constraint(text.format(ARTICLES[number])).check
    assert expected is not None
    assert compile_constraint(text.format(number)).check == expected


@pytest.mark.parametrize(
    "text",
    [
        "Give one of your poems or stories.",
        "Output the code, no comments.",
        "Include a table with columns Name and Age and two rows.",
        "A dozen or so bullet points.",
        "署名：公司名称",
    ],
)
def test_what_only_looks_like_one_of_these_does_not_compile(text: str) -> None:
    assert compile_constraint(text).check is None
