"""Signs, marks and forms: what is surely one, what may be, and what isn't."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.core.errors import UndecidedError
from heedful.core.nouns import Check
from heedful.verify import Response, check
from heedful.verify.custom.counting import CountRange, Unit, count_units
from heedful.verify.text.layout import Layout

LEAST = {"at_least": 1}
NONE = {"at_most": 0}

# For each check: texts that meet it, texts that readers may differ on, texts that do not meet it.
CASES: list[tuple[str, dict[str, Any], list[str], list[str], list[str]]] = [
    (
        "count",
        {"unit": "headings", **LEAST},
        ["# Rain", "   ## Rain", "# Rain\n\nIt fell.", "Rain\n====\n\nText."],
        [
            "**A *b* c**\n\nText here.", "__Rain__\n\nText.",
            "***Rain***\n\nText.", "**Rain:**\n\nText.", "<h2 class='a'>Rain</h2>",
            "1. **Rain**\n\nText", "RAIN\n\nIt fell.", "- # Rain", "> # Rain", "##标题\n下了。",
            "一、雨\n下了。", "It fell.\n\n*Snow*\n\nIt fell.",
        ],
        [
            "**Rain** and snow.\n\nText.", "```\n# comment\n```", "Only text.",
            "\\# none", "It is #rain and #snow.",
        ],
    ),
    (
        "count",
        {"unit": "hashtags", **LEAST},
        ["#rain", "(#rain)", "#雨天", "#a_b, and", "It rains. #wet"],
        ["#1!", "#2024goals", "#fff", "＃雨", "issue #12"],
        ["# Rain", "a#b", "&#39;", "C# and F#", "#!", "https://x.com/a#rain"],
    ),
    (
        "count",
        {"unit": "links", "at_least": 1, "at_most": 1},
        ["[a](https://b.c)", "Go to https://b.c."],
        ["[https://b.c](https://b.c)"],
        ["https://b.c and https://d.e"],
    ),
    (
        "count",
        {"unit": "commas", **NONE},
        ["No such sign; none."],
        ["It costs 1,000 dollars.", "苹果、梨"],
        ["a, b", "a，b", "مرحبا، أهلا", "1, 2"],
    ),
    ("count", {"unit": "question_marks", **NONE}, ["Go!"], ["http://a.b/?q=1"], ["Go?", "كيف؟"]),
    ("count", {"unit": "brackets", **NONE}, ["None."], ["See [it](a.md).", "1) One"], ["(so)"]),
    (
        "case",
        {"case": "upper"},
        ["ALL CAPS!", "ALL CAPS 123"],
        ["天气 GOOD 很好", "天气很好", "HELLO 你好"],
        ["ALL Caps", "iPHONE"],
    ),
    (
        "format",
        {"format": "quoted"},
        ['"Hi."', "“Hi”", "«Salut»", "„Hallo“", "”Hej”", "「你好」", "＂Hi＂"],
        ['"Hi" and "Bye"', "“Hi” and “Bye”", '"Hi".', '**"Hi"**', "'Hi'", '"Hi," she said, "bye"'],
        ['"Hi', "Hi", 'He said "no" to me'],
    ),
    (
        "format",
        {"format": "html"},
        ["<p>Hi</p>", "```html\n<p>a</p>\n```", "<!DOCTYPE html>\n<title>a</title>"],
        ["<p>Hi", "<notatag>x</notatag>", "I use <T> here", "some <b>bold</b> text"],
        ["a < b > c", "plain"],
    ),
    ("count", {"unit": "lines", "at_most": 1},
     ["a b"],
     ["a\rb", "a\u2028b", "a\x85b"],
     ["a.\nb."]),
    ("count", {"unit": "bullet_points", **NONE},
     ["a – b", "Plain.\nText."],
     ["<ul><li>a</li></ul>", "■ a\n■ b", "⁃ a", "– a\n– b", "➤ a", "🔹 a",
      "⦁ a", "&bull; a", "－ a", "1. a"],
     ["- a", "• a"]),
    ("count", {"unit": "words", "at_least": 10},
     [],
     ["1. red\n2. blue\n3. pink\n4. gold\n5. grey", "(a) a b c d e\n(b) f g h i",
      "[1] a b c.\n[2] a b c.\n[3] a b c."],
     ["red"]),
    ("count", {"unit": "zi", "at_least": 5},
     ["我们在下雨"],
     ["1. 红鱼\n2. 蓝鱼", "一、红鱼\n二、蓝鱼"],
     ["红鱼"]),
    ("count", {"unit": "brackets", **NONE}, ["a < b > c"], ["<x>", "⟨x⟩"], ["{x}", "- [ ] x"]),
    ("letters", {"letters": ["s"], **NONE}, ["Maß", "No."], [], ["Sun"]),
    ("json", {"keys": ["a"]}, ['{"a": null}'], ["[]", '{"x": {"a": 1}}'], ['{"A": 1}', "[1]"]),
    ("contains", {"phrases": ["中国人"]}, ["中国人民"], [], ["中国"]),
    ("excludes", {"phrases": ["美国"]}, ["中国"], [], ["美国，", "去美国的人"]),
    ("excludes", {"phrases": ["кот"]}, ["Собака."], ["который"], ["Кот!"]),
    ("does_not_mention", {"phrases": ["May"]}, [], ["it may rain", "MAYBE"], ["In May."]),
    ("mentions", {"phrases": ["US"]}, ["the US."], ["let us go"], []),
    ("contains", {"phrases": ["Best regards"]}, ["best regards"], [], ["best"]),
    ("contains", {"phrases": ["$5"]}, ["for $5.", "$5, or"], ["$5:30"], ["$5.99", "$5,000", "$55"]),
    ("excludes", {"phrases": ["5"]},
     ["1.5", "5,000", "5.1"],
     ["4,5,6", "3/5"],
     ["5.", "I have 5, too"]),
    (
        "count",
        {"unit": "hashtags", **NONE},
        ["See [top](#top).", "[x](#a) and [y](#b)", "no"],
        ["#include <stdio.h>", "#region x", '<a href="#x">', "`#rain`", "```\n#rain\n```"],
        ["#rain", "(#rain)", "It is #rain."],
    ),
    ("count", {"unit": "links", **NONE}, ["(a)"], ["[a]( b )"], ["[a](b.c)"]),
    (
        "count",
        {"unit": "paragraphs", "at_least": 2, "at_most": 2},
        ["It rained. I read.\n\nIt snowed. I slept."],
        [
            f"It rained. I read.\n\nIt snowed. I slept.\n\n{beside}"
            for beside in (
                "![rain](a.png)", "#rain #snow", "https://a.b", "🌧❄", "[^1]: A. Li", "<!-- a -->"
            )
        ],
        ["It rained. I read.\n\nIt snowed. I slept.\n\nIt froze. I woke."],
    ),
    (
        "format",
        {"format": "numbered_list"},
        ["1. a\n2. b"],
        ["I. a\nII. b", "Step 1: a\nStep 2: b", "1: a\n2: b"],
        ["First, a. Second, b."],
    ),
    ("count", {"unit": "numbers", "at_most": 0}, ["rain"], ["H2O"], ["1st rain"]),
]  # fmt: skip

ROWS = [
    (id_, args, text, expected)
    for id_, args, *columns in CASES
    for expected, texts in zip((True, None, False), columns, strict=True)
    for text in texts
]


@pytest.mark.parametrize(("id_", "args", "text", "expected"), ROWS)
def test_verdicts(id_: str, args: dict[str, Any], text: str, *, expected: bool | None) -> None:
    try:
        verdict: bool | None = check(Check(id=f"heedful:{id_}", args=args), Response(text)).met
    except UndecidedError:
        verdict = None
    assert verdict is expected


NOTHING = CountRange(1, 0)
MARKS: dict[Unit, str] = {"bold_passages": "**{}**", "italic_passages": "*{}*", "hashtags": "#{}"}
AROUND_CODE = {
    "hidden": ["`{}`", "``{}``", "```\n{}\n```", "~~~md\n{}\n~~~", "````\n```\n{}\n```\n````"],
    "shown": ["{}", "It is {}.", "({})", "- {}", "他说 {} 了。", "`code` {}", "```\nx\n```\n{}"],
}


@given(
    st.sampled_from(sorted(MARKS)),
    st.sampled_from(["rain", "heavy_rain", "Rain"]),
    st.sampled_from(AROUND_CODE["hidden"]),
    st.sampled_from(AROUND_CODE["shown"]),
)
def test_marks_in_code_are_none(unit: Unit, word: str, hidden: str, shown: str) -> None:
    mark = MARKS[unit].format(word)
    assert (count_units(Layout(hidden.format(mark)), unit) or NOTHING).low == 0
    assert (count_units(Layout(f"{hidden.format(mark)}\n\nIt rained."), unit) or NOTHING).low == 0
    if unit != "hashtags":  # which some put between backticks to be copied
        assert count_units(Layout(hidden.format(mark)), unit) == (0, 0)
        assert count_units(Layout("\\" + mark.replace("*", "\\*")), unit) == (0, 0)
        assert (count_units(Layout(f"f(**{word}, **b) and {word}**2**3"), unit) or NOTHING).low == 0
    assert (count_units(Layout(shown.format(mark)), unit) or NOTHING).high == 1
    assert (count_units(Layout(f"{hidden.format(mark)}\n{mark}"), unit) or NOTHING).high >= 1
