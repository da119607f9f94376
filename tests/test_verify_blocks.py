"""What a response is made of: headings with their sections, titles, several texts, lists, edges."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.core.errors import UndecidedError
from heedful.core.nouns import Check
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


# --- names and numbers --------------------------------------------------------------------------


@given(st.sampled_from(["keyword", "word", "phrase"]), st.sampled_from(".,"))
def test_a_stop_inside_the_quotes_is_the_constraints_own(noun: str, stop: str) -> None:
    for response, used in (("The rain fell all night", True), ("The sun shone", False)):
        assert verdict(f"Include the {noun} 'rain{stop}'", response) is used
        assert verdict(f"Do not use the {noun} 'rain{stop}'", response) is not used


# --- limits, edges and questions ------------------------------------------------------------------

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


# --- signs at the end, one block, points of several lists -----------------------------------------


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
