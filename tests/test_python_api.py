"""The Python API takes what files may hold, in any container, and drops nothing in silence."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import heedful
from fault_server import completion, serving
from heedful import (
    Check,
    Constraint,
    Message,
    Recorded,
    Reward,
    Rules,
    Sample,
    UsageError,
    checklist,
    evaluate,
    make_judge,
    respond,
)
from heedful.core.errors import RunError
from heedful.core.noun import to_text, trusted, updated
from heedful.core.nouns import Critique, Expense, Judgment, Status
from heedful.models import Completion, Sampling, ScriptedModel, Usage
from jsonl import write_rows
from properties import of_a_hundred

api: Any = heedful
"""Without the types, which would refuse what makes no sense."""

ROWS: list[dict[str, Any]] = [
    {"prompt": "Greet.", "checklist": ["At most 3 words.", "It is polite."], "response": "Hi!"},
    {"prompt": "Greet.", "checklist": ["No commas."], "response": "Hi, there!", "id": 7},
    {
        "messages": [{"role": "user", "content": "Greet."}],
        "constraints": [{"text": "No commas.", "check": "punctuation:no_comma"}],
        "response": "Hello.",
        "tags": {"task": "greeting"},
    },
]
POLITE = "<c1>\nIt is.\nVERDICT: MET\n</c1>"


def verdicts(data: Any, **options: Any) -> list[list[str]]:
    return [
        [judgment.status.value for judgment in row.critique.judgments] if row.critique else []
        for row in evaluate(data, **options)
    ]


def pandas_frame() -> Any:
    return pytest.importorskip("pandas").DataFrame(ROWS)


def lines_in_cells() -> Any:
    rows = [{**row, "checklist": "\n".join(row["checklist"])} for row in ROWS[:2]]
    return pytest.importorskip("pandas").DataFrame([*rows, json_cells()])


def json_cells() -> dict[str, Any]:
    return {
        "prompt": "Greet.",
        "checklist": json.dumps(ROWS[2]["constraints"]),
        "response": "Hello.",
    }


def arrow_table() -> Any:
    return pytest.importorskip("pyarrow").Table.from_pylist(
        [*ROWS[:2], {**ROWS[0], "checklist": ["No commas."], "response": "Hello."}]
    )


def hub_dataset() -> Any:
    rows = [*ROWS[:2], {**ROWS[0], "checklist": ["No commas."], "response": "Hello."}]
    for row in rows:
        row.pop("id", None)
    return pytest.importorskip("datasets").Dataset.from_list(rows)


@pytest.mark.parametrize(
    "container",
    [
        lambda: ROWS,
        lambda: tuple(ROWS),
        lambda: iter(ROWS),
        pytest.param(pandas_frame, marks=pytest.mark.slow),
        pytest.param(lines_in_cells, marks=pytest.mark.slow),
        pytest.param(arrow_table, marks=pytest.mark.slow),
        pytest.param(hub_dataset, marks=pytest.mark.slow),
    ],
)
def test_rows_in_any_container_are_judged_as_in_a_file(
    container: Callable[[], Any], tmp_path: Path
) -> None:
    file = tmp_path / "rows.jsonl"
    write_rows(file, ROWS)
    expected = [["met", "unsupported"], ["unmet"], ["met"]]
    assert verdicts(file) == expected
    assert verdicts(container()) == expected


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)


@of_a_hundred(30)
@given(
    st.lists(
        st.fixed_dictionaries(
            {"prompt": TEXTS, "checklist": st.lists(TEXTS, max_size=3), "response": TEXTS},
            optional={"tags": st.dictionaries(TEXTS, TEXTS, max_size=1), "note": TEXTS},
        ),
        min_size=1,
        max_size=4,
    )
)
def test_a_dict_is_the_sample_that_its_keywords_make(rows: list[dict[str, Any]]) -> None:
    from_dicts = [row.sample for row in evaluate(rows, judge="rules")]
    from_keywords = [row.sample for row in evaluate([Sample(**row) for row in rows], judge="rules")]
    assert from_dicts == from_keywords
    for row, sample in zip(rows, from_dicts, strict=True):
        assert sample is not None
        assert [each.text for each in sample.checklist] == row["checklist"]
        assert sample.conversation == (Message(role="user", content=row["prompt"]),)


@pytest.mark.parametrize(
    ("noun", "fields"),
    [
        (Judgment, {"status": Status.MET, "explanation": "It is."}),
        (Critique, {"judgments": (Judgment(status=Status.UNMET),), "text": None}),
        (Expense, {"judge": "a", "calls": 1}),
        (Message, {"role": "user", "content": "Greet.", "images": ()}),
        (Usage, {"completion_tokens": 9, "prompt_tokens": 5}),
        (Completion, {"text": "Hi", "usage": Usage(), "first_tokens": None}),
    ],
)
def test_what_is_made_without_validation_is_what_validation_makes(
    noun: Any, fields: dict[str, Any]
) -> None:
    made, validated = trusted(noun, fields), noun(**fields)
    for each, other in ((made, validated), (updated(made, fields), made)):
        assert each == other
        assert each.model_fields_set == other.model_fields_set
        assert list(each.__dict__) == list(other.__dict__)  # results are written in this order
        assert to_text(each) == other.model_dump_json(exclude_defaults=True)
    assert all(
        made.__dict__[name] is not trusted(noun, fields).__dict__[name]
        for name, field in noun.model_fields.items()
        if field.default_factory and name not in fields
    )


def test_a_constraint_is_its_text_and_a_check_its_id() -> None:
    sample = Sample(checklist=["No commas.", {"text": "No commas.", "check": "a:b"}])
    assert sample.checklist == (
        Constraint(text="No commas."),
        Constraint(text="No commas.", check=Check(id="a:b")),
    )
    assert Constraint(text="x", check="a:b").check == Check(id="a:b")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: api.Sample(checklist="No commas."), "checklist.*list"),
        (api.Constraint, "text is missing"),
        (lambda: api.Sample(checklist=[{"txt": "x"}]), "did you mean 'text'"),
        (lambda: api.evaluate(3), "int 3"),
        (lambda: api.evaluate(ROWS[0]), r"\[row\]"),
        (lambda: api.evaluate({"train": ROWS}), r"data\['train'\]"),
        (lambda: api.evaluate([3]), "item 1"),
        (lambda: api.evaluate([{"colour": "red"}]), "'colour'"),
        (lambda: api.evaluate([{"respnse": "red"}]), "did you mean 'response'"),
        (lambda: api.evaluate(ROWS, judge="ruels"), "did you mean 'rules'"),
        (lambda: api.evaluate(ROWS, judge="rules", model="m"), "--model.*rules"),
        (lambda: api.evaluate(ROWS, judge=Rules(), votes=3), "--votes"),
        (lambda: api.evaluate(ROWS, judge="checklist"), "no model"),
        (lambda: api.evaluate(ROWS, model=3), "the model is 3"),
        (lambda: api.evaluate(ROWS, model="m", votes=0), "--votes is 0"),
        (lambda: api.evaluate(ROWS, modle="m"), "did you mean 'model'"),
        (lambda: api.evaluate(ROWS, judge=Rules), "no method judge"),
        (lambda: api.evaluate(ROWS, limit=0), "--limit is 0"),
        (lambda: api.evaluate(ROWS, limit=1, sample=1), "--limit and --sample"),
        (lambda: api.Cascade([Rules(), Recorded()]), "one by one"),
        (lambda: api.respond(3, models=ScriptedModel("x")), "int 3"),
    ],
)
def test_what_makes_no_sense_is_refused_at_once_in_one_line(
    wrong: Callable[[], object], said: str
) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        wrong()
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("judge", [None, "rules,compiled,checklist", "checklist"])
def test_a_model_is_asked_in_one_call(judge: str | None) -> None:
    model = ScriptedModel(POLITE)
    rows = [{"prompt": "Greet.", "checklist": ["It is polite."], "response": "Hi!"}]
    assert verdicts(rows, judge=judge, model=model) == [["met"]]
    assert len(model.calls) == 1


def test_code_saves_the_model_what_it_decides() -> None:
    model = ScriptedModel(POLITE)
    assert verdicts(ROWS, model=model) == [["met", "met"], ["unmet"], ["met"]]
    assert len(model.calls) == 1


def test_equal_votes_are_warned_of() -> None:
    model = ScriptedModel(POLITE)
    with pytest.warns(UserWarning, match="3 votes at temperature 0"):
        evaluate(ROWS, model=model, votes=3, temperature=0)


@pytest.mark.parametrize(("scoring", "judge"), [("strict", "compiled"), ("faithful", "recorded")])
def test_by_default_code_reads_constraints_unless_scoring_is_faithful(
    scoring: Any, judge: str
) -> None:
    evaluation = evaluate(ROWS, scoring=scoring)
    assert judge in evaluation.summary["judge"].split(",")
    assert ("compiled" in evaluation.summary["judge"]) == (scoring == "strict")


@of_a_hundred(20)
@given(st.integers(1, 6), st.integers(1, 7), st.integers(0, 3))
def test_limit_and_sample_take_whole_rows_in_order(rows: int, taken: int, seed: int) -> None:
    data = [Sample(id=str(number), response="x") for number in range(rows)]
    first = [row.id for row in evaluate(data, limit=taken)]
    assert first == [str(number) for number in range(min(rows, taken))]
    chosen = [row.id for row in evaluate(iter(data), sample=taken, seed=seed)]
    assert len(chosen) == min(rows, taken)
    assert chosen == sorted(set(chosen), key=int)
    assert chosen == [row.id for row in evaluate(data, sample=taken, seed=seed)]


def test_models_are_called_by_their_names() -> None:
    with serving(script=lambda *_: completion("Hello.")) as server:
        (row,) = respond([{"prompt": "Greet."}], models="m", base_url=server.url, temperature=0.5)
        assert row.sample is not None
        assert row.sample.response == "Hello."
        assert server.bodies[0]["temperature"] == 0.5
        (made,) = checklist([{"prompt": "Greet."}], model="m", base_url=server.url)
        assert made.sample is not None
        assert {body["model"] for body in server.bodies} == {"m"}


def test_sampling_is_given_once() -> None:
    with pytest.raises(UsageError, match="sampling and temperature"):
        respond(ROWS, models="m", sampling=Sampling(), temperature=1.0)
    with pytest.raises(UsageError, match="'base_url'"):
        api.respond(ROWS, models="m", base_ulr="x")
    with pytest.raises(UsageError, match="no model"):
        respond(ROWS, models=[])


def test_a_reward_takes_the_names_of_judges() -> None:
    sample = Sample(prompt="Greet.", checklist=["No commas."], response="Hi, you!")
    with Reward("compiled") as reward:
        assert reward.score_sync([sample])[0].value == 0
    model = ScriptedModel(POLITE)
    polite = Sample(prompt="Greet.", checklist=["It is polite."], response="Hello to you!")
    with Reward(make_judge("compiled,checklist", model=model)) as reward:
        assert reward.score_sync([polite])[0].value == 1


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["text", "check", "role", "content", "id"]), inner)
    ),
    max_leaves=6,
)
NAMES = ["prompt", "checklist", "response", "id", "messages", "labels", "tags", "judgments", "key"]


@of_a_hundred(60)
@given(st.lists(st.dictionaries(st.sampled_from([*NAMES, "reponse"]), ANYTHING) | ANYTHING))
def test_rows_of_any_shape_are_read_fail_alone_or_are_refused_in_one_line(rows: Any) -> None:
    try:
        evaluation = evaluate(rows, judge="rules")
    except UsageError as refused:
        assert "\n" not in str(refused)  # noqa: PT017 - either of two outcomes
    else:
        assert len(evaluation) >= len(evaluation.summary["problems"])
        assert all("\n" not in each["problem"] for each in evaluation.summary["problems"])


# --- the rows of a run ----------------------------------------------------------------------------

CHANGES: dict[str, Any] = {
    "response": lambda rows: [rows[0] | {"response": "Good morning to you!"}, *rows[1:]],
    "checklist": lambda rows: [rows[0] | {"checklist": ["No commas."]}, *rows[1:]],
    "prompt": lambda rows: [*rows[:2], rows[2] | {"prompt": "Say hello."}],
    "order": lambda rows: rows[::-1],
    "longer": lambda rows: [*rows, rows[0] | {"id": "4"}],
    "shorter": lambda rows: rows[:-1],
    "none": lambda _: [],
    "unreadable": lambda rows: [rows[0], {"response": 3}, *rows[2:]],
}
SHORT = {"prompt": "Greet.", "checklist": ["At most 3 words in all."]}
NUMBERED = [{"id": str(n), **SHORT, "response": f"Hi{'!' * n}"} for n in range(3)]


def framed(rows: list[dict[str, Any]]) -> Any:
    return pytest.importorskip("pandas").DataFrame(rows)


@pytest.mark.parametrize("held", [list, iter, framed])
@pytest.mark.parametrize("change", CHANGES)
def test_a_run_of_other_rows_is_refused(tmp_path: Path, change: str, held: Any) -> None:
    first = evaluate(held(NUMBERED), run=tmp_path / "run").summary["verdicts"]
    with pytest.raises(RunError, match="input"):
        evaluate(held(CHANGES[change](NUMBERED)), run=tmp_path / "run")
    again = evaluate(held(NUMBERED), run=tmp_path / "run")  # which the refusal left as it was
    assert again.summary["verdicts"] == first
    assert [row.sample.response for row in again if row.sample] == ["Hi", "Hi!", "Hi!!"]


def test_responses_to_other_rows_are_refused(tmp_path: Path) -> None:
    model = ScriptedModel("Hello.")
    rows = [{"id": "1", "prompt": "Greet.", "checklist": ["No commas."]}]
    respond(rows, models=[model], run=tmp_path / "run")
    assert len(list(respond(iter(rows), models=[model], run=tmp_path / "run"))) == 1
    with pytest.raises(RunError, match="input"):
        respond([rows[0] | {"prompt": "Thank me."}], models=[model], run=tmp_path / "run")
