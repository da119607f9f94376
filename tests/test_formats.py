"""Files are read lazily, whatever is wrong with them, and native samples survive a round trip."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from heedful.core.errors import InputError, UsageError
from heedful.core.nouns import Check, Constraint, Message, Recording, Sample
from heedful.data import formats
from heedful.data.formats import files, native
from properties import of_a_hundred

GOOD: dict[str, Any] = {"prompt": "Hi", "response": "Hello", "checklist": ["Greet."]}
GOOD_LINE = json.dumps(GOOD)


@pytest.fixture
def put(tmp_path: Path) -> Any:
    def write(content: str | bytes, name: str = "data") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def rows(path: Path, **options: Any) -> list[tuple[int, str | None]]:
    """Line and problem of each row."""
    return [(row.line, row.problem) for row in formats.read(path, **options)]


def samples(path: Path, **options: Any) -> list[Sample]:
    result = list(formats.read(path, **options))
    assert [row.problem for row in result if row.problem] == []
    return [row.sample for row in result if row.sample]


def problem(put: Any, record: dict[str, Any]) -> str:
    """The problem of a native record, read beside a good one."""
    result = list(formats.read(put(f"{GOOD_LINE}\n{json.dumps(record)}\n")))
    assert result[1].sample is None
    return result[1].problem or ""


# --- JSON lines -----------------------------------------------------------------------------


def test_json_lines_with_mark_blank_lines_and_windows_ends(put: Any) -> None:
    path = put(b"\xef\xbb\xbf" + f"{GOOD_LINE}\r\n\r\n  \n{GOOD_LINE}".encode())
    assert rows(path) == [(1, None), (4, None)]
    assert [sample.id for sample in samples(path)] == ["row-1", "row-2"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"prompt": "\xff"}', "invalid UTF-8 at byte 13"),
        (b'{"prompt": "p"', "broken JSON at column 15: expecting ',' delimiter"),
        (b'{"prompt": "\\ud800"}', r"\ud800 is half a surrogate pair"),
        (b'{"prompt": 1' + b"0" * 5000 + b"}", "broken JSON: a number is too long"),
        (b'{"a":' * 100_000, "broken JSON: nested too deeply"),
        (b"[1]", "the row is a list, not an object"),
        (b"3", "the row is a number (3), not an object"),
        (b"null", "the row is null, not an object"),
    ],
)
def test_a_bad_line_costs_its_own_row_only(put: Any, line: bytes, said: str) -> None:
    good = GOOD_LINE.encode()
    first, second, third = formats.read(put(b"\n".join([good, line, good])))
    assert second.line == 2
    assert second.id == "row-2"
    assert said in (second.problem or "")
    assert first.sample is not None
    assert third.sample is not None


# --- JSON arrays ----------------------------------------------------------------------------


def test_an_array_knows_the_line_of_each_element(put: Any) -> None:
    text = f"[\n{GOOD_LINE},\n\n{json.dumps(GOOD, indent=1)}\n,{GOOD_LINE}]\n"
    assert rows(put(text)) == [(2, None), (4, None), (11, None)]


def test_elements_longer_than_the_window_are_read_whole(put: Any) -> None:
    long = {**GOOD, "response": "é" * 300_000}
    path = put(json.dumps([GOOD, long, GOOD], ensure_ascii=False))
    assert [len(sample.response or "") for sample in samples(path)] == [5, 300_000, 5]


@given(st.lists(st.fixed_dictionaries({"prompt": st.text(), "n": st.integers()}), min_size=1))
@of_a_hundred(12, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_json_array_is_read_as_json_reads_it(put: Any, records: list[dict[str, Any]]) -> None:
    path = put(json.dumps(records, indent=1, ensure_ascii=False).encode(errors="replace"))
    expected = json.loads(path.read_text(encoding="utf-8"))
    read = samples(path)
    assert [sample.conversation[0].content for sample in read] == [r["prompt"] for r in expected]
    assert [(sample.model_extra or {})["n"] for sample in read] == [r["n"] for r in expected]


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        (',\n{"prompt": tru},\n{}]', "broken JSON on line 2: expecting value"),
        (",\n]", "broken JSON on line 2"),
        ("", "the array is not closed"),
        (",", "expecting value"),
        ("\n{}]", "no comma after a row"),
        ("] {}", "text after the array's closing bracket"),
        ("," + "[" * 100_000, "nested too deeply"),
    ],
)
def test_what_follows_a_broken_element_is_said_to_be_lost(put: Any, rest: str, said: str) -> None:
    result = rows(put("[" + GOOD_LINE + rest))
    assert len(result) == 2
    assert said in (result[1][1] or "")
    assert "cannot be read" in (result[1][1] or "")


def test_elements_that_are_no_text_or_no_object_cost_their_own_row(put: Any) -> None:
    good = GOOD_LINE.encode()
    result = rows(put(b"[" + good + b',\n{"prompt": "\xff"},\n7,\n' + good + b"]"))
    assert [line for line, _ in result] == [1, 2, 3, 4]
    assert [bool(said) for _, said in result] == [False, True, True, False]
    assert "invalid UTF-8" in (result[1][1] or "")


# --- CSV ------------------------------------------------------------------------------------


def test_csv_cells_are_text_json_or_lines(put: Any) -> None:
    path = put(
        b"\xef\xbb\xbfid,prompt,checklist,response,labels,tags,note\r\n"
        b'7,"a\r\nb","One\nTwo",42,"[true, null]","{""split"": ""easy""}",mine\r\n\r\n'
        b'8,p,"[""One""]",,,,\r\n'
        b"9,p,[1] be short,r,,,\r\n"
    )
    source = formats.open_source(path)
    first, second, third = samples(path)
    assert source.format
    assert source.format.name == "csv"
    assert (first.id, first.response, first.conversation[0].content) == ("7", "42", "a\r\nb")
    assert [constraint.text for constraint in first.checklist] == ["One", "Two"]
    assert (first.labels, first.tags) == ((True, None), {"split": "easy"})
    assert (first.model_extra or {})["note"] == "mine"
    assert (second.response, second.checklist[0].text) == (None, "One")
    assert third.checklist[0].text == "[1] be short"
    assert [line for line, _ in rows(path)] == [2, 6, 7]


def test_csv_rows_that_cannot_be_read_say_so_and_the_others_are_read(put: Any) -> None:
    path = put(
        b"id,prompt,checklist\n1,p\n2,p,\xff\n3,p,a\x00b\n"
        b'4,p,"a"x\n5,p,"[""a"",]"\n6,p,a\n7,p,"a\n8,p,a\n'
    )
    said = [problem for _, problem in rows(path)]
    assert re.findall(r"\d+", said[0] or "") == ["2", "3"]
    assert said[1] == "invalid UTF-8 in cell 3"
    assert "NUL byte" in (said[2] or "")
    assert "double the quotes" in (said[3] or "")
    assert "checklist" in (said[4] or "")
    assert said[5] is None
    assert "line 8 " in (said[6] or "")
    assert len(said) == 7


# --- files that are none --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "empty"),
        (" \n\n", "empty"),
        ("[]", "no rows"),
        ("prompt,checklist\n", "no rows"),
        ("prompt,prompt\nx,y\n", "more than once"),
        ("just words\nand more\n", "not in a known format"),
        ('{\n "prompt": "p",\n "checklist": ["a"\n}\n', "broken JSON"),
        ('{"stuff": [{"prompt": "p"}]}', "jq '.stuff'"),
        ('{"question": 1}', "they have 'question'"),
        ("[1, 2]", "no row can be read; the first: the row is a number (1)"),
        (b"PK\x03\x04\x00\x00", "compressed with zip"),
        (b"\xff\xfe{\x00}\x00", "UTF-16"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(put: Any, content: str | bytes, said: str) -> None:
    with pytest.raises(InputError) as error:
        formats.open_source(put(content))
    assert said in str(error.value)
    assert "data" in error.value.where


@pytest.mark.parametrize("separator", [",", "\t", ";"])
@pytest.mark.parametrize("before", ["", "\n\n"])
def test_cells_may_be_separated_by_tabs_and_semicolons(
    put: Any, separator: str, before: str
) -> None:
    cells = (("prompt", "checklist", '"re;spo,nse"'), ("p", "No commas.", '"a;b\tc, d"'))
    text = before + "".join(separator.join(row) + "\n" for row in cells)
    (record,) = files.records(put(text))
    assert record.data == {"prompt": "p", "checklist": "No commas.", "re;spo,nse": "a;b\tc, d"}
    assert record.line == 2 + len(before)


def test_the_wrong_format_names_what_is_missing_and_what_fits(put: Any) -> None:
    path = put(GOOD_LINE)
    with pytest.raises(InputError, match=r"no criteria.*--format native"):
        formats.open_source(path, format="cfbench")
    with pytest.raises(InputError, match="not CSV"):
        formats.open_source(path, format="csv")
    with pytest.raises(UsageError, match="'nope'"):
        formats.open_source(path, format="nope")


# --- native ---------------------------------------------------------------------------------


def test_friendly_spellings(put: Any) -> None:
    record = {
        "id": 3,
        "messages": [{"role": "user", "content": "Hi", "name": "Ann"}],
        "constraints": [
            "Greet.",
            {"text": "Short.", "type": "数值约束", "subtype": "单词数值约束", "priority": "主需"},
            {"text": "No commas.", "check": "punctuation:no_comma", "weight": 2},
        ],
        "tags": {"split": "easy", "model": None},
        "mine": [1],
    }
    (sample,) = samples(put(json.dumps(record)))
    assert sample.id == "3"
    assert sample.conversation[0].model_extra == {"name": "Ann"}
    assert sample.checklist == (
        Constraint(text="Greet."),
        Constraint(text="Short.", type="numerical", subtype="numerical/word", priority="primary"),
        Constraint.model_validate(
            {"text": "No commas.", "check": Check(id="punctuation:no_comma"), "weight": 2}
        ),
    )
    assert (sample.response, sample.tags) == (None, {"split": "easy"})
    assert sample.model_extra == {"mine": [1]}


def test_chats_are_read_as_their_authors_write_them(put: Any) -> None:
    parts = [{"type": "text", "text": "Write "}, {"type": "text", "text": "a haiku."}]
    turns = [{"role": "user", "content": parts}, {"role": "assistant", "content": "One, two"}]
    rows = [
        {"messages": turns, "checklist": ["No commas"]},
        {"messages": turns, "response": None, "checklist": ["No commas"]},
        {"prompt": parts, "response": parts[:1], "checklist": ["No commas"]},
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
        {"prompt": "Hi", "reponse": "Hello", "checklist": ["No commas"]},
        {"prompt": "Hi", "reponse": "mine", "response": "Hello", "checklist": ["No commas"]},
    ]
    read = list(formats.read(put("\n".join(map(json.dumps, rows)))))
    said, open_end, plain, image, misspelled, own = read
    assert said.sample
    assert said.sample.response == "One, two"
    assert said.sample.conversation == (Message(role="user", content="Write a haiku."),)
    assert open_end.sample
    assert open_end.sample.response is None
    assert len(open_end.sample.conversation) == 2
    assert native.sample(native.write(open_end.sample), 1) == open_end.sample
    assert plain.sample
    assert plain.sample.response == "Write "
    assert image.problem
    assert "image_url" in image.problem
    assert misspelled.problem
    assert "'response'" in misspelled.problem
    assert own.sample
    assert own.sample.response == "Hello"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"response": False}, 'response is false; write it as text: "false"'),
        ({"prompt": None, "checklist": None}, "conversation is missing"),
        ({"prompt": 1}, "prompt is a number (1)"),
        ({"id": True}, "id is true"),
        ({"checklist": [1]}, "checklist[0] is a number (1)"),
        ({"checklist": [{"text": "a", "wieght": -5}]}, "did you mean 'weight'?"),
        ({"checklist": [{"text": "a", "points": 9}]}, "did you mean 'weight'?"),
        ({"checklist": [{"text": "a", "priority": "urgent"}]}, "checklist[0].priority"),
        ({"labels": [True, False]}, "2 labels for 1 constraint"),
        ({"tags": {"a": [1]}}, "tags.a is a list"),
        ({"judgments": "met"}, "judgments is text"),
    ],
)
def test_a_bad_field_is_named(put: Any, change: dict[str, Any], said: str) -> None:
    assert said in problem(put, GOOD | change)


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
own_names = words.map(lambda word: f"x_{word}") | st.sampled_from(["line", "problem", "scores"])
extras = st.dictionaries(own_names, st.none() | st.integers() | words | st.lists(words))


@st.composite
def any_sample(draw: st.DrawFn) -> Sample:
    turns = draw(st.lists(st.tuples(st.sampled_from(["system", "user"]), words), min_size=1))
    checks = st.none() | st.builds(Check, id=words, args=extras)
    constraint = st.builds(
        Constraint,
        text=words,
        type=st.none() | st.sampled_from(["numerical", "own words"]),
        priority=st.sampled_from([None, "primary", "secondary"]),
        check=checks,
    )
    checklist = tuple(draw(st.lists(constraint, max_size=3)))
    labels = st.tuples(*[st.none() | st.booleans() for _ in checklist])
    return Sample.model_validate(
        {
            "id": draw(words.filter(bool)),
            "conversation": tuple(Message(role=role, content=text) for role, text in turns),
            "checklist": checklist,
            "response": draw(st.none() | words),
            "reference": draw(st.none() | words),
            "tags": draw(st.dictionaries(words, words | st.integers() | st.booleans())),
            "labels": draw(st.none() | labels),
            "recording": draw(st.none() | st.builds(Recording, prompt=words, text=words)),
            "source": draw(extras),
        }
        | draw(extras)
    )


@pytest.mark.slow
@given(any_sample())
@of_a_hundred(60)
def test_what_is_written_reads_back_the_same(sample: Sample) -> None:
    record = native.write(sample)
    assert native.sample(json.loads(json.dumps(record)), 1) == sample


# --- responses from another file ------------------------------------------------------------


def lines(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def test_responses_join_by_key_then_prompt_then_bare_prompt(put: Any) -> None:
    data = put(lines(*({"id": key, "prompt": f"{key}?", "checklist": ["x"]} for key in "abc")))
    answers = put(
        lines(
            {"key": "a", "response": "A"},
            {"prompt": "b?", "response": "B"},
            {"prompt": " c?\n", "response": "C", "follow_instruction_list": [True]},
        ),
        "answers",
    )
    source = formats.open_source(data, responses=answers)
    result = [row.sample for row in source if row.sample]
    assert [sample.response for sample in result] == ["A", "B", "C"]
    assert result[2].labels == (True,)
    assert source.files == (data, answers)
    assert len(list(source)) == 3


def test_what_does_not_join_is_named(put: Any) -> None:
    data = put(lines(*({"id": key, "prompt": f"{key}?", "checklist": ["x"]} for key in "abcd")))
    answers = put(
        lines(
            {"key": "a", "response": "A"},
            {"prompt": "b?", "response": "B"},
            {"prompt": "b?", "response": "B2"},
            {"key": "c", "prompt": "another?", "response": "C"},
            {"prompt": "nobody asked", "response": "D"},
            {"prompt": "d?", "response": [4]},
            {"response": "E"},
        ),
        "answers",
    )
    said = [problem or "" for _, problem in rows(data, responses=answers)]
    assert said[0] == ""
    assert "answers:2 and" in said[1]
    assert "answers:3 both answer b" in said[1]
    assert "but another prompt" in said[2]
    assert "no response in" in said[3]
    assert "answers:5 " in said[4]
    assert "answers:6: response" in said[5]
    assert "answers:7: " in said[6]
    assert len(said) == 7


def test_rows_of_other_tasks_are_left_out(put: Any) -> None:
    path = put(lines(GOOD | {"tags": {"task": "a"}}, GOOD | {"tags": {"task": "b"}}, GOOD))
    source = formats.open_source(path, task="a")
    assert [row.line for row in source] == [1]
    with pytest.raises(InputError, match=r"task 'c'.*a, b"):
        formats.open_source(path, task="c")
