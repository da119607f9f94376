"""Verifiers for users' own constraints: met, unmet, and undecided where readings disagree."""

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.core.errors import UndecidedError, VerifierError
from heedful.core.nouns import Check
from heedful.verify import Readings, Response, check
from heedful.verify.custom.counting import Unit, count_units
from heedful.verify.text.layout import Layout

UNDECIDED = "undecided"


def verdict(id_: str, text: str, **args: Any) -> bool | str:
    try:
        return check(Check(id=f"heedful:{id_}", args=args), Response(text)).met
    except UndecidedError:
        return UNDECIDED


TITLED = "# T\n\nOne.\n\nTwo."
TWO = "A b.\n\nC."
ENGLISH = "It is raining cats and dogs today, so we stay at home and read."
JAPANESE = (
    "今日は雨が降っていますから、家にいて本を読みましょう。とても静かで、気持ちのいい一日になると"
    "思います。明日は晴れるでしょう。"
)

FIRST = {"part": "sentence", "which": 1}

CASES: list[tuple[str, dict[str, Any], str, bool | str]] = [
    # Words: one reading has "don't" as one word, another as two.
    ("count", {"unit": "words", "at_most": 2}, "Don't stop.", UNDECIDED),
    ("count", {"unit": "words", "at_most": 1}, "Don't stop.", False),
    # 字: with punctuation six, without five.
    ("count", {"unit": "zi", "at_most": 6}, "今天下雨。", True),
    ("count", {"unit": "zi", "at_most": 4}, "今天下雨。", UNDECIDED),
    ("count", {"unit": "zi", "at_most": 3}, "今天下雨。", False),
    # A title may or may not be a paragraph.
    ("count", {"unit": "paragraphs", "at_least": 2, "at_most": 2}, TITLED, UNDECIDED),
    ("count", {"unit": "paragraphs", "at_most": 2}, "一。\n二。", True),
    ("count", {"unit": "sentences", "at_most": 1}, "他说：“走吧！”然后走了。", UNDECIDED),
    # A quotation ends no sentence that goes on; before a capital that stays open.
    ("count", {"unit": "sentences", "at_most": 1}, "“Stop!” she cried. “Why?”", False),
    ("count", {"unit": "sentences", "at_least": 2}, '"Stop!" Anna cried.', UNDECIDED),
    ("count", {"unit": "sentences", "at_most": 1}, "She said “Go.” and left.", True),
    # What numbers an item is no sentence.
    ("count", {"unit": "sentences", "at_most": 1}, "1. Apples are red.", True),
    ("count", {"unit": "sentences", "at_most": 1}, "**1.** Apples are red.", True),
    ("count", {"unit": "sentences", "at_least": 3},
     "1. Apples are red. 2. Pears are green.", False),
    # Lines that are wrapped, the first of which could be a title.
    ("count", {"unit": "bullet_points", "at_least": 3, "at_most": 3}, "- a\n- b\n* c", True),
    ("count", {"unit": "bullet_points", "at_least": 1}, "None here.", False),
    ("count", {"unit": "headings", "at_most": 0}, "# Rain\n\nIt fell.", False),
    ("count", {"unit": "tables", "at_least": 1}, "|a|b|\n|-|-|\n|1|2|", True),
    ("count", {"unit": "code_blocks", "at_least": 1}, "```py\nx\n```", True),
    ("count", {"unit": "emojis", "at_most": 1}, "👨‍👩‍👧 and 🇫🇷", False),
    ("count", {"unit": "english_words", "at_most": 0}, "我们 Love 雨", False),
    # An emoji of several code points, and a letter with its mark, are one character to a reader.
    ("count", {"unit": "characters", "at_most": 5}, "👨‍👩‍👧", True),
    ("count", {"unit": "characters_with_spaces", "at_most": 4}, "cafe\u0301", UNDECIDED),
    ("count", {"unit": "characters_with_spaces", "at_most": 3}, "a\r\nb", UNDECIDED),
    # Parts.
    ("count", {"unit": "words", "at_most": 3, "part": "paragraph"}, "One two.\n\nThree.", True),
    ("count", {"unit": "words", "at_most": 1, "part": "paragraph", "which": -1}, TWO, True),
    ("count", {"unit": "words", "at_most": 9, "part": "title"}, "No title, only text.", UNDECIDED),
    # Of a passage only what holds whatever it is.
    ("count", {"unit": "words", "at_most": 1, "part": "passage"}, "One two.", UNDECIDED),
    # Phrases.
    ("contains", {"phrases": ["rain"]}, "Rain!", True),
    ("contains", {"phrases": ["rain"]}, "It rains.", UNDECIDED),
    ("contains", {"phrases": ["露肩装"], "at_least": 2}, "露肩装与**露肩装**", True),
    ("excludes", {"phrases": ["art"]}, "Start now.", True),
    # Of compounds and accents nobody can say whether they are the word.
    ("excludes", {"phrases": ["plus size"]}, "It is plus-size.", UNDECIDED),
    ("contains", {"phrases": ["ice cream"]}, "Icecream!", UNDECIDED),
    ("contains", {"phrases": ["cat"]}, "It is—cat, they say.", True),
    ("excludes", {"phrases": ["na"]}, "It is naïve.", True),
    # The body is what stands below a title.
    ("excludes", {"phrases": ["春"], "part": "body"}, "# 春\n\n下雨了。", True),
    ("excludes", {"phrases": ["春"], "part": "body"}, "# 雨\n\n春天。", False),
    # An item goes on below its first line.
    ("count", {"unit": "words", "at_most": 2, "part": "list_item"}, "- a\n  b c d", UNDECIDED),
    ("count", {"unit": "list_items", "at_most": 0}, "- a\n- b", False),
    ("excludes", {"phrases": ["art"]}, "Art!", False),
    ("starts_with", {"phrases": ["Dear"]}, "Dearest", False),
    ("count", {"unit": "emojis", "at_least": 1, "part": "sentence"}, "下雨了。🌧好吗？😀", True),
    ("starts_with", {"phrases": ["Yes", "No"]}, "No, never.", True),
    ("ends_with", {"phrases": ["谢谢"]}, "就这样，谢谢！", UNDECIDED),
    ("ends_with", {"phrases": ["？"]}, "Really?", True),
    ("contains_any", {"phrases": ["rain", "sun"]}, "It rains.", UNDECIDED),
    ("letters", {"letters": ["e"], "at_most": 0}, "A fog.", True),
    ("letters", {"letters": ["t"], "at_least": 2}, "To it.", True),
    ("does_not_start_with", {"phrases": ["Sure"]}, "Rain fell.", True),
    ("does_not_start_with", {"phrases": ["Dear"]}, "Here it is:\n\nDear Sir", UNDECIDED),
    ("does_not_end_with", {"phrases": ["?"]}, "Is it so?", False),
    ("ends_with_emoji", {}, "It rains 🌧", True),
    ("ends_with_emoji", {}, "🌧 It rains.", False),
    ("equals", {"phrases": ["yes", "no"]}, "Yes.", UNDECIDED),
    # Questions: one without its mark may count.
    ("count", {"unit": "questions", "at_least": 1, **FIRST}, "So. Why?", False),
    ("count", {"unit": "questions", "at_least": 1}, "下雨了。", False),
    # Points: of prose nobody can tell how many it makes.
    ("count", {"unit": "points", "at_least": 3}, "1. a\n2. b", False),
    ("count", {"unit": "stanzas", "at_least": 2, "at_most": 2}, "a\nb\n\nc\nd", True),
    ("count", {"unit": "lines", "at_least": 2, "part": "stanza"}, "a\nb\n\nc", False),
    ("count", {"unit": "placeholders", "at_least": 1}, "See [it](http://a.b).", UNDECIDED),
    ("count", {"unit": "highlighted_passages", "at_least": 2}, "*one*", False),
    ("count", {"unit": "capital_words", "at_most": 1}, "I saw NASA.", UNDECIDED),
    # What sets text apart.
    ("table", {"columns": 2}, "|a|b|\n|-|-|\n|1|2|", True),
    ("table", {"columns": 3}, "<table><tr></tr></table>", UNDECIDED),
    ("table", {"rows": 2}, "|a|b|\n|-|-|\n|1|2|", UNDECIDED),
    ("table", {"headers": ["a", "B"]}, "|a|b|\n|-|-|\n|1|2|", True),
    ("table", {"columns": 2}, "No table.", False),
    ("wrapped", {"marks": ["<<", ">>"], "part": "title"}, "# Rain\n\nIt fell.", False),
    ("wrapped", {"marks": ["【", "】"], "part": "title"}, "【雨】与雪\n\n下了。", UNDECIDED),
    ("emphasis", {"style": "bold", "part": "title"}, "# Rain\n\nIt fell.", UNDECIDED),
    ("emphasis", {"style": "italic", "part": "title"}, "# *Rain*\n\nIt fell.", True),
    ("postscript", {}, "It rains.\n\nP.S. Take care.", True),
    ("postscript", {}, "It rains.", False),
    # Forms.
    ("json", {}, 'Here: {"a": 1}', UNDECIDED),
    # RFC 8259 knows no NaN and no Infinity, but numbers of any size.
    ("json", {}, '{"price": NaN}', False),
    ("json", {}, '```json\n{"a": [-Infinity]}\n```', False),
    ("json", {}, '{"a": "NaN"}', True),
    ("json", {}, '{"a": ' + "9" * 5000 + "}", True),
    ("json", {"keys": ["a"]}, '[{"a": 1}, {"a": 2}]', True),
    ("json", {"keys": ["b"]}, '{"a": 1}', False),
    ("format", {"format": "markdown"}, "# Hi\n\nText.", True),
    ("format", {"format": "numbered_list"}, "1. a\n2. b", True),
    ("format", {"format": "quoted"}, "“Hi.”", True),
    ("format", {"format": "latex"}, "so $x^2$", True),
    ("language", {"language": "zh"}, "今天下雨了。", True),
    ("language", {"language": "en"}, ENGLISH, True),
    ("language", {"language": "ja"}, JAPANESE, True),
    ("case", {"case": "upper"}, "All of it", False),
    ("case", {"case": "title", "part": "title"}, "# The Rain in Spain\n\nIt fell.", UNDECIDED),
]  # fmt: skip


@pytest.mark.parametrize(("id_", "args", "text", "expected"), CASES)
def test_verdicts(id_: str, args: dict[str, Any], text: str, *, expected: bool | str) -> None:
    assert verdict(id_, text, **args) == expected


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"unit": "words"}, "no bound is given"),
        ({"unit": "words", "at_least": 5, "at_most": 4}, "at_least is 5"),
        ({"unit": "wrods", "at_most": 4}, "unit is 'wrods'"),
        ({"unit": "words", "at_most": 4, "part": "chapter"}, "part is 'chapter'"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(args: dict[str, Any], message: str) -> None:
    with pytest.raises(VerifierError, match=message):
        check(Check(id="heedful:count", args=args), Response("Hi."))


def test_all_is_unmet_as_soon_as_one_is_and_undecided_if_one_is() -> None:
    yes = {"id": "heedful:contains", "args": {"phrases": ["rain"]}}
    no = {"id": "heedful:contains", "args": {"phrases": ["sun"]}}
    open_ = {"id": "heedful:contains", "args": {"phrases": ["umbrella"]}}
    text = "rain, umbrellas"
    assert verdict("all", text, checks=[yes, yes]) is True
    assert verdict("all", text, checks=[yes, open_]) == UNDECIDED
    assert verdict("all", text, checks=[open_, no]) is False
    assert verdict("either_reading", text, checks=[yes, no]) == UNDECIDED
    assert verdict("either_reading", text, checks=[no, no]) is False


def test_a_variant_that_is_undecided_is_not_met_loosely() -> None:
    asked = Check(id="heedful:contains", args={"phrases": ["rain"], "part": "title"})
    assert not Readings("# Sun\n\nIt is.\n\nrains").read(asked).loose


# --- counting -----------------------------------------------------------------------------------

mixed = st.text(
    st.sampled_from("ab 中文字，。！？,.!?\n#*-1|·“”() 😀éя") | st.characters(codec="utf-8")
)


@given(mixed)
def test_the_range_of_a_sign_holds_its_count(text: str) -> None:
    layout = Layout(text)
    units: tuple[Unit, ...] = ("commas", "question_marks", "colons")
    for unit, signs in zip(units, (",，", "?？", ":："), strict=True):
        low, high = count_units(layout, unit) or (1, 0)
        assert low <= high
        assert sum(text.count(sign) for sign in signs) <= high
        # Where only letters and spaces are around it, no reader doubts a sign.
        plain = "".join(sign if sign in signs or sign.isalpha() else " " for sign in text)
        count = count_units(Layout(plain.replace("?", "? ")), unit)
        assert count is not None
        assert count.low == count.high


@given(mixed)
def test_readings_of_zi_span_the_reference_counts(text: str) -> None:
    """Han characters and runs of letters and digits, by the Unicode names and categories."""
    han = [sign for sign in text if "CJK UNIFIED" in unicodedata.name(sign, "")]
    visible = [sign for sign in text if not sign.isspace()]
    count = count_units(Layout(text), "zi")
    assert count is not None
    assert count.high == len(visible)
    assert count.low <= len(visible)
    pure = count_units(Layout("".join(han)), "zi_without_punctuation")
    assert pure is not None
    assert pure.high == len(han)


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=8), min_size=1, max_size=40))
def test_plain_words_have_one_count(words: list[str]) -> None:
    assert count_units(Layout(" ".join(words)), "words") == (len(words), len(words))


# --- a response made to satisfy a check, and one that just fails --------------------------------

numbers = st.integers(1, 9)
NAMES = ["rain", "snow", "hail", "fog", "wind", "storm", "cloud", "thunder", "drizzle"]


def made(unit: str, number: int) -> str:
    words = NAMES[:number]
    return {
        "words": " ".join(words),
        "zi": "雨" * number,
        "sentences": " ".join(f"It is {word} now." for word in words),
        "paragraphs": "\n\n".join(f"There is {word} here. Stay in." for word in words),
        "bullet_points": "\n".join(f"- {word}" for word in words),
        "emojis": "🌧" * number + ".",
        "lines": "\n".join(words),
        "headings": "\n\n".join(f"## {word}\n\nIt is here." for word in words),
    }[unit]


MADE = ["words", "zi", "sentences", "paragraphs", "bullet_points", "emojis", "headings"]


@given(st.sampled_from(MADE), numbers)
def test_bounds_hold_where_they_are_and_break_one_further(unit: str, number: int) -> None:
    text = made(unit, number)
    assert verdict("count", text, unit=unit, at_least=number, at_most=number) is True
    assert verdict("count", text, unit=unit, at_least=number + 1) is False
    assert verdict("count", text, unit=unit, at_most=number - 1) is False


@given(st.sampled_from(NAMES), st.integers(1, 5))
def test_phrases_hold_where_they_are_and_break_without(phrase: str, times: int) -> None:
    text = f"Say {' and '.join([phrase] * times)}."
    assert verdict("contains", text, phrases=[phrase], at_least=times, at_most=times) is True
    assert verdict("contains", text, phrases=[phrase], at_least=times + 1) is False
    assert verdict("excludes", text, phrases=[phrase]) is False
    assert verdict("excludes", text.replace(phrase, "it"), phrases=[phrase]) is True
    assert verdict("ends_with", text, phrases=[f"{phrase}."]) is True
    assert verdict("ends_with", f"{text} Yes.", phrases=[f"{phrase}."]) is False
    assert verdict("starts_with", text, phrases=[f"Say {phrase}"]) is True
    assert verdict("starts_with", f"No. {text}", phrases=[f"Say {phrase}"]) is False


cells = st.text("abc ", min_size=1, max_size=5).filter(str.strip)


@given(st.integers(1, 6), st.integers(1, 6), st.data())
def test_a_table_has_the_columns_and_rows_it_was_made_with(
    columns: int, rows: int, data: st.DataObject
) -> None:
    width = st.lists(cells, min_size=columns, max_size=columns)
    head, *body = data.draw(st.lists(width, min_size=rows + 1, max_size=rows + 1))
    lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * columns, *body)]
    text = "\n".join(lines)
    assert verdict("table", text, columns=columns) is True
    assert verdict("table", text, columns=columns + 1) is False
    assert verdict("table", text, rows=rows) is True
    assert verdict("table", text, rows=rows + 2) is False
    assert verdict("table", text, headers=head[:1]) is True


@given(st.text("abcABC xyz.", min_size=1).filter(str.strip), st.sampled_from("abcx"))
def test_letters_are_counted_in_both_cases(text: str, letter: str) -> None:
    number = text.lower().count(letter)
    args = {"letters": [letter]}
    assert verdict("letters", text, **args, at_least=number, at_most=number) is True
    assert verdict("letters", text, **args, at_least=number + 1) is False


@given(st.sampled_from(["starts_with", "ends_with"]), st.sampled_from(NAMES), mixed)
def test_an_edge_and_its_opposite_are_never_both_met(edge: str, phrase: str, text: str) -> None:
    opposite = {"starts_with": "does_not_start_with", "ends_with": "does_not_end_with"}[edge]
    for whole in (text, f"{phrase} {text} {phrase}"):
        verdicts = [verdict(id_, f"a{whole}", phrases=[phrase]) for id_ in (edge, opposite)]
        assert verdicts in ([True, False], [False, True], [UNDECIDED, UNDECIDED])


@given(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5), st.integers(1, 5))
def test_stanzas_and_their_lines_are_counted(verses: list[str], stanzas: int) -> None:
    text = "\n\n".join(["\n".join(verses)] * stanzas)
    exactly = {"at_least": stanzas, "at_most": stanzas}
    if len(verses) > 1 and stanzas > 1:
        assert verdict("count", text, unit="stanzas", **exactly) is True
    assert verdict("count", text, unit="stanzas", at_least=stanzas + 1) is False
    number = len(verses)
    lines = {"unit": "lines", "part": "stanza", "at_least": number, "at_most": number}
    assert verdict("count", text, **lines) is True


@given(st.sampled_from(NAMES), st.sampled_from(NAMES))
def test_a_response_equals_itself_and_nothing_else(phrase: str, other: str) -> None:
    assert verdict("equals", phrase, phrases=[other]) is (phrase == other)
    assert verdict("contains_any", phrase, phrases=[other, phrase]) is True
    assert verdict("wrapped", f"【{phrase}】", marks=["【", "】"]) is True
    assert verdict("ends_with_emoji", f"{phrase} 🌧") is True
    assert verdict("postscript", f"{other}.\n\nP.S. {phrase}.") is True
    assert verdict("emphasis", f"**{phrase}**", style="bold") is True


@pytest.mark.slow
@given(mixed)
def test_no_text_breaks_a_verifier(text: str) -> None:
    for id_, args, _, _ in CASES:
        assert verdict(id_, text, **args) in {True, False, UNDECIDED}
