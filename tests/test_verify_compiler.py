"""What the texts of constraints compile to, and what must not compile."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from heedful import evaluate
from heedful.core.errors import InputError
from heedful.jobs.evaluate_tables import view
from heedful.verify import Response, check, describe, known
from heedful.verify.compiler.compile import compile_constraint
from heedful.verify.compiler.grammar import Grammar, shipped
from heedful.verify.compiler.measuring import measure
from heedful.verify.compiler.numerals import number_at
from heedful.verify.compiler.slots import SLOTS

COMPILES = [
    ("Respond only in Spanish.", "Respond in the language 'es'."),
    ("Use exactly 5 bullet points, at most 20 words each.",
     "Write exactly 5 bullet points. Write at most 20 words in each list item."),
    ("Return a JSON array.",
     'Respond with JSON that fits the schema {"type": "array"}, and nothing else.'),
    ("Does the response end with a question?", "Write at least 1 question in the last sentence."),
    ("Include keywords ['rain', 'snow'] in the response.", "Use 'rain', 'snow'."),
    ('Answer only with "yes" or "no".', "Let the response be 'yes' or 'no', and nothing else."),
    ("以JSON格式输出，包含字段“a”", "Respond with JSON with the keys 'a', and nothing else."),
    ("正文中不含“春”", "Do not use '春' in the body."),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words"), COMPILES)
def test_what_is_covered_becomes_a_check(text: str, words: str) -> None:
    compiled = compile_constraint(text)
    assert compiled.check is not None, compiled.reason
    assert describe(compiled.check) == words
    assert not compiled.reason
    assert known(compiled.check.id)


@pytest.mark.parametrize(("unit", "one"), [("words", "rain "), ("characters", "a")])
@pytest.mark.parametrize(
    "wording", ["{} {}.", "Please write {} {}", "The answer must be {} {} long."]
)
@pytest.mark.parametrize(
    ("amount", "least", "most"),
    [("at most 25", 0, 25), ("exactly 24", 24, 24), ("between 22 and 28", 22, 28)],
)
def test_a_short_length_alone_is_the_responses_on_either_side(
    wording: str, amount: str, least: int, most: int, unit: str, one: str
) -> None:
    compiled = compile_constraint(wording.format(amount, unit)).check
    assert compiled is not None
    for number in {max(1, each) for each in (1, least - 1, least, most, most + 1, most + 40)}:
        met = check(compiled, Response((one * number).strip())).met
        assert met is (least <= number <= most)


@pytest.mark.parametrize(
    "text",
    ["A summary of at most 12 words.", "Mention rain. Use at most 12 words.", "不超过12个字"],
)
def test_a_short_length_that_may_be_a_passages_stays_open(text: str) -> None:
    response = "Rain falls. " * 40 + "下雨了。" * 40
    evaluation = evaluate([{"prompt": "p", "checklist": [text], "response": response}])
    assert evaluation.summary["verdicts"]["unsupported"] == 1
    with (console := Console(width=300)).capture() as shown:
        console.print(view(evaluation.summary))
    assert "1 of these: " in shown.get()


@pytest.mark.parametrize(
    ("text", "response", "fact"),
    [
        ("At most 5 words, if possible.", "One two.", "the response has 2 words"),
        ("尽量不超过200字", "今天下雨", "the response has 4 字"),
        ("避免使用“雨”等词", "雨", "'雨' occurs 1 times"),
        ("Use a warm tone.", "One two.", None),
        ("At most 5 words.", "One two.", "the response has 2 words"),
        ('Start with "One".', "One two.", "the response starts with 'One two.'"),
        (
            "Each paragraph has at most 2 words.",
            "One.\n\nOne two.",
            "the response has 2 of: paragraph; word counts in order: 1, 2",
        ),
    ],
)
def test_measures_are_facts_without_a_verdict(text: str, response: str, fact: str | None) -> None:
    assert measure(compile_constraint(text), Response(response)) == fact


@given(
    st.text(max_size=60) | st.text("至少最多300字段落“”a、，。不要包含 words at most", max_size=40)
)
def test_no_text_breaks_the_compiler_and_all_it_makes_can_run(text: str) -> None:
    compiled = compile_constraint(text)
    assert (compiled.check is None) == bool(compiled.reason)
    for made in filter(None, (compiled.check, *compiled.measures)):
        assert json.loads(made.model_dump_json()) == made.model_dump()
    if compiled.check is not None:
        describe(compiled.check)


# --- numbers and the round trip -------------------------------------------------------------------

NUMBERS = {
    0: ["零", "zero"], 7: ["七", "seven"], 10: ["十", "ten"], 12: ["十二", "a dozen", "twelve"],
    20: ["二十", "twenty"], 25: ["二十五", "twenty-five", "twenty five"],
    100: ["一百", "a hundred"],
    105: ["一百零五", "one hundred and five", "one hundred five"], 110: ["一百一十"],
    350: ["三百五十", "三百五"], 1000: ["一千", "1k", "a thousand"], 1200: ["一千二百", "1,200"],
    2003: ["两千零三", "two thousand three"], 10_000: ["一万", "1万"], 15_000: ["一万五千", "15k"],
}  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_are_read_as_they_are_written(number: int) -> None:
    for written in (str(number), f"{number:,}", *NUMBERS[number]):
        assert number_at(f"{written} x", 0) == (number, len(written))


UNITS = {"words": "words", "sentences": "sentences", "paragraphs": "paragraphs"}
UNITS_ZH = {"字": "zi", "句话": "sentences", "个段落": "paragraphs", "行": "lines"}
BOUNDS: list[tuple[str, dict[str, int]]] = [
    ("The response must have at least {n} {unit}.", {"at_least": 0}),
    ("Does the response contain no more than {n} {unit}?", {"at_most": 0}),
    ("Use exactly {n} {unit}.", {"at_least": 0, "at_most": 0}),
    ("Write fewer than {n} {unit}.", {"at_most": -1}),
    ("more than {n} {unit}", {"at_least": 1}),
]
BOUNDS_ZH: list[tuple[str, dict[str, int]]] = [
    ("不少于{n}{unit}", {"at_least": 0}),
    ("回答不得超过{n}{unit}。", {"at_most": 0}),
    ("回复应控制在{n}{unit}以内", {"at_most": 0}),
    ("请确保回答恰好{n}{unit}", {"at_least": 0, "at_most": 0}),
    ("全文要超过{n}{unit}", {"at_least": 1}),
]


@given(
    st.sampled_from([(*bound, UNITS) for bound in BOUNDS] + [(*b, UNITS_ZH) for b in BOUNDS_ZH]),
    st.integers(31, 3000),
    st.data(),
)
def test_bounds_are_read_in_all_forms(
    case: tuple[str, dict[str, int], dict[str, str]], number: int, data: st.DataObject
) -> None:
    template, offsets, units = case
    unit = data.draw(st.sampled_from(sorted(units)))
    compiled = compile_constraint(template.format(n=number, unit=unit))
    assert compiled.check is not None, compiled.reason
    expected = {name: number + offset for name, offset in offsets.items()}
    assert compiled.check.args == {"unit": units[unit]} | expected


# --- the grammar itself ---------------------------------------------------------------------------


def test_rules_of_the_grammar_name_verifiers() -> None:
    assert all(known(id_) for id_ in shipped().rules.values())


def test_a_grammar_of_ones_own_is_used() -> None:
    grammar = Grammar("check heedful:case loud:\n    shout -> case=upper\n", SLOTS)
    compiled = compile_constraint("Shout!", grammar)
    assert compiled.check is not None
    assert compiled.check.args == {"case": "upper"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("    word\n", "before the first heading"),
        ("Not a heading\n", "a heading is"),
        ("a:\n    (b\n", "not closed"),
        ("a:\n    b ]\n", "closes nothing"),
        ("a:\n    <b>\n", "no phrase <b>"),
        ("a:\n    x <a>\n", "itself"),
        ("a:\n    x -> y\n", "bindings"),
        ("a:\n    [x] -> y=1\n", "nothing at all"),
    ],
)
def test_a_grammar_that_cannot_be_read_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Grammar(text, SLOTS, "mine.txt")
    assert caught.value.where.startswith("mine.txt")


# --- real constraints -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "least"), [("cfbench/cfbench_data.json", 0.07), ("sysbench/gpt35.jsonl", 0.07)]
)
def test_real_constraints_compile_and_their_checks_can_run(
    data: Path, name: str, least: float
) -> None:
    from heedful.data import formats

    texts: list[str] = []
    for row in formats.open_source(data / name):
        if row.sample is not None and len(texts) < 1500:
            texts += [constraint.text for constraint in row.sample.checklist]
    checks: list[Any] = [compile_constraint(text).check for text in texts]
    made = [each for each in checks if each is not None]
    assert len(made) / len(texts) > least
    assert all(map(describe, made))
